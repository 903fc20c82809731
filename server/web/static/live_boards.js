// Small boards of running matches. Those that are in view are watched.

import "./dice_boards.js";
import { html } from "./elements.js";
import { updateKeyedList } from "./keyed_list.js";
import { matchAddress } from "./navigation.js";
import { newBoard } from "./text_board.js";
import { listText, pgettext, told } from "./texts.js";
import { clockText, gameText } from "./wording.js";

/** How long a match is shown after its end. */
const ENDED_SHOWN_MS = 4000;

export class LiveBoards {
  #list;
  #connection;
  #matches = new Map();
  #cards = new Map();
  #observer;
  #drawing = false;
  #onChange;

  /** Cards are added to `list`, and watched over `connection`. `onChange(number of cards)`. */
  constructor(list, connection, onChange = () => {}) {
    this.#list = list;
    this.#connection = connection;
    this.#onChange = onChange;
    this.#observer = new IntersectionObserver((entries) => this.#updateVisibility(entries), {
      rootMargin: "100px",
    });
  }

  /** Show these running matches, a map of summaries by match. Ended ones stay ENDED_SHOWN_MS. */
  show(matches) {
    const stay = [...this.#matches].filter(([match]) => matches.has(match) || this.#cards.get(match)?.ended);
    this.#matches = new Map([...stay, ...matches]);
    this.#render();
  }

  /** Handle an event: `welcome`, and all that belong to a match. */
  receive(event) {
    if (event.type === "welcome") {
      for (const [match, card] of this.#cards) {
        card.watched = false;
        if (card.inView) this.#watch(match, card);
      }
    }
    const card = this.#cards.get(event.match);
    if (!card) return;
    if (event.type === "started") this.#start(card, event);
    else if (event.type === "update" || event.type === "taken_back") this.#update(card, event);
    else if (event.type === "ended") this.#end(card, event);
  }

  #render() {
    updateKeyedList(this.#list, "match", this.#matches, createItem, (element, summary) =>
      this.#addBoard(element, summary),
    );
    for (const [match, card] of this.#cards) {
      if (card.element.isConnected) continue;
      this.#observer.unobserve(card.element);
      this.#unwatch(match, card);
      this.#cards.delete(match);
    }
    this.#onChange(this.#cards.size);
  }

  /** Add a board to an item of the list, which came with the page or was made by `createItem`. */
  #addBoard(element, summary) {
    const card = this.#cards.get(summary.match);
    if (card?.element === element) return;
    const slot = html("div", { class: "board-slot" });
    element.prepend(slot);
    this.#cards.set(summary.match, { element, slot, boardView: null, watched: false, view: null });
    this.#observer.observe(element);
  }

  #updateVisibility(entries) {
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
    if (card.watched || card.ended || !this.#connection.name) return;
    card.watched = true;
    // If the match has ended already, the next `news` removes it.
    this.#connection.request({ type: "watch", match, preview: true }).catch(() => {});
  }

  #unwatch(match, card) {
    if (!card.watched) return;
    card.watched = false;
    if (!card.ended) this.#connection.request({ type: "unwatch", match }).catch(() => {});
  }

  #start(card, { board, view, players }) {
    if (!card.boardView) card.boardView = newBoard(card.slot, board, { small: true, players });
    this.#update(card, { view });
  }

  /** Draw the latest position at the next frame: bots may play faster than a screen shows. */
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
    card.ended = true;
    const [first, second] = card.element.querySelectorAll(".player");
    if (winner > 0) markWinner(winner === 1 ? first : second);
    if (winner < 1) card.element.querySelector(".muted").textContent = told(text);
    setTimeout(() => {
      this.#matches.delete(match);
      this.#render();
    }, ENDED_SHOWN_MS);
  }
}

function markWinner(element) {
  element.classList.add("won");
  element.dataset.won = pgettext("player", "won"); // shown behind the name
}

function createItem({ match, players: [first, second], game, clock }) {
  const names = html(
    "span",
    { class: "players" },
    html("span", { class: "player first name" }, first),
    html("span", { class: "player second name" }, second),
  );
  const terms = html("span", { class: "muted small", title: `${game}, ${clock}` }, listText([gameText(game), clockText(clock)]));
  const link = html("a", { href: matchAddress(match) }, names);
  return html("li", { class: "card match-card" }, link, terms);
}
