// A tournament that is being played: its boards move, and its tables are fetched again.

import { BoardView } from "./board.js";
import { showConnection } from "./connection.js";
import { Link } from "./link.js";

const PROGRESS_MS = 2000, TABLES_MS = 5000;
/** A match has ended: the next one begins about now. */
const SOON_MS = 300;
const TIMEOUT_MS = 10_000;

/** The boards of the matches that are being played. */
class Boards {
  #places = new Map(); // from a match to where it is drawn, and by what
  #link;

  constructor(onEnded) {
    this.#link = new Link({
      onEvent: (event) => this.#receive(event, onEnded),
      onState: showConnection,
    });
  }

  /** Keep the boards of the matches that the part still has, watch those that are new. */
  place(part) {
    const items = [...part.querySelectorAll("[data-match]")];
    const wanted = new Map(items.map((item) => [item.dataset.match, item]));
    for (const match of this.#places.keys()) {
      if (wanted.has(match)) continue;
      this.#places.delete(match);
      this.#link.send({ type: "unwatch", match });
    }
    for (const [match, item] of wanted) {
      const empty = item.querySelector(".board-place");
      const known = this.#places.get(match);
      if (known) {
        empty.replaceWith(known.element);
      } else {
        this.#places.set(match, { element: empty, boardView: null });
        this.#watch(match);
      }
    }
  }

  #watch(match) {
    // What is over by now cannot be watched any more.
    this.#link.request({ type: "watch", match }).catch(() => {});
  }

  #receive(event, onEnded) {
    if (event.type === "welcome") {
      for (const match of this.#places.keys()) this.#watch(match);
      return;
    }
    const known = this.#places.get(event.match);
    if (!known) return;
    if (event.type === "started" && event.board) {
      known.element.replaceChildren();
      known.boardView = new BoardView(known.element, event.board, { small: true });
    }
    if (event.view) known.boardView?.show(event.view);
    if (event.type === "ended") onEnded();
  }
}

/** A part of the page that is fetched again and again, until the tournament is over. */
class Part {
  #name;
  #everyMs;
  #onShown;
  #timer = null;
  #at = Infinity;
  #shown = null;

  constructor(name, everyMs, onShown = () => {}) {
    this.#name = name;
    this.element = document.getElementById(name);
    this.#everyMs = everyMs;
    this.#onShown = onShown;
    this.renewIn(everyMs);
  }

  /** Fetch it in so long, or sooner if that was said before. */
  renewIn(milliseconds) {
    const at = performance.now() + milliseconds;
    if (at >= this.#at) return;
    clearTimeout(this.#timer);
    this.#at = at;
    this.#timer = setTimeout(() => this.#renew(), milliseconds);
  }

  async #renew() {
    this.#at = Infinity;
    const last = isOver() && !document.hidden;
    if (!document.hidden) await this.#fetch(); // who does not look does not ask
    if (!last) this.renewIn(this.#everyMs);
  }

  async #fetch() {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const answer = await fetch(`?part=${this.#name}`, { signal });
      if (answer.ok) this.#show(await answer.text());
    } catch {
      // Not reachable at the moment, of which the link tells.
    }
  }

  /** What comes from the server has no markup in it but the server's own. */
  #show(text) {
    if (text === this.#shown) return;
    this.#shown = text;
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const fresh = new DOMParser().parseFromString(text, "text/html").body;
    exchange(this.element, [...fresh.children]);
    this.#onShown();
    if (focused && !focused.isConnected) this.#focus(focused.getAttribute("href"));
  }

  #focus(address) {
    const links = [...this.element.querySelectorAll("a[href]")];
    links.find((each) => each.getAttribute("href") === address)?.focus({ preventScroll: true });
  }
}

function isOver() {
  return document.querySelector('[data-over="yes"]') !== null;
}

/** Replace those sections that have changed; wide tables stay scrolled as they are. */
function exchange(element, after) {
  const tables = () => [...element.querySelectorAll(".scroll")];
  const scrolled = new Map(tables().map((each) => [each.ariaLabel, each.scrollLeft]));
  const before = [...element.children];
  if (before.length === after.length) {
    before.forEach((section, place) => {
      if (section.outerHTML !== after[place].outerHTML) section.replaceWith(after[place]);
    });
  } else {
    element.replaceChildren(...after);
  }
  for (const each of tables()) each.scrollLeft = scrolled.get(each.ariaLabel) ?? 0;
}

const progress = new Part("progress", PROGRESS_MS, () => boards.place(progress.element));
const boards = new Boards(() => progress.renewIn(SOON_MS));
boards.place(progress.element);
new Part("tables", TABLES_MS);
