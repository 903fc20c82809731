// Small boards of matches that are being played: those that can be seen are watched.

import { BoardView } from "./board.js";
import { showList } from "./keyed.js";
import { matchAddress } from "./navigation.js";
import { clockText, gameText } from "./overview.js";
import { html } from "./svg.js";

/** So long the end of a match is to be seen. */
const FAREWELL_MS = 4000;

export class LiveBoards {
  #list;
  #link;
  #matches = new Map();
  #cards = new Map();
  #observer;
  #drawing = false;
  #onChange;

  /** Cards go into the list; `link` is asked to watch. `onChange(number of cards)`. */
  constructor(list, link, onChange = () => {}) {
    this.#list = list;
    this.#link = link;
    this.#onChange = onChange;
    this.#observer = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: "100px" });
  }

  /** These are being played: a map of summaries by match. What has just ended stays a while. */
  show(matches) {
    const stay = [...this.#matches].filter(([match]) => matches.has(match) || this.#cards.get(match)?.leaving);
    this.#matches = new Map([...stay, ...matches]);
    this.#render();
  }

  /** Take in an event: `welcome` when a connection is there, and all of matches. */
  handle(event) {
    if (event.type === "welcome") {
      for (const [match, card] of this.#cards) {
        card.watched = false;
        if (card.inView) this.#watch(match, card);
      }
    }
    const card = this.#cards.get(event.match);
    if (!card) return;
    if (event.type === "started") this.#start(card, event);
    else if (event.type === "update") this.#update(card, event);
    else if (event.type === "ended") this.#end(card, event);
  }

  #render() {
    showList(this.#list, "match", this.#matches, (summary) => this.#make(summary), (element, summary) =>
      this.#adopt(element, summary),
    );
    for (const [match, card] of this.#cards) {
      if (card.element.isConnected) continue;
      this.#observer.unobserve(card.element);
      this.#unwatch(match, card);
      this.#cards.delete(match);
    }
    this.#onChange(this.#cards.size);
  }

  #make({ match, players: [first, second], game, clock }) {
    const names = html(
      "span",
      { class: "players" },
      html("span", { class: "player first name" }, first),
      html("span", { class: "player second name" }, second),
    );
    const about = html("span", { class: "muted small" }, `${gameText(game)}, ${clockText(clock)}`);
    const link = html("a", { href: matchAddress(match) }, names);
    return html("li", { class: "card match-card" }, link, about);
  }

  /** A card, of ours or of the page as the server has sent it, gets its board. */
  #adopt(element, summary) {
    const card = this.#cards.get(summary.match);
    if (card?.element === element) return;
    const slot = html("div", { class: "board-slot" });
    element.prepend(slot);
    this.#cards.set(summary.match, { element, slot, summary, boardView: null, watched: false, view: null });
    this.#observer.observe(element);
  }

  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      const match = target.dataset.match;
      const card = this.#cards.get(match);
      if (!card) continue;
      card.inView = isIntersecting;
      if (isIntersecting) this.#watch(match, card);
      else this.#unwatch(match, card);
    }
  }

  #watch(match, card) {
    if (card.watched || card.leaving || !this.#link.name) return;
    card.watched = true;
    // If it has ended meanwhile, the news will say so.
    this.#link.request({ type: "watch", match }).catch(() => {});
  }

  #unwatch(match, card) {
    if (!card.watched) return;
    card.watched = false;
    if (!card.leaving) this.#link.request({ type: "unwatch", match }).catch(() => {});
  }

  #start(card, { board, view, players }) {
    if (!card.boardView) card.boardView = new BoardView(card.slot, board, { small: true, players });
    this.#update(card, { view });
  }

  /** Bots may play faster than a screen shows. */
  #update(card, { view }) {
    card.view = view;
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      for (const each of this.#cards.values()) {
        if (each.view) each.boardView?.show(each.view);
        each.view = null;
      }
    });
  }

  #end(card, { match, winner, text }) {
    card.leaving = true;
    const [first, second] = card.element.querySelectorAll(".player");
    if (winner === 1) first.classList.add("won");
    if (winner === 2) second.classList.add("won");
    if (winner < 1) card.element.querySelector(".muted").textContent = text;
    setTimeout(() => {
      this.#matches.delete(match);
      this.#render();
    }, FAREWELL_MS);
  }
}
