// The captured pieces of each player, beside the name of the opponent who has captured them.

import { kindText } from "./board_layout.js";
import { html } from "./elements.js";
import { drawingOf } from "./pieces.js";
import { gettext, listText } from "./texts.js";

/** More pieces of a kind are shown as one, and their number. */
const DRAWN = 3;

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

/** Show in `place` what `player` has captured since the first position, and a lead. */
export function showCaptures(place, board, first, now, player) {
  const { material, piece } = board;
  const pieces = captured(material, first, now, 3 - player);
  const lead = leadOf(material, now, player);
  const names = listText(pieces.map(([kind, count]) => `${count} ${kindText({ piece }, kind)}`));
  const words = [
    names && gettext("captured: %(pieces)s", { pieces: names }),
    lead > 0 && gettext("ahead by %(number)s", { number: lead }),
  ];
  const text = words.filter(Boolean).join(gettext("; "));
  if ((place.dataset.shown ?? "") === text) return;
  place.dataset.shown = text;
  const draw = (kind) => drawingOf(board, `${3 - player} ${kind}`);
  const group = (...children) => html("span", { "aria-hidden": "true" }, ...children);
  const groups = pieces.map(([kind, count]) => {
    if (count > DRAWN) return group(draw(kind), String(count));
    return group(...Array.from({ length: count }, () => draw(kind)));
  });
  if (lead > 0) groups.unshift(group(`+${lead}`));
  place.replaceChildren(...(text ? [html("span", { class: "visually-hidden" }, text)] : []), ...groups);
}

function countOf({ cells, kinds }, owner, kind) {
  return cells.filter((each, cell) => each === owner && kinds[cell] === kind).length;
}
