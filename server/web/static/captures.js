// The captured pieces of each player, beside the name of the opponent who has captured them.

import { html, svg } from "./elements.js";
import { pieceOf } from "./pieces.js";

/** The pieces of player `owner` that were captured between two positions, as pairs of a kind and a
 * number, those of greater worth first. `material` has the worth of each kind. For each piece that
 * was promoted, one of the least worth is missing that was not captured. */
export function captured(material, first, now, owner) {
  const kinds = Object.keys(material).sort((one, other) => material[other] - material[one]);
  const missing = kinds.map((kind) => countOf(first, owner, kind) - countOf(now, owner, kind));
  const promoted = missing.reduce((sum, count) => sum + Math.max(0, -count), 0);
  missing[missing.length - 1] -= promoted;
  return kinds.map((kind, at) => [kind, missing[at]]).filter(([, count]) => count > 0);
}

/** By how much player `owner` is ahead, 0 or less if behind. */
export function leadOf(material, view, owner) {
  const worthOf = (player) =>
    Object.keys(material).reduce((sum, kind) => sum + material[kind] * countOf(view, player, kind), 0);
  return worthOf(owner) - worthOf(3 - owner);
}

/** Has the move of a player to `after` removed or replaced pieces of the opponent? */
export function isCapture(before, after, player) {
  const countIn = ({ cells }) => cells.filter((owner) => owner === 3 - player).length;
  return countIn(after) < countIn(before);
}

/** Show in `place` what `player` has captured since the first position, and a lead. */
export function showCaptures(place, { material, piece, surface }, first, now, player) {
  const pieces = captured(material, first, now, 3 - player);
  const lead = leadOf(material, now, player);
  const names = pieces.map(([kind, count]) => `${count} ${kind}`);
  const words = [names.length && `captured: ${names.join(", ")}`, lead > 0 && `ahead by ${lead}`];
  const text = words.filter(Boolean).join("; ");
  if (place.dataset.shown === text) return;
  place.dataset.shown = text;
  const draw = (kind) =>
    svg("svg", { viewBox: "-20 -20 40 40", class: `board is-${surface}` }, pieceOf(piece, `${3 - player} ${kind}`));
  const groups = pieces.map(([kind, count]) =>
    html("span", { "aria-hidden": "true" }, ...Array.from({ length: count }, () => draw(kind))),
  );
  const ahead = html("span", { "aria-hidden": "true" }, lead > 0 ? `+${lead}` : "");
  place.replaceChildren(html("span", { class: "visually-hidden" }, text), ...groups, ahead);
}

function countOf({ cells, kinds }, owner, kind) {
  return cells.filter((each, cell) => each === owner && kinds[cell] === kind).length;
}
