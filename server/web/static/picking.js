// Choosing a move by clicking one cell after another. Nothing of a page is needed.
//
// A choice is {action, name, cells}: the cells to click, in order. `picked` are those clicked so
// far.

/** The cells that can be clicked next. */
export function nextCells(choices, picked = []) {
  return new Set(open(choices, picked).map((choice) => choice.cells[picked.length]));
}

/** What a click leads to: {action} if only one choice is left and its cells are complete,
 * otherwise {picked}: what is picked now. A click on something else begins anew. */
export function pick(choices, picked, cell) {
  if (!nextCells(choices, picked).has(cell)) {
    const again = picked.length > 0 && picked.at(-1) !== cell && nextCells(choices).has(cell);
    return again ? pick(choices, [], cell) : { picked: [] };
  }
  const now = [...picked, cell];
  const complete = exact(choices, now);
  if (complete.length === 1 && open(choices, now).length === 0) {
    return { action: complete[0].action };
  }
  return { picked: now };
}

/** The choices that no further cell tells apart: a pass, say. They need a button. */
export function exact(choices, picked = []) {
  return choices.filter(
    ({ cells }) => cells.length === picked.length && cells.every((cell, at) => cell === picked[at]),
  );
}

/** The target that a click on `cell` means: where pieces fall, any cell of the column will do. */
export function targetOf(board, targets, cell) {
  if (targets.has(cell)) return cell;
  if (board.geometry !== "columns") return -1;
  return [...targets].find((target) => (target - cell) % board.columns === 0) ?? -1;
}

/** The choices that go on after what is picked. */
function open(choices, picked) {
  return choices.filter(
    ({ cells }) => cells.length > picked.length && picked.every((cell, at) => cell === cells[at]),
  );
}
