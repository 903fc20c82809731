// The list of moves: each is numbered, and leads to the position after it. Each player has a column;
// several steps of a player in a row are listed as one move, and so are a roll and the move after it.

import { html } from "./elements.js";
import { rollText, rolledText } from "./match_text.js";

/** Fills a list (an <ol>) with the moves of a match. `onGo(ply)` is called for a click. */
export class MoveList {
  #list;
  #onGo;
  #buttons = [];
  #current = null;

  constructor(list, onGo) {
    this.#list = list;
    this.#onGo = onGo;
    list.replaceChildren();
  }

  /** Show the moves of a match, with their signs, as in "Qxa3??", by ply, and mark the one that led to
   * position `ply`. */
  show(record, ply, signs = new Map()) {
    const { positions } = record;
    for (const button of this.#buttons.splice(positions.length - 1)) {
      if (button.previousElementSibling) button.remove();
      else button.parentElement.remove();
    }
    for (let at = this.#buttons.length + 1; at < positions.length; at += 1) {
      if (record.isStep(at)) this.#appendStep(at, record, positions);
      else this.#append(at, record, positions[at]);
    }
    this.#buttons.forEach((button, at) => {
      const sign = signs.get(at + 1);
      if (button.dataset.sign === sign) return;
      if (sign) button.dataset.sign = sign;
      else delete button.dataset.sign;
    });
    this.#mark(this.#buttons[ply - 1] ?? null);
  }

  #append(ply, record, { player: mover, view }) {
    const player = record.moverOf(ply);
    const number = html("span", { class: "muted" }, record.numberOf(ply));
    const swatch = html("span", { class: `swatch player-${player}`, "aria-hidden": "true" });
    const [attributes, name] = mover === 0 ? this.#roll(record, view) : [{}, view.name ?? ""];
    const button = this.#button(ply, attributes, number, swatch, name);
    this.#list.append(html("li", { class: `of-player-${player}` }, button));
  }

  /** The attributes and the text of a roll, as players write it. */
  #roll({ board }, { name }) {
    return [{ title: rolledText(board, name) }, rollText(board, name)];
  }

  /** Add a step to the last move. Of a capture that goes on, as 22x15 and 15x6, it shows "x6". */
  #appendStep(ply, record, positions) {
    if (positions[ply].player === 0) {
      const [attributes, shown] = this.#roll(record, positions[ply].view);
      this.#buttons.at(-1).parentElement.append(this.#button(ply, attributes, shown));
      return;
    }
    const [before, name] = [positions[ply - 1], positions[ply]].map(({ view }) => view.name ?? "");
    const start = /^\w+(?=x)/.exec(name)?.[0];
    const text = start && before.endsWith(`x${start}`) ? name.slice(start.length) : name;
    this.#buttons.at(-1).parentElement.append(this.#button(ply, { title: name }, text));
  }

  #button(ply, attributes, ...children) {
    // There may be hundreds: Tab reaches only the current one, the arrow keys lead to the others.
    const button = html("button", { type: "button", class: "move", tabindex: -1, ...attributes }, ...children);
    button.addEventListener("click", () => this.#onGo(ply));
    this.#buttons.push(button);
    return button;
  }

  #mark(button) {
    const before = this.#current;
    this.#current = button;
    if (before !== button) {
      before?.removeAttribute("aria-current");
      button?.setAttribute("aria-current", "step");
    }
    (before ?? this.#buttons[0])?.setAttribute("tabindex", -1);
    (button ?? this.#buttons[0])?.setAttribute("tabindex", 0);
    if (button) reveal(this.#list, button);
    else this.#list.scrollTop = 0;
  }
}

/** Scroll a list, but not the page, as scrollIntoView would, so that a button in it is seen. */
export function reveal(list, button) {
  const [top, height] = [button.offsetTop - list.offsetTop, button.offsetHeight];
  const { scrollTop, clientHeight } = list;
  if (top < scrollTop) list.scrollTop = top;
  else if (top + height > scrollTop + clientHeight) list.scrollTop = top + height - clientHeight;
}
