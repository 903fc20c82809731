// The broadcast of a tournament: a large match with what its players say, small boards of the others,
// the next matches and the tables. A big screen shows them in turn.

import { showConnectionStatus } from "./connection_status.js";
import { LargeMatch } from "./large_match.js";
import { RefreshedSection } from "./refreshed_section.js";
import { RunningBoards } from "./running_boards.js";
import { ServerConnection } from "./server_connection.js";
import { TournamentNews } from "./tournament_news.js";

/** How long a big screen shows each match, and the tables. */
const TURN_MS = 20_000;
/** How long the end of a match is shown before another one. */
const ENDED_MS = 6000;
/** Sections are fetched in this time after news, each page at another moment. */
const SOON_MS = 1100, LATER_MS = 5000;

const live = document.getElementById("live");
const { tournament, layout } = live.dataset;
const isScreen = layout === "screen";

const connection = new ServerConnection({ onEvent: receive, onState: showConnectionStatus });
const news = new TournamentNews(connection, tournament, refresh);
const boards = new RunningBoards(connection);
const large = new LargeMatch((id) => document.getElementById(id), live, connection, ended);
const running = new RefreshedSection("running", choose);
const standings = new RefreshedSection("standings");
/** The match that a person has chosen, "" for none. */
let chosen = new URLSearchParams(location.search).get("match") ?? "";
let turning = null;
/** Whether the end of the large match is being shown, so that only a person goes on to another one. */
let isEnding = false;

function receive(event) {
  news.receive(event);
  if (event.type === "welcome") choose();
  large.receive(event);
  boards.receive(event);
}

function ended() {
  isEnding = true;
  setTimeout(() => {
    isEnding = false;
    choose();
  }, ENDED_MS);
}

function refresh() {
  const milliseconds = SOON_MS + Math.random() * (LATER_MS - SOON_MS);
  running.refreshIn(milliseconds);
  standings.refreshIn(milliseconds + LATER_MS);
}

/** The items of the running matches. */
function items() {
  return [...running.element.querySelectorAll("[data-running]")];
}

/** Show the chosen match large, or the one that is large already, or the first one; the others small. */
function choose() {
  const matches = items().map(({ dataset }) => dataset.running);
  const wanted = [chosen, large.isOver ? "" : large.match].find((each) => matches.includes(each));
  const next = wanted ?? matches.find((each) => each !== large.match);
  const shown = (isEnding ? null : next) ?? large.match;
  for (const item of items()) {
    item.hidden = item.dataset.running === shown;
    if (item.hidden) delete item.dataset.match;
    else item.dataset.match = item.dataset.running;
  }
  const section = running.element.firstElementChild;
  if (section) section.hidden = items().every(({ hidden }) => hidden);
  boards.fill(running.element);
  const title = items().find(({ hidden }) => hidden)?.dataset.title ?? "";
  if (shown && connection.name) large.open(shown, title);
}

running.element.addEventListener("click", (event) => {
  const item = event.target.closest("[data-running]");
  if (!item || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  chosen = item.dataset.running;
  isEnding = false;
  choose();
  live.querySelector("#large-title").focus();
});

// A big screen, whose turns are stopped and gone through by keyboard.

/** Show the next or the previous of the matches and the tables. */
function turn(step) {
  const shows = [...items().map(({ dataset }) => dataset.running), "tables"];
  const at = live.dataset.shows === "tables" ? shows.length - 1 : shows.indexOf(large.match);
  const next = shows[(at + step + shows.length) % shows.length];
  live.dataset.shows = next === "tables" ? "tables" : "match";
  if (next === "tables") return;
  chosen = next;
  isEnding = false;
  choose();
}

function start() {
  turning = setInterval(() => turn(1), TURN_MS);
}

if (isScreen) {
  start();
  document.addEventListener("keydown", ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step && key !== " ") return;
    const wasTurning = turning !== null;
    clearInterval(turning);
    turning = null;
    if (step) turn(step);
    if (wasTurning === Boolean(step)) start(); // a step starts the 20 seconds again, but ends no pause
  });
}
