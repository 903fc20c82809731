// The page of the link to a seek: accepts it, and opens the match.

import { session } from "./account.js";
import { showConnectionStatus } from "./connection_status.js";
import { openMatch } from "./navigation.js";
import { ServerConnection } from "./server_connection.js";

/** The wait before a seek that is not open is tried again: its player may have lost the connection. */
const AGAIN_MS = 3000;

const find = (id) => document.getElementById(id);
const seek = decodeURIComponent(location.pathname.split("/").pop());
/** Matches from before, which are not opened. */
const known = new Set(session()?.playing);
let timer = null;

const connection = new ServerConnection({
  role: "human",
  views: false,
  onEvent({ type, match, seat }) {
    if (type === "welcome") accept();
    else if (type === "started" && seat && !known.has(match)) openMatch(match);
  },
  onState: showConnectionStatus,
});

async function accept() {
  clearTimeout(timer);
  find("error").textContent = "";
  try {
    await connection.request({ type: "accept", seek });
  } catch ({ code, message }) {
    if (code === "lost") return; // tried again after the next welcome
    const isClosed = code === "unknown_seek";
    find("open").hidden = true;
    find("closed").hidden = !isClosed;
    if (isClosed) timer = setTimeout(accept, AGAIN_MS);
    else find("error").textContent = message;
  }
}
