// Choosing a move by clicking one cell after another. Nothing of a page is needed.
//
// A choice is {action, name, cells}: the cells to click, in order. `picked` are those clicked so
// far.

/** The cells that can be clicked next. */
export function nextCells(legalMoves, picked = []) {
  return new Set(open(legalMoves, picked).map((choice) => choice.cells[picked.length]));
}

/** What a click leads to: {action} if only one choice is left and its cells are complete,
 * otherwise {picked}: what is picked now. A click on something else begins anew. */
export function pick(legalMoves, picked, cell) {
  if (!nextCells(legalMoves, picked).has(cell)) {
    const again = picked.length > 0 && picked.at(-1) !== cell && nextCells(legalMoves).has(cell);
    return again ? pick(legalMoves, [], cell) : { picked: [] };
  }
  const now = [...picked, cell];
  const complete = exact(legalMoves, now);
  if (complete.length === 1 && open(legalMoves, now).length === 0) {
    return { action: complete[0].action };
  }
  return { picked: now };
}

/** The legalMoves that no further cell tells apart: a pass, say. They need a button. */
export function exact(legalMoves, picked = []) {
  return legalMoves.filter(
    ({ cells }) => cells.length === picked.length && cells.every((cell, at) => cell === picked[at]),
  );
}

/** The target that a click on `cell` means: where pieces fall, any cell of the column will do. */
export function targetOf(board, targets, cell) {
  if (targets.has(cell)) return cell;
  if (board.geometry !== "columns") return -1;
  return [...targets].find((target) => (target - cell) % board.columns === 0) ?? -1;
}

/** The legalMoves that go on after what is picked. */
function open(legalMoves, picked) {
  return legalMoves.filter(
    ({ cells }) => cells.length > picked.length && picked.every((cell, at) => cell === cells[at]),
  );
}
