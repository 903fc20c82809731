// A banner that says when the connection is lost, and when it is open again.

import { gettext } from "./texts.js";

const DELAY_MS = 400, CONFIRMATION_MS = 2500;

let wasLost = false;
let timer = null;

/** Show a state of the connection; pass it as `onState` of a ServerConnection. */
export function showConnectionStatus(state, text) {
  if (state === "lost") {
    wasLost = true;
    // Most connections are open again within DELAY_MS: those losses are not shown.
    if (text) show(text);
    else later(DELAY_MS, () => show(gettext("The connection is lost. Trying again …")));
  } else if (state === "open" && wasLost) {
    wasLost = false;
    show(gettext("Connected again."));
    later(CONFIRMATION_MS, () => show(""));
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
