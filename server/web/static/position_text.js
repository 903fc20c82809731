// Positions and moves in words, for people who do not see the board. Uses no element of a page.

import { cellName, contentName, isUsed, lookOf } from "./board_layout.js";
import { rolledText, sentence, statusText } from "./match_text.js";
import { slides } from "./move_selection.js";
import { keyOf } from "./pieces.js";
import { gettext, listText, ngettext, told } from "./texts.js";

/** The player to move or the result, the last move or roll, and what the pieces look like, in
 * sentences. */
export function factsOf(record, view) {
  const { name } = view;
  const { board, players } = record;
  const looks = players.map((player, at) => {
    const look = lookOf(board, at + 1);
    return look && gettext("%(name)s has %(look)s.", { name: player, look });
  });
  const isRoll = record.positions.find((each) => each.view === view)?.player === 0;
  const last = name && (isRoll ? sentence(rolledText(board, name)) : gettext("Last move: %(move)s.", { move: told(name) }));
  return [sentence(statusText(record)), last, ...looks].filter(Boolean);
}

/** The rows of a position from the top, [{name, text}]: what is on the cells that are not empty. */
export function rowsOf(board, view, players) {
  return Array.from({ length: board.rows }, (_, row) => {
    const cells = cellsOf(board).filter((cell) => Math.floor(cell / board.columns) === row);
    return { name: rowName(board, row), text: rowText(board, view, players, cells) };
  });
}

/** The pieces of a position, [{name, cells}]: each kind, sorted by name, with the names of its cells. */
export function piecesOf(board, view, players) {
  const found = new Map();
  for (const cell of cellsOf(board)) {
    if (!isPiece(view, cell) || board.geometry === "heap" || view.counts) continue;
    const name = contentName(board, view, cell, players);
    found.set(name, [...(found.get(name) ?? []), cellName(board, cell)]);
  }
  return [...found].sort().map(([name, cells]) => ({ name, cells }));
}

/** What a move of `player` did that its name may not say: "white knight from g1 to f3, takes black
 * pawn"; "" for a move that only puts a piece on a cell. */
export function moveText(board, before, after, player, players) {
  if (!before.cells.length || board.geometry === "heap" || after.counts) return "";
  const named = (cells) => listText(cells.map((cell) => cellName(board, cell)));
  const words = slides(before, after, keyOf)
    .filter(([, to]) => after.cells[to] === player && after.last.includes(to))
    .map(([from, to]) => {
      const values = { piece: contentName(board, after, to, players), from: named([from]), to: named([to]) };
      return gettext("%(piece)s from %(from)s to %(to)s", values);
    });
  const changed = [...after.cells.keys()].filter((cell) => before.cells[cell] !== after.cells[cell]);
  const lost = changed.filter((cell) => before.cells[cell] === 3 - player);
  const turned = lost.filter((cell) => after.cells[cell] === player && !after.last.includes(cell));
  const taken = lost.filter((cell) => !turned.includes(cell));
  const boxes = changed.filter((cell) => after.kinds?.[cell] === "box");
  if (taken.length === 1) words.push(gettext("takes %(piece)s", { piece: contentName(board, before, taken[0], players) }));
  else if (taken.length) words.push(ngettext("takes %(num)s piece: %(cells)s", "takes %(num)s pieces: %(cells)s", taken.length, { cells: named(taken) }));
  if (turned.length) words.push(gettext("turns %(cells)s", { cells: named(turned) }));
  if (boxes.length) words.push(gettext("completes %(cells)s", { cells: named(boxes) }));
  return listText(words);
}

/** The cells that are used, row by row. */
function cellsOf(board) {
  return Array.from({ length: board.rows * board.columns }, (_, cell) => cell).filter((cell) => isUsed(board, cell));
}

/** Is there something on a cell that is not on it all the time? */
function isPiece({ cells, kinds }, cell) {
  return cells[cell] !== 0 && kinds?.[cell] !== "dot";
}

function rowName({ geometry, rows, row_labels: labels }, row) {
  if (geometry === "heap") return gettext("Heap %(number)s", { number: row + 1 });
  return gettext("Row %(name)s", { name: labels[row] || (geometry === "columns" ? rows - row : row + 1) });
}

function rowText(board, view, players, cells) {
  const filled = cells.filter((cell) => isPiece(view, cell) || (view.counts && board.geometry !== "points"));
  if (board.geometry === "heap") return gettext("%(number)s of %(count)s chips", { number: filled.length, count: cells.length });
  return listText(filled.map((cell) => `${cellName(board, cell)} ${contentName(board, view, cell, players)}`)) || gettext("empty");
}
