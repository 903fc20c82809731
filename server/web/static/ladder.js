// The page of a ladder: the server tells when something has changed on it.

import { showConnectionStatus } from "./connection_status.js";
import { RefreshedSection } from "./refreshed_section.js";
import { RunningBoards } from "./running_boards.js";
import { ServerConnection } from "./server_connection.js";

const { game } = document.getElementById("ladder").dataset;

const connection = new ServerConnection({ onEvent: receive, onState: showConnectionStatus });
const boards = new RunningBoards(connection);
const ladder = new RefreshedSection("ladder", () => boards.fill(ladder.element));
boards.fill(ladder.element);

function receive(event) {
  if (event.type === "welcome") connection.request({ type: "watch_ladder", game }).catch(() => {});
  if (event.type === "ladder_news") ladder.refreshIn(0);
  boards.receive(event);
}
