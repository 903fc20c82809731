// The line about games that are being compiled, and a link to the page with all when they are ready.
// A page without any game is loaded again when the first one is ready.

import { gettext } from "./texts.js";

const INTERVAL_MS = 2000;

const line = document.getElementById("to-come");
const progress = document.getElementById("to-come-progress");

async function refresh() {
  if (document.hidden) return later();
  try {
    const response = await fetch(location.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("to-come");
    const isFirst = response.ok && "empty" in line.dataset && !(fresh && "empty" in fresh.dataset);
    if (isFirst) return location.reload();
    if (response.ok && !fresh) return offerAll();
    if (fresh) line.textContent = fresh.textContent;
    progress.value = page.getElementById("to-come-progress")?.value ?? progress.max;
    for (const tile of document.querySelectorAll(".skeleton")) {
      tile.classList.toggle("is-ready", !page.querySelector(`.skeleton[data-game="${CSS.escape(tile.dataset.game)}"]`));
    }
  } catch {
    // The server cannot be reached at the moment.
  }
  later();
}

function later() {
  setTimeout(refresh, INTERVAL_MS);
}

function offerAll() {
  progress.remove();
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = gettext("show them");
  line.replaceChildren(gettext("All games are ready:"), " ", link);
}

later();
