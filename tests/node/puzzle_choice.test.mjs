// The choice of puzzles: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { nextPuzzle } from "../../server/web/static/puzzle_choice.js";

test("the next puzzle is untried, near the solver's rating, and short", () => {
  const row = (puzzle, rating, turns) => ({ puzzle, rating, turns, attempts: 0 });
  const puzzles = [row("a", 1500, 3), row("b", 1500, 2), row("c", 1800, 2), row("d", 1790, 5)];
  const next = (rating, tried = [], solved = [], last = "") =>
    nextPuzzle({ puzzles, rating, tried }, new Set(solved), last)?.puzzle ?? null;
  assert.equal(next(1500), "b");
  assert.equal(next(1500, ["b"]), "a");
  assert.equal(next(1810), "c");
  assert.equal(next(1810, [], ["c"]), "d");
  assert.equal(next(1500, [], [], "b"), "a");
  // Those that were tried in vain come again at the end.
  assert.equal(next(1500, ["a", "b", "c", "d"], ["b"]), "a");
  assert.equal(next(1500, [], ["a", "b", "c", "d"]), null);
});
