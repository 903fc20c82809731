// Tells the person when the connection is lost, and when it is there again.

const SHORTLY_MS = 400, LONG_ENOUGH_MS = 2500;

let wasLost = false;
let timer = null;

/** For a Link's `onState`. */
export function showConnection(state, text) {
  if (state === "lost") {
    wasLost = true;
    // Most are back at once; nobody has to hear of those.
    if (text) show(text);
    else later(SHORTLY_MS, () => show("The connection is lost. Trying again …"));
  } else if (state === "open" && wasLost) {
    wasLost = false;
    show("Connected again.");
    later(LONG_ENOUGH_MS, () => show(""));
  }
}

function later(milliseconds, then) {
  clearTimeout(timer);
  timer = setTimeout(then, milliseconds);
}

function show(text) {
  clearTimeout(timer);
  const banner = document.getElementById("connection");
  banner.textContent = text;
  banner.hidden = !text;
}
