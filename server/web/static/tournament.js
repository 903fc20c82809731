// The page of a running tournament: draws its running matches, and refreshes its tables.

import { showConnectionStatus } from "./connection_status.js";
import { ServerConnection } from "./server_connection.js";
import { newBoard } from "./text_board.js";

const PROGRESS_MS = 2000, TABLES_MS = 5000;
/** The wait after the end of a match, in which the next one most likely begins. */
const NEXT_MATCH_MS = 300;
const TIMEOUT_MS = 10_000;

/** The boards of the running matches. */
class RunningBoards {
  #boards = new Map(); // from a match to {element, boardView}
  #connection;

  constructor(onEnded) {
    this.#connection = new ServerConnection({
      onEvent: (event) => this.#receive(event, onEnded),
      onState: showConnectionStatus,
    });
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

  #watch(match) {
    // Fails if the match has ended already.
    this.#connection.request({ type: "watch", match }).catch(() => {});
  }

  #receive(event, onEnded) {
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
    if (event.type === "ended") onEnded();
  }
}

/** A section of the page that is fetched periodically until the tournament is over. */
class RefreshedSection {
  #name;
  #intervalMs;
  #onShown;
  #timer = null;
  #dueMs = Infinity;
  #shown = null;

  constructor(name, intervalMs, onShown = () => {}) {
    this.#name = name;
    this.element = document.getElementById(name);
    this.#intervalMs = intervalMs;
    this.#onShown = onShown;
    this.refreshIn(intervalMs);
  }

  /** Fetch the section in so many milliseconds, unless it is due earlier. */
  refreshIn(milliseconds) {
    const dueMs = performance.now() + milliseconds;
    if (dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#refresh(), milliseconds);
  }

  async #refresh() {
    this.#dueMs = Infinity;
    const last = isOver() && !document.hidden;
    if (!document.hidden) await this.#fetch(); // a hidden page makes no requests
    if (!last) this.refreshIn(this.#intervalMs);
  }

  async #fetch() {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(`?part=${this.#name}`, { signal });
      if (response.ok) this.#show(await response.text());
    } catch {
      // The server cannot be reached, which the banner of the connection says.
    }
  }

  /** Show HTML that the server has escaped. */
  #show(text) {
    if (text === this.#shown) return;
    this.#shown = text;
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const fresh = new DOMParser().parseFromString(text, "text/html").body;
    replaceChanged(this.element, [...fresh.children]);
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

/** Replace the children that have changed. Wide tables keep their scroll position. */
function replaceChanged(element, after) {
  const tables = () => [...element.querySelectorAll(".scroll")];
  const scrolled = new Map(tables().map((each) => [each.ariaLabel, each.scrollLeft]));
  const before = [...element.children];
  if (before.length === after.length) {
    before.forEach((child, at) => {
      if (child.outerHTML !== after[at].outerHTML) child.replaceWith(after[at]);
    });
  } else {
    element.replaceChildren(...after);
  }
  for (const each of tables()) each.scrollLeft = scrolled.get(each.ariaLabel) ?? 0;
}

const progress = new RefreshedSection("progress", PROGRESS_MS, () => boards.fill(progress.element));
const boards = new RunningBoards(() => progress.refreshIn(NEXT_MATCH_MS));
boards.fill(progress.element);
new RefreshedSection("tables", TABLES_MS);
