// How boards with dice are drawn: the points of backgammon, and the scores of pig. A page that loads
// this fills `withDice` of pieces.js; other pages do without.

import { html, svg } from "./elements.js";
import { OWNERS, withDice } from "./pieces.js";
import { afterSteps, isTray, TRAYS } from "./points.js";
import { gettext, told } from "./texts.js";

/** The width of a cell, the height of a point, the room for dice between the rows of points, and the
 * size of a die there. */
const [CELL, POINT, DICE_ROOM, DIE] = [40, 200, 40, 30];
/** The side of the doubling cube, and its distance from the middle of the board if it has an owner. */
const [CUBE, CUBE_AWAY] = [32, 56];
/** The width and the height of the place of a player's points, and the gaps between the places. */
const [SCORE, SCORE_HEIGHT, SCORE_GAP] = [90, 150, 5];

/** The radius of a checker, and the height of one that was borne off. */
const [CHECKER, EDGE] = [18, 11];

/** The checkers of a player on a point, from its edge, the upper one if `isUpper`, to its middle; more
 * than five of them overlap. `isTray`: they were borne off, and are seen from the side. */
function checkers(owner, count, { height, isUpper, isTray }) {
  const size = isTray ? EDGE + 1 : 2 * CHECKER + 1;
  const step = Math.min(size, (height - size) / Math.max(1, count - 1));
  const drawn = Array.from({ length: count }, (_, at) => {
    const y = (isUpper ? 1 : -1) * (at * step + size / 2 - height / 2);
    if (isTray) return svg("rect", { class: "piece-disc", x: -16, y: y - EDGE / 2, width: 32, height: EDGE, rx: 2 });
    const disc = [svg("circle", { class: "piece-disc", r: CHECKER }), svg("circle", { class: "details", r: CHECKER - 6 })];
    const isCounted = count > 5 && at === count - 1;
    const number = isCounted ? [svg("text", { class: "checkers-number", y: 5 }, String(count))] : [];
    return svg("g", { transform: `translate(0 ${y})` }, svg("g", {}, ...disc, ...number));
  });
  return svg("g", { class: OWNERS[owner] }, ...drawn);
}

/** The places of the pips of a die, by their number, in quarters of its side from its centre. */
const PIPS = [
  [],
  [[0, 0]],
  [[-1, -1], [1, 1]],
  [[-1, -1], [0, 0], [1, 1]],
  [[-1, -1], [1, -1], [-1, 1], [1, 1]],
  [[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]],
  [[-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]],
];

/** A die with a number, negative for one that is used; numbers above 6 are written. */
function die(number, side) {
  const [shown, half] = [Math.abs(number), side / 2];
  const face = svg("rect", { class: "face", x: -half, y: -half, width: side, height: side, rx: side / 6 });
  const pips = (PIPS[shown] ?? []).map(([x, y]) => svg("circle", { cx: (x * side) / 4, cy: (y * side) / 4, r: side / 10 }));
  const text = PIPS[shown] ? [] : [svg("text", { class: "die-number", y: side * 0.2, "font-size": side * 0.55 }, String(shown))];
  return svg("g", { class: number < 0 ? "used-die" : "die" }, face, ...pips, ...text);
}

/** The doubling cube on the bar: in the middle, or on the side of its owner. A double that is offered
 * is on the side of the player who may take it. */
function cube([number, player], { columns, placeOf }) {
  const owner = Math.abs(player);
  const away = owner && (placeOf(TRAYS[owner - 1])[0] === 0 ? -CUBE_AWAY : CUBE_AWAY);
  const face = svg("rect", { class: "face", x: -CUBE / 2, y: -CUBE / 2, width: CUBE, height: CUBE, rx: 4 });
  const text = svg("text", { class: "die-number", y: CUBE * 0.2, "font-size": CUBE * 0.55 }, String(number));
  const place = `translate(${(columns / 2 - 0.5) * CELL} ${POINT + DICE_ROOM / 2 + away})`;
  return svg("g", { class: player < 0 ? "offered-cube" : "cube", transform: place }, face, text);
}

/** The points as triangles of two colours, the bar and the trays. */
function groundOfPoints({ columns, placeOf }, cells, height) {
  const [bar, tray] = [columns / 2 - 1, columns - 1];
  const drawn = ["", ""];
  for (const cell of cells) {
    const [row, column] = placeOf(cell);
    if (column === bar || column === tray) continue;
    const [edge, away] = row === 0 ? [0, 1] : [height, -1];
    drawn[(row + column - (column > bar)) % 2] += `M${column * CELL} ${edge}h${CELL}L${(column + 0.5) * CELL} ${edge + away * POINT * 0.9}z`;
  }
  const rect = (column) => svg("rect", { class: "frame", x: column * CELL, y: 0, width: CELL, height });
  const paths = drawn.map((d, at) => svg("path", { class: `point is-${at ? "light" : "dark"}`, d }));
  return [...paths, rect(bar), rect(tray)];
}

/** The points of a player below a disc, or those of this turn below the die. */
function score(owner, points, isTurn) {
  const parts = isTurn ? [] : [svg("circle", { class: `piece-disc ${OWNERS[owner]}`, cy: -42, r: 14 })];
  return svg("g", {}, ...parts, svg("text", { class: "score", y: isTurn ? 55 : 38 }, isTurn ? `+${points}` : points));
}

/** By geometry: the size of a cell, the size of the board, the centre of a cell by its place, the
 * place and the size of the dice, and what is drawn below the cells and on them. */
const boards = {
  points: {
    size: [CELL, POINT],
    area: ({ columns }) => [columns * CELL, 2 * POINT + DICE_ROOM],
    centre: (row, column) => [(column + 0.5) * CELL, POINT / 2 + row * (POINT + DICE_ROOM)],
    dice: ({ columns }) => [(columns / 2 + 3) * CELL, POINT + DICE_ROOM / 2, DIE],
    ground: groundOfPoints,
    piece(key, cell, isUpper) {
      const [owner, count] = key.split(" ").map(Number);
      return checkers(owner, count, { height: POINT - 4, isUpper, isTray: isTray(cell) });
    },
  },
  scores: {
    size: [SCORE, SCORE_HEIGHT],
    area: ({ columns }) => [columns * (SCORE + SCORE_GAP) - SCORE_GAP, SCORE_HEIGHT],
    centre: (row, column) => [SCORE / 2 + column * (SCORE + SCORE_GAP), SCORE_HEIGHT / 2],
    dice: () => [1.5 * SCORE + SCORE_GAP, SCORE_HEIGHT / 2 - 22, 54],
    piece: (key, cell) => score(...key.split(" "), cell === 1),
  },
};

/** More moves than a die has sides are rolls of two dice, or positions that are drawn. */
const SIDES = 6;

/** A list of rolls, and the button that chooses one of them. */
function rollChoice(board, moves, onChoose) {
  const text = (name) => (board.geometry === "points" ? [...name].join("-") : name);
  const options = moves.map(({ name }, at) => html("option", { value: at }, text(name)));
  const list = html("select", { "aria-label": gettext("Roll") }, ...options);
  const button = html("button", { type: "button", class: "button primary" }, told("Roll"));
  button.addEventListener("click", () => onChoose(moves[list.value]));
  return [list, button];
}

Object.assign(withDice, { boards, die, cube, afterSteps, SIDES, rollChoice });
