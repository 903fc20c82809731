// Asks which of several moves is meant that have the same clicks, such as those of a promotion.

import { html } from "./elements.js";
import { gettext } from "./texts.js";

/** The kinds of pieces by the letters of the moves that promote to them, as in "a8=Q", in the order
 * of the buttons. */
const PROMOTED = { Q: "queen", N: "knight", R: "rook", B: "bishop" };
const MARGIN_PX = 8;

/** A dialog with one button for each move, over the board where the move ends. It is closed by
 * Escape, by a click beside it, or by `close`. */
export class MoveDialog {
  #dialog;

  /** Opens the dialog at `box`, the rectangle of a cell. `pictureOf(kind)` draws a piece.
   * `onClose(move)` is called once, with undefined if none was chosen. */
  constructor(moves, box, pictureOf, onClose) {
    const letterOf = ({ name }) => /=([QNRB])/.exec(name)?.[1];
    const orderOf = (move) => Object.keys(PROMOTED).indexOf(letterOf(move));
    const ordered = moves.toSorted((one, other) => orderOf(one) - orderOf(other));
    const button = (move, at) => {
      const [kind, { name }] = [PROMOTED[letterOf(move)], move];
      const attributes = { class: "button", value: at, title: name, "aria-label": name };
      return html("button", attributes, kind ? pictureOf(kind) : name);
    };
    const cancel = html("button", { class: "button", value: "", "aria-label": gettext("Cancel") }, "✕");
    const form = html("form", { method: "dialog" }, ...ordered.map(button), cancel);
    const attributes = { class: "card move-dialog", closedby: "any", "aria-label": gettext("Which move?") };
    this.#dialog = html("dialog", attributes, form);
    this.#dialog.style.setProperty("--cell", `${box.width}px`);
    this.#dialog.addEventListener("close", () => {
      this.#dialog.remove();
      onClose(ordered[this.#dialog.returnValue]);
    });
    this.#dialog.addEventListener("keydown", (event) => this.#press(event));
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#place(box);
  }

  /** Close the dialog without a move, if it is open. */
  close() {
    if (this.#dialog.open) this.#dialog.close();
  }

  /** Cover the cell, and the cells above or below it where there is more room. */
  #place({ left, top, bottom }) {
    const { offsetWidth, offsetHeight, style } = this.#dialog;
    const isBelow = top + bottom < innerHeight;
    const [x, y] = [left, isBelow ? top : bottom - offsetHeight];
    style.left = `${Math.max(MARGIN_PX, Math.min(x, innerWidth - offsetWidth - MARGIN_PX))}px`;
    style.top = `${Math.max(MARGIN_PX, Math.min(y, innerHeight - offsetHeight - MARGIN_PX))}px`;
  }

  /** Move the focus by the arrow keys. */
  #press(event) {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...this.#dialog.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement) + step;
    buttons[(at + buttons.length) % buttons.length].focus();
  }
}
