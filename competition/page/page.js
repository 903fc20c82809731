// The page of a competition: its standings or, for #team=NAME, those of a team; the submissions of
// one account or that team, and those of all.

import { dropped, packed } from "/static/folder.js";
import { html, svg } from "/static/elements.js";
import { resultText } from "/static/match_text.js";
import { newBoard } from "/static/text_board.js";
import { gettext, listText, ngettext, numberText, pgettext, told } from "/static/texts.js";
import { clockText, gameText, titles } from "/static/wording.js";

const STATES = {
  queued: gettext("queued"),
  running: gettext("running"),
  accepted: gettext("accepted"),
  refused: gettext("refused"),
  failed: gettext("failed"),
};
const STAGES = {
  unpack: pgettext("stage", "unpack"),
  build: pgettext("stage", "build"),
  check: pgettext("stage", "check"),
  matches: pgettext("stage", "matches"),
};
/** The colours of states that are not the usual ones. */
const KINDS = { accepted: "good", refused: "bad", failed: "bad" };
const REFRESH_MS = 1000, DAY_S = 86_400, HOUR_S = 3600;
/** The most ratings of a trend, and the difference of ratings that takes its height at least. */
const PARTS = 21, LEVEL = 50;
/** The tabs besides the overview. */
const TABS = ["standings", "matches", "rules", "submissions"];

const at = (id) => document.getElementById(id);
const { lang } = document.documentElement;
// English dates are written as on the other pages, 2026-12-18 20:00, which is the Swedish form.
const dates = lang === "en"
  ? new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "short" })
  : new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
const time = (seconds) => dates.format(seconds * 1000);
let authorization = null;
let you = null;
let shown = null;
let pages = "";
/** What each part of the page shows, as JSON. A part without news is not made again, and keeps the
 * focus. */
const contents = new Map();

function isNew(part, ...values) {
  const text = JSON.stringify(values);
  if (contents.get(part) === text) return false;
  contents.set(part, text);
  return true;
}

async function answerTo(path, options = {}) {
  const headers = authorization ? { Authorization: authorization } : {};
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!answer.ok) throw new Error(told((await answer.text()).trim()));
  return answer;
}

async function ask(path, options) {
  return (await answerTo(path, options)).json();
}

/** A row of a table; a cell is a text, an element, or {number} or {who}, which has a class. */
function row(cells, kind = "") {
  return html("tr", { class: kind }, ...cells.map((each) => {
    if (each?.number !== undefined) return html("td", { class: "number" }, each.number);
    if (each?.who) return html("td", { class: "who" }, ...each.who);
    return html("td", {}, each);
  }));
}

function left(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < HOUR_S) return gettext("%(minutes)s min %(seconds)s s", { minutes: Math.floor(whole / 60), seconds: whole % 60 });
  const [days, hours] = [Math.floor(whole / DAY_S), Math.floor((whole % DAY_S) / HOUR_S)];
  return gettext("%(days)s d %(hours)s h %(minutes)s min", { days, hours, minutes: Math.floor((whole % HOUR_S) / 60) });
}

function showState(state) {
  for (const [name, title] of Object.entries(state.titles)) titles.set(name, title);
  document.title = state.title;
  at("title").textContent = state.title;
  at("rules").textContent =
    gettext(
      "%(game)s, clock %(clock)s. Bots speak %(protocols)s; at most %(submission_mb)s MiB, %(submissions_per_day)s submissions a day. %(queued)s in the queue.",
      { ...state, game: listText(state.games.map(gameText)), clock: clockText(state.clock), protocols: listText(state.protocols) },
    );
  at("facts").textContent = gettext("%(game)s, %(clock)s", { game: listText(state.games.map(gameText)), clock: clockText(state.clock) });
  at("hosts").textContent = state.build_hosts.length
    ? gettext("Builds reach %(hosts)s by a proxy.", { hosts: listText(state.build_hosts) })
    : "";
  showDeadline(state);
  at("final").hidden = !state.final;
  pages = state.pages.startsWith(":") ? `${location.protocol}//${location.hostname}${state.pages}` : state.pages;
  if (isNew("games", state.games, pages)) {
    const linkTo = (game) => html("a", { href: `${pages}/games/${encodeURIComponent(game.split("(")[0])}` }, gettext("Rules of %(game)s", { game: gameText(game) }));
    at("rules-of-games").replaceChildren(...(pages ? state.games.map(linkTo) : []));
  }
  if (isNew("shown", state.shown)) showPosition(state.shown);
  at("last").hidden = !state.matches.length;
  if (isNew("matches", state.matches, pages)) at("last-matches").replaceChildren(...matchRows(state.matches));
  const own = state.you?.team;
  showRank(state.standings.filter(({ retired }) => !retired), own);
  if (!isNew("standings", state.standings, state.of_games, state.house, own)) return;
  showStandings(at("standings"), state.standings, state.house, own);
  at("no-standings").hidden = state.standings.length > 0;
  at("scale").hidden = !state.standings.length;
  const games = Object.entries(state.of_games);
  at("means").hidden = !games.length;
  at("games").replaceChildren(...games.map(([game, standings]) => {
    const region = at("standings").closest(".scroll").cloneNode(true);
    const body = region.querySelector("tbody");
    body.removeAttribute("id");
    region.setAttribute("aria-label", gettext("Standings in %(game)s", { game: gameText(game) }));
    showStandings(body, standings, state.house, own);
    return html("section", { class: "card stack" }, html("h3", {}, gameText(game)), region);
  }));
}

/** The deadline is announced once; the time that is left is a timer, which is not announced. */
function showDeadline(state) {
  const isOpen = state.open && !state.refusal;
  at("countdown").textContent = isOpen ? gettext("%(left)s left", { left: left(state.deadline - state.now) }) : "";
  const text = state.refusal
    ? gettext("Nothing can be handed in: %(reason)s", { reason: state.refusal })
    : state.open
      ? gettext("Open until %(time)s", { time: time(state.deadline) })
      : state.now < state.opens
        ? gettext("Opens on %(time)s.", { time: time(state.opens) })
        : gettext("Closed: nothing more is accepted.");
  if (at("deadline").textContent !== text) at("deadline").textContent = text;
}

/** The last position of the last match, as a picture. */
function showPosition(position) {
  at("shown").hidden = !position;
  if (!position) return;
  at("board").replaceChildren();
  newBoard(at("board"), position.board, { small: true }).show(position.view);
  const { match } = position;
  const text = match && gettext("The last match: %(first)s – %(second)s", { first: match.players[0], second: match.players[1] });
  at("shown-match").replaceChildren(text ? matchLink(match, text) : "");
}

function showRank(standings, team) {
  const place = standings.findIndex(({ name }) => name === team);
  const text = place < 0 ? "" : gettext("%(team)s is at place %(place)s of %(count)s, with %(rating)s", {
    team, place: place + 1, count: standings.length, rating: ratingText(standings[place]),
  });
  if (at("own-rank").textContent !== text) at("own-rank").textContent = text;
}

/** A rounded number, with 0 for -0. */
const whole = (number) => Math.round(number) || 0;

function ratingText({ rating, error }) {
  if (error === null) return "–";
  return gettext("%(rating)s ± %(error)s", { rating: whole(rating), error: whole(error) });
}

function showStandings(body, standings, house, own) {
  body.closest("table").classList.add("has-ranges");
  const known = standings.filter(({ error }) => error !== null);
  const low = Math.min(...known.map(({ rating, error }) => rating - error));
  const high = Math.max(...known.map(({ rating, error }) => rating + error));
  body.replaceChildren(...standings.map((each, place) => {
    const kinds = ["standing", house.includes(each.name) && "house", each.retired && "retired", each.name === own && !each.retired && "own"];
    return row(
      [
        { number: `${place + 1}` },
        { who: [nameOf(each, house), html("small", {}, each.version)] },
        ratingText(each),
        each.error === null ? "" : rangeOf(each, low, high),
        each.trend.length > 1 ? trendOf(each) : "",
        { number: changeOf(each) },
        { number: `${each.matches}` },
        { number: numberText(each.points) },
      ],
      kinds.filter(Boolean).join(" "),
    );
  }));
}

/** A rating with its error bar on a scale that all rows have. */
function rangeOf({ rating, error }, low, high) {
  const place = (value) => `${(4 + 92 * ((value - low) / (high - low || 1))).toFixed(1)}%`;
  return svg(
    "svg",
    { class: "range", "aria-hidden": "true" },
    svg("line", { x1: place(rating - error), x2: place(rating + error), y1: 8, y2: 8 }),
    svg("circle", { cx: place(rating), cy: 8, r: 4 }),
  );
}

/** The ratings of the last week as a line; that of a steady rating is nearly level. */
function trendOf({ trend }) {
  const [low, high] = [Math.min(...trend), Math.max(...trend)];
  const scale = Math.max(high - low, LEVEL);
  const heightOf = (rating) => 12 - (20 * (rating - (low + high) / 2)) / scale;
  const points = trend.map((rating, place) => `${PARTS - trend.length + place},${heightOf(rating).toFixed(1)}`);
  const attributes = { class: "trend", viewBox: `0 0 ${PARTS - 1} 24`, preserveAspectRatio: "none", "aria-hidden": "true" };
  return svg("svg", attributes, svg("polyline", { points: points.join(" ") }));
}

/** The change of a rating in 24 hours, with its sign. */
function changeOf({ rating, error, day_ago: before }) {
  if (before === null || error === null) return "–";
  const change = whole(rating - before);
  if (!change) return "0";
  return html("span", { class: change > 0 ? "good" : "bad" }, `${change > 0 ? "+" : "−"}${Math.abs(change)}`);
}

function matchRows(matches) {
  return matches.map((each) => row([
    matchLink(each, gameText(each.game)), ...each.players,
    outcome(each),
    time(each.ended_at),
  ]));
}

/** The result of a match, and why it ended, if not by the rules. */
function outcome({ players, winner, reason }) {
  const result = resultText({ winner }, players);
  return reason === "rules" ? result : gettext("%(result)s (%(reason)s)", { result, reason: told(reason) });
}

function matchLink({ match }, text) {
  return pages ? html("a", { href: `${pages}/matches/${match}`, title: match }, text) : html("span", { title: match }, text);
}

function nameOf({ name }, house) {
  if (house.includes(name)) return name;
  return html("a", { href: `#team=${encodeURIComponent(name)}` }, name);
}

function chosenTeam() {
  return new URLSearchParams(location.hash.slice(1)).get("team") || null;
}

function showTeam({ team, accounts, versions, matches, plots }) {
  if (!isNew("team", team, accounts, versions, matches, plots)) return;
  at("team-name").textContent = team;
  at("accounts").textContent = accounts?.length ? gettext("Accounts: %(names)s", { names: listText(accounts) }) : "";
  const drawn = Object.entries(plots).filter(([, plot]) => plot).flatMap(([game, plot]) => [
    html("h3", {}, gameText(game)),
    ...new DOMParser().parseFromString(plot, "text/html").body.childNodes,
  ]);
  at("plot").replaceChildren(...drawn);
  at("versions").replaceChildren(...versions.reverse().map((each) => row([each.version, time(each.at)])));
  at("team-matches").replaceChildren(...matchRows(matches));
}

/** Show the tab that the address names, or the page of a team. */
function showTab() {
  const tabOf = (hash) => TABS.find((tab) => hash === `#tab=${tab}`) ?? "overview";
  const tab = chosenTeam() === null ? tabOf(location.hash) : "team";
  at("tabs").parentElement.dataset.shown = tab;
  for (const link of at("tabs").children) {
    if (tabOf(link.hash) === tab) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
}

function action(text, act) {
  const button = html("button", { type: "button", class: "button small" }, text);
  button.addEventListener("click", act);
  return button;
}

function choice(submission) {
  return action(`${submission.id}`, () => { shown = submission.id; refresh(); });
}

function stateOf({ state }) {
  return html("span", { class: KINDS[state] }, STATES[state]);
}

function showOwn(submissions) {
  at("no-submissions").hidden = submissions.length > 0;
  if (!isNew("own", submissions)) return;
  at("own-submissions").replaceChildren(
    ...submissions.reverse().map((each) => row(
      [choice(each), each.file, time(each.at), stateOf(each), STAGES[each.stage], told(each.reason)],
    )),
  );
}

function showOne(submission) {
  at("one").hidden = false;
  if (!isNew("one", submission)) return;
  const { state, stage, reason } = submission;
  at("which").textContent = gettext("Submission %(number)s: %(state)s", { number: submission.id, state: STATES[state] });
  at("reason").textContent = told(reason);
  showSteps(state, stage);
  at("log").textContent = submission.log;
  at("uses").replaceChildren(
    ...submission.uses.reverse().map((each) => row(
      [each.match, { number: gettext("%(number)s s", { number: numberText(each.cpu_s, 2) }) }, { number: `${each.memory_mb} MiB` }, told(each.end)],
    )),
  );
}

/** The stages as steps: those before the current one are done, and all are once it is accepted. */
function showSteps(state, stage) {
  const names = Object.keys(STAGES);
  const current = state === "accepted" ? names.length : state === "queued" ? -1 : names.indexOf(stage);
  at("steps").replaceChildren(...names.map((name, place) => {
    const isDone = place < current, isCurrent = place === current;
    const isBad = isCurrent && state !== "running";
    const kind = isDone ? "done" : isBad ? "bad" : isCurrent ? "now" : null;
    const mark = isDone ? "✓" : isBad ? "✗" : `${place + 1}`;
    return html("li", { class: kind, "data-mark": mark, "aria-current": isCurrent && "step" }, STAGES[name]);
  }));
}

async function change(name, value) {
  try {
    showAll(await ask(`staff/${name}/${encodeURIComponent(value)}`, { method: "PUT" }));
    at("message").textContent = "";
  } catch (error) {
    at("message").textContent = error.message;
  }
}

function showAll({ submissions, banned, workers, ladder_matches: matches }) {
  at("staff").hidden = false;
  if (!isNew("all", submissions, banned, workers, matches)) return;
  at("most").textContent = ngettext("The ladders play at most %(num)s match at once.", "The ladders play at most %(num)s matches at once.", matches);
  at("workers").replaceChildren(
    ...workers.map(({ address, cores, fault }) => row(
      [address || gettext("this machine"), cores ? numberText(cores, 0) : "", fault ? html("span", { class: "bad" }, told(fault)) : gettext("plays")],
    )),
  );
  const waiting = submissions.filter((each) => each.waiting).length;
  const running = submissions.find((each) => each.state === "running");
  at("queue").textContent =
    running
      ? gettext("%(num)s in the queue; submission %(number)s is at the stage %(stage)s.", { num: waiting, number: running.id, stage: STAGES[running.stage] })
      : gettext("%(num)s in the queue; none is handled.", { num: waiting });
  at("all").replaceChildren(
    ...submissions.reverse().map((each) => {
      const ban = banned.includes(each.team) ? "unban" : "ban";
      const actions = html("span", { class: "row nowrap" }, action(ban === "ban" ? gettext("ban") : gettext("unban"), () => change(ban, each.team)));
      if (each.state === "failed" && !each.waiting) {
        actions.append(action(gettext("retry"), () => change("retry", each.id)));
      }
      const { team, account, file, stage, reason } = each;
      return row([choice(each), team, account, file, time(each.at), stateOf(each), STAGES[stage], told(reason), actions]);
    }),
  );
}

async function refresh() {
  try {
    showState(await ask("state"));
    const team = chosenTeam();
    at("team").hidden = team === null;
    const record = team && (await ask(`teams/${encodeURIComponent(team)}`));
    if (record) showTeam(record);
    at("not-logged-in").hidden = you !== null;
    if (!you) return;
    const submissions = record ? record.submissions : you.team && (await ask("submissions"));
    at("own").hidden = record !== null && !submissions;
    at("whose").textContent = record ? gettext("Submissions of %(team)s", { team }) : gettext("Your submissions");
    showOwn(submissions ?? []);
    if (you.staff) showAll(await ask("staff"));
    if (shown !== null) showOne(await ask(`submissions/${shown}`));
  } catch (error) {
    at("message").textContent = error.message;
  }
}

at("account").addEventListener("submit", async (event) => {
  event.preventDefault();
  const bytes = new TextEncoder().encode(`${at("name").value}:${at("token").value}`);
  authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  try {
    you = (await ask("state")).you;
    if (!you?.staff) await ask("submissions");
    at("message").textContent = "";
    at("account").hidden = true;
    at("upload").hidden = !you.team;
    at("author").textContent = you.staff
      ? gettext("What administrators hand in is only tested; also after the deadline.")
      : gettext("You hand in for %(team)s.", { team: you.team });
  } catch (error) {
    authorization = you = null;
    at("message").textContent = error.message;
  }
  refresh();
});

// Hands in what `found` promises: a file, or the files of a folder with their paths.
async function handIn(found) {
  try {
    const { name, body } = await packed(await found);
    const path = `submissions/${encodeURIComponent(name)}`;
    shown = (await ask(path, { method: "PUT", body })).id;
    at("message").textContent = "";
    at("upload").reset();
    showChosen();
  } catch (error) {
    at("message").textContent = error.message;
  }
  refresh();
}

const chosenFiles = () => [...(at("file").files.length ? at("file").files : at("folder").files)];

function showChosen() {
  const [first, ...more] = chosenFiles();
  const path = first && (first.webkitRelativePath.split("/")[0] || first.name);
  at("chosen").textContent = !first || !more.length ? path ?? "" : ngettext("%(path)s, %(num)s file", "%(path)s, %(num)s files", more.length + 1, { path });
}

at("upload").addEventListener("change", showChosen);
at("upload").addEventListener("submit", (event) => {
  event.preventDefault();
  handIn(chosenFiles().map((file) => ({ path: file.webkitRelativePath || file.name, file })));
});

// A bot can be dropped anywhere on the page.
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  at("drop").classList.add("is-over");
});
document.addEventListener("dragleave", (event) => event.relatedTarget || at("drop").classList.remove("is-over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  at("drop").classList.remove("is-over");
  if (you?.team) handIn(dropped(event.dataTransfer));
});

at("grades").addEventListener("click", async () => {
  try {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await (await answerTo("staff/grades.csv")).blob());
    link.download = "grades.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    at("message").textContent = error.message;
  }
});

at("extend").addEventListener("submit", (event) => {
  event.preventDefault();
  change("extend", new Date(at("until").value).toISOString());
});

addEventListener("hashchange", () => {
  if (chosenTeam() !== null) {
    shown = null;
    at("one").hidden = true;
  }
  at("own").hidden = true; // it may have the submissions of another team
  showTab();
  refresh();
});

// A link of playout-competition accounts: the token is not kept in the address.
const invited = new URLSearchParams(location.hash.slice(1));
if (invited.has("token")) {
  history.replaceState(null, "", location.pathname);
  at("name").value = invited.get("account");
  at("token").value = invited.get("token");
  at("account").requestSubmit();
}

showTab();
refresh();
setInterval(refresh, REFRESH_MS);
