// Shows the positions of games without cells as the server's text; moves are chosen by their names.

import { BoardView } from "./board.js";
import { html } from "./elements.js";
import { gettext, told } from "./texts.js";

/** The board for a match: a drawing, or a text if its game has no cells. */
export function newBoard(container, board, options) {
  const Kind = board.geometry === "text" ? TextBoard : BoardView;
  return new Kind(container, board, options);
}

/** Has the methods and the options of BoardView; all moves have buttons, below the text. */
class TextBoard {
  flippable = false;
  aspect = 1;
  #options;
  #text;
  /** The moves that have buttons. They are made once, so that they keep the focus. */
  #shown = [];
  #buttons = html("div", { class: "board-choices", role: "group", "aria-label": gettext("Moves without a cell") });

  constructor(container, board, options = {}) {
    this.#options = options;
    const { small, label } = options;
    // Wide positions are scrolled, with the keyboard too.
    const attributes = small
      ? { class: "board-text is-small", "aria-hidden": "true" }
      : { class: "board-text", role: "region", tabindex: 0, "aria-label": label ?? gettext("Board") };
    this.#text = html("pre", attributes);
    container.append(this.#text);
    if (!small) container.append(this.#buttons);
  }

  /** Show a position, and a button for each of the legal moves. */
  show(view, legalMoves = []) {
    this.#text.textContent = view.text;
    if (this.#options.small || isEqual(legalMoves, this.#shown)) return;
    this.#shown = legalMoves;
    const hadFocus = this.#buttons.querySelector(":focus-visible") !== null;
    this.#buttons.replaceChildren(...legalMoves.map((move) => this.#button(move)));
    if (hadFocus) this.#text.focus(); // the buttons of the next move follow it
  }

  /** There are no cells. */
  highlight() {}

  /** There are no cells. */
  tint() {}

  /** There are no cells. */
  point() {}

  /** There are no cells. */
  forgetPlan() {}

  #button({ action, name }) {
    const button = html("button", { type: "button", class: "button small" }, told(name));
    button.addEventListener("click", () => this.#options.onChoose?.(action));
    return button;
  }
}

function isEqual(moves, others) {
  return moves.length === others.length && moves.every(({ action, name }, at) => action === others[at].action && name === others[at].name);
}
