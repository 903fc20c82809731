// The lobby: who and what is here, kept up to date; starting a match.

import { session } from "./account.js";
import { Asking } from "./asking.js";
import { showConnection } from "./connection.js";
import { showList } from "./keyed.js";
import { Link } from "./link.js";
import { LiveBoards } from "./live.js";
import { matchAddress, openMatch } from "./navigation.js";
import { clockText, gameText, Overview } from "./overview.js";
import { html } from "./svg.js";

/** Results that are shown. */
const ROWS = 10;

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);

const overview = new Overview();
/** Seeks that are for this person, and matches that this person plays, by id. */
const challenges = new Map();
const mine = new Map();
/** Matches that were begun before this page was opened: one came here on purpose. */
const known = new Set(session()?.playing);

const link = new Link({ role: "human", views: true, onEvent: handle, onState: showConnection });
const boards = new LiveBoards(find("matches"), link, (number) => {
  find("no-matches").hidden = number > 0;
});
const asking = new Asking(link, data.games);

function handle(event) {
  boards.handle(event);
  if (overview.apply(event)) {
    for (const seek of event.closed ?? []) challenges.delete(seek);
    show();
  } else handlers[event.type]?.(event);
}

const handlers = {
  welcome(event) {
    challenges.clear();
    mine.clear();
    showToMe();
    asking.welcome(event);
    asking.showOpponents(overview.players.values());
    link.request({ type: "subscribe_lobby" }).catch(() => {});
  },

  seeking(event) {
    if (event.re !== undefined || event.name === link.name || !event.opponent) return;
    challenges.set(event.seek, event);
    showToMe();
  },

  started(event) {
    if (!event.seat) return;
    if (asking.isWaiting && !known.has(event.match)) {
      openMatch(event.match);
      return;
    }
    known.add(event.match);
    mine.set(event.match, event);
    showToMe();
  },

  ended({ match }) {
    if (mine.delete(match)) showToMe();
  },

  notice({ code, text }) {
    if (code === "bot_failed") asking.fail(text);
  },
};

// What is shown.

function show() {
  const { players, seeks, matches, outcomes, totals } = overview;
  for (const [name, number] of Object.entries(totals)) find(`total-${name}`).textContent = number;
  boards.show(matches);
  say("more-matches", more(totals.matches - matches.size, "more match is", "more matches are", "being played."));
  showPeople(players, totals);
  showSeeks(seeks);
  showResults(outcomes);
  showToMe();
  asking.showOpponents(players.values());
}

function showPeople(players, totals) {
  showList(find("people"), "key", players, ({ name, role, guest }) =>
    html(
      "li",
      {},
      guest
        ? html("span", { class: "name" }, name)
        : html("a", { class: "name", href: `/players/${encodeURIComponent(name)}` }, name),
      ...(role === "bot" ? [html("span", { class: "chip" }, "bot")] : []),
      ...(name === link.name ? [html("span", { class: "chip accent" }, "you")] : []),
    ),
  );
  find("nobody").hidden = players.size > 0;
  const others = totals.humans + totals.bots - players.size;
  say("more-people", others > 0 ? `and ${others} more` : "");
}

function showSeeks(seeks) {
  const open = new Map([...seeks].filter(([, seek]) => !seek.opponent));
  showList(find("seeks"), "key", open, seekItem);
  find("no-seeks").hidden = open.size > 0;
}

function seekItem(seek) {
  const { name, game, rated, seat } = seek;
  const about = [gameText(game), clockText(seek.clock)];
  if (rated) about.push("rated");
  if (seat) about.push(seat === 1 ? "you move second" : "you move first");
  const who = html(
    "div",
    {},
    html("strong", { class: "name" }, name),
    html("br"),
    html("span", { class: "muted small" }, about.join(", ")),
  );
  const last =
    name === link.name
      ? html("span", { class: "chip accent" }, "yours")
      : button("Play", `Play ${gameText(game)} against ${name}`, () => asking.accept(seek, find("seeks-error")));
  return html("li", { class: "seek" }, who, last);
}

function showResults(outcomes) {
  const body = find("results");
  const rows = new Map(outcomes.map((outcome) => [outcome.match, outcome]));
  // Those that the page came with are older than all that the server has told of since.
  const older = [...body.children].filter(({ dataset }) => !rows.has(dataset.match));
  for (const row of older.slice(0, Math.max(0, ROWS - rows.size))) rows.set(row.dataset.match, null);
  showList(body, "match", rows, resultRow);
  find("results-card").hidden = rows.size === 0;
  find("no-results").hidden = rows.size > 0;
}

function resultRow({ match, players: [first, second], game, plies, text }) {
  const name = html("a", { href: matchAddress(match) }, `${first} – ${second}`);
  return html(
    "tr",
    {},
    html("td", { class: "name" }, name, html("br"), html("span", { class: "muted small" }, gameText(game))),
    html("td", { class: "name" }, text),
    html("td", { class: "number" }, String(plies)),
  );
}

/** What waits for this person: challenges, and matches that are being played. */
function showToMe() {
  const items = new Map();
  for (const [match, each] of mine) items.set(match, { text: matchText(each), match });
  for (const [seek, each] of challenges) items.set(seek, { text: challengeText(each), seek: each });
  showList(find("challenges"), "key", items, ({ text, match, seek }) => {
    const error = html("p", { class: "error", role: "alert" });
    const act = match
      ? html("a", { class: "button small primary", href: matchAddress(match), "aria-label": `Back to the match: ${text}` }, "Back to the match")
      : button("Accept", `Accept: ${text}`, () => asking.accept(seek, error), "primary");
    const line = html("div", { class: "row apart" }, html("p", { class: "name" }, text), act);
    return html("div", { class: "card challenge" }, line, error);
  });
}

function matchText({ players: [first, second], game }) {
  return `You are playing: ${first} against ${second}, ${gameText(game)}.`;
}

function challengeText({ name, game, clock, rated, seat }) {
  const seats = { 1: ", you move second", 2: ", you move first" };
  const terms = `${clockText(clock)}${rated ? ", rated" : ""}${seats[seat] ?? ""}`;
  return `${name} challenges you to ${gameText(game)}: ${terms}.`;
}

function button(text, label, act, kind = "") {
  const element = html("button", { type: "button", class: `button small ${kind}`, "aria-label": label }, text);
  element.addEventListener("click", act);
  return element;
}

function more(number, one, many, rest) {
  return number > 0 ? `${number} ${number === 1 ? one : many} ${rest}` : "";
}

function say(id, text) {
  find(id).textContent = text;
  find(id).hidden = !text;
}
