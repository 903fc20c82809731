// What the page knows of a match: its positions, the player to move, the clocks, the result. Uses
// no element of a page.

import { isCorrespondence } from "./clocks.js";
import { gettext } from "./texts.js";

/** Kept up to date by the server's events. `positions[ply]` is the position after `ply` moves:
 * {view, action, player, info, clocks}; all but the view belong to the move that led there. The
 * player of a roll is 0. */
export class MatchRecord {
  /** Player 1's win rates by ply, by the judge. */
  #judged = new Map();
  #isLuckAwaited = false;

  /** From the data that the server sends with the page, or under /api/matches/ID. */
  constructor(data) {
    /** "" for own moves that have no match. */
    this.id = data.match;
    this.game = data.game;
    this.players = data.players;
    this.board = data.board;
    this.clock = data.clock;
    const control = data.time_control;
    /** What each player's clock starts with; null without clocks. */
    this.timeControls = data.time_controls ?? (control ? [control, control] : null);
    this.rated = data.rated ?? false;
    this.tournament = data.tournament ?? null;
    /** Has a tournament or a ladder assigned the match? */
    this.isAssigned = Boolean(data.tournament || data.ladder);
    /** Do the bots help nobody while the match runs, because a player could gain by that? */
    this.isWithheld = data.withheld ?? false;
    /** The number of moves that were made for the players. */
    this.opening = data.opening ?? 0;
    /** The bot that judges the positions for this person, "" for none. */
    this.judge = "";
    /** How many people watch. */
    this.spectators = 0;
    /** The open offers of the players, {offer, player, ply, dead, lead}; known to players only. */
    this.offers = [];
    /** What this person has offered in vain since their last move. */
    this.declined = new Set();
    /** How often moves were taken back while this page was open. */
    this.takebacks = 0;
    /** This person's seat, 1 or 2; null for a spectator. */
    this.seat = null;
    /** This person's legal moves, empty unless it is their turn. */
    this.legalMoves = [];
    this.#replace(data);
  }

  /** The number of moves so far. */
  get last() {
    return this.positions.length - 1;
  }

  get over() {
    return this.result !== null || !this.id;
  }

  /** The luck of player 1 in all rolls of a match that is over, in points; null if it is not known. */
  get luck() {
    if (!this.over || this.rolls === null || this.rolls.some(({ luck }) => luck === undefined)) return null;
    return this.rolls.reduce((sum, { luck }) => sum + luck, 0);
  }

  /** Does the server still measure the luck of this match, which is over? */
  get awaitsLuck() {
    if (this.rolls !== null) return this.#isLuckAwaited;
    return Boolean(this.id && this.result?.winner && this.board?.has_chance);
  }

  /** Do the players mark dead stones? */
  get isCounting() {
    return !this.over && Boolean(this.positions[this.last].view.areas?.length);
  }

  /** Has a player a day or more for a move? */
  get isSlow() {
    return this.timeControls?.some(isCorrespondence) ?? false;
  }

  /** Has a player moved several times in a row? */
  get hasSteps() {
    return this.positions.some((_, ply) => this.isStep(ply));
  }

  /** Is the move that led to position `ply` one more of the player who moved before it? A roll is
   * part of the move after it, and in games whose players choose to roll, of the one before it. */
  isStep(ply, positions = this.positions) {
    if (ply <= 1) return false;
    const [before, { player }] = positions.slice(ply - 1, ply + 1);
    if (!this.#asksForRolls) return player === before.player || before.player === 0;
    const mover = before.player || positions[ply - 2].player;
    return player === 0 || player === mover;
  }

  /** Is a roll what a player chooses to do? */
  get #asksForRolls() {
    return this.board?.geometry === "scores";
  }

  /** Has this person no choice but to pass, after a roll? */
  get mustPass() {
    const [move, ...others] = this.legalMoves;
    return this.board?.geometry === "points" && move?.cells.length === 0 && !others.length;
  }

  /** Has the last move removed or turned pieces of the opponent? Rolls after it have not. */
  get hasCaptured() {
    const last = this.positions.findLastIndex(({ player }) => player !== 0);
    const [before, { view, player }] = this.positions.slice(last - 1, last + 1);
    const countIn = ({ cells }) => cells.filter((owner) => owner === 3 - player).length;
    return countIn(view) < countIn(before.view);
  }

  /** The player of the move that led to position `ply`; for a roll, the player who moves after it. */
  moverOf(ply) {
    const later = this.positions.slice(ply).find(({ player }) => player !== 0);
    return later?.player ?? this.toMove;
  }

  /** Do players of the game count a move of each player as one? So they do on checkered boards. */
  get countsPairs() {
    return this.board?.surface === "checkered";
  }

  /** The number of the move that led to position `ply`, as players write it: "57", or "29." for the
   * first player and "29…" for the second. Several steps of a player in a row are one move. `positions` are
   * those of the match, or others. */
  numberOf(ply, positions = this.positions) {
    const moves = positions.slice(1, ply + 1).filter((_, at) => !this.isStep(at + 1, positions));
    if (!this.countsPairs) return String(moves.length);
    const number = moves.filter(({ player }, at) => at === 0 || player === 1).length;
    return `${number}${moves.at(-1).player === 1 ? "." : "…"}`;
  }

  /** Replace everything but the seat and the legal moves. Returns false, and changes nothing, if
   * the data is older than what is known. */
  refresh(data) {
    const isOlder = data.positions.length < this.positions.length || (this.over && !data.result);
    if (!isOlder) this.#replace(data);
    return !isOlder;
  }

  /** Apply a `started`. Returns false if positions are missing. */
  start(event) {
    this.#cut(this.#common(event.moves));
    this.offers = event.offers ?? [];
    this.spectators = event.spectators ?? 0;
    this.seat = event.seat ?? null;
    this.toMove = event.to_move;
    this.clocks = event.clocks ?? null;
    const isKnown = event.moves.length <= this.last;
    this.legalMoves = isKnown ? (event.legal_moves ?? []) : []; // of a position that is not shown yet
    return isKnown;
  }

  /** Apply an `update`, which adds a move and its rolls. Returns false if positions before it are
   * missing. */
  add(event) {
    if (event.ply > this.last) return false;
    if (event.ply < this.last) return true; // known already
    const { action, player, clocks = null } = event;
    if (player === this.seat) this.declined.clear();
    const { rolls = [], views = [], view = null } = event;
    [action, ...rolls].forEach((played, at) => {
      const drawn = [...views, view][at] ?? { ...this.positions[this.last].view, name: `#${played}` };
      this.positions.push({ view: drawn, action: played, player: at ? 0 : player, info: null, clocks });
    });
    this.toMove = event.to_move;
    this.clocks = clocks;
    this.legalMoves = event.legal_moves ?? [];
    return true;
  }

  /** Apply a `move_analysis`, which comes some moves after its move. */
  analyse({ ply, info, pv = [], candidates = [] }) {
    const position = this.positions[ply + 1];
    if (!position) return;
    position.info = info;
    position.view = { ...position.view, pv, candidates };
  }

  /** Apply a `taken_back`, which leaves the first `ply` moves. Returns false if some are missing. */
  takeBack(event) {
    this.offers = [];
    this.#cut(event.ply);
    this.toMove = event.to_move;
    this.clocks = event.clocks ?? null;
    this.legalMoves = event.legal_moves ?? [];
    return event.ply === this.last;
  }

  /** Apply an `offered`. */
  offer({ type, match, re, ...offer }) {
    this.offers = [...this.offers.filter(({ player }) => player !== offer.player), offer];
  }

  /** Apply an `offer_closed`. */
  closeOffer({ offer, player }) {
    this.offers = this.offers.filter((each) => each.player !== player);
    if (player === this.seat) this.declined.add(offer);
  }

  /** This person's open offer, null for none. */
  get ownOffer() {
    return this.offers.find(({ player }) => player === this.seat) ?? null;
  }

  /** The opponent's open offer, which this person may answer; null for none. */
  get opponentsOffer() {
    if (this.seat === null) return null;
    return this.offers.find(({ player }) => player !== this.seat) ?? null;
  }

  /** Why this person cannot offer a `"draw"` or a `"takeback"` now; null if they can. */
  whyNotOffered(kind) {
    if (kind === "draw" && !(this.#hasMoved(1) && this.#hasMoved(2))) {
      return gettext("A draw can be offered once both players have moved.");
    }
    if (kind === "takeback" && !this.#hasMoved(this.seat)) return gettext("You have not moved yet.");
    if (this.ownOffer) return gettext("You have made an offer already.");
    if (this.declined.has(kind)) return gettext("You can offer this again after your next move.");
    return null;
  }

  /** May this person end the match without result? */
  get mayAbort() {
    return !this.over && !this.isAssigned && this.seat !== null && !this.#hasMoved(this.seat);
  }

  /** Both clocks at a position; at the last one those of now, or of the end. Null without clocks. */
  clocksAt(ply) {
    if (ply === this.last && this.clocks) return this.clocks;
    const full = this.timeControls?.map(({ main_s, periods }) => ({ main_s, periods }));
    return this.positions[ply].clocks ?? full ?? null;
  }

  /** Apply an `ended`. */
  end({ winner, returns, reason, text }) {
    this.result = { winner, returns, reason, text };
    this.toMove = 0;
    this.legalMoves = [];
    this.offers = [];
  }

  /** Have a bot judge the positions of the match: see `addJudgement`. */
  startJudging(bot) {
    this.judge = bot;
    this.#judged.clear();
    if (this.result?.reason !== "rules") return;
    const { winner } = this.result;
    this.#judged.set(this.last, winner > 0 ? 2 - winner : 0.5);
  }

  /** Add what that bot says of the position after `ply` moves, with `player` to move. Returns false
   * if that is no win rate. */
  addJudgement(ply, player, info) {
    const rate = rateOf(info);
    if (rate === null) return false;
    this.#judged.set(ply, player === 1 ? rate : 1 - rate);
    return true;
  }

  /** Who says the win rates of each series of `rates`. */
  get speakers() {
    return [...this.players, this.judge];
  }

  /** The known win rates, each as {ply, rate}: [those that player 1 sent with moves, those of player
   * 2, those of a bot that has judged the positions]. All rates are those of player 1 winning. */
  rates() {
    const judged = [...this.#judged].map(([ply, rate]) => ({ ply, rate }));
    const series = [[], [], judged.sort((one, other) => one.ply - other.ply)];
    this.positions.forEach(({ player, info }, ply) => {
      const rate = info && rateOf(info);
      if (!player || rate === null || rate === undefined) return; // the player may not be known yet
      series[player - 1].push({ ply, rate: player === 1 ? rate : 1 - rate });
    });
    return series;
  }

  #hasMoved(seat) {
    return this.positions.some(({ player }, ply) => ply > this.opening && player === seat);
  }

  /** The number of first moves that are those known here. */
  #common(moves) {
    let ply = 0;
    while (ply < Math.min(moves.length, this.last) && this.positions[ply + 1].action === moves[ply]) ply += 1;
    return ply;
  }

  /** Forget all but the first `ply` moves. */
  #cut(ply) {
    if (ply >= this.last) return;
    this.positions = this.positions.slice(0, ply + 1);
    this.takebacks += 1;
    for (const judged of this.#judged.keys()) if (judged > ply) this.#judged.delete(judged);
  }

  #replace(data) {
    this.positions = data.positions;
    this.toMove = data.to_move ?? 0;
    this.clocks = data.clocks ?? this.clocks ?? null;
    this.result = data.result ?? null;
    /** The rolls of a match that is over, {ply, luck}: `ply` is the number of the move, and the luck is that
     * of player 1, if it is known. Null before the data after the end is known. */
    this.rolls = data.rolls ?? null;
    this.#isLuckAwaited = data.luck_awaited ?? false;
  }
}

/** The mover's win rate from 0 to 1; a proven result is 0, 0.5 or 1. */
export function rateOf({ win_rate: rate, proven }) {
  return proven === null || proven === undefined ? (rate ?? null) : (proven + 1) / 2;
}
