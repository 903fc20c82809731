// Small boards of running matches, in a section of a page that is refreshed.

import "./dice_boards.js";
import { newBoard } from "./text_board.js";

/** Draws the matches of the elements with `data-match` in a section, over a ServerConnection. */
export class RunningBoards {
  #boards = new Map(); // from a match to {element, boardView}
  #connection;

  /** The events of `connection` go to `receive`. */
  constructor(connection) {
    this.#connection = connection;
  }

  /** Move the known boards into a section that was refreshed, and watch its new matches. */
  fill(section) {
    const items = [...section.querySelectorAll("[data-match]")];
    const wanted = new Map(items.map((item) => [item.dataset.match, item]));
    for (const match of this.#boards.keys()) {
      if (wanted.has(match)) continue;
      this.#boards.delete(match);
      this.#connection.send({ type: "unwatch", match });
    }
    for (const [match, item] of wanted) {
      const empty = item.querySelector(".board-place");
      const board = this.#boards.get(match);
      if (board) {
        empty.replaceWith(board.element);
      } else {
        this.#boards.set(match, { element: empty, boardView: null });
        this.#watch(match);
      }
    }
  }

  /** Show what an event of the server says of one of the matches. */
  receive(event) {
    if (event.type === "welcome") {
      for (const match of this.#boards.keys()) this.#watch(match);
      return;
    }
    const board = this.#boards.get(event.match);
    if (!board) return;
    if (event.type === "started" && event.board) {
      board.element.replaceChildren();
      board.boardView = newBoard(board.element, event.board, { small: true });
    }
    if (event.view) board.boardView?.show(event.view);
  }

  #watch(match) {
    // Fails if the match has ended already.
    this.#connection.request({ type: "watch", match, preview: true }).catch(() => {});
  }
}
