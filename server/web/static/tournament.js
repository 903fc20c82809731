// A tournament that is being played: its boards move, and its tables are fetched again.

import { BoardView } from "./board.js";
import { showConnection } from "./connection.js";
import { Link } from "./link.js";

const TABLES_MS = 5000, RUNNING_MS = 2000;
/** A match has ended: the next one begins about now. */
const SOON_MS = 300;

/** The boards of the matches that are being played, by match. */
class Boards {
  #link;
  #views = new Map();

  constructor() {
    this.#link = new Link({
      onEvent: (event) => this.#receive(event),
      onState: showConnection,
    });
  }

  /** Put each board where there is a place for it now, and watch and forget accordingly. */
  place(list) {
    const places = new Map();
    for (const item of list.querySelectorAll("[data-match]")) places.set(item.dataset.match, item);
    for (const match of [...this.#views.keys()]) {
      if (places.has(match)) continue;
      this.#views.delete(match);
      this.#link.send({ type: "unwatch", match });
    }
    for (const [match, item] of places) {
      const known = this.#views.get(match);
      if (known) {
        item.querySelector(".board-place").replaceWith(known.element);
        continue;
      }
      const element = item.querySelector(".board-place");
      this.#views.set(match, { element, view: null });
      this.#watch(match);
    }
  }

  #watch(match) {
    // One that is over by now is not there any more.
    this.#link.request({ type: "watch", match }).catch(() => {});
  }

  #receive(event) {
    if (event.type === "welcome") {
      for (const match of this.#views.keys()) this.#watch(match);
      return;
    }
    const known = this.#views.get(event.match);
    if (!known) return;
    if (event.type === "started" && event.board) {
      known.element.replaceChildren();
      known.view = new BoardView(known.element, event.board, { small: true });
    }
    if (event.picture) known.view?.show(event.picture);
    if (event.type === "ended") later("running", SOON_MS);
  }
}

const parts = {
  running: { element: document.getElementById("running"), everyMs: RUNNING_MS },
  tables: { element: document.getElementById("tables"), everyMs: TABLES_MS },
};
const boards = new Boards();
boards.place(parts.running.element);

/** Fetch a part in so long, unless that is to be done sooner. */
function later(name, milliseconds) {
  const part = parts[name];
  const at = performance.now() + milliseconds;
  if (part.timer && part.at <= at) return;
  clearTimeout(part.timer);
  part.at = at;
  part.timer = setTimeout(() => renew(name), milliseconds);
}

async function renew(name) {
  const part = parts[name];
  part.timer = null;
  // Who does not look does not ask.
  if (!document.hidden) {
    try {
      const answer = await fetch(`?part=${name}`, { signal: AbortSignal.timeout(10_000) });
      if (answer.ok) show(name, await answer.text());
    } catch {
      // Not reachable at the moment, of which the link tells: try again.
    }
  }
  if (!document.querySelector('[data-over="yes"]')) later(name, part.everyMs);
}

/** Put what is new in its place. The server has escaped what was typed by somebody. */
function show(name, text) {
  const part = parts[name];
  const fresh = new DOMParser().parseFromString(text, "text/html").body;
  if (part.shown === text) return;
  part.shown = text;
  const focused = part.element.contains(document.activeElement) ? document.activeElement : null;
  exchange(part.element, fresh);
  if (name === "running") boards.place(part.element);
  if (focused && !focused.isConnected && focused.href) {
    part.element.querySelector(`a[href="${CSS.escape(focused.getAttribute("href"))}"]`)?.focus();
  }
  if (name === "tables" && document.querySelector('[data-over="yes"]')) {
    parts.running.element.replaceChildren();
    boards.place(parts.running.element);
  }
}

/** Of two lists of sections, replace those that differ. */
function exchange(element, fresh) {
  const before = [...element.children], after = [...fresh.children];
  const same = before.length === after.length;
  if (!same) {
    element.replaceChildren(...after);
    return;
  }
  before.forEach((section, place) => {
    if (section.outerHTML === after[place].outerHTML) return;
    const scrolled = [...section.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    section.replaceWith(after[place]);
    [...after[place].querySelectorAll(".scroll")].forEach((each, number) => {
      each.scrollLeft = scrolled[number] ?? 0;
    });
  });
}

later("running", RUNNING_MS);
later("tables", TABLES_MS);
