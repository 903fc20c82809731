// Parses typed moves, and describes moves and results. Uses no element of a page.

import { withWays } from "./move_selection.js";
import { gettext, listText, ngettext, numberText, told } from "./texts.js";

const LISTED = 12;
/** A roll of two dice, and one of a die; others set a position up. */
const [PAIR, DIE] = [/^[1-6]{2}$/, /^\d{1,2}$/];

/** The numbers of a roll by the name of the server: the higher one first, as in "3-1". */
function numbersOf({ geometry }, name) {
  if (geometry !== "points" || !PAIR.test(name)) return name;
  return [...name].toSorted().toReversed().join("-");
}

/** A roll in a list of moves, before the move: "3-1:". A roll that a player chose is its number. */
export function rollText(board, name = "") {
  const numbers = numbersOf(board, name);
  return board.geometry !== "scores" && DIE.test(name) ? `${numbers}:` : numbers;
}

/** A roll in words. */
export function rolledText(board, name = "") {
  if (!DIE.test(name)) return gettext("set-up %(name)s", { name });
  return gettext("rolled %(numbers)s", { numbers: numbersOf(board, name) });
}

/** The legal move that `text` names, {move}, or why there is none, {fault}. */
export function parseMove(text, legalMoves) {
  const wanted = text.trim();
  if (!wanted) return { fault: gettext("Type a move first.") };
  const words = (name) => name.toLowerCase().split(/\s+/).toSorted().join(" ");
  const isWanted = ({ name }) => words(name) === words(wanted);
  const all = withWays(legalMoves);
  const move = all.find(({ name }) => name === wanted) ?? all.find(isWanted);
  if (move) return { move };
  const names = legalMoves.slice(0, LISTED).map(({ name }) => name);
  const values = { text: wanted.slice(0, 20), moves: listText(names), num: legalMoves.length - LISTED };
  if (values.num > 0) {
    return { fault: gettext("“%(text)s” is not possible here. Possible: %(moves)s and %(num)s more.", values) };
  }
  return { fault: gettext("“%(text)s” is not possible here. Possible: %(moves)s.", values) };
}

/** The player to move, or the result. */
export function statusText({ players, seat, toMove, result, isCounting, mustPass }) {
  if (result) return resultText(result, players, seat);
  if (!toMove) return ""; // own moves without a match, before a roll
  if (isCounting && toMove === seat) return gettext("Mark dead stones, then accept");
  if (isCounting) return gettext("%(name)s marks dead stones", { name: players[toMove - 1] });
  if (toMove === seat && mustPass) return gettext("You cannot move");
  return toMove === seat ? gettext("Your turn") : gettext("%(name)s to move", { name: players[toMove - 1] });
}

/** The result in words, for the person in `seat`, or for spectators. */
export function resultText({ winner }, players, seat = null) {
  if (winner > 0 && seat) return winner === seat ? gettext("You won") : gettext("You lost");
  if (winner > 0) return gettext("%(name)s won", { name: players[winner - 1] });
  return winner < 0 ? gettext("A tie") : gettext("No result");
}

/** Why the match ended so, "" where the rules decided it. */
export function reasonText({ reason, text }) {
  return reason === "rules" ? "" : told(text);
}

/** A move, what it did, what was rolled and, after the last move, the player who moves next, for a
 * screen reader. */
export function announcement({ player, view: last, views = [] }, record, did = "", isLast = true) {
  const [view, ...rolled] = [...views, last];
  const values = { name: record.players[player - 1], move: listText([told(view.name), did].filter(Boolean)) };
  const played = player === record.seat ? gettext("You play %(move)s", values) : gettext("%(name)s plays %(move)s", values);
  const text = [played, ...rolled.map(({ name }) => rolledText(record.board, name))].join("; ");
  return isLast && record.toMove ? followed(text, record) : gettext("%(text)s.", { text });
}

/** An open offer in words. */
export function offerText({ offer, player, lead }, { players, seat }) {
  if (offer === "score") return scoreOfferText(player, lead, players, seat);
  const isDraw = offer === "draw";
  if (player !== seat) {
    const name = { name: players[player - 1] };
    return isDraw ? gettext("%(name)s offers a draw.", name) : gettext("%(name)s asks to take a move back.", name);
  }
  const name = { name: players[2 - seat] };
  return isDraw
    ? gettext("You offer a draw. %(name)s can accept, or decline by a move.", name)
    : gettext("You ask to take a move back. %(name)s can accept, or decline by a move.", name);
}

/** The result of a score: `lead` are the points by which player 1 is ahead. */
export function leadText(lead, players) {
  const values = { name: players[lead > 0 ? 0 : 1], points: numberText(Math.abs(lead)) };
  return lead === 0 ? gettext("a tie") : gettext("%(name)s wins by %(points)s", values);
}

function scoreOfferText(player, lead, players, seat) {
  const result = leadText(lead ?? 0, players);
  if (player !== seat) return gettext("%(name)s offers to count: %(result)s.", { name: players[player - 1], result });
  const values = { name: players[2 - seat], result };
  return gettext("You offer to count: %(result)s. %(name)s can accept, or decline by a move.", values);
}

/** How an offer was closed that was not accepted. */
export function closedOfferText({ offer, player, how }, { players, seat }) {
  const closer = how === "withdrawn" ? player : 3 - player;
  const name = { name: players[closer - 1] };
  const texts = {
    draw: {
      withdrawn: [gettext("You have withdrawn the draw."), gettext("%(name)s has withdrawn the draw.", name)],
      declined: [gettext("You have declined the draw."), gettext("%(name)s has declined the draw.", name)],
    },
    score: {
      withdrawn: [gettext("You have withdrawn the score."), gettext("%(name)s has withdrawn the score.", name)],
      declined: [gettext("You have declined the score."), gettext("%(name)s has declined the score.", name)],
    },
    takeback: {
      withdrawn: [gettext("You have withdrawn the takeback."), gettext("%(name)s has withdrawn the takeback.", name)],
      declined: [gettext("You have declined the takeback."), gettext("%(name)s has declined the takeback.", name)],
    },
  };
  return texts[offer][how][closer === seat ? 0 : 1];
}

/** A takeback and the player who moves next, for a screen reader. */
export function takebackText({ player, ply }, record) {
  const values = { name: record.players[player - 1], ply };
  const taken =
    player === record.seat
      ? gettext("You take a move back, to move %(ply)s", values)
      : gettext("%(name)s takes a move back, to move %(ply)s", values);
  return followed(taken, record);
}

/** What has happened, and the player who moves next. */
function followed(text, record) {
  const next = record.toMove === record.seat ? gettext("your turn") : statusText(record);
  return gettext("%(text)s; %(next)s.", { text, next });
}

/** Which position is shown: after `ply` moves of the match, and `tried` moves of one's own. */
export function plyText(record, ply, tried) {
  const values = { ply, last: record.last };
  const texts = {
    pairs: gettext("After half-move %(ply)s of %(last)s", values),
    steps: gettext("After step %(ply)s of %(last)s", values),
    moves: gettext("After move %(ply)s of %(last)s", values),
  };
  const text = texts[record.countsPairs ? "pairs" : record.hasSteps ? "steps" : "moves"];
  if (!tried) return text;
  return ngettext("%(text)s and %(num)s move of your own", "%(text)s and %(num)s moves of your own", tried, { text });
}

/** What the game says of a position. */
export function noteText(note = "") {
  return listText(note.split(", ").map(told));
}

/** The text for `closing`, which the server sends before it stops. */
export function closingText({ seconds, kept }) {
  const left = Math.ceil(seconds);
  const when = ngettext("The server stops in %(num)s second at most.", "The server stops in %(num)s seconds at most.", left);
  const outcome = kept
    ? gettext("Matches that are not over by then go on when the server is back.")
    : gettext("Matches that are not over by then have no result.");
  return `${when} ${outcome}`;
}

/** A text as a sentence. */
export function sentence(text) {
  const ended = /[.!?…。]$/.test(text) ? text : gettext("%(text)s.", { text });
  return `${ended.charAt(0).toUpperCase()}${ended.slice(1)}`;
}

/** A luck in points, with its sign, as in the text of the server. */
export function luckText(luck) {
  const rounded = Math.round(1000 * luck) / 1000 || 0; // not -0
  return `${rounded < 0 ? "" : "+"}${numberText(rounded, 3)}`;
}

/** A rate from 0 to 1 as a percentage. */
export function percent(rate) {
  return gettext("%(number)s %%", { number: numberText(100 * rate, rate > 0 && rate < 1 ? 1 : 0) });
}
