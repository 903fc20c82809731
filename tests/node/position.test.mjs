// Positions and moves in words: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { contentName, lookOf } from "../../server/web/static/board_layout.js";
import { moveText, piecesOf, rowsOf } from "../../server/web/static/position_text.js";

const PLAYERS = ["Ann", "Bob"];
const BOARD = {
  rows: 2,
  columns: 3,
  geometry: "grid",
  piece: "figure",
  surface: "checkered",
  column_labels: ["a", "b", "c"],
  row_labels: ["2", "1"],
};
const view = (cells, kinds = [], last = []) => ({ cells, kinds, last });
const BEFORE = view([2, 0, 2, 1, 0, 1], ["pawn", "", "rook", "king", "", "pawn"]);

test("rows and pieces have what is on the board", () => {
  assert.deepEqual(rowsOf(BOARD, BEFORE, PLAYERS), [
    { name: "Row 2", text: "a2 black pawn, c2 black rook" },
    { name: "Row 1", text: "a1 white king, c1 white pawn" },
  ]);
  assert.deepEqual(rowsOf(BOARD, view([0, 0, 0, 0, 0, 0]), PLAYERS).map(({ text }) => text), ["empty", "empty"]);
  assert.deepEqual(piecesOf(BOARD, BEFORE, PLAYERS).map(({ name }) => name), ["black pawn", "black rook", "white king", "white pawn"]);
  const twice = { ...BEFORE, cells: [2, 0, 2, 1, 0, 1], kinds: ["rook", "", "rook", "", "", ""] };
  assert.deepEqual(piecesOf(BOARD, twice, PLAYERS)[0], { name: "black rook", cells: ["a2", "c2"] });
});

test("a move says which piece went where, and what it took", () => {
  const moved = (cells, kinds, last) => moveText(BOARD, BEFORE, view(cells, kinds, last), 1, PLAYERS);
  assert.equal(moved([1, 0, 2, 0, 0, 1], ["king", "", "rook", "", "", "pawn"], [3, 0]), "white king from a1 to a2, takes black pawn");
  assert.equal(moved([2, 0, 2, 0, 1, 1], ["pawn", "", "rook", "", "king", "pawn"], [3, 4]), "white king from a1 to b1");
  assert.equal(moved([2, 0, 1, 1, 0, 0], ["pawn", "", "queen", "king", "", ""], [5, 2]), "takes black rook");
});

test("a piece that is put on the board is in the name of the move; what it turns or takes is not", () => {
  const board = { ...BOARD, piece: "disc", surface: "green" };
  const before = view([1, 2, 0, 2, 0, 0]);
  assert.equal(moveText(board, before, view([1, 2, 0, 2, 1, 0], [], [4]), 1, PLAYERS), "");
  assert.equal(moveText(board, before, view([1, 1, 1, 2, 0, 0], [], [2]), 1, PLAYERS), "turns b2");
  assert.equal(moveText(board, before, view([1, 0, 1, 0, 0, 0], [], [2]), 1, PLAYERS), "takes 2 pieces: b2, a1");
});

test("lines that close boxes say so", () => {
  const board = { ...BOARD, piece: "mark", surface: "blank" };
  const before = view([3, 0, 3, 0, 0, 0], ["dot", "horizontal line", "dot", "vertical line", "", "vertical line"]);
  const after = view([3, 3, 3, 0, 1, 0], ["dot", "horizontal line", "dot", "vertical line", "box", "vertical line"], [1]);
  assert.equal(moveText(board, before, after, 1, PLAYERS), "completes b1");
  assert.equal(contentName(board, before, 1, PLAYERS), "no horizontal line");
  assert.equal(contentName(board, after, 4, PLAYERS), "box of Ann");
  assert.deepEqual(rowsOf(board, after, PLAYERS).map(({ text }) => text), ["b2 horizontal line", "b1 box of Ann"]);
});

test("pits have their owner, and a heap the number of its chips", () => {
  const pits = { ...BOARD, geometry: "pits", piece: "seeds", surface: "plain", row_labels: ["", ""], cell_labels: ["store", "a", "", "", "A", "store"] };
  const seeds = { cells: [0, 2, 0, 0, 1, 0], counts: [0, 1, 0, 0, 4, 0], last: [] };
  assert.deepEqual(rowsOf(pits, seeds, PLAYERS), [
    { name: "Row 1", text: "store 0 seeds of Bob, a 1 seed of Bob" },
    { name: "Row 2", text: "A 4 seeds of Ann, store 0 seeds of Ann" },
  ]);
  assert.deepEqual(piecesOf(pits, seeds, PLAYERS), []);
  const heap = { ...BOARD, rows: 1, geometry: "heap", piece: "chip", surface: "plain", row_labels: [""] };
  assert.deepEqual(rowsOf(heap, view([1, 1, 0]), PLAYERS), [{ name: "Heap 1", text: "2 of 3 chips" }]);
});

test("the colours of the pieces are those of the board", () => {
  assert.deepEqual([1, 2].map((seat) => lookOf(BOARD, seat)), ["white", "black"]);
  assert.deepEqual([1, 2].map((seat) => lookOf({ ...BOARD, surface: "wood" }, seat)), ["black", "white"]);
  assert.equal(lookOf({ ...BOARD, surface: "plain", piece: "mark" }, 2), "O");
  assert.equal(lookOf({ ...BOARD, surface: "plain", piece: "disc" }, 2), undefined);
});
