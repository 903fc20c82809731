// What people call games and clocks, as server/web/templates.py writes them.

const PER_MOVE = /^([\d.]+)\/move$/, MAIN_AND_MORE = /^([\d.]+)\+(?:(\d+)x)?([\d.]+)$/;

/** What people call each game, by its name: to be filled by the page. */
export const titles = new Map();

/** The name and the parameters, a Map, of a specification such as "go(size=9)". */
export function partsOfSpec(spec) {
  const [name, text = ""] = spec.replace(/\)$/, "").split("(");
  const options = text.split(",").filter(Boolean).map((each) => each.split("="));
  return { name, parameters: new Map(options) };
}

/** What people call the game of a specification: "Go (size 9)". */
export function gameText(spec) {
  const { name, parameters } = partsOfSpec(spec);
  const title = titles.get(name) ?? name.replaceAll("_", " ");
  const forms = { true: (key) => key, false: (key) => `no ${key}` };
  const words = [...parameters].map(([key, value]) => forms[value]?.(key) ?? `${key} ${value}`);
  return words.length ? `${title} (${words.join(", ").replaceAll("_", " ")})` : title;
}

/** A clock as people say it: "5 minutes + 3 seconds"; null means any clock. */
export function clockText(clock) {
  if (!clock) return "any clock";
  return clock === "none" ? "no clock" : clock.split(" | ").map(timeText).join(" | ");
}

/** Does a clock give a day or more at the start, so that nobody has to stay connected? */
export function givesDays(clock) {
  const perMove = PER_MOVE.exec(clock);
  const parts = MAIN_AND_MORE.exec(clock);
  const [, main, periods, seconds] = parts ?? [];
  const total = perMove ? Number(perMove[1]) : Number(main) + Number(periods ?? 0) * Number(seconds);
  return total >= 86_400;
}

/** One time control; a text that is none is returned as it is. */
function timeText(text) {
  const perMove = PER_MOVE.exec(text);
  if (perMove) return `${durationText(perMove[1])} a move`;
  const parts = MAIN_AND_MORE.exec(text);
  if (!parts) return text;
  const [, main, periods, seconds] = parts;
  if (!periods) return Number(seconds) ? `${durationText(main)} + ${durationText(seconds)}` : durationText(main);
  const rest = periods === "1" ? `${durationText(seconds)} a move` : `${periods} × ${durationText(seconds)}`;
  return Number(main) ? `${durationText(main)}, then ${rest}` : rest;
}

function durationText(text) {
  const seconds = Number(text);
  const [size, unit] = [[86_400, "day"], [3600, "hour"], [60, "minute"]].find(([each]) => seconds >= each && seconds % each === 0) ?? [1, "second"];
  const number = seconds / size;
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}
