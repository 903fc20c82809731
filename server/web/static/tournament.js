// The page of a running tournament, whose sections are refreshed when a match begins or ends.

import { showConnectionStatus } from "./connection_status.js";
import { RefreshedSection } from "./refreshed_section.js";
import { RunningBoards } from "./running_boards.js";
import { ServerConnection } from "./server_connection.js";
import { TournamentNews } from "./tournament_news.js";
import { showStaff } from "./tournament_staff.js";

/** The first waits after an event: the server makes a page, and reads results, once a second at most. */
const SOON_MS = 1100, LATER_MS = 4000;

const { tournament } = document.querySelector("[data-tournament]").dataset;

const connection = new ServerConnection({ onEvent: receive, onState: showConnectionStatus });
const news = new TournamentNews(connection, tournament, refresh);
const boards = new RunningBoards(connection);
const progress = new RefreshedSection("progress", () => boards.fill(progress.element));
const tables = new RefreshedSection("tables");
boards.fill(progress.element);

function receive(event) {
  news.receive(event);
  showStaff(connection, event, tournament);
  boards.receive(event);
}

function refresh() {
  progress.refreshIn(SOON_MS);
  tables.refreshIn(LATER_MS);
}
