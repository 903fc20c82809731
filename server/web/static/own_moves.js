// Moves that a person tries from a position of a match. Uses no element of a page.

import { gettext } from "./texts.js";

/** The moves in the query of an address (`?moves=3,5`), [] if it has none. */
export function movesOf(search) {
  const text = new URLSearchParams(search).get("moves") ?? "";
  return /^\d{1,10}(,\d{1,10}){0,399}$/.test(text) ? text.split(",").map(Number) : [];
}

/** A line of moves after the first `ply` moves of a match, or of own moves that have no match; the first
 * `at` of them are shown. */
export class OwnMoves {
  #record;
  /** What the server knows of a line, by its address. */
  #known = new Map();

  constructor(record, ply, moves) {
    this.#record = record;
    this.ply = ply;
    this.moves = moves;
    this.at = moves.length;
  }

  /** The moves that are shown. */
  get actions() {
    return this.moves.slice(0, this.at);
  }

  /** Try moves after another ply. Moves after the one before are forgotten. */
  begin(ply) {
    if (ply !== this.ply) this.set(ply, []);
  }

  /** Show these moves after `ply`. */
  set(ply, moves) {
    this.ply = ply;
    this.moves = moves;
    this.at = moves.length;
  }

  /** Show one move fewer, or -1 for one more. Returns whether that changes anything. */
  back(moves = 1) {
    const before = this.at;
    this.at = Math.min(Math.max(this.at - moves, 0), this.moves.length);
    return this.at !== before;
  }

  /** What follows on the shown moves, {positions, actions, to_move, legal_moves}: null before `load`. */
  get here() {
    return this.known(this.actions);
  }

  /** The same for other moves after the ply. */
  known(moves) {
    return this.#known.get(this.#query(moves)) ?? null;
  }

  /** Ask the server what follows on moves. Rejects with an Error that has a text for people. */
  async load(moves = this.actions) {
    const query = this.#query(moves);
    if (this.#known.has(query)) return this.#known.get(query);
    const response = await fetch(query).catch(() => null);
    if (!response) throw new Error(gettext("The server does not respond. Try again in a moment."));
    if (!response.ok) throw new Error(await faultOf(response));
    const found = await response.json();
    this.#known.set(query, found);
    return found;
  }

  /** Forget what follows: the match has other moves now. */
  forget() {
    this.#known.clear();
  }

  #query(moves) {
    const { id, game, positions } = this.#record;
    const played = id ? [] : positions.slice(1, this.ply + 1).map(({ action }) => action);
    const query = new URLSearchParams({ ply: this.ply, moves: [...played, ...moves].join(",") });
    if (!id) query.set("game", game);
    const folder = id ? `/matches/${encodeURIComponent(id)}` : "/analysis";
    return `${folder}/positions.json?${query}`;
  }
}

async function faultOf(response) {
  if (response.status === 400) return gettext("These moves are not possible here.");
  return gettext("The server cannot show this position now. Try again in a moment.");
}
