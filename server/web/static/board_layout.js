// The places and the names of the cells of a board. Uses no element of a page.

import { gettext, ngettext, pgettext, told } from "./texts.js";

/** The layout of a board ({rows, columns, geometry}): its rows and columns as drawn, and functions
 * from a cell to its place and back. A single heap is wrapped into rows. Flipping turns a grid by 180
 * degrees; where pieces fall, it swaps left and right, and where points are, above and below. */
export function layoutOf(board, flipped = false) {
  const count = board.rows * board.columns;
  const columns = isSingleHeap(board) ? heapColumns(count) : board.columns;
  const rows = Math.ceil(count / columns);
  const turn = (row, column) => {
    if (!flipped || board.geometry === "heap") return [row, column];
    if (board.geometry === "points") return [rows - 1 - row, column];
    return [board.geometry === "columns" ? row : rows - 1 - row, columns - 1 - column];
  };
  return {
    rows,
    columns,
    /** The row and the column in which a cell is drawn. */
    placeOf: (cell) => turn(Math.floor(cell / columns), cell % columns),
    /** The cell that is drawn at a row and a column, -1 for none. */
    cellAt(row, column) {
      if (row < 0 || row >= rows || column < 0 || column >= columns) return -1;
      const [trueRow, trueColumn] = turn(row, column);
      const cell = trueRow * columns + trueColumn;
      return cell < count ? cell : -1;
    },
  };
}

/** Are the pieces of a player above those of the opponent, on average? Then that player wants to see
 * the board from the other side. `board` is the board, and `cells` are those of a first position. */
export function beginsAbove({ geometry, columns }, cells, player) {
  if (geometry === "points") return player === 2;
  if (geometry !== "grid") return false;
  const rowOf = (owner) => {
    const rows = cells.flatMap((value, cell) => (value === owner ? [Math.floor(cell / columns)] : []));
    return rows.reduce((sum, row) => sum + row, 0) / rows.length; // NaN without pieces
  };
  return rowOf(player) < rowOf(3 - player);
}

/** The board as a player counts its points, from the end: those of the server are player 1's. */
export function countedBy(board, player) {
  if (board.geometry !== "points" || player !== 2) return board;
  const labels = board.cell_labels.map((label) => (Number(label) ? String(25 - Number(label)) : label));
  return { ...board, cell_labels: labels };
}

/** The star points of a board for Go, as cells: on square boards with sides from 5 on. From 17 on
 * they are nine; smaller boards have the middle one if there is a middle, and from 7 on four more. */
export function starPoints({ rows, columns }) {
  if (rows !== columns || rows < 5) return [];
  const edge = rows < 12 ? 2 : 3;
  const middle = rows % 2 ? [(rows - 1) / 2] : [];
  const outer = rows < 7 ? [] : [edge, rows - 1 - edge];
  const sides = rows < 17 ? [] : middle;
  const corners = outer.flatMap((row) => outer.map((column) => [row, column]));
  const others = sides.flatMap((at) => outer.flatMap((each) => [[each, at], [at, each]]));
  const centre = middle.map((at) => [at, at]);
  return [...corners, ...others, ...centre].map(([row, column]) => row * columns + column);
}

/** The first and the last cell of a block. Blocks are numbered row by row. */
export function blockEnds({ columns, block }, at) {
  const across = columns / block;
  const first = Math.floor(at / across) * block * columns + (at % across) * block;
  return [first, first + (block - 1) * (columns + 1)];
}

/** The block that contains a cell. */
export function blockOf({ columns, block }, cell) {
  const [row, column] = [Math.floor(cell / columns), cell % columns];
  return Math.floor(row / block) * (columns / block) + Math.floor(column / block);
}

function isSingleHeap({ geometry, rows }) {
  return geometry === "heap" && rows === 1;
}

/** The columns of a wrapped heap: it is about 1.5 times as wide as high, a multiple of five from 8
 * cells on. */
function heapColumns(count) {
  if (count <= 7) return count;
  return Math.ceil(Math.sqrt(count * 1.5) / 5) * 5;
}

/** Is a cell part of the board? */
export function isUsed(board, cell) {
  return board.cell_labels?.[cell] !== "";
}

/** Is a cell a store, which is as high as both rows of pits? */
export function isStore(board, cell) {
  if (board.geometry !== "pits" || !isUsed(board, cell)) return false;
  return !isUsed(board, (cell + board.columns) % (2 * board.columns));
}

/** The name of a cell for people, such as "c3". */
export function cellName(board, cell) {
  const row = Math.floor(cell / board.columns);
  const column = cell % board.columns;
  if (isSingleHeap(board)) return gettext("%(number)s of %(count)s", { number: cell + 1, count: board.columns });
  if (board.geometry === "heap") return gettext("heap %(number)s, %(cell)s", { number: row + 1, cell: board.cell_labels[cell] || gettext("unused") });
  if (board.geometry === "columns") {
    return gettext("column %(column)s, row %(row)s", { column: board.column_labels[column], row: board.rows - row });
  }
  if (board.geometry === "points" && Number(board.cell_labels[cell])) {
    return gettext("point %(number)s", { number: board.cell_labels[cell] });
  }
  if (board.geometry === "points") return told(board.cell_labels[cell]);
  if (board.geometry === "scores") return cell === 1 ? gettext("this turn") : gettext("player %(number)s", { number: 1 + cell / 2 });
  if (board.cell_labels?.length) return board.cell_labels[cell] || gettext("unused");
  return `${board.column_labels[column] ?? column + 1}${board.row_labels[row]}`;
}

/** The names of the edges of a cell that belong to a player, such as "top edge of Ada". */
export function edgeNames({ rows, columns, edges = [] }, cell, players) {
  const [row, column] = [Math.floor(cell / columns), cell % columns];
  const nameOf = (at) => ({ name: playerName(edges[at], players) });
  const sides = [
    row === 0 && edges[0] && gettext("top edge of %(name)s", nameOf(0)),
    column === columns - 1 && edges[1] && gettext("right edge of %(name)s", nameOf(1)),
    row === rows - 1 && edges[2] && gettext("bottom edge of %(name)s", nameOf(2)),
    column === 0 && edges[3] && gettext("left edge of %(name)s", nameOf(3)),
  ];
  return sides.filter(Boolean);
}

/** The colours of the pieces of player 1 and player 2, by the surface of the board. */
const COLOURS = {
  checkered: [gettext("white"), gettext("black")],
  wood: [gettext("black"), gettext("white")],
  green: [gettext("black"), gettext("white")],
  blue: [gettext("red"), gettext("yellow")],
};

/** How the pieces of a player look, such as "white" or "X"; undefined where the page gives them the
 * colours of its theme. */
export function lookOf({ surface, piece, geometry, dark_begins: darkBegins }, seat) {
  if (piece === "mark" && surface !== "blank") return "XO"[seat - 1];
  return geometry === "heap" ? undefined : COLOURS[surface]?.[darkBegins ? 2 - seat : seat - 1];
}

/** The name of the piece on a cell, such as "white pawn"; `players` are the names of player 1 and
 * player 2, and `kind` is the kind of the piece, if there are several. */
export function pieceName(board, value, players, kind = "") {
  if (board.geometry === "heap") return value ? told(board.piece) : gettext("taken");
  if (value === 0) return kind.endsWith("line") ? gettext("no %(piece)s", { piece: told(kind) }) : gettext("empty");
  if (value !== 1 && value !== 2) return told(kind) || String(value);
  const look = lookOf(board, value);
  if (board.piece === "mark" && look) return look;
  const piece = kindText(board, kind || board.piece);
  if (look) return gettext("%(look)s %(piece)s", { look, piece });
  return gettext("%(piece)s of %(name)s", { piece, name: playerName(value, players) });
}

/** What is on a cell of a position, in words; "" for a cell that is not used. */
export function contentName(board, { cells, kinds, counts }, cell, players) {
  if (!isUsed(board, cell)) return "";
  if (!counts) return pieceName(board, cells[cell] ?? 0, players, kinds?.[cell]);
  if (board.geometry === "points") return checkersName(counts[cell], cells[cell] || ownerOf(board, cell), players);
  if (board.geometry === "scores") return ngettext("%(num)s point", "%(num)s points", counts[cell]);
  // The pits of player 2 are those of the first row.
  const name = playerName(cell < board.columns ? 2 : 1, players);
  return gettext("%(seeds)s of %(name)s", { seeds: seedsName(counts[cell]), name });
}

/** The player whose checkers a cell beside the points has: on the bar, or borne off; 0 for a point. */
function ownerOf({ cell_labels: labels, columns }, cell) {
  if (labels[cell] === "bar") return cell < columns ? 1 : 2;
  return labels[cell] === "off" ? (cell < columns ? 2 : 1) : 0;
}

function checkersName(count, owner, players) {
  if (!owner) return gettext("empty");
  const piece = ngettext("%(num)s checker", "%(num)s checkers", count);
  return gettext("%(piece)s of %(name)s", { piece, name: playerName(owner, players) });
}

/** The name of a kind of piece. Languages may have other words for the kings of chess and draughts. */
export function kindText({ piece }, kind) {
  return kind === "king" && piece !== "figure" ? pgettext("draughts", "king") : told(kind);
}

/** The number of seeds in a pit, in words. */
export function seedsName(count) {
  return ngettext("%(num)s seed", "%(num)s seeds", count);
}

function playerName(seat, players) {
  return players?.[seat - 1] ?? gettext("player %(number)s", { number: seat });
}
