// Draws pieces as SVG, around the origin; a cell is 40 units wide.

import { FIGURES } from "./figures.js";
import { svg } from "./elements.js";

export const OWNERS = { 1: "first", 2: "second" };
const MARKS = {
  1: { class: "first", d: "M-10.5-10.5 10.5 10.5M10.5-10.5-10.5 10.5" },
  2: { class: "second", d: "M-11.5 0a11.5 11.5 0 1 0 23 0a11.5 11.5 0 1 0-23 0z" },
};
/** How boards with dice are drawn: filled by dice_boards.js, which the page of a match without dice
 * does not load. `boards` has the geometries of their own. */
export const withDice = { boards: {} };
const RADII = { disc: 15, stone: 17.5, chip: 15.5 };

/** A crown in the middle of a piece. */
const CROWN = "M-9 6.5H9L10.5-5 4.5-.5 0-7.5-4.5-.5-10.5-5z";

/** The pieces that belong to nobody, by kind. Lines lead to the dots in the cells beside theirs. */
const UNOWNED = {
  dot: "M-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0z",
  "horizontal line": "M-40-4H40V4H-40z",
  "vertical line": "M-4-40H4V40H-4z",
  arrow: "M-15-11Q-15-15-11-15H11Q15-15 15-11V11Q15 15 11 15H-11Q-15 15-15 11z",
};

/** The ground of a box between lines. */
const BOX = "M-31-31H31V31H-31z";

/** A text that names the piece on a cell of a position: its player, and its kind if there are several
 * kinds, or the number of pieces if a cell can have several. */
export function keyOf({ cells, kinds, counts }, cell) {
  if (counts) return `${cells[cell]} ${counts[cell]}`;
  return kinds?.[cell] ? `${cells[cell]} ${kinds[cell]}` : String(cells[cell]);
}

/** A piece by its `keyOf`, in a style; `isStore`: whether its cell is a store of seeds. */
export function pieceOf(style, key, isStore = false) {
  const [value, ...words] = key.split(" ");
  const kind = words.join(" ");
  if (style === "seeds") return seeds(OWNERS[value], Number(kind), isStore);
  const isFigure = style === "figure" || kind === "pawn";
  if (isFigure && FIGURES[kind] && OWNERS[value]) return figure(OWNERS[value], FIGURES[kind]);
  if (UNOWNED[kind]) return svg("path", { class: "piece-neutral", d: UNOWNED[kind] });
  if (kind === "box") return svg("path", { class: OWNERS[value], d: BOX });
  const plain = piece(style, Number(value));
  if (/^\d+$/.test(kind)) return svg("g", { class: OWNERS[value] }, plain, svg("text", { class: "piece-number", y: 5 }, kind));
  if (kind === "dead stone") return svg("g", { class: "dead" }, plain);
  if (kind !== "king") return plain;
  return svg("g", { class: OWNERS[value] }, plain, svg("path", { class: "crown", d: CROWN }));
}

/** A piece by its `keyOf` as a drawing of its own, in the colours of a board. */
export function drawingOf({ piece: style, surface, dark_begins: isDarkFirst }, key) {
  const colours = ["board", `is-${surface}`, isDarkFirst ? "is-dark-first" : ""].join(" ");
  return svg("svg", { viewBox: "-20 -20 40 40", class: colours }, pieceOf(style, key));
}

/** A piece of player 1 or 2 in a style; other values are drawn as numbers. */
export function piece(style, value) {
  const owner = OWNERS[value];
  if (style === "chip") {
    const rim = svg("circle", { class: "rim", r: 10.5 });
    return svg("g", { class: "piece-chip" }, svg("circle", { r: RADII.chip }), rim);
  }
  if (!owner) return svg("text", { class: "piece-number", y: 5 }, String(value));
  if (style === "mark") return svg("path", { ...MARKS[value], class: `piece-mark ${owner}` });
  return svg("circle", { class: `piece-${style} ${owner}`, r: RADII[style] ?? RADII.disc });
}

/** The angle between seeds that lie around the middle of a pit without gaps, in radians. */
const GOLDEN_ANGLE = 2.39996;

/** The seeds in a pit, as dots and as a number: at the end of a store, otherwise in the corner of the cell. */
function seeds(owner, count, isStore) {
  const [r, height] = [count > 24 ? 1.3 : 2.1, isStore ? 2.3 : 1];
  const dots = Array.from({ length: count }, (_, at) => {
    const away = 11.5 * Math.sqrt((at + 0.5) / Math.max(count, 5));
    const [x, y] = [away * Math.cos(at * GOLDEN_ANGLE), height * away * Math.sin(at * GOLDEN_ANGLE)];
    return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0-${2 * r} 0z`;
  });
  const number = svg("text", { class: `piece-number ${owner}`, ...(isStore ? { y: 33 } : { x: 13.5, y: 19 }) }, String(count));
  return svg("g", { class: owner }, svg("path", { class: "seeds", d: dots.join("") }), number);
}

function figure(owner, { body, details }) {
  const lines = svg("path", { class: "details", d: details });
  return svg("g", { class: `figure ${owner}` }, svg("path", { class: "body", d: body }), lines);
}
