// Which puzzle comes next, and those that this browser has solved. Uses no element of a page.

import { read, write } from "./storage.js";

const KEY = "solved-puzzles";
/** The most ids that are kept. */
const MOST = 2000;

/** The ids of the puzzles that were solved in this browser, also by a guest. */
export class SolvedPuzzles {
  ids = new Set((read(KEY) ?? "").split(" ").filter(Boolean));

  add(puzzle) {
    this.ids.add(puzzle);
    write(KEY, [...this.ids].slice(-MOST).join(" "));
  }
}

/** The puzzle to solve after `last`, null if none is left: one that was not tried yet if there is one,
 * with a rating near that of the solver, and of those a short one. `list` is {puzzles, rating, tried}. */
export function nextPuzzle({ puzzles, rating, tried }, solved, last) {
  const unsolved = puzzles.filter(({ puzzle }) => !solved.has(puzzle) && puzzle !== last);
  const isTried = new Set(tried);
  const untried = unsolved.filter(({ puzzle }) => !isTried.has(puzzle));
  const distance = (each) => Math.round(Math.abs(each.rating - rating) / 50);
  const order = (one, other) => distance(one) - distance(other) || one.turns - other.turns;
  return [...(untried.length ? untried : unsolved)].sort(order)[0] ?? null;
}
