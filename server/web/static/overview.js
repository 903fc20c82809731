// The lists of the lobby, kept up to date from the server's `overview` and `news`.

const OUTCOMES = 10;

const keyOf = ({ name, role, guest }) => `${role} ${guest ?? false} ${name}`;

/** Maps of players, seeks and matches by key; `outcomes` has the latest first. */
export class Overview {
  players = new Map();
  seeks = new Map();
  matches = new Map();
  outcomes = [];
  totals = { humans: 0, bots: 0, spectators: 0, seeks: 0, matches: 0, games: {} };

  /** Apply an event. Returns false if it is neither an `overview` nor `news`. */
  apply(event) {
    if (event.type === "overview") this.#reset(event);
    else if (event.type === "news") this.#change(event);
    else return false;
    return true;
  }

  #reset({ players, seeks, matches, outcomes, totals }) {
    this.players = new Map(players.map((player) => [keyOf(player), player]));
    this.seeks = new Map(seeks.map((seek) => [seek.seek, seek]));
    this.matches = new Map(matches.map((match) => [match.match, match]));
    this.outcomes = outcomes.toReversed().slice(0, OUTCOMES);
    this.totals = totals;
  }

  #change({ came = [], left = [], opened = [], closed = [], began = [], gone = [], ...rest }) {
    for (const player of left) this.players.delete(keyOf(player));
    for (const player of came) this.players.set(keyOf(player), player);
    for (const seek of closed) this.seeks.delete(seek);
    for (const seek of opened) this.seeks.set(seek.seek, seek);
    for (const match of gone) this.matches.delete(match);
    for (const match of began) this.matches.set(match.match, match);
    const outcomes = (rest.outcomes ?? []).toReversed();
    this.outcomes = [...outcomes, ...this.outcomes].slice(0, OUTCOMES);
    this.totals = rest.totals ?? this.totals;
  }
}

