// The texts of drawn positions: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, {
  document: { documentElement: { lang: "en" }, getElementById: () => null, addEventListener() {} },
  matchMedia: () => new EventTarget(),
  addEventListener() {},
});
const { positionText } = await import("../../server/web/static/position_editor.js");

const CHESS = { rows: 8, columns: 8, piece: "figure" };

function chess(rows) {
  const names = { k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn" };
  const letters = [...rows.join("")];
  const owner = (letter) => (letter === "." ? 0 : letter === letter.toUpperCase() ? 1 : 2);
  return { cells: letters.map(owner), kinds: letters.map((letter) => names[letter.toLowerCase()] ?? "") };
}

test("a position of chess is written as FEN, with the rights of kings and rooks at home", () => {
  const empty = Array(6).fill("........");
  assert.equal(positionText(CHESS, chess(["r...k..r", ...empty, "R...K.N."]), 1), "r3k2r/8/8/8/8/8/8/R3K1N1 w Qkq - 0 1");
  assert.equal(positionText(CHESS, chess(["....k...", ...empty, "...K...."]), 2), "4k3/8/8/8/8/8/8/3K4 b - - 0 1");
});

test("a position of checkers or draughts is written as PDN", () => {
  const board = { rows: 2, columns: 4, piece: "disc", cell_labels: ["", "1", "", "2", "3", "", "4", ""] };
  const view = { cells: [0, 2, 0, 2, 1, 0, 0, 0], kinds: ["", "man", "", "king", "man", "", "", ""] };
  assert.equal(positionText(board, view, 1), "W:W3:B1,K2");
  assert.equal(positionText({ ...board, dark_begins: true }, view, 1), "B:W1,K2:B3");
});
