// What people call games and clocks, as server/web/texts.py writes them.

import { gettext, listText, ngettext, told } from "./texts.js";

const PER_MOVE = /^([\d.]+)\/move$/, MAIN_AND_MORE = /^([\d.]+)\+(?:(\d+)x)?([\d.]+)$/;
const MAIN_AND_DELAY = /^([\d.]+)d([\d.]+)$/;

/** The most letters of a value in a title. */
const LONGEST = 20;

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
  const words = [...parameters].map(([key, value]) => forms[value]?.(key) ?? `${key} ${value.length > LONGEST ? "…" : value}`);
  const known = told(title);
  return words.length ? `${known} (${listText(words.map((each) => told(each.replaceAll("_", " "))))})` : known;
}

/** A clock as people say it: "5 minutes + 3 seconds"; null means any clock. */
export function clockText(clock) {
  if (!clock) return gettext("any clock");
  return clock === "none" ? gettext("no clock") : clock.split(" | ").map(timeText).join(" | ");
}

/** Does a clock give a day or more at the start, so that nobody has to stay connected? */
export function givesDays(clock) {
  const perMove = PER_MOVE.exec(clock);
  const parts = MAIN_AND_MORE.exec(clock) ?? MAIN_AND_DELAY.exec(clock)?.slice(0, 2);
  const [, main, periods = 0, seconds = 0] = parts ?? [];
  const total = perMove ? Number(perMove[1]) : Number(main) + Number(periods) * Number(seconds);
  return total >= 86_400;
}

/** One time control; a text that is none is returned as it is. */
function timeText(text) {
  const perMove = PER_MOVE.exec(text);
  if (perMove) return perMoveText(perMove[1]);
  const delayed = MAIN_AND_DELAY.exec(text);
  if (delayed) {
    const [main, delay] = delayed.slice(1).map(durationText);
    return gettext("%(main)s, delay %(delay)s", { main, delay });
  }
  const parts = MAIN_AND_MORE.exec(text);
  if (!parts) return text;
  const [, main, periods, seconds] = parts;
  if (!periods) return Number(seconds) ? `${durationText(main)} + ${durationText(seconds)}` : durationText(main);
  const rest = periods === "1" ? perMoveText(seconds) : `${periods} × ${durationText(seconds)}`;
  return Number(main) ? gettext("%(main)s, then %(periods)s", { main: durationText(main), periods: rest }) : rest;
}

function perMoveText(seconds) {
  return gettext("%(time)s a move", { time: durationText(seconds) });
}

function durationText(text) {
  const seconds = Number(text);
  const isIn = (unit) => seconds >= unit && seconds % unit === 0;
  if (isIn(86_400)) return ngettext("%(num)s day", "%(num)s days", seconds / 86_400);
  if (isIn(3600)) return ngettext("%(num)s hour", "%(num)s hours", seconds / 3600);
  if (isIn(60)) return ngettext("%(num)s minute", "%(num)s minutes", seconds / 60);
  return ngettext("%(num)s second", "%(num)s seconds", seconds);
}
