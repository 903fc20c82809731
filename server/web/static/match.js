// The page of a match: shows the server's events, and sends the person's moves and requests.

import { session, sessionPlaying, setSession } from "./account.js";
import { Alerts } from "./alerts.js";
import { AnalysisPanel } from "./analysis.js";
import { fitBoard } from "./board.js";
import { beginsAbove, countedBy } from "./board_layout.js";
import { Clocks } from "./clocks.js";
import { showConnectionStatus } from "./connection_status.js";
import { html } from "./elements.js";
import { largestLosses, signedLosses } from "./losses.js";
import { MatchRecord } from "./match_record.js";
import {
  announcement,
  closingText,
  luckText,
  noteText,
  offerText,
  parseMove,
  plyText,
  reasonText,
  sentence,
  statusText,
  takebackText,
} from "./match_text.js";
import { withMove, withWays } from "./move_selection.js";
import { MoveList } from "./move_list.js";
import { opensDialog } from "./navigation.js";
import { OfferButtons } from "./offers.js";
import { PositionBrowser, plyAfter, plyOf } from "./position_browser.js";
import { Rematch } from "./rematch.js";
import { ServerConnection } from "./server_connection.js";
import { keepChoice, switchClass } from "./settings.js";
import { Study } from "./study.js";
import { newBoard } from "./text_board.js";
import { gettext, ngettext, told } from "./texts.js";

const TICK_MS = 100;
/** The wait before the second attempt to reload a match; before the third it is twice that. */
const RELOAD_AGAIN_MS = 700;
const ATTEMPTS = 20;
/** A move that is not confirmed after this time is said to be on its way. */
const SENDING_S = 2;
/** How long a roll is seen that allows no move. */
const PASS_MS = 1200;
/** A response later than this is slow. */
const SLOW_MS = 500;
/** The last announcements that are kept, so that one does not replace another that is not read yet. */
const ANNOUNCED = 10;

const part = (id) => document.getElementById(id);
/** Is this the page of an analysis? */
const isAnalysis = part("match").classList.contains("is-analysis");
const seconds = () => performance.now() / 1000;

class MatchPage {
  #record;
  #isQueued = false; // is the notice the place in the queue for bots?
  #browser;
  #clocks;
  #board;
  #moves;
  #graph = null;
  #graphScript = null;
  #analysis;
  #study;
  /** Lets a person try again where a move lost the most; null until that is asked for. */
  #lesson = null;
  /** The tree of tried moves and the bar of win rates, on the page of an analysis. */
  #room = null;
  #offers;
  #alerts = new Alerts({ sounds: part("sounds"), notices: part("notices"), fault: part("notices-fault") });
  #connection = null;
  #rematch = null;
  /** Is the connection open, and has `started` arrived over it? */
  #isConnected = false;
  /** The ply of a move that the server has not answered yet, -1 for none. */
  #sent = -1;
  /** The ply of a pass that is about to be made, -1 for none. */
  #passAt = -1;
  /** When that move was sent, the position as it is drawn meanwhile, and the cell of its piece. */
  #sentAt = 0;
  #sentView = null;
  #sentTo;
  /** The actions that follow the move that was sent, and the ply of the first of them. */
  #further = { ply: -1, actions: [] };
  /** A move whose connection was lost before the server confirmed it: {ply, action}. */
  #unconfirmed = null;
  /** The players that are not connected, by seat: until when they may come back, null for no limit. */
  #absences = new Map();
  /** Is the whole match being reloaded? */
  #isReloading = false;
  #isEndAnnounced = false;
  /** Shows the captured pieces, in games whose pieces have a worth. */
  #showCaptures = null;
  /** The functions that say positions and moves, in matches that are not over. */
  #speech = null;
  /** Counts the score, and the captured stones of a player, in games with komi. */
  #counting = null;
  #prisonersOf = null;
  #title = document.title;

  constructor(data) {
    this.#record = new MatchRecord(data);
    this.#isEndAnnounced = this.#record.over;
    this.#browser = new PositionBrowser(this.#record.last, plyOf(location.search));
    this.#clocks = new Clocks(this.#record.timeControls);
    const { positions, players } = this.#record;
    const mine = players.indexOf(session()?.name) + 1;
    const board = (this.#record.board = countedBy(this.#record.board, mine));
    this.#board = newBoard(part("board"), board, {
      flipped: mine > 0 && beginsAbove(board, positions[0].view.cells, mine),
      label: gettext("Board of %(game)s", { game: document.querySelector("h1").textContent }),
      players,
      choices: part("choices"),
      dice: part("dice"),
      confirms: () => part("confirm").checked && this.#record.legalMoves.length > 0 && !this.#counting?.isActive,
      onChoose: (...actions) => this.#counting?.choose(actions[0]) || this.#lesson?.play(actions) || this.#study.play(actions) || this.#play(...actions),
    });
    const go = (ply) => this.#go(ply);
    this.#moves = new MoveList(part("moves"), go);
    const point = (cells) => this.#board.highlight(cells);
    this.#analysis = new AnalysisPanel(part("analysis"), point, (heat) => this.#board.tint(heat));
    const connect = () => (this.#connection ??= this.#open("spectator"));
    this.#study = new Study(part, this.#record, this.#browser.ply, location.search, {
      tries: isAnalysis,
      connect,
      onChange: () => this.#changed(),
      onJudged: ({ isRunning, text }) => {
        if (!isRunning) this.#lesson?.judged(text);
        this.#show();
      },
      onAnswer: () => this.#room?.show(this.#browser.ply),
      onPoint: point,
      onHeat: (heat) => this.#board.tint(heat),
      onArrows: (arrows) => this.#board.point(arrows),
    });
    const hooks = { connect, judgeAll: () => this.#study.judgeAll(), go, onChange: () => this.#show(), onPoint: point };
    part("learn")?.addEventListener("click", () => this.#learn(hooks));
    part("flip").hidden = !this.#board.flippable;
    const page = part("match");
    fitBoard(page, () => this.#board);
    const { isSlow } = this.#record;
    keepChoice(part("confirm"), isSlow ? "confirm-slow" : "confirm", isSlow);
    switchClass(part("hints"), page, "no-hints");
    switchClass(part("coordinates"), page, "no-coordinates");
    opensDialog(part("rules"));
    const request = (message) => this.#request(message);
    this.#offers = new OfferButtons(part, this.#record, request, (text) => this.#announce(text));
    this.#setClocks();
    this.#show();
    if (isAnalysis) this.#loadRoom();
    if (board.material) this.#loadCaptures();
    if (board.komi !== undefined) this.#loadCounting(request);
    this.#listen();
    this.#connect();
  }

  async #loadGraph() {
    const { WinRateGraph } = await import("./win_rate_graph.js");
    this.#graph = new WinRateGraph(part("graph"), (ply) => this.#go(ply), (text) => (part("win-rate").textContent = text));
    this.#show();
  }

  async #loadRoom() {
    const { AnalysisRoom } = await import("./analysis_room.js");
    this.#room = new AnalysisRoom(part, this.#record, this.#study, (ply, moves) => {
      this.#browser.go(ply);
      this.#setClocks();
      this.#study.open(ply, moves);
    });
    this.#show();
    const draws = part("draw-position");
    if (!draws) return;
    draws.addEventListener("click", () => this.#draw());
    const { value: game } = part("own-game");
    part("own-game").addEventListener("change", ({ target }) => (draws.hidden = target.value !== game));
  }

  /** Open the board on which a position is drawn, or close it. */
  async #draw() {
    const drawn = part("drawn");
    if (!drawn.hasChildNodes()) {
      const { editPosition } = await import("./position_editor.js"); // fetched at the first click
      editPosition(drawn, part("own-text"), this.#record, this.#shown.view, this.#trial.mover);
    }
    drawn.hidden = !drawn.hidden;
    part("draw-position").setAttribute("aria-expanded", !drawn.hidden);
  }

  async #loadCaptures() {
    ({ showCaptures: this.#showCaptures } = await import("./captures.js"));
    this.#show();
  }

  async #loadCounting(request) {
    const { Counting, prisonersOf } = await import("./counting.js");
    this.#counting = new Counting(part, this.#record, request, () => this.#show());
    this.#prisonersOf = prisonersOf;
    this.#show();
  }

  async #learn(hooks) {
    const { Lesson } = await import("./lesson.js"); // fetched at the first click
    this.#lesson ??= new Lesson(part, this.#record, hooks);
    this.#study.stopAsking();
    this.#lesson.toggle();
  }

  // Actions of the person.

  #listen() {
    document.addEventListener("keydown", (event) => this.#press(event));
    part("browse").addEventListener("click", ({ target }) => {
      const key = target.closest("[data-key]")?.dataset.key;
      if (key) this.#browse(key);
    });
    part("live").addEventListener("click", () => this.#go(Infinity));
    part("flip").addEventListener("click", () => this.#board.flip());
    part("copy").addEventListener("click", () => this.#copy());
    part("read").addEventListener("click", () => this.#read());
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
    if (plyAfter(event.key, 0) === null) return;
    event.preventDefault();
    this.#browse(event.key);
  }

  /** Browse the moves that were tried, if there are any, or those of the match. */
  #browse(key) {
    if (this.#study.step(key) || (key === "ArrowRight" && this.#room?.next())) return;
    this.#go(plyAfter(key, this.#browser.ply));
  }

  #go(ply) {
    const left = this.#study.leave();
    if (!this.#browser.go(ply) && !left) return;
    if (this.#record.over) this.#setClocks();
    this.#changed();
  }

  /** Another position is to be shown: show it, and have the address lead to it. */
  #changed() {
    this.#show();
    const isLast = this.#browser.live && !this.#study.moves.length;
    history.replaceState(null, "", this.#address(isLast));
  }

  /** The address of the shown position, or of the match where `isLast`. */
  #address(isLast = false) {
    const address = new URL(location.href);
    const { moves } = this.#study;
    if (isLast) address.searchParams.delete("ply");
    else address.searchParams.set("ply", this.#browser.ply);
    if (moves.length) address.searchParams.set("moves", moves.join());
    else address.searchParams.delete("moves");
    address.search = address.search.replaceAll("%2C", ",");
    return address;
  }

  async #copy() {
    const address = this.#address();
    try {
      await navigator.clipboard.writeText(address.href);
      part("copied").textContent = gettext("Copied.");
    } catch {
      part("copied").textContent = address.href;
    }
  }

  /** Show the position as text. */
  async #read() {
    const { readPosition } = await import("./position_dialog.js"); // fetched at the first click
    const note = [part("note"), part("score")].map(({ textContent }) => textContent);
    readPosition(this.#record, this.#shown.view, note.filter(Boolean).join(" · "));
  }

  #enter(event) {
    event.preventDefault();
    const field = part("entry-move");
    const { move, fault } = parseMove(field.value, this.#record.legalMoves);
    part("entry-fault").textContent = fault ?? "";
    if (!move) return field.select();
    field.value = "";
    this.#play(move.action, ...(move.actions ?? []));
  }

  /** Play a move; `actions` follow it in a capture of several pieces. */
  async #play(action, ...actions) {
    this.#go(Infinity);
    const { board, last, legalMoves, positions, seat } = this.#record;
    const isChosen = (each) => each.action === action && (each.actions ?? []).join() === actions.join();
    const { cells } = withWays(legalMoves).find(isChosen) ?? { cells: [] };
    this.#further = { ply: last + 1, actions };
    this.#sent = last;
    this.#sentAt = seconds();
    this.#sentView = withMove(positions[last].view, cells, seat, board.geometry);
    this.#sentTo = cells.at(-1);
    this.#show();
    const error = await this.#request({ type: "move", ply: last, action });
    if (error?.code === "lost") {
      this.#unconfirmed = { ply: last, action };
      return;
    }
    if (this.#sent !== last) return; // the next action of the move is on its way
    this.#sent = -1;
    this.#show();
  }

  /** Play the next action of a move of several, if this is its turn. */
  #playFurther() {
    const { ply, actions: [action, ...others] } = this.#further;
    const { last, legalMoves } = this.#record;
    if (ply === last && legalMoves.some((each) => each.action === action)) this.#play(action, ...others);
  }

  /** Pass where nothing else is possible, after the roll was seen. */
  #passSoon() {
    const { last, legalMoves } = this.#record;
    if (this.#passAt === last) return;
    this.#passAt = last;
    setTimeout(() => {
      this.#passAt = -1;
      if (last === this.#record.last && this.#record.mustPass && this.#sent < 0) this.#play(legalMoves[0].action);
    }, PASS_MS);
  }

  /** Wait no longer for the confirmation of a move: the match is over. */
  #forgetMove() {
    this.#sent = -1;
    this.#unconfirmed = null;
  }

  /** Take over this person's seat from another session, which first has some seconds to reconnect. */
  async #takeOver() {
    if (this.#record.over) return;
    const other = sessionPlaying(this.#record.id);
    if (other && other.key !== session()?.key) {
      setSession(other);
      return location.reload();
    }
    part("take-over-seat").disabled = true;
    const error = await this.#request({ type: "take_over" });
    if (error?.seconds) setTimeout(() => this.#takeOver(), error.seconds * 1000);
    else part("take-over-seat").disabled = false;
  }

  /** Send a request for this match. If it fails, shows and returns the error; otherwise returns null. */
  async #request(message) {
    part("entry-fault").textContent = "";
    try {
      await this.#connection.request({ ...message, match: this.#record.id });
      return null;
    } catch (error) {
      part("entry-fault").textContent = error.message;
      return error;
    }
  }

  // Events of the server.

  /** Connect, unless the match is over and this person did not play it. */
  #connect() {
    if (this.#record.awaitsLuck) this.#catchUp();
    this.#claimSeat();
    if (this.#record.over && !this.#record.seat) return;
    this.#connection = this.#open("human");
    if (!this.#record.over) this.#speech = import("./position_text.js");
    this.#rematch = new Rematch(part("rematch-play"), part("rematch-text"), this.#connection, this.#record);
    setInterval(() => this.#tick(), TICK_MS);
    this.#show();
  }

  /** Of a match that is over, note which player this person was. */
  #claimSeat() {
    if (this.#record.over) this.#record.seat ??= this.#record.players.indexOf(session()?.name) + 1 || null;
  }

  #open(role) {
    return new ServerConnection({
      role,
      views: true,
      onEvent: (event) => this.#receive(event),
      onState: (state, text) => this.#connectionChanged(state, text),
    });
  }

  #connectionChanged(state, text) {
    showConnectionStatus(state, text);
    if (state !== "open") this.#isConnected = false;
    this.#show();
  }

  #receive(event) {
    this.#rematch?.receive(event);
    this.#study.receive(event);
    this.#lesson?.receive(event);
    if (event.type === "welcome") this.#welcome(event);
    else if (event.type === "notice") this.#notice(event);
    else if (event.type === "closing") part("notice").textContent = closingText(event);
    else if (event.match === this.#record.id) this.#take(event);
  }

  #take(event) {
    this.#offers.receive(event);
    this.#counting?.receive(event);
    if (event.type === "started") this.#started(event);
    else if (event.type === "update") this.#updated(event);
    else if (event.type === "taken_back") this.#takenBack(event);
    else if (event.type === "ended") this.#ended(event);
    else if (event.type === "offered") this.#offered(event);
    else if (event.type === "offer_closed") this.#record.closeOffer(event);
    else if (event.type === "presence") this.#presence(event);
    else if (event.type === "spectator_count") this.#record.spectators = event.spectators;
    else if (event.type === "move_analysis") this.#record.analyse(event);
    const more = ["offered", "offer_closed", "spectator_count", "move_analysis"];
    if (more.includes(event.type)) this.#show();
  }

  #notice({ code, text }) {
    if (code === "bot_failed") return;
    part("notice").textContent = code === "storage_up" ? "" : told(text);
    this.#isQueued = code === "bot_queued";
  }

  async #welcome(event) {
    const { id } = this.#record;
    part("notice").textContent = "";
    const isAway = event.away?.includes(id) ?? false;
    const other = sessionPlaying(id); // in another tab, unless it is this session
    const isElsewhere = other !== null && other.key !== session()?.key && !this.#record.over;
    part("take-over").hidden = !isElsewhere && (!isAway || this.#record.isSlow);
    if (this.#record.over) return;
    if (isAway && this.#record.isSlow) this.#takeOver();
    try {
      await this.#connection.request({ type: "watch", match: id });
    } catch (error) {
      if (error.code === "lost") return;
      // Most likely the match has ended since the page was sent.
      this.#forgetMove();
      this.#catchUp();
    }
  }

  #presence({ player, connected, seconds: left }) {
    if (connected) this.#absences.delete(player);
    else this.#absences.set(player, left == null ? null : seconds() + left);
    this.#tick();
    if (this.#record.over) return;
    const text = part(`presence-${player}`).title;
    this.#announce(gettext("%(name)s: %(text)s", { name: this.#record.players[player - 1], text }));
  }

  #started(event) {
    this.#absences.clear();
    if (!this.#record.start(event)) this.#catchUp();
    const move = this.#unconfirmed;
    this.#unconfirmed = null;
    if (move && event.moves[move.ply] !== move.action) this.#sent = -1; // otherwise it is drawn until it is known
    if (move && event.seat && event.moves.length === move.ply && event.to_move === event.seat) {
      queueMicrotask(() => this.#play(move.action, ...this.#further.actions));
    }
    this.#browser.extend(this.#record.last);
    this.#isConnected = true;
    if (event.seat) part("take-over").hidden = true;
    if (this.#record.last > this.#sent) this.#sent = -1;
    this.#setClocks();
    this.#show();
    this.#playFurther();
    if (event.seat && !part("announcer").hasChildNodes()) this.#announcePosition();
  }

  #updated(event) {
    const before = this.#record.last;
    if (!this.#record.add(event)) return this.#catchUp();
    if (this.#record.last === before) return;
    if (this.#isQueued && this.#record.toMove === this.#record.seat) part("notice").textContent = "";
    this.#browser.extend(this.#record.last, !this.#study.moves.length);
    this.#setClocks();
    this.#show();
    if (this.#record.toMove) this.#alerts.play(this.#record.hasCaptured ? "capture" : "move"); // otherwise its end follows, which has a sound
    this.#announceMove(event, this.#record.positions[before].view);
    this.#playFurther();
  }

  #takenBack(event) {
    this.#board.forgetPlan();
    if (!this.#record.takeBack(event)) this.#catchUp();
    this.#browser.extend(this.#record.last);
    this.#setClocks();
    this.#show();
    const text = takebackText(event, this.#record);
    this.#announce(text);
    this.#alerts.play("move");
    if (this.#record.toMove === this.#record.seat) this.#alerts.notify(gettext("Your turn"), text);
  }

  #offered(event) {
    this.#record.offer(event);
    if (event.player === this.#record.seat) return;
    this.#alerts.play("offer");
    this.#alerts.notify(gettext("An offer"), offerText(event, this.#record));
  }

  #ended(event) {
    const { over, seat } = this.#record;
    if (!over) this.#record.clocks = this.#clocks.at(seconds());
    this.#forgetMove();
    this.#record.end(event);
    this.#setClocks();
    this.#show();
    if (over) return;
    if (this.#isConnected && !this.#isReloading) this.#announceEnd(); // otherwise missed moves are announced before
    this.#alerts.play("end");
    if (seat) this.#alerts.notify(statusText(this.#record), reasonText(event));
    if (part("resign-dialog").open) part("resign-dialog").close();
    // The server sends no analyses to the players of a match, and measures luck after the end.
    if (seat || this.#record.awaitsLuck) this.#catchUp();
  }

  /** Reload the whole match: moves were missed, or its analyses or its luck have become available. */
  async #catchUp() {
    if (this.#isReloading) return;
    this.#isReloading = true;
    for (let attempt = 1; !(await this.#reload()) && attempt < ATTEMPTS; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, RELOAD_AGAIN_MS * attempt));
    }
    this.#isReloading = false;
    if (this.#record.over) this.#announceEnd();
    else this.#connection.send({ type: "watch", match: this.#record.id });
  }

  /** Returns false if the server's data is older than what is known, or not complete yet. */
  async #reload() {
    const address = `/api/matches/${encodeURIComponent(this.#record.id)}`;
    const { takebacks } = this.#record;
    const response = await fetch(address).catch(() => null);
    if (response?.status === 404) return true; // it is over, and this server has no database
    const data = response?.ok ? await response.json() : null;
    const { last } = this.#record; // the moves up to it were announced
    if (!data || takebacks !== this.#record.takebacks || !this.#record.refresh(data)) return false;
    this.#claimSeat();
    this.#browser.extend(this.#record.last);
    this.#setClocks();
    this.#show();
    await this.#announceMissed(last);
    if (this.#record.over) this.#announceEnd();
    return !this.#record.awaitsLuck;
  }

  // The display.

  /** The position on the board. */
  get #shown() {
    return this.#trial.position ?? this.#record.positions[this.#browser.ply];
  }

  /** Where moves are tried: from a mistake, or in the analysis. */
  get #trial() {
    return this.#lesson?.isHere ? this.#lesson : this.#study;
  }

  #setClocks() {
    const { over, last, toMove } = this.#record;
    this.#clocks.set(this.#record.clocksAt(over ? this.#browser.ply : last), toMove, seconds());
    this.#tick();
  }

  #tick() {
    const now = seconds();
    for (const seat of [1, 2]) {
      const shown = this.#clocks.show(seat, now) ?? { time: "", periods: "", low: false };
      setText(part(`clock-${seat}`), shown.time);
      setText(part(`periods-${seat}`), shown.periods);
      part(`seat-${seat}`).classList.toggle("low", shown.low && !this.#record.over);
      this.#showPresence(seat, now);
    }
    if (this.#sent >= 0 && now - this.#sentAt >= SENDING_S) setText(part("status"), gettext("Sending your move …"));
  }

  /** Show whether a player is connected, and how quickly the server responds to this person. */
  #showPresence(seat, now) {
    const dot = part(`presence-${seat}`);
    const { over, seat: own } = this.#record;
    // Without a connection of one's own, nothing is known of the opponent's.
    dot.hidden = over || !this.#connection || (own !== null && seat !== own && !this.#isConnected);
    if (dot.hidden) return setText(part(`away-${seat}`), "");
    const lag = this.#connection.lag;
    let [state, text] = ["here", gettext("connected")];
    if (seat === own && !this.#isConnected) [state, text] = ["away", gettext("not connected")];
    else if (seat === own && lag > SLOW_MS) [state, text] = ["slow", gettext("slow: %(ms)s ms", { ms: Math.round(lag) })];
    else if (this.#absences.has(seat)) {
      const left = Math.max(0, Math.ceil(this.#absences.get(seat) - now));
      const limited = gettext("disconnected, %(num)s s left", { num: left });
      [state, text] = ["away", this.#absences.get(seat) === null ? gettext("disconnected") : limited];
    }
    dot.className = `presence is-${state}`;
    if (dot.title !== text) dot.title = text;
    setText(part(`away-${seat}`), state === "away" ? text : "");
  }

  #show() {
    const record = this.#record;
    const { ply, live } = this.#browser;
    const mayTry = record.over || !record.players.includes(session()?.name);
    this.#lesson?.draw(ply);
    const isLesson = this.#lesson?.isHere ?? false;
    this.#study.show(ply, mayTry, !isLesson && (record.over || (mayTry && !record.isWithheld)));
    const position = this.#shown;
    const mine = record.seat !== null && record.seat === record.toMove;
    const mayPlay = mine && this.#isConnected && this.#sent < 0;
    const isLast = live && !this.#study.moves.length;
    if (this.#counting?.isActive && isLast) this.#board.show(position.view, this.#counting.moves(position.view));
    else if (this.#sent === record.last && live) {
      this.#board.show(this.#sentView);
      if (this.#sentTo !== undefined) this.#board.fade(this.#sentTo);
    }
    else if (mayPlay && live) this.#board.show(position.view, record.mustPass ? [] : record.legalMoves, record.toMove);
    else {
      const mayPlan = !record.board.has_chance && live && this.#isConnected && record.seat !== null && !mine && !record.over;
      const planner = mayPlan ? record.seat : 0;
      this.#board.show(position.view, this.#trial.legalMoves, this.#trial.mover, planner);
    }
    if (mayPlay && record.mustPass) this.#passSoon();
    const signs = this.#areRatesShown ? signedLosses(record) : [];
    this.#moves.show(record, ply, new Map(signs.map((each) => [each.ply, each.sign])));
    this.#showAnalysis(position, isLesson);
    this.#study.draw();
    this.#room?.show(ply);
    this.#counting?.show(isLast);
    if (this.#counting?.marks.length && isLast) this.#board.highlight(this.#counting.marks);
    setText(part("status"), statusText(record));
    setText(part("reason"), record.result ? reasonText(record.result) : "");
    const tried = this.#study.moves.length;
    const shown = live && !tried ? "" : plyText(record, ply, tried);
    setText(part("note"), shown);
    setText(part("score"), noteText(position.view.note));
    if (record.board.has_chance) this.#showLuck(ply);
    for (const seat of [1, 2]) {
      part(`seat-${seat}`).classList.toggle("to-move", record.toMove === seat);
      const prisoners = this.#prisonersOf?.(record.positions, ply, seat);
      if (prisoners !== undefined) setText(part(`captures-${seat}`), prisoners ? gettext("captured: %(pieces)s", { pieces: prisoners }) : "");
      this.#showCaptures?.(part(`captures-${seat}`), record.board, record.positions[0].view, position.view, seat);
    }
    part("is-live").hidden = record.over;
    part("spectators").hidden = record.over || !record.spectators;
    setText(part("spectators"), ngettext("%(num)s watching", "%(num)s watching", record.spectators));
    if (part("learn")) part("learn").hidden = !record.over || record.last === 0 || record.board.has_chance;
    part("live").hidden = record.over || (live && !tried);
    part("resign").hidden = part("entry").hidden = record.over || record.seat === null;
    part("entry-play").disabled = !mayPlay;
    if (record.over) part("take-over").hidden = true;
    part("rematch").hidden = !record.over || record.seat === null;
    this.#offers.show(this.#isConnected);
    const news = mine ? gettext("Your turn") : record.opponentsOffer && gettext("An offer");
    document.title = news ? `${news} · ${this.#title}` : this.#title;
  }

  /** The luck of a finished match, and of the roll that led to a position. */
  #showLuck(ply) {
    const record = this.#record;
    part("rolls").hidden = !record.result || !record.id;
    part("luck").hidden = record.luck === null;
    part("luck").querySelectorAll("strong").forEach((each, at) => {
      if (record.luck !== null) setText(each, luckText(at ? -record.luck : record.luck));
    });
    const roll = record.rolls?.find((each) => each.ply === ply - 1);
    const values = roll?.luck === undefined ? null : { name: record.players[0], luck: luckText(roll.luck) };
    setText(part("roll-luck"), values ? gettext("Luck of %(name)s in this roll: %(luck)s", values) : "");
  }

  /** Are there analyses to show? Players see them when the match is over, others at once. */
  get #areRatesShown() {
    const record = this.#record;
    const isPlayer = record.players.includes(session()?.name);
    return record.rates().some(({ length }) => length) && (record.over || !isPlayer);
  }

  /** Show the win rates, and what the bots said; a lesson hides that, as it names the best moves. */
  #showAnalysis(position, isLesson) {
    const record = this.#record;
    part("win-rates").hidden = !this.#areRatesShown;
    const isBelow = part("win-rates").parentElement === part("board-place");
    if (record.judge && !isBelow) part("board-place").append(part("win-rates"));
    part("analysis-of-bots").hidden = isLesson || !this.#areRatesShown || !position.info;
    if (part("win-rates").hidden) return;
    record.rates().forEach((points, at) => (part(`legend-${at + 1}`).hidden = !points.length));
    setText(part("judge"), gettext("says %(name)s", { name: record.judge }));
    this.#showLosses();
    if (this.#graph) this.#graph.show(record, this.#browser.ply);
    else this.#graphScript ??= this.#loadGraph();
    if (!isLesson) this.#analysis.show(position, record.players);
  }

  /** The moves that lost the most, which lead to the positions before them. */
  #showLosses() {
    const record = this.#record;
    // With dice, a difference of win rates is luck, too.
    const losses = record.board.has_chance ? [] : largestLosses(record);
    const buttons = losses.map(({ ply, loss }) => {
      const number = record.countsPairs ? record.numberOf(ply) : `${record.numberOf(ply)}.`;
      const text = `${number} ${record.positions[ply].view.name} −${Math.round(100 * loss)} %`;
      const button = html("button", { type: "button", class: "candidate" }, text);
      button.addEventListener("click", () => this.#go(ply - 1));
      return button;
    });
    const texts = buttons.map(({ textContent }) => textContent).join();
    part("losses").hidden = !buttons.length;
    if (part("losses").dataset.shown === texts) return;
    part("losses").dataset.shown = texts;
    part("losses-list").replaceChildren(...buttons);
  }

  async #announcePosition() {
    const { factsOf } = await this.#speech;
    this.#announce(factsOf(this.#record, this.#shown.view).join(" "));
  }

  async #announceMove(event, before, isLast = true) {
    const { board, players, toMove, seat } = this.#record;
    const { moveText } = await this.#speech;
    const after = event.views?.[0] ?? event.view;
    const text = announcement(event, this.#record, moveText(board, before, after, event.player, players), isLast);
    this.#announce(text);
    if (isLast && toMove && toMove === seat) this.#alerts.notify(gettext("Your turn"), text);
  }

  /** Announce the moves after position `known`, which came with the whole match. */
  async #announceMissed(known) {
    const positions = this.#record.positions.slice(known);
    const starts = positions.flatMap(({ player }, at) => (at && player ? [at] : [])).slice(-ANNOUNCED);
    for (const [number, at] of starts.entries()) {
      const views = positions.slice(at, starts[number + 1]).map(({ view }) => view);
      const event = { player: positions[at].player, view: views.at(-1), views: views.slice(0, -1) };
      await this.#announceMove(event, positions[at - 1].view, number === starts.length - 1);
    }
  }

  #announceEnd() {
    if (this.#isEndAnnounced) return;
    this.#isEndAnnounced = true;
    const { result } = this.#record;
    this.#announce([statusText(this.#record), reasonText(result)].filter(Boolean).map(sentence).join(" "));
  }

  #announce(text) {
    const announced = part("announcer");
    announced.append(html("p", {}, text));
    if (announced.children.length > ANNOUNCED) announced.firstElementChild.remove();
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const data = JSON.parse(part("data").textContent);
if (data.board.has_chance) await import("./dice_boards.js"); // other games do without
new MatchPage(data);
