// What the page knows of a match: its positions, the player to move, the clocks, the result. Uses
// no element of a page.

/** Kept up to date by the server's events. `positions[ply]` is the position after `ply` moves:
 * {view, action, player, info, clocks}; all but the view belong to the move that led there. */
export class MatchRecord {
  /** From the data that the server sends with the page, or under /api/matches/ID. */
  constructor(data) {
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
    return this.result !== null;
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
    this.seat = event.seat ?? null;
    this.toMove = event.to_move;
    this.clocks = event.clocks ?? null;
    this.legalMoves = event.legal_moves ?? [];
    return event.moves.length <= this.last;
  }

  /** Apply an `update`, which adds a move. Returns false if positions before it are missing. */
  add(event) {
    if (event.ply > this.last) return false;
    if (event.ply < this.last) return true; // known already
    const { action, player, info = null, clocks = null } = event;
    const view = event.view ?? { ...this.positions[this.last].view, name: `#${action}` };
    this.positions.push({ view, action, player, info, clocks });
    this.toMove = event.to_move;
    this.clocks = clocks;
    this.legalMoves = event.legal_moves ?? [];
    return true;
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
  }

  /** The win rates that the players sent with their moves, each as {ply, rate}: [of player 1, of
   * player 2]. All rates are those of player 1 winning. */
  rates() {
    const series = [[], []];
    this.positions.forEach(({ player, info }, ply) => {
      const rate = info && rateOf(info);
      if (rate === null || rate === undefined) return;
      series[player - 1].push({ ply, rate: player === 1 ? rate : 1 - rate });
    });
    return series;
  }

  #replace(data) {
    this.positions = data.positions;
    this.toMove = data.to_move ?? 0;
    this.clocks = data.clocks ?? this.clocks ?? null;
    this.result = data.result ?? null;
  }
}

/** The mover's win rate from 0 to 1; a proven result is 0, 0.5 or 1. */
function rateOf({ win_rate: rate, proven }) {
  return proven === null || proven === undefined ? (rate ?? null) : (proven + 1) / 2;
}
