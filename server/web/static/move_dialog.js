// Asks which of several moves is meant that have the same clicks, such as those of a promotion.

import { html } from "./elements.js";

/** A dialog over the page, with one button for each move. It is closed by Escape, by a click beside
 * it, or by `close`. */
export class MoveDialog {
  #dialog;

  /** Opens the dialog. `onClose(action)` is called once, with undefined if no move was chosen. */
  constructor(moves, onClose) {
    const button = ({ name }, at) => html("button", { class: "button primary", value: at }, name);
    const cancel = html("button", { class: "button", value: "" }, "Cancel");
    const title = html("h2", { id: "move-dialog-title" }, "Which move?");
    const buttons = html("div", { class: "row" }, ...moves.map(button), cancel);
    const form = html("form", { method: "dialog", class: "stack" }, title, buttons);
    const attributes = { class: "card move-dialog", closedby: "any", "aria-labelledby": title.id };
    this.#dialog = html("dialog", attributes, form);
    this.#dialog.addEventListener("close", () => {
      this.#dialog.remove();
      onClose(moves[this.#dialog.returnValue]?.action);
    });
    document.body.append(this.#dialog);
    this.#dialog.showModal();
  }

  /** Close the dialog without a move, if it is open. */
  close() {
    if (this.#dialog.open) this.#dialog.close();
  }
}
