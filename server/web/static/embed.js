// A match in a frame of another site: its board, names and clocks, live.

import { Clocks } from "./clocks.js";
import "./dice_boards.js";
import { reasonText, statusText } from "./match_text.js";
import { ServerConnection } from "./server_connection.js";
import { newBoard } from "./text_board.js";
import { gettext } from "./texts.js";

const TICK_MS = 100;
/** The wait before the page is loaded again: the match ended while it was on its way. */
const RELOAD_MS = 1000;

const part = (id) => document.getElementById(id);
const now = () => performance.now() / 1000;

const match = JSON.parse(part("data").textContent);
const { players, time_control: control } = match;
const controls = match.time_controls ?? (control ? [control, control] : null);
const clocks = new Clocks(controls);
const label = gettext("Board of %(first)s and %(second)s", { first: players[0], second: players[1] });
const board = newBoard(part("board"), match.board, { label, players });
part("match").style.setProperty("--aspect", board.aspect);

let [{ view, clocks: left }] = match.positions;
let toMove = match.to_move;
let result = match.result ?? null;
let connection = null;

function receive(event) {
  if (event.type === "welcome") watch();
  if (event.match !== match.match) return;
  if (["started", "update", "taken_back"].includes(event.type)) {
    view = event.view ?? view;
    toMove = event.to_move;
    clocks.set(event.clocks ?? null, toMove, now());
  } else if (event.type === "ended") {
    result = event;
    clocks.set(clocks.at(now()), 0, now());
    toMove = 0;
    connection.close();
  }
  show();
}

async function watch() {
  try {
    await connection.request({ type: "watch", match: match.match });
  } catch ({ code }) {
    if (code !== "lost") setTimeout(() => location.reload(), RELOAD_MS);
  }
}

function show() {
  board.show(view);
  const reason = result && reasonText(result);
  const status = statusText({ players, seat: null, toMove, result });
  part("status").textContent = reason ? gettext("%(result)s: %(reason)s", { result: status, reason }) : status;
  for (const seat of [1, 2]) part(`seat-${seat}`).classList.toggle("to-move", toMove === seat);
  tick();
}

function tick() {
  for (const seat of [1, 2]) {
    const shown = clocks.show(seat, now()) ?? { time: "", periods: "", low: false };
    part(`clock-${seat}`).textContent = shown.time;
    part(`periods-${seat}`).textContent = shown.periods;
    part(`seat-${seat}`).classList.toggle("low", shown.low && !result);
  }
}

const full = controls?.map(({ main_s, periods }) => ({ main_s, periods })) ?? null;
clocks.set(match.clocks ?? left ?? full, toMove, now());
show();
if (!result) {
  connection = new ServerConnection({ onEvent: receive });
  setInterval(tick, TICK_MS);
}
