// The page of an analysis: a tree of variations, which are the moves that a person has tried from the
// positions of a match, and a bar of the win rate beside the board. The browser keeps the tree; it is shown
// between the moves of the match, as in books.

import { html } from "./elements.js";
import { percent, rollText } from "./match_text.js";
import { reveal } from "./move_list.js";
import { readJson, write } from "./storage.js";
import { gettext } from "./texts.js";

/** Nodes are {parent, action, name, player}; `parent` is the number of a node, or -1 - ply for the
 * position of the match after `ply` moves. Children are in the order of the nodes. */
export class VariationTree {
  #record;
  #key;
  nodes;

  constructor(record) {
    this.#record = record;
    const moves = record.positions.slice(1).map(({ action }) => action);
    this.#key = `variations ${record.id || `${record.game} ${moves.join()}`}`;
    this.nodes = readJson(this.#key, []);
    if (!this.nodes.every((node, at) => node?.parent < at && "name" in node)) this.nodes = [];
  }

  /** Follow the match: its own moves are no variations, and positions that were taken back have none. */
  follow() {
    const { last, positions } = this.#record;
    const isPlayed = ({ parent, action }) => parent < 0 && positions[-parent]?.action === action;
    for (let at; (at = this.nodes.findIndex(isPlayed)) >= 0; this.remove(at)) {
      const place = this.nodes[at].parent - 1;
      this.nodes = this.nodes.map((node) => (node.parent === at ? { ...node, parent: place } : node));
    }
    for (let at; (at = this.nodes.findIndex(({ parent }) => -1 - parent > last)) >= 0;) this.remove(at);
  }

  /** Add a line of positions after the first `ply` moves, unless it is there. Returns the number of its
   * last node, or of the position of the match to which it leads. */
  add(ply, line) {
    let at = -1 - ply;
    for (const { action, player, view } of line) {
      const played = at < 0 ? this.#record.positions[-at] : null;
      if (played?.action === action) {
        at -= 1;
        continue;
      }
      const found = this.nodes.findIndex((each) => each.parent === at && each.action === action);
      at = found < 0 ? this.nodes.push({ parent: at, action, player, name: view.name }) - 1 : found;
      if (found < 0) this.#keep();
    }
    return at;
  }

  /** The numbers of the nodes that follow on a node. */
  childrenOf(parent) {
    return [...this.nodes.keys()].filter((at) => this.nodes[at].parent === parent);
  }

  /** The nodes from the match to a node. */
  pathTo(at) {
    return at < 0 ? [] : [...this.pathTo(this.nodes[at].parent), at];
  }

  /** The line to a node: {ply, moves}. */
  lineTo(at) {
    const path = this.pathTo(at);
    return { ply: -1 - (path.length ? this.nodes[path[0]].parent : at), moves: path.map((each) => this.nodes[each].action) };
  }

  /** Put the nearest variation with this node in front of its alternatives. */
  promote(at) {
    const node = this.pathTo(at).findLast((each) => this.childrenOf(this.nodes[each].parent)[0] !== each);
    if (node === undefined) return;
    const others = [...this.nodes.keys()].filter((each) => each !== node);
    const place = others.indexOf(this.childrenOf(this.nodes[node].parent)[0]);
    this.#reorder(others.toSpliced(place, 0, node));
  }

  /** Remove a node and what follows on it. */
  remove(at) {
    this.#reorder([...this.nodes.keys()].filter((each) => !this.pathTo(each).includes(at)));
  }

  /** The tokens of the variations after a position of the match, or after a node: "(", ")" and numbers of
   * nodes. The match's own move comes before them. */
  *tokens(parent) {
    const children = this.childrenOf(parent);
    const [main, ...others] = parent < 0 && -1 - parent < this.#record.last ? [null, ...children] : children;
    if (main !== null && main !== undefined) yield main;
    for (const each of others) yield* ["(", each, ...this.tokens(each), ")"];
    if (main !== null && main !== undefined) yield* this.tokens(main);
  }

  /** The moves of the match and all variations as numbers of actions, variations in brackets behind the move
   * that they replace. */
  get text() {
    const { positions, last } = this.#record;
    const number = (token) => (typeof token === "string" ? token : this.nodes[token].action);
    const plies = Array.from({ length: last + 1 }, (_, ply) => [positions[ply + 1]?.action ?? [], [...this.tokens(-1 - ply)].map(number)]);
    return plies.flat(2).join(" ");
  }

  /** The number of a node's move, as players write it. */
  numberOf(at) {
    const { ply } = this.lineTo(at);
    const positions = [...this.#record.positions.slice(0, ply + 1), ...this.pathTo(at).map((each) => this.nodes[each])];
    return this.#record.numberOf(positions.length - 1, positions);
  }

  /** Keep the nodes of a new order. */
  #reorder(order) {
    const places = new Map(order.map((at, place) => [at, place]));
    this.nodes = order.map((at) => {
      const node = this.nodes[at];
      return { ...node, parent: places.get(node.parent) ?? node.parent };
    });
    this.#keep();
  }

  #keep() {
    write(this.#key, JSON.stringify(this.nodes));
  }
}

/** Shows the tree in the list of moves, and the bar. `part(id)` is an element of the page; `study` has the
 * tried moves and what the bot says; `open(ply, moves)` shows a position. */
export class AnalysisRoom {
  #part;
  #record;
  #study;
  #open;
  #tree;
  /** The number of the node that is shown. */
  #at = -1;
  #drawn = null;

  constructor(part, record, study, open) {
    this.#part = part;
    this.#record = record;
    this.#study = study;
    this.#open = open;
    this.#tree = new VariationTree(record);
    part("promote").addEventListener("click", () => {
      const { ply, moves } = this.#tree.lineTo(this.#at);
      this.#tree.promote(this.#at);
      open(ply, moves);
    });
    part("delete-line").addEventListener("click", () => {
      const { parent } = this.#tree.nodes[this.#at];
      const { ply, moves } = this.#tree.lineTo(parent);
      this.#tree.remove(this.#at);
      open(ply, moves);
    });
  }

  /** Show the next move of the shown variation. Returns whether one is shown. */
  next() {
    if (this.#at < 0) return this.#at === -1 - this.#record.last && this.#goTo(this.#tree.childrenOf(this.#at)[0]);
    this.#goTo(this.#tree.childrenOf(this.#at)[0]);
    return true;
  }

  /** The page shows the position after `ply` moves of the match and the tried ones, which are added. */
  show(ply) {
    this.#showBar(ply);
    const { nodes } = this.#tree;
    this.#tree.follow();
    if (nodes !== this.#tree.nodes) this.#at = -1 - ply; // they have other numbers
    const line = this.#study.moves.length ? this.#study.line : [];
    if (line) this.#at = this.#tree.add(ply, line);
    for (const id of ["promote", "delete-line"]) this.#part(id).disabled = this.#at < 0;
    const key = JSON.stringify([this.#at, this.#record.last, this.#tree.nodes.map(({ parent, action }) => [parent, action])]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    const query = new URLSearchParams({ game: this.#record.game, tree: this.#tree.text });
    for (const link of this.#part("tree-files").querySelectorAll("a")) link.search = query;
    const list = this.#part("moves");
    const hadFocus = Boolean(document.activeElement?.closest(".variations"));
    for (const each of list.querySelectorAll(".variations")) each.remove();
    const parents = new Set(this.#tree.nodes.map(({ parent }) => parent).filter((parent) => parent < 0));
    for (const parent of [...parents].toSorted((one, other) => one - other)) {
      const tokens = [...this.#tree.tokens(parent)];
      const item = html("li", { class: "variations" }, ...this.#texts(tokens));
      // After the move of the match to which these are alternatives, or after the last one.
      const button = list.querySelectorAll(".move:not(.variations *)")[Math.min(-1 - parent, this.#record.last - 1)];
      if (button) button.closest("li").after(item);
      else list.append(item);
    }
    const current = list.querySelector(".variations [aria-current]");
    if (current) reveal(list, current);
    if (hadFocus) current?.focus();
  }

  /** Player 1's share of the bar is the win rate of this player, and on this player's side. */
  #showBar(ply) {
    const { rate = null } = this.#study.moves.length ? {} : this.#record.rates()[2].find((each) => each.ply === ply) ?? {};
    const shown = this.#study.rate ?? rate;
    const bar = this.#part("bar");
    bar.style.setProperty("--rate", shown ?? 0.5);
    bar.classList.toggle("is-unknown", shown === null);
    const text = shown === null ? gettext("no win rate") : percent(shown);
    bar.setAttribute("aria-label", gettext("%(name)s: %(text)s", { name: this.#part("win-rates-title").textContent, text }));
    bar.firstElementChild.textContent = shown === null ? "" : Math.round(100 * shown);
  }

  #goTo(at) {
    if (at === undefined) return false;
    const { ply, moves } = this.#tree.lineTo(at);
    this.#open(ply, moves);
    return true;
  }

  /** Brackets, and moves as buttons; those that begin a line, or that their players number, have numbers. */
  #texts(tokens) {
    const { board, countsPairs } = this.#record;
    return tokens.map((token, place) => {
      if (typeof token === "string") return token;
      const { name, player } = this.#tree.nodes[token];
      const begins = typeof tokens[place - 1] !== "number";
      const number = begins || (countsPairs && player === 1) ? this.#tree.numberOf(token) : "";
      const text = player === 0 ? rollText(board, name) : name;
      const button = html("button", { type: "button", class: "move", tabindex: begins || token === this.#at ? 0 : -1, "aria-current": token === this.#at && "step" });
      if (number) button.append(html("span", { class: "muted" }, number), " ");
      button.append(text);
      button.addEventListener("click", () => this.#goTo(token));
      return button;
    });
  }
}
