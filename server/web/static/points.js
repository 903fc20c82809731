// The board of backgammon: how checkers move on its cells. Uses no element of a page.
//
// Its two rows have six points, the bar, six points, and the checkers borne off. A move of a checker
// is a pair of cells. Distances to the end are those of a player: 25 on the bar, 0 off the board.

const COLUMNS = 14;
/** The cells of the bar for player 1 and player 2. */
const BARS = [6, 20];
/** The cells of the checkers that player 1 and player 2 have borne off. */
export const TRAYS = [27, 13];

/** Is a cell part of the bar, or of the trays? */
export const isBar = (cell) => BARS.includes(cell);
export const isTray = (cell) => TRAYS.includes(cell);

/** The distance of a cell to the end, for a player. */
export function distanceOf(cell, player) {
  if (isBar(cell)) return 25;
  if (isTray(cell)) return 0;
  const column = cell % COLUMNS;
  const across = column - (column > 6 ? 1 : 0);
  const point = cell < COLUMNS ? 13 + across : 12 - across; // as player 1 counts
  return player === 1 ? point : 25 - point;
}

/** The cells of a move as pairs of cells, without one that has no end yet. */
export function stepsOf(cells) {
  return Array.from({ length: Math.floor(cells.length / 2) }, (_, at) => cells.slice(2 * at, 2 * at + 2));
}

/** A position after moves of checkers of a player: with those that were hit on the bar, and the dice
 * that are used. */
export function afterSteps(view, cells, player) {
  const after = { ...view, cells: [...view.cells], counts: [...view.counts], dice: [...(view.dice ?? [])] };
  for (const [from, to] of stepsOf(cells)) {
    use(after.dice, distanceOf(from, player) - distanceOf(to, player), isTray(to));
    remove(after, from);
    if (after.cells[to] === 3 - player) {
      remove(after, to);
      put(after, BARS[2 - player], 3 - player);
    }
    put(after, to, player);
  }
  return after;
}

/** Mark the die as used by which a checker has moved, or both if it has moved by their sum. */
function use(dice, distance, isOff) {
  const left = dice.filter((die) => die > 0);
  const higher = isOff ? left.filter((die) => die > distance).toSorted((one, other) => one - other) : left.slice(0, 2);
  const used = left.includes(distance) ? [distance] : isOff ? higher.slice(0, 1) : higher;
  for (const die of used) dice[dice.indexOf(die)] = -die;
}

function remove({ cells, counts }, cell) {
  counts[cell] -= 1;
  if (counts[cell] === 0) cells[cell] = 0;
}

function put({ cells, counts }, cell, player) {
  counts[cell] += 1;
  cells[cell] = player;
}
