// The page of a match: what the server says of it, shown; what the person does, sent.

import { session } from "./account.js";
import { BoardView } from "./board.js";
import { Browsing, plyAfter, plyOf } from "./browsing.js";
import { Clocks } from "./clocks.js";
import { showConnection } from "./connection.js";
import { Graph } from "./graph.js";
import { Link } from "./link.js";
import { MoveList } from "./moves.js";
import { announcement, farewell, outcome, read, standing, why } from "./notation.js";
import { Record } from "./record.js";
import { Rematch } from "./rematch.js";
import { Thoughts } from "./thoughts.js";

const TICK_MS = 100;
const ASK_AGAIN_MS = 700;
const ATTEMPTS = 5;

const part = (id) => document.getElementById(id);
const seconds = () => performance.now() / 1000;

class MatchPage {
  #record;
  #browsing;
  #clocks;
  #board;
  #moves;
  #graph;
  #thoughts;
  #link = null;
  #rematch = null;
  /** Is there a connection, and has the server said how the match stands? */
  #isConnected = false;
  /** The ply of a move that is on its way, -1 for none. */
  #sent = -1;
  /** Is all of the match being read anew? */
  #isBehind = false;
  #title = document.title;

  constructor(data) {
    this.#record = new Record(data);
    this.#browsing = new Browsing(this.#record.last, plyOf(location.search));
    this.#clocks = new Clocks(this.#record.timeControl);
    this.#board = new BoardView(part("board"), this.#record.board, {
      label: `Board of ${this.#record.game}`,
      players: this.#record.players,
      onChoose: (action) => this.#play(action),
    });
    const go = (ply) => this.#go(ply);
    this.#moves = new MoveList(part("moves"), go);
    this.#graph = new Graph(part("graph"), go, (text) => (part("chance").textContent = text));
    this.#thoughts = new Thoughts(part("thoughts"), (cells) => this.#board.highlight(cells));
    part("flip").hidden = !this.#board.flippable;
    this.#setClocks();
    this.#show();
    this.#listen();
    this.#takePart();
  }

  // What the person does.

  #listen() {
    document.addEventListener("keydown", (event) => this.#press(event));
    part("browse").addEventListener("click", ({ target }) => {
      const key = target.closest("[data-key]")?.dataset.key;
      if (key) this.#go(plyAfter(key, this.#browsing.ply));
    });
    part("live").addEventListener("click", () => this.#go(Infinity));
    part("flip").addEventListener("click", () => this.#board.flip());
    part("copy").addEventListener("click", () => this.#copy());
    part("entry").addEventListener("submit", (event) => this.#enter(event));
    part("resign").addEventListener("click", () => part("resign-dialog").showModal());
    part("resign-dialog").addEventListener("close", ({ target }) => {
      if (target.returnValue === "resign") this.#request({ type: "resign" });
      target.returnValue = "";
    });
    part("take-over-seat").addEventListener("click", () => this.#takeOver());
  }

  #press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
    const ply = plyAfter(event.key, this.#browsing.ply);
    if (ply === null) return;
    event.preventDefault();
    this.#go(ply);
  }

  #go(ply) {
    if (!this.#browsing.go(ply)) return;
    if (this.#record.over) this.#setClocks();
    this.#show();
    const address = new URL(location.href);
    if (this.#browsing.live) address.searchParams.delete("ply");
    else address.searchParams.set("ply", this.#browsing.ply);
    history.replaceState(null, "", address);
  }

  async #copy() {
    const address = new URL(location.href);
    address.searchParams.set("ply", this.#browsing.ply);
    try {
      await navigator.clipboard.writeText(address.href);
      part("copied").textContent = "Copied.";
    } catch {
      part("copied").textContent = address.href;
    }
  }

  #enter(event) {
    event.preventDefault();
    const field = part("entry-move");
    const { choice, fault } = read(field.value, this.#record.legalMoves);
    part("entry-fault").textContent = fault ?? "";
    if (!choice) return field.select();
    field.value = "";
    this.#play(choice.action);
  }

  async #play(action) {
    this.#go(Infinity);
    this.#sent = this.#record.last;
    this.#show();
    await this.#request({ type: "move", ply: this.#sent, action });
    this.#sent = -1;
    this.#show();
  }

  /** Take one's own seat; the session that had it may have a while to come back first. */
  async #takeOver() {
    if (this.#record.over) return;
    part("take-over-seat").disabled = true;
    const fault = await this.#request({ type: "take_over" });
    if (fault?.seconds) setTimeout(() => this.#takeOver(), fault.seconds * 1000);
    else part("take-over-seat").disabled = false;
  }

  /** Ask the server for something in this match; if it refuses, say why, and return that. */
  async #request(message) {
    part("entry-fault").textContent = "";
    try {
      await this.#link.request({ ...message, match: this.#record.id });
      return null;
    } catch (fault) {
      part("entry-fault").textContent = fault.message;
      return fault;
    }
  }

  // What the server says.

  /** Connect, unless the match is over and was somebody else's. */
  #takePart() {
    const mine = this.#record.players.indexOf(session()?.name) + 1;
    if (this.#record.over && !mine) return;
    if (this.#record.over) this.#record.seat = mine;
    this.#link = new Link({
      role: "human",
      views: true,
      onEvent: (event) => this.#hear(event),
      onState: (state, text) => this.#connection(state, text),
    });
    this.#rematch = new Rematch(part("again-play"), part("again-text"), this.#link, this.#record);
    setInterval(() => this.#tick(), TICK_MS);
    this.#show();
  }

  #connection(state, text) {
    showConnection(state, text);
    if (state !== "open") this.#isConnected = false;
    this.#show();
  }

  #hear(event) {
    this.#rematch?.hear(event);
    if (event.type === "welcome") this.#welcome(event);
    else if (event.type === "notice") this.#notice(event);
    else if (event.type === "closing") part("notice").textContent = farewell(event);
    else if (event.match !== this.#record.id) return;
    else if (event.type === "started") this.#started(event);
    else if (event.type === "update") this.#updated(event);
    else if (event.type === "ended") this.#ended(event);
  }

  #notice({ code, text }) {
    if (code !== "bot_failed") part("notice").textContent = code === "storage_up" ? "" : text;
  }

  async #welcome(event) {
    const { id } = this.#record;
    part("notice").textContent = "";
    part("take-over").hidden = !event.away?.includes(id);
    if (this.#record.over) return;
    try {
      await this.#link.request({ type: "watch", match: id });
    } catch (fault) {
      // Over since the page was made, most likely.
      if (fault.code !== "lost") this.#catchUp();
    }
  }

  #started(event) {
    if (!this.#record.start(event)) this.#catchUp();
    this.#isConnected = true;
    if (event.seat) part("take-over").hidden = true;
    this.#setClocks();
    this.#show();
  }

  #updated(event) {
    const before = this.#record.last;
    if (!this.#record.add(event)) return this.#catchUp();
    if (this.#record.last === before) return;
    this.#browsing.grow(this.#record.last);
    this.#setClocks();
    this.#show();
    this.#announce(announcement(event, this.#record));
  }

  #ended(event) {
    const { over, seat } = this.#record;
    if (!over) this.#record.clocks = this.#clocks.at(seconds());
    this.#record.end(event);
    this.#setClocks();
    this.#show();
    if (over) return;
    this.#announce(`${outcome(event, this.#record.players)}. ${why(event)}`);
    if (part("resign-dialog").open) part("resign-dialog").close();
    // What the players thought is not told to those who play.
    if (seat) this.#catchUp();
  }

  /** Read all of the match anew: something was missed, or what was not told can now be known. */
  async #catchUp() {
    if (this.#isBehind) return;
    this.#isBehind = true;
    for (let attempt = 1; !(await this.#reload()) && attempt < ATTEMPTS; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS * attempt));
    }
    this.#isBehind = false;
    if (!this.#record.over) this.#link.send({ type: "watch", match: this.#record.id });
  }

  /** False if the server cannot say yet what is as new as what is known. */
  async #reload() {
    const address = `/api/matches/${encodeURIComponent(this.#record.id)}`;
    const answer = await fetch(address).catch(() => null);
    if (answer?.status === 404) return true; // it is over, and this server stores nothing
    if (!answer?.ok || !this.#record.refresh(await answer.json())) return false;
    this.#browsing.grow(this.#record.last);
    this.#setClocks();
    this.#show();
    return true;
  }

  // What is shown.

  #setClocks() {
    const { over, last, toMove } = this.#record;
    this.#clocks.set(this.#record.clocksAt(over ? this.#browsing.ply : last), toMove, seconds());
    this.#tick();
  }

  #tick() {
    const now = seconds();
    for (const seat of [1, 2]) {
      const shown = this.#clocks.show(seat, now) ?? { time: "", periods: "", low: false };
      write(part(`clock-${seat}`), shown.time);
      write(part(`periods-${seat}`), shown.periods);
      part(`seat-${seat}`).classList.toggle("low", shown.low && !this.#record.over);
    }
  }

  #show() {
    const record = this.#record;
    const { ply, live } = this.#browsing;
    const position = record.positions[ply];
    const mine = record.seat !== null && record.seat === record.toMove;
    const mayPlay = mine && this.#isConnected && this.#sent < 0;
    this.#board.show(position.view, mayPlay && live ? record.legalMoves : [], record.toMove);
    this.#moves.show(record.positions, ply);
    this.#showThoughts(position);
    write(part("standing"), standing(record));
    write(part("reason"), record.result ? why(record.result) : "");
    write(part("note"), live ? position.view.note ?? "" : `After move ${ply} of ${record.last}`);
    for (const seat of [1, 2]) {
      part(`seat-${seat}`).classList.toggle("to-move", record.toMove === seat);
    }
    part("is-live").hidden = record.over;
    part("live").hidden = record.over || live;
    part("resign").hidden = part("entry").hidden = record.over || record.seat === null;
    part("entry-play").disabled = !mayPlay;
    if (record.over) part("take-over").hidden = true;
    part("again").hidden = !record.over || record.seat === null;
    document.title = mine ? `Your turn · ${this.#title}` : this.#title;
  }

  /** Who plays sees what the opponent thinks when the match is over. */
  #showThoughts(position) {
    const record = this.#record;
    const plays = record.players.includes(session()?.name);
    const isKnown = record.positions.some(({ info }) => info);
    part("chances").hidden = !isKnown || (plays && !record.over);
    if (part("chances").hidden) return;
    record.rates().forEach((points, at) => (part(`legend-${at + 1}`).hidden = !points.length));
    this.#graph.show(record, this.#browsing.ply);
    this.#thoughts.show(position, record.players);
  }

  #announce(text) {
    part("announcer").textContent = text;
  }
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

new MatchPage(JSON.parse(part("data").textContent));
