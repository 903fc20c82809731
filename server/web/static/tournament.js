// The page of a running tournament: draws its running matches, and refreshes its tables.

import { showConnectionStatus } from "./connection_status.js";
import { RefreshedSection } from "./refreshed_section.js";
import { RunningBoards } from "./running_boards.js";
import { ServerConnection } from "./server_connection.js";

const PROGRESS_MS = 2000, TABLES_MS = 5000;
/** The wait after the end of a match, in which the next one most likely begins. */
const NEXT_MATCH_MS = 300;

function isOver() {
  return document.querySelector('[data-over="yes"]') !== null;
}

/** Refresh a section periodically, and once more when the tournament is over. */
function keepFresh(section, milliseconds) {
  const timer = setInterval(() => {
    if (isOver() && !document.hidden) clearInterval(timer);
    section.refreshIn(0);
  }, milliseconds);
}

const boards = new RunningBoards(() => progress.refreshIn(NEXT_MATCH_MS));
const progress = new RefreshedSection("progress", () => boards.fill(progress.element));
const tables = new RefreshedSection("tables");
boards.connection = new ServerConnection({
  onEvent: (event) => boards.receive(event),
  onState: showConnectionStatus,
});
boards.fill(progress.element);
keepFresh(progress, PROGRESS_MS);
keepFresh(tables, TABLES_MS);
