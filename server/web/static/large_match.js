// The large match of a broadcast: its board, clocks and result, and what its players say.

import { Clocks } from "./clocks.js";
import { Curves } from "./curves.js";
import "./dice_boards.js";
import { html } from "./elements.js";
import { MatchRecord } from "./match_record.js";
import { reasonText, statusText } from "./match_text.js";
import { matchAddress } from "./navigation.js";
import { newBoard } from "./text_board.js";
import { gettext, ngettext } from "./texts.js";
import { clockText } from "./wording.js";

const TICK_MS = 100;
/** The analyses of earlier moves are fetched within this time, each page at another moment. */
const EARLIER_MS = 2000;

const seconds = () => performance.now() / 1000;

export class LargeMatch {
  /** The id of the match, "" for none. */
  match = "";
  #part;
  #live;
  #connection;
  #onEnd;
  #title = "";
  #record = null;
  #board = null;
  #clocks = null;
  #curves;
  #isDrawing = false;

  /** `live` has the proportions of the board; `onEnd()` is called at the end of the match. */
  constructor(part, live, connection, onEnd) {
    this.#part = part;
    this.#live = live;
    this.#connection = connection;
    this.#onEnd = onEnd;
    this.#curves = new Curves(part);
    setInterval(() => this.#tick(), TICK_MS);
  }

  get isOver() {
    return this.#record?.result != null;
  }

  /** Watch a match and show it; `title` is the name of its game. */
  open(match, title) {
    if (match === this.match) return;
    this.match = match;
    this.#title = title;
    this.#record = null;
    this.#watch();
  }

  receive(event) {
    if (event.type === "welcome" && this.match && !this.isOver) this.#watch();
    if (event.match !== this.match) return;
    if (event.type === "started") this.#start(event);
    else if (!this.#record) return;
    else if (event.type === "update" && !this.#record.add(event)) this.#watch();
    else if (event.type === "move_analysis") this.#record.analyse(event);
    else if (event.type === "spectator_count") this.#record.spectators = event.spectators;
    else if (event.type === "ended") this.#end(event);
    if (event.type === "update") this.#clocks.set(event.clocks ?? null, event.to_move, seconds());
    this.#showSoon();
  }

  #watch() {
    // Fails if the match has ended already; then the next news of the tournament names another one.
    this.#connection.request({ type: "watch", match: this.match }).catch(({ code }) => {
      if (code !== "lost") this.match = "";
    });
  }

  #start(event) {
    const { board, view, moves, players, clocks = null } = event;
    // The earlier positions are not shown: the last one stands for them.
    const positions = [null, ...moves].map((action) => ({ view, action, player: null, info: null, clocks: null }));
    this.#record = new MatchRecord({ ...event, positions });
    this.#record.spectators = event.spectators ?? 0;
    this.#clocks = new Clocks(this.#record.timeControls);
    this.#clocks.set(clocks, event.to_move, seconds());
    const place = html("div", {});
    this.#part("board").replaceChildren(place);
    this.#board = newBoard(place, board, { label: gettext("Board of %(first)s and %(second)s", { first: players[0], second: players[1] }), players });
    this.#live.style.setProperty("--aspect", this.#board.aspect);
    this.#part("players").hidden = false;
    this.#part("large-title").replaceChildren(html("a", { href: matchAddress(event.match) }, this.#title));
    this.#part("large-facts").textContent = clockText(event.clock);
    players.forEach((name, at) => {
      this.#part(`name-${at + 1}`).textContent = name;
      this.#part(`clock-${at + 1}`).setAttribute("aria-label", gettext("Clock of %(name)s", { name }));
    });
    if (moves.length) setTimeout(() => this.#fetchEarlier(this.match), Math.random() * EARLIER_MS);
  }

  /** Fetch the analyses of the moves before this page was opened. */
  async #fetchEarlier(match) {
    const response = await fetch(`/api/matches/${encodeURIComponent(match)}`).catch(() => null);
    if (!response?.ok) return;
    const { positions } = await response.json();
    if (match !== this.match || !this.#record) return;
    const known = this.#record.positions;
    positions.slice(0, known.length).forEach((each, ply) => {
      const later = known[ply].info;
      known[ply] = later ? { ...each, info: later, view: known[ply].view } : each;
    });
    this.#showSoon();
  }

  #end(event) {
    this.#clocks.set(this.#clocks.at(seconds()), 0, seconds());
    this.#record.end(event);
    this.#onEnd();
  }

  /** Draw the latest position at the next frame: bots may play faster than a screen shows. */
  #showSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      if (this.#record) this.#show(this.#record);
    });
  }

  #show(record) {
    this.#board.show(record.positions[record.last].view);
    const { players, toMove, result, spectators } = record;
    const status = result ? statusText({ players, seat: null, toMove, result }) : "";
    const reason = result ? reasonText(result) : "";
    setText(this.#part("result"), reason ? gettext("%(result)s: %(reason)s", { result: status, reason }) : status);
    this.#part("spectators").hidden = !spectators;
    setText(this.#part("spectators"), ngettext("%(num)s watching", "%(num)s watching", spectators));
    for (const seat of [1, 2]) this.#part(`seat-${seat}`).classList.toggle("to-move", toMove === seat);
    this.#part("no-analysis").hidden = this.#curves.show(record);
    this.#showExpected(record);
    this.#tick();
  }

  /** Show the moves that each player expects, those in bold on which both agree. */
  #showExpected(record) {
    const said = [1, 2].map((seat) => record.positions.findLastIndex(({ player, info }) => player === seat && info));
    const lines = said.map((ply) => (ply < 0 ? [] : (record.positions[ply].view.pv ?? [])));
    for (const [at, ply] of said.entries()) {
      const seat = at + 1, line = lines[at], other = lines[1 - at], shift = ply - said[1 - at];
      const items = line.map((name, number) => html(other[number + shift] === name ? "b" : "span", {}, name));
      this.#part(`line-${seat}`).replaceChildren(...items.flatMap((each) => [each, " "]));
      const text = line.length ? gettext("After %(count)s moves, %(name)s expects:", { name: record.players[at], count: ply - 1 }) : "";
      setText(this.#part(`expects-${seat}`), text);
      this.#part(`line-${seat}`).hidden = !line.length;
      this.#part(`expects-${seat}`).parentElement.hidden = !line.length;
    }
  }

  #tick() {
    if (!this.#record) return;
    for (const seat of [1, 2]) {
      const shown = this.#clocks.show(seat, seconds()) ?? { time: "", periods: "", low: false };
      setText(this.#part(`clock-${seat}`), shown.time);
      setText(this.#part(`periods-${seat}`), shown.periods);
      this.#part(`seat-${seat}`).classList.toggle("low", shown.low && !this.isOver);
    }
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
