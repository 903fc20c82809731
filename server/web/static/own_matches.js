// The list of this person's matches by correspondence, those that wait for their move first.

import { Clocks, formatSeconds, isCorrespondence } from "./clocks.js";
import { html } from "./elements.js";
import { updateKeyedList } from "./keyed_list.js";
import { matchAddress } from "./navigation.js";
import { gettext, listText } from "./texts.js";
import { gameText } from "./wording.js";

const REFRESH_MS = 30_000;

const find = (id) => document.getElementById(id);
const seconds = () => performance.now() / 1000;

/** Is a match, as in `started`, played by correspondence? */
export function isByCorrespondence({ time_control: timeControl }) {
  return Boolean(timeControl) && isCorrespondence(timeControl);
}

export class OwnMatches {
  #connection;
  #matches = new Map();
  #title = document.title;

  constructor(connection) {
    this.#connection = connection;
    setInterval(() => this.#show(), REFRESH_MS);
  }

  /** Handle an event of the server. */
  receive(event) {
    if (event.type === "welcome") this.#welcome(event);
    else if (event.type === "started" && event.seat && isByCorrespondence(event)) this.#add(event, event.seat);
    else if (event.type === "update" || event.type === "taken_back") this.#update(event);
    else if (event.type === "ended" && this.#matches.delete(event.match)) this.#show();
  }

  /** The matches of this session follow its welcome; those of earlier sessions are `away`. */
  #welcome({ away = [] }) {
    this.#matches.clear();
    for (const match of away) this.#find(match);
    this.#show();
  }

  async #find(match) {
    const started = await this.#connection.request({ type: "watch", match, preview: true }).catch(() => null);
    const seat = started ? started.players.indexOf(this.#connection.name) + 1 : 0;
    if (seat && isByCorrespondence(started)) this.#add(started, seat);
  }

  #add({ match, players, game, time_control: timeControl, clocks, to_move: toMove }, seat) {
    const each = { match, game, opponent: players[2 - seat], seat, clocks: new Clocks([timeControl, timeControl]) };
    this.#matches.set(match, each);
    this.#update({ match, clocks, to_move: toMove });
  }

  #update({ match, clocks, to_move: toMove }) {
    const each = this.#matches.get(match);
    if (!each) return;
    each.toMove = toMove;
    each.clocks.set(clocks, toMove, seconds());
    this.#show();
  }

  #show() {
    const now = seconds();
    const shown = [...this.#matches.values()].map((each) => ({
      ...each,
      isMine: each.toMove === each.seat,
      left: each.clocks.left(each.toMove, now),
    }));
    shown.sort((one, other) => other.isMine - one.isMine || one.left - other.left);
    updateKeyedList(find("own"), "match", new Map(shown.map((each) => [each.match, each])), newItem, showItem);
    find("own-section").hidden = shown.length === 0;
    const waiting = shown.filter(({ isMine }) => isMine).length;
    document.title = waiting ? `(${waiting}) ${this.#title}` : this.#title;
  }
}

function newItem({ match, game, opponent }) {
  const link = html("a", { class: "name", href: matchAddress(match) }, listText([gameText(game), opponent]));
  return html("li", { class: "row apart" }, link, html("span"));
}

function showItem(item, { isMine, left }) {
  const turn = item.lastChild;
  turn.className = isMine ? "chip accent" : "muted small";
  turn.textContent = listText([isMine ? gettext("your move") : gettext("their move"), formatSeconds(left)]);
}
