// The page of puzzles: shows one after the other, and plays the opponent's replies.

import { account, accountEvents } from "./account.js";
import { fitBoard } from "./board.js";
import { beginsAbove } from "./board_layout.js";
import { showConnectionStatus } from "./connection_status.js";
import "./dice_boards.js";
import { noteText } from "./match_text.js";
import { matchAddress, opensDialog } from "./navigation.js";
import { nextPuzzle, SolvedPuzzles } from "./puzzle_choice.js";
import { ServerConnection } from "./server_connection.js";
import { newBoard } from "./text_board.js";
import { gettext, ngettext } from "./texts.js";

/** The pause before a reply of the opponent. */
const REPLY_MS = 450;
const NO_RESPONSE = gettext("The server does not respond. Try again in a moment.");

const part = (id) => document.getElementById(id);
const game = part("puzzle").dataset.game;
const folder = `/puzzles/${encodeURIComponent(game)}`;

class PuzzlePage {
  #solved = new SolvedPuzzles();
  /** What the server knows of the puzzles of this game: {puzzles, rating, tried}. */
  #list = { puzzles: [], rating: 0, tried: [] };
  /** The puzzle after the solver's moves, as the server says. */
  #state = null;
  #board = null;
  /** The solver's moves that keep the win. */
  #moves = [];
  /** The position that is shown, by its place among those of the state. */
  #at = 0;
  /** Has the first attempt at this puzzle ended? */
  #isOver = false;
  /** Was the solution shown? */
  #isShown = false;
  #fit = fitBoard(part("puzzle"), () => this.#board);
  #connection = null;
  /** Attempts that the server has not confirmed. */
  #unsent = [];

  constructor() {
    part("again").addEventListener("click", () => this.#load(this.#state.puzzle, this.#moves));
    part("solution").addEventListener("click", () => this.#showSolution());
    part("next").addEventListener("click", () => this.#next());
    part("browse").addEventListener("click", ({ target }) => {
      this.#browse(target.closest("[data-key]")?.dataset.key);
    });
    document.addEventListener("keydown", (event) => {
      const isPlain = !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
      if (isPlain && !event.target.closest("input, dialog") && this.#browse(event.key)) event.preventDefault();
    });
    accountEvents.addEventListener("account", () => this.#refresh());
    opensDialog(part("rules"));
    this.#begin();
  }

  async #begin() {
    await this.#refresh();
    const wanted = new URLSearchParams(location.search).get("puzzle");
    if (wanted) await this.#load(wanted);
    else await this.#next();
  }

  /** Ask the server for the ratings. */
  async #refresh() {
    const query = new URLSearchParams({ player: account()?.name ?? "" });
    try {
      this.#list = await fetched(`${folder}/puzzles.json?${query}`);
    } catch ({ message }) {
      part("fault").textContent = message;
    }
    part("rating").textContent = ratingText(this.#list);
    if (account()) this.#connection ??= this.#open();
  }

  #open() {
    return new ServerConnection({
      role: "spectator",
      views: false,
      onEvent: (event) => event.type === "welcome" && this.#send(),
      onState: showConnectionStatus,
    });
  }

  async #next() {
    const found = nextPuzzle(this.#list, this.#solved.ids, this.#state?.puzzle);
    if (!found) {
      part("status").textContent = gettext("You have solved all puzzles of this game.");
      return;
    }
    await this.#refresh();
    await this.#load(found.puzzle);
  }

  /** Show a puzzle after moves of the solver. */
  async #load(puzzle, moves = [], solution = false) {
    part("fault").textContent = "";
    const query = new URLSearchParams({ moves: moves.join() });
    if (solution) query.set("solution", "yes");
    let state;
    try {
      state = await fetched(`${folder}/${encodeURIComponent(puzzle)}.json?${query}`);
    } catch ({ message }) {
      part("fault").textContent = message;
      if (this.#state) this.#show();
      return;
    }
    const isNew = this.#state?.puzzle !== puzzle;
    const before = isNew ? 0 : this.#state.positions.length;
    this.#state = state;
    if (isNew) this.#begun();
    if (state.state !== "wrong") this.#moves = moves;
    if (solution) return this.#showAt(this.#at);
    if (state.state === "wrong") this.#end(moves);
    await this.#play(before);
    if (state !== this.#state) return;
    if (state.state === "solved") {
      this.#solved.add(puzzle);
      this.#end(moves);
    }
    this.#show();
  }

  /** A new puzzle is shown. */
  #begun() {
    const { board, puzzle, solver, start, turns } = this.#state;
    history.replaceState(null, "", `${folder}?puzzle=${puzzle}`);
    this.#isOver = this.#isShown = false;
    this.#moves = [];
    part("board").replaceChildren();
    part("choices").replaceChildren();
    this.#board = newBoard(part("board"), board, {
      flipped: beginsAbove(board, start, solver),
      label: gettext("Board of %(game)s", { game: document.querySelector("h1").textContent }),
      players: [gettext("Player 1"), gettext("Player 2")],
      choices: part("choices"),
      onChoose: (...actions) => this.#choose(actions),
    });
    this.#fit();
    part("solver").className = `swatch player-${solver}`;
    part("solver").hidden = false;
    const { rating, attempts } = this.#list.puzzles.find((each) => each.puzzle === puzzle) ?? { attempts: 0 };
    const rated = ngettext("rated %(rating)s after %(num)s attempt", "rated %(rating)s after %(num)s attempts", attempts, {
      rating: Math.round(rating),
    });
    const values = { rated: attempts ? rated : gettext("not rated yet") };
    part("facts").textContent = ngettext("A win in %(num)s turn, %(rated)s", "A win in %(num)s turns, %(rated)s", turns, values);
  }

  #choose(actions) {
    this.#board.show(this.#state.positions[this.#at].view); // until the server answers
    this.#load(this.#state.puzzle, [...this.#moves, ...actions]);
  }

  /** Show the positions from number `first` on, one after the other. */
  async #play(first) {
    const { positions } = this.#state;
    const from = Math.min(first, positions.length - 1);
    for (this.#at = from; this.#at < positions.length - 1; this.#at += 1) {
      const shown = positions[this.#at];
      this.#board.show(shown.view);
      await new Promise((resolve) => setTimeout(resolve, REPLY_MS));
      if (positions !== this.#state.positions || shown !== positions[this.#at]) return;
    }
  }

  async #showSolution() {
    this.#isShown = true;
    this.#at = this.#state.state === "wrong" ? this.#state.positions.length - 2 : this.#at;
    if (!this.#isOver) this.#end(this.#moves);
    await this.#load(this.#state.puzzle, this.#moves, true);
  }

  #browse(key) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step || part("browse").hidden) return false;
    this.#showAt(this.#at + step);
    return true;
  }

  #showAt(at) {
    this.#at = Math.max(0, Math.min(at, this.#state.positions.length - 1));
    this.#show();
  }

  #show() {
    const { state, positions, legal_moves: legalMoves, solver, match } = this.#state;
    const isOpen = state === "open";
    this.#board.show(positions[this.#at].view, isOpen ? legalMoves : [], solver);
    part("again").hidden = state !== "wrong";
    part("solution").hidden = state === "solved" || this.#isShown;
    part("next").hidden = !this.#isOver;
    part("next").classList.toggle("primary", state === "solved");
    part("source").hidden = !this.#isOver || !match;
    if (match) part("source").href = `${matchAddress(match)}?ply=${positions[0].ply}`;
    part("browse").hidden = isOpen || positions.length < 2;
    part("status").textContent = this.#text();
    part("note").textContent = noteText(positions[this.#at].view.note);
    part("line").textContent = positions.slice(1).map(({ view }) => view.name).join(" ");
    if (state === "wrong" && !document.activeElement?.closest(".board")) part("again").focus();
  }

  #text() {
    const { state, positions, timed, turns } = this.#state;
    if (state === "wrong") {
      const move = positions.at(-1).view.name;
      if (!timed) return gettext("%(move)s does not win.", { move });
      return ngettext("%(move)s does not win within %(num)s turn.", "%(move)s does not win within %(num)s turns.", turns, { move });
    }
    if (this.#isShown) return gettext("The solution.");
    if (state === "solved") return gettext("Solved.");
    if (this.#moves.length) return gettext("Right. Go on.");
    if (!timed) return gettext("Find the only move that wins.");
    return ngettext("Find the move that wins within %(num)s turn.", "Find the move that wins within %(num)s turns.", turns);
  }

  /** The first attempt is over after these moves: it counts for the ratings. */
  #end(moves) {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!account()) return;
    this.#unsent.push({ type: "attempt_puzzle", puzzle: this.#state.puzzle, moves });
    this.#send();
  }

  async #send() {
    for (const attempt of [...this.#unsent]) {
      const error = await this.#connection?.request(attempt).then(() => null, (reason) => reason);
      if (error?.code === "lost") return; // the next welcome sends it again
      this.#unsent = this.#unsent.filter((each) => each !== attempt);
    }
  }
}

/** The rating of this person, from the list of puzzles. */
function ratingText({ rating, tried, puzzles }) {
  if (!account()) return gettext("Guests have none. Choose a name, at the top of the page, to be rated.");
  if (!tried.length) return gettext("None yet: solve a puzzle.");
  const values = { rating: Math.round(rating), tried: tried.length, count: puzzles.length };
  return gettext("%(rating)s after %(tried)s of %(count)s", values);
}

/** The data at an address. Rejects with an Error that has a text for people. */
async function fetched(address) {
  const response = await fetch(address).catch(() => null);
  if (!response) throw new Error(NO_RESPONSE);
  if (response.status === 404) throw new Error(gettext("There is no such puzzle."));
  if (!response.ok) throw new Error(NO_RESPONSE);
  return response.json();
}

new PuzzlePage();
