// Has a bot of the server judge all positions of a match, one after the other. Uses no element of a
// page.

import { BotAnalysis } from "./bot_analysis.js";
import { OwnMoves } from "./own_moves.js";
import { gettext } from "./texts.js";

/** How long a bot thinks about a position. */
const SECONDS = 0.3;

/** `onChange()` is called when another position was judged, or when it ends. */
export class MatchAnalysis {
  #record;
  #onChange;
  #bot;
  #analysis;
  /** The player to move in that position. */
  #player = 0;
  /** The last position of a match that is over, while the server is asked about it. */
  #lastHere = null;
  /** The position that is judged now; null if none is. */
  ply = null;
  /** Why it has ended early. */
  text = "";

  constructor(connect, record, onChange) {
    this.#record = record;
    this.#onChange = onChange;
    this.#analysis = new BotAnalysis(connect, () => this.#judge(), 0);
  }

  get isRunning() {
    return this.ply !== null;
  }

  /** The number of positions that a bot judges: the end by the rules needs no bot. */
  get count() {
    const { last, result } = this.#record;
    return result?.reason === "rules" ? last : last + 1;
  }

  /** Judge all positions by a bot, from the first one. */
  start(bot) {
    this.#bot = bot;
    this.text = "";
    this.#record.startJudging(bot);
    this.#ask(0);
  }

  stop() {
    this.#analysis.stop();
    this.#lastHere = null;
    this.ply = null;
  }

  /** Take an event of the server. */
  receive(event) {
    this.#analysis.receive(event);
  }

  #ask(from) {
    let ply = from;
    while (this.#record.positions[ply + 1]?.player === 0) ply += 1; // a roll follows
    if (ply >= this.count) return this.#end("");
    this.ply = ply;
    this.#player = this.#record.positions[ply + 1]?.player ?? this.#record.toMove;
    if (this.#player) this.#send();
    else this.#askPlayer();
    this.#onChange();
  }

  #send() {
    const { game, positions } = this.#record;
    const moves = positions.slice(1, this.ply + 1).map(({ action }) => action);
    this.#analysis.ask({ game, moves, bot: this.#bot, seconds: SECONDS });
  }

  /** Ask the server who would have moved where the match has ended. */
  async #askPlayer() {
    const here = new OwnMoves(this.#record, this.ply, []);
    this.#lastHere = here;
    const found = await here.load().catch(({ message }) => ({ message }));
    if (here !== this.#lastHere) return; // it was stopped
    this.#player = found.to_move ?? 0;
    if (this.#player) this.#send();
    else this.#end(found.message ?? "");
  }

  #judge() {
    if (!this.isRunning || !this.#analysis.over) return;
    const { info, text } = this.#analysis;
    if (!info || text) return this.#end(text || gettext("the bot has said nothing"));
    if (this.ply > this.#record.last) return this.#end(""); // moves were taken back
    if (!this.#record.addJudgement(this.ply, this.#player, info)) {
      return this.#end(gettext("%(name)s says no win rates", { name: this.#analysis.bot }));
    }
    this.#ask(this.ply + 1);
  }

  #end(text) {
    this.stop();
    this.text = text;
    this.#onChange();
  }
}
