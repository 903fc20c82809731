// Counts the score of a game of Go: people mark the dead stones, and offer the result.

import { leadText } from "./match_text.js";
import { gettext, numberText } from "./texts.js";

/** The points of both players: their stones, and the empty cells from which only these are reached.
 * `dead` are cells whose stones count as captured. */
export function pointsOf({ rows, columns }, cells, dead) {
  const left = cells.map((owner, cell) => (dead.has(cell) ? 0 : owner));
  const points = [0, 0];
  const seen = new Set();
  for (const cell of left.keys()) {
    if (left[cell]) points[left[cell] - 1] += 1;
    else if (!seen.has(cell)) {
      const region = regionOf({ rows, columns }, cell, (each) => !left[each]);
      for (const each of region) seen.add(each);
      const around = region.flatMap((each) => neighboursOf({ rows, columns }, each));
      const owners = new Set(around.map((each) => left[each]).filter(Boolean));
      if (owners.size === 1) points[[...owners][0] - 1] += region.length;
    }
  }
  return points;
}

/** The stones that live or die together with the one on `cell`: those of its colour that are reached
 * over cells without stones of the other colour. */
export function groupOf(board, cells, cell) {
  const isOpen = (each) => !cells[each] || cells[each] === cells[cell];
  return regionOf(board, cell, isOpen).filter((each) => cells[each]);
}

/** How many stones `player` has captured in the first positions, up to `ply`. */
export function prisonersOf(positions, ply, player) {
  let count = 0;
  for (let at = 1; at <= ply; at += 1) {
    const [before, after] = [positions[at - 1].view.cells, positions[at].view.cells];
    count += before.filter((owner, cell) => owner === 3 - player && !after[cell]).length;
  }
  return count;
}

/** The buttons and the text with which a person counts. */
export class Counting {
  #part;
  #record;
  #request;
  #onChange;
  #dead = null; // while stones are marked, the cells of those that are dead

  /** `part(id)` returns an element of the page, `request(message)` sends one for the match, and
   * `onChange()` is called when the board is to be shown anew. */
  constructor(part, record, request, onChange) {
    this.#part = part;
    this.#record = record;
    this.#request = request;
    this.#onChange = onChange;
    part("count").addEventListener("click", () => this.#begin());
    part("count-offer").addEventListener("click", () => this.#offer());
    part("count-end").addEventListener("click", () => this.#mark(null));
  }

  /** Are stones being marked? */
  get isActive() {
    return this.#dead !== null;
  }

  /** The stones of a position, as moves that mark them. */
  moves({ cells }) {
    const stones = [...cells.keys()].filter((cell) => cells[cell]);
    return stones.map((cell) => ({ action: cell, name: "", cells: [cell] }));
  }

  /** Mark the group of the stone that was chosen, or take its mark away. Returns false if no stones
   * are being marked. */
  choose(cell) {
    if (!this.isActive) return false;
    const { board, positions, last } = this.#record;
    const group = groupOf(board, positions[last].view.cells, cell);
    const marked = new Set(this.#dead);
    for (const each of group) this.#dead.has(cell) ? marked.delete(each) : marked.add(each);
    this.#mark(marked);
    return true;
  }

  /** Handle an event of the match: another position begins without marks. */
  receive({ type }) {
    if (["update", "taken_back", "ended"].includes(type)) this.#dead = null;
  }

  /** The cells that are shown as dead: those that are marked, or of an open offer. */
  get marks() {
    const { ownOffer, opponentsOffer } = this.#record;
    return [...(this.#dead ?? opponentsOffer?.dead ?? ownOffer?.dead ?? [])];
  }

  /** Show what may be done; `isLive`: whether the last position is shown. */
  show(isLive) {
    const record = this.#record;
    const isOffered = record.ownOffer?.offer === "score";
    const hasStage = record.game.includes("counting=true"); // in which the players mark dead stones
    this.#part("count").hidden = hasStage || record.over || this.isActive || !isLive;
    this.#part("count").textContent = isOffered ? gettext("Withdraw the score") : gettext("Count");
    this.#part("counting").hidden = !this.isActive || !isLive;
    this.#part("count-offer").hidden = record.seat === null || record.isAssigned;
    if (!this.isActive) return;
    const { board, players, positions, last } = record;
    const [first, second] = pointsOf(board, positions[last].view.cells, this.#dead);
    const sum = `${players[0]} ${first}, ${players[1]} ${second} + ${numberText(board.komi)}`;
    const values = { sum, result: leadText(first - second - board.komi, players) };
    this.#part("count-text").textContent = gettext("%(sum)s: %(result)s. Choose dead stones.", values);
  }

  #begin() {
    if (this.#record.ownOffer?.offer === "score") this.#request({ type: "withdraw_offer" });
    else this.#mark(new Set(this.marks));
  }

  #mark(dead) {
    this.#dead = dead;
    this.#onChange();
  }

  #offer() {
    this.#request({ type: "offer", offer: "score", ply: this.#record.last, dead: [...this.#dead] });
    this.#mark(null);
  }
}

/** The cells that are reached from one over others for which `isOpen(cell)`. */
function regionOf(board, start, isOpen) {
  const found = new Set([start]);
  for (const cell of found) {
    for (const near of neighboursOf(board, cell)) if (isOpen(near)) found.add(near);
  }
  return [...found];
}

function neighboursOf({ rows, columns }, cell) {
  const [row, column] = [Math.floor(cell / columns), cell % columns];
  const places = [[row - 1, column], [row + 1, column], [row, column - 1], [row, column + 1]];
  return places
    .filter(([r, c]) => r >= 0 && r < rows && c >= 0 && c < columns)
    .map(([r, c]) => r * columns + c);
}
