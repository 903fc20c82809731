// A match as far as it is known: its positions, whose turn it is, the clocks, the result. Nothing
// of a page is needed.

/** Kept up to date by the server's events. `positions[ply]` is that after so many moves:
 * {view, action, player, info, clocks}; all but the view are of the move that led there. */
export class Record {
  /** From what the server says of a match, on its page or under /api/matches/ID. */
  constructor(data) {
    this.id = data.match;
    this.game = data.game;
    this.players = data.players;
    this.board = data.board;
    this.clock = data.clock;
    this.timeControl = data.time_control ?? null;
    this.rated = data.rated ?? false;
    this.tournament = data.tournament ?? null;
    /** Which of the two one plays, null for those who watch. */
    this.seat = null;
    /** What the one whose turn it is may do now, if that is oneself. */
    this.legalMoves = [];
    this.#replace(data);
  }

  /** How many moves were made. */
  get last() {
    return this.positions.length - 1;
  }

  get over() {
    return this.result !== null;
  }

  /** Everything anew from the server, but which seat one has and what one may do. False if that
   * is older than what is known. */
  refresh(data) {
    const isOlder = data.positions.length < this.positions.length || (this.over && !data.result);
    if (!isOlder) this.#replace(data);
    return !isOlder;
  }

  /** How the match stands, by a `started`. False if positions are missing before that one. */
  start(event) {
    this.seat = event.seat ?? null;
    this.toMove = event.to_move;
    this.clocks = event.clocks ?? null;
    this.legalMoves = event.legal_moves ?? [];
    return event.moves.length <= this.last;
  }

  /** A move was made, by an `update`. False if there are positions missing before it. */
  add(event) {
    if (event.ply > this.last) return false;
    if (event.ply < this.last) return true; // told again
    const { action, player, info = null, clocks = null } = event;
    const view = event.view ?? { ...this.positions[this.last].view, name: `#${action}` };
    this.positions.push({ view, action, player, info, clocks });
    this.toMove = event.to_move;
    this.clocks = clocks;
    this.legalMoves = event.legal_moves ?? [];
    return true;
  }

  /** What both had left when they looked at that position; in the last one, now or in the end. */
  clocksAt(ply) {
    if (ply === this.last && this.clocks) return this.clocks;
    const full = this.timeControl && { main_s: this.timeControl.main_s, periods: this.timeControl.periods };
    return this.positions[ply].clocks ?? (full && [full, full]);
  }

  /** It is over, by an `ended`. */
  end({ winner, returns, reason, text }) {
    this.result = { winner, returns, reason, text };
    this.toMove = 0;
    this.legalMoves = [];
  }

  /** The win rates that players said, each as {ply, rate}: [by player 1, by player 2]. All from
   * the point of view of player 1. */
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

/** How likely the mover thinks to win; what is proven is certain. */
function rateOf({ win_rate: rate, proven }) {
  return proven === null || proven === undefined ? (rate ?? null) : (proven + 1) / 2;
}
