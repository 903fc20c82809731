// A section of a page whose HTML the server renders again: the page's address with `?part=`.

const TIMEOUT_MS = 10_000;
/** The server keeps a section for up to ten times the time that it took: what is fetched after news may be
 * older. It is fetched again after thrice the last wait, as long as no more than this has passed. */
const AGAIN_MS = 180_000;
const LEAST_WAIT_MS = 1000;

/** Replaces what has changed in the element with the id `name`, when it is told to. */
export class RefreshedSection {
  #name;
  #onShown;
  #timer = null;
  #dueMs = Infinity;
  #waitMs = 0;
  #untilMs = 0;
  #shown = null;

  /** `onShown` is called after a change. */
  constructor(name, onShown = () => {}) {
    this.#name = name;
    this.element = document.getElementById(name);
    this.#onShown = onShown;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.#dueMs <= performance.now()) this.#refresh();
    });
  }

  /** Fetch the section in so many milliseconds at the latest, and some times afterwards. */
  refreshIn(milliseconds) {
    this.#waitMs = Math.max(milliseconds, LEAST_WAIT_MS);
    this.#untilMs = performance.now() + milliseconds + AGAIN_MS;
    this.#schedule(milliseconds);
  }

  #schedule(milliseconds) {
    const dueMs = performance.now() + milliseconds;
    if (dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#refresh(), milliseconds);
  }

  async #refresh() {
    if (document.hidden) return; // such a page makes no requests
    this.#dueMs = Infinity;
    this.#waitMs *= 3;
    if (performance.now() + this.#waitMs <= this.#untilMs) this.#schedule(this.#waitMs);
    try {
      const address = new URL(location);
      address.searchParams.set("part", this.#name);
      const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) });
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
