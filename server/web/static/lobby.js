// The lobby: players, seeks, matches and results, kept up to date; and the form for a new match.

import { session } from "./account.js";
import { showConnectionStatus } from "./connection_status.js";
import { html } from "./elements.js";
import { updateKeyedList } from "./keyed_list.js";
import { LiveBoards } from "./live_boards.js";
import { sentence } from "./match_text.js";
import { matchAddress, openMatch, opensDialog } from "./navigation.js";
import { NewMatchForm } from "./new_match.js";
import { OwnMatches, isByCorrespondence } from "./own_matches.js";
import { Overview } from "./overview.js";
import { PushSwitch } from "./push.js";
import { showRating } from "./seek_ratings.js";
import { ServerConnection } from "./server_connection.js";
import { gettext, listText, ngettext, pgettext, told } from "./texts.js";
import { clockText, gameText, titles } from "./wording.js";

/** How many results are shown. */
const ROWS = 10;

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);

for (const { name, title } of data.games) titles.set(name, title);

const overview = new Overview();
/** Challenges to this person, and matches that this person plays, by id. */
const challenges = new Map();
const ownMatches = new Map();
/** Open seeks of this person that are not listed: with a link, or for one opponent; by id. */
const unlisted = new Map();
/** Matches that are not opened when `started` arrives: the person left them for the lobby, or
 * their page has been opened already. */
const known = new Set(session()?.playing);

const connection = new ServerConnection({
  role: "human",
  views: true,
  onEvent: receive,
  onState: showConnectionStatus,
});
const boards = new LiveBoards(find("matches"), connection, (number) => {
  find("no-matches").hidden = number > 0;
});
const byCorrespondence = new OwnMatches(connection);
const push = new PushSwitch(find("push"), find("push-fault"), connection);
const newMatch = new NewMatchForm(connection, data);
opensDialog(find("new-rules"));

function receive(event) {
  boards.receive(event);
  byCorrespondence.receive(event);
  if (overview.apply(event)) {
    for (const seek of event.closed ?? []) challenges.delete(seek);
    show();
  } else handlers[event.type]?.(event);
}

const handlers = {
  welcome(event) {
    challenges.clear();
    ownMatches.clear();
    unlisted.clear();
    showForMe();
    newMatch.welcome(event);
    push.welcome(event).catch(() => {});
    newMatch.showOpponents(overview.players.values());
    connection.request({ type: "subscribe_lobby" }).catch(() => {});
  },

  seeking(event) {
    if (event.re !== undefined) return;
    if (event.name === connection.name) {
      unlisted.set(event.seek, event);
      showSeeks();
    } else if (event.opponent) {
      challenges.set(event.seek, event);
      showForMe();
    }
  },

  started(event) {
    if (!event.seat) return;
    if (newMatch.isWaiting && !known.has(event.match)) {
      newMatch.finish();
      openMatch(event.match);
    }
    if (!known.has(event.match)) forgetSeek(event);
    known.add(event.match);
    if (isByCorrespondence(event)) return;
    ownMatches.set(event.match, event);
    showForMe();
  },

  update({ match, to_move: toMove }) {
    const own = ownMatches.get(match);
    if (!own) return;
    ownMatches.set(match, { ...own, to_move: toMove });
    showForMe();
  },

  ended({ match }) {
    if (ownMatches.delete(match)) showForMe();
  },

  notice({ code, text }) {
    if (code === "bot_failed") newMatch.fail(told(text));
    else if (["bot_queued", "game_compiling"].includes(code)) newMatch.say(sentence(told(text)));
  },
};

// The display.

function show() {
  const { players, matches, outcomes, totals } = overview;
  const { games, ...numbers } = totals;
  for (const [name, number] of Object.entries(numbers)) find(`total-${name}`).textContent = number;
  newMatch.showPlaying(games);
  boards.show(matches);
  const others = totals.matches - matches.size;
  const text = ngettext("%(num)s more match is being played.", "%(num)s more matches are being played.", others);
  showText("more-matches", others > 0 ? text : "");
  showPeople(players, totals);
  showSeeks();
  showResults(outcomes);
  showForMe();
  newMatch.showOpponents(players.values());
}

function showPeople(players, totals) {
  updateKeyedList(find("people"), "key", players, ({ name, role, guest }) =>
    html(
      "li",
      {},
      guest
        ? html("span", { class: "name" }, name)
        : html("a", { class: "name", href: `/players/${encodeURIComponent(name)}` }, name),
      ...(role === "bot" ? [html("span", { class: "chip" }, gettext("bot"))] : []),
      ...(name === connection.name ? [html("span", { class: "chip accent" }, pgettext("player", "you"))] : []),
    ),
  );
  find("nobody").hidden = players.size > 0;
  const others = totals.humans + totals.bots - players.size;
  showText("more-people", others > 0 ? gettext("and %(num)s more", { num: others }) : "");
}

function showSeeks() {
  const listed = [...overview.seeks].filter(([, seek]) => !seek.opponent);
  const open = new Map([...unlisted, ...listed]);
  updateKeyedList(find("seeks"), "key", open, seekItem);
  find("seeks-section").hidden = open.size === 0;
}

function seekItem(seek) {
  const { name, game, rated, seat, opponent } = seek;
  const isOwn = name === connection.name;
  const clock = seek.clock ?? gettext("any clock");
  const terms = [gameText(game), clockText(seek.clock)];
  if (rated) terms.push(gettext("rated"));
  if (seat) terms.push((seat === 1) === isOwn ? gettext("you move first") : gettext("you move second"));
  if (opponent) terms.push(gettext("for %(name)s", { name: opponent }));
  const rating = html("span", { class: "muted small" });
  if (!isOwn) showRating(rating, name, game);
  const description = html(
    "div",
    {},
    html("strong", { class: "name" }, name),
    " ",
    rating,
    html("br"),
    html("span", { class: "muted small", title: `${game}, ${clock}` }, listText(terms)),
  );
  const label = gettext("Play %(game)s against %(name)s", { game: gameText(game), name });
  const controls = isOwn
    ? ownControls(seek)
    : [button(gettext("Play"), label, () => newMatch.accept(seek, find("seeks-error")))];
  return html("li", { class: "seek" }, description, html("span", { class: "row nowrap" }, ...controls));
}

/** A seek that stays open without its page can be closed here, and its link shown again. */
function ownControls(seek) {
  if (newMatch.isOf(seek.seek)) return [html("span", { class: "chip accent" }, pgettext("seek", "yours"))];
  const game = gameText(seek.game);
  const cancel = button(gettext("Cancel"), gettext("Cancel your seek for %(game)s", { game }), async () => {
    await connection.request({ type: "cancel", seek: seek.seek }).catch(() => {});
    if (unlisted.delete(seek.seek)) showSeeks();
  });
  if (seek.opponent || !unlisted.has(seek.seek)) return [cancel];
  const link = gettext("Show the link of your seek for %(game)s", { game });
  return [button(gettext("Link"), link, () => newMatch.showLink(seek)), cancel];
}

/** A match has begun: the seek of these terms that is not listed is taken to be its own. */
function forgetSeek({ game, players }) {
  for (const [key, seek] of unlisted) {
    if (seek.game === game && (!seek.opponent || players.includes(seek.opponent))) {
      unlisted.delete(key);
      showSeeks();
      return;
    }
  }
}

function showResults(outcomes) {
  const body = find("results");
  const rows = new Map(outcomes.map((outcome) => [outcome.match, outcome]));
  // Rows that came with the page are older than all results since.
  const older = [...body.children].filter(({ dataset }) => !rows.has(dataset.match));
  for (const row of older.slice(0, Math.max(0, ROWS - rows.size))) rows.set(row.dataset.match, null);
  updateKeyedList(body, "match", rows, resultRow);
  find("results-card").hidden = rows.size === 0;
  find("no-results").hidden = rows.size > 0;
}

function resultRow({ match, players: [first, second], game, plies, text }) {
  const name = html("a", { href: matchAddress(match) }, `${first} – ${second}`);
  return html(
    "tr",
    {},
    html("td", { class: "name" }, name, html("br"), html("span", { class: "muted small", title: game }, gameText(game))),
    html("td", { class: "name" }, told(text)),
    html("td", { class: "number" }, String(plies)),
  );
}

/** This person's own matches that are running, and the challenges to this person. */
function showForMe() {
  const items = new Map();
  for (const [match, each] of ownMatches) items.set(match, { text: matchText(each), match });
  for (const [seek, each] of challenges) items.set(seek, { text: challengeText(each), seek: each });
  updateKeyedList(find("challenges"), "key", items, ({ text, match, seek }) => {
    const error = html("p", { class: "error", role: "alert" });
    const control = match
      ? html("a", { class: "button small primary", href: matchAddress(match), "aria-label": gettext("Back to the match: %(text)s", { text }) }, gettext("Back to the match"))
      : button(gettext("Accept"), gettext("Accept: %(text)s", { text }), () => newMatch.accept(seek, error), "primary");
    const row = html("div", { class: "row apart" }, html("p", { class: "name" }, text), control);
    return html("div", { class: "card challenge" }, row, error);
  }, (element, { text }) => showName(element.querySelector(".name"), text));
}

/** Show a text, which a screen reader says when it has changed. */
function showName(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function matchText({ players: [first, second], game, to_move: toMove, seat }) {
  if (toMove === seat) return gettext("It is your turn: %(first)s against %(second)s, %(game)s.", { first, second, game: gameText(game) });
  return gettext("You are playing: %(first)s against %(second)s, %(game)s.", { first, second, game: gameText(game) });
}

function challengeText({ name, game, clock, rated, seat }) {
  const seats = { 1: gettext("you move second"), 2: gettext("you move first") };
  const terms = [clockText(clock), rated && gettext("rated"), seats[seat]].filter(Boolean);
  const values = { name, game: gameText(game), terms: listText(terms) };
  return gettext("%(name)s challenges you to %(game)s: %(terms)s.", values);
}

function button(text, label, onClick, kind = "") {
  const element = html("button", { type: "button", class: `button small ${kind}`, "aria-label": label }, text);
  element.addEventListener("click", onClick);
  return element;
}

function showText(id, text) {
  find(id).textContent = text;
  find(id).hidden = !text;
}
