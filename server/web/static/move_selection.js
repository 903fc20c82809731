// Selects a move by clicks on one cell after another. Uses no element of a page.
//
// A legal move is {action, name, cells, ways, sequences}: the cells to click, in order, other such
// cells, and moves of several actions that begin with it. `picked` are the cells that were clicked so
// far.

import { withDice } from "./pieces.js";

/** Each of the legal moves once for each way to click it, and the sequences that begin with it, with
 * their further `actions`. */
export function withWays(legalMoves) {
  const others = ({ ways = [], sequences = [] }) => [...ways.map((cells) => ({ cells })), ...sequences];
  return legalMoves.flatMap((move) => [move, ...others(move).map((other) => ({ ...move, ...other }))]);
}

/** A position as it is drawn while the server has not confirmed a move of `player` by clicks on `cells`:
 * a piece is put on the last cell, or moves there from the first. Captures and the like are not shown. */
export function withMove({ last, ...view }, cells, player, geometry = "") {
  if (geometry === "points") return { ...withDice.afterSteps(view, cells, player), last: [...new Set(cells)] };
  const [from, to] = [cells[0], cells.at(-1)];
  const moves = cells.length > 1 && view.cells[from] === player && !view.counts?.length;
  const isPut = cells.length === 1 && view.cells[to] === 0;
  if (!moves && !isPut) return { ...view, last };
  const after = { ...view, last: [...new Set([from, to])], cells: Object.assign([...view.cells], { [to]: player }) };
  if (moves) after.cells[from] = 0;
  if (moves && view.kinds?.length) after.kinds = Object.assign([...view.kinds], { [to]: view.kinds[from], [from]: "" });
  return after;
}

/** The cells that are picked before the first click: those with which all moves begin, such as the
 * only piece that can move. One cell of each move at least is left to click. */
export function commonStart(legalMoves) {
  const [first, ...others] = legalMoves.map(({ cells }) => cells.slice(0, -1));
  if (!first) return [];
  const differs = first.findIndex((cell, at) => others.some((cells) => cells[at] !== cell));
  return differs < 0 ? first : first.slice(0, differs);
}

/** The cells that can be clicked next. */
export function nextCells(legalMoves, picked = []) {
  return new Set(longer(legalMoves, picked).map((move) => move.cells[picked.length]));
}

/** The result of a click: {move} if it completes the only move that is left, otherwise {picked},
 * the cells that are picked now. A click on another cell that could have been the last one replaces
 * it, and one on a first cell of another move starts again there. */
export function pick(legalMoves, picked, cell) {
  if (!nextCells(legalMoves, picked).has(cell)) {
    const before = picked.slice(0, -1);
    const replaces = picked.length > 1 && picked.at(-1) !== cell && nextCells(legalMoves, before).has(cell);
    if (replaces) return pick(legalMoves, before, cell);
    const again = picked.length > 0 && picked.at(-1) !== cell && nextCells(legalMoves).has(cell);
    return again ? pick(legalMoves, [], cell) : { picked: [] };
  }
  const now = [...picked, cell];
  const complete = exact(legalMoves, now);
  if (complete.length === 1 && longer(legalMoves, now).length === 0) {
    return { move: complete[0] };
  }
  return { picked: now };
}

/** The moves whose cells are all picked: they need a button if there are several, or none has cells,
 * such as a pass. */
export function exact(legalMoves, picked = []) {
  return legalMoves.filter(
    ({ cells }) => cells.length === picked.length && cells.every((cell, at) => cell === picked[at]),
  );
}

/** The target of a click on `cell`, -1 for none. Where pieces fall, any cell of the column counts. */
export function targetOf(board, targets, cell) {
  if (targets.has(cell)) return cell;
  if (board.geometry !== "columns") return -1;
  return [...targets].find((target) => (target - cell) % board.columns === 0) ?? -1;
}

/** The cells whose pieces can be dragged: those with which moves of several cells begin, or go on
 * after the cells `done`. */
export function grips(legalMoves, cells, done = []) {
  const long = longer(legalMoves, done).filter((move) => move.cells.length > done.length + 1);
  return new Set(long.map((move) => move.cells[done.length]).filter((cell) => cells[cell]));
}

/** The pieces that have moved between two positions, as pairs of cells. A piece that could have come
 * from several cells is left out. `keyOf(view, cell)` names the piece on a cell. */
export function slides(before, after, keyOf) {
  const changed = [...after.cells.keys()].filter(
    (cell) => before.cells.length && keyOf(before, cell) !== keyOf(after, cell),
  );
  const left = changed.filter((cell) => !after.cells[cell]);
  const pairs = changed
    .filter((cell) => after.cells[cell])
    .map((to) => [left.filter((from) => keyOf(before, from) === keyOf(after, to)), to]);
  return pairs.filter(([from]) => from.length === 1).map(([[from], to]) => [from, to]);
}

/** The moves that begin with the picked cells and have further ones. */
function longer(legalMoves, picked) {
  return legalMoves.filter(
    ({ cells }) => cells.length > picked.length && picked.every((cell, at) => cell === cells[at]),
  );
}
