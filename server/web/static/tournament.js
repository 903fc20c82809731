// The page of a running tournament: the server tells when a match begins or ends.

import { showConnectionStatus } from "./connection_status.js";
import { RefreshedSection } from "./refreshed_section.js";
import { RunningBoards } from "./running_boards.js";
import { ServerConnection } from "./server_connection.js";
import { showStaff } from "./tournament_staff.js";

/** The waits after an event: the server makes a page, and reads results, once a second at most. */
const SOON_MS = 1100, LATER_MS = 4000;
/** Then the last results of even a large tournament are on the page. */
const LAST_MS = 12_000;
/** How often a tournament is asked for that is played by another server, which tells nothing. */
const POLL_MS = 5000;

const { tournament } = document.querySelector("[data-tournament]").dataset;

const connection = new ServerConnection({ onEvent: receive, onState: showConnectionStatus });
const boards = new RunningBoards(connection);
const progress = new RefreshedSection("progress", () => boards.fill(progress.element));
const tables = new RefreshedSection("tables");
let polling = null;
boards.fill(progress.element);

function receive(event) {
  if (event.type === "welcome") watch();
  showStaff(connection, event, tournament);
  const isNews = event.type === "fixture" || event.type === "tournament";
  if (isNews && event.tournament === tournament) refresh();
  if (event.over) {
    progress.refreshIn(LAST_MS);
    tables.refreshIn(LAST_MS);
  }
  boards.receive(event);
}

function watch() {
  connection.request({ type: "watch_tournament", tournament, from_now: true }).catch((error) => {
    if (error.code === "unknown_tournament") polling ??= setInterval(poll, POLL_MS);
  });
}

function poll() {
  const isOver = document.querySelector('[data-over="yes"]') !== null;
  if (isOver && !document.hidden) clearInterval(polling);
  refresh();
}

function refresh() {
  progress.refreshIn(SOON_MS);
  progress.refreshIn(LATER_MS);
  tables.refreshIn(LATER_MS);
}
