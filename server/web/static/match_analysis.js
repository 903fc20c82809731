// Has a bot of the server judge all positions of a match, one after the other. Uses no element of a
// page.

import { BotAnalysis } from "./bot_analysis.js";

/** How long a bot thinks about a position. */
const SECONDS = 0.3;

/** `onChange()` is called when another position was judged, or when it ends. */
export class MatchAnalysis {
  #record;
  #onChange;
  #bot;
  #analysis;
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

  /** Judge all positions by a bot, from the first one. */
  start(bot) {
    this.#bot = bot;
    this.text = "";
    this.#record.startJudging(bot);
    this.#ask(0);
  }

  stop() {
    this.#analysis.stop();
    this.ply = null;
  }

  /** Take an event of the server. */
  receive(event) {
    this.#analysis.receive(event);
  }

  #ask(ply) {
    const { last, game, positions } = this.#record;
    if (ply >= last) return this.#end("");
    this.ply = ply;
    const moves = positions.slice(1, ply + 1).map(({ action }) => action);
    this.#analysis.ask({ game, moves, bot: this.#bot, seconds: SECONDS });
    this.#onChange();
  }

  #judge() {
    if (!this.isRunning || !this.#analysis.over) return;
    const { info, text } = this.#analysis;
    const { player } = this.#record.positions[this.ply + 1] ?? {};
    if (!info || text) return this.#end(text || "the bot has said nothing");
    if (!player || !this.#record.addJudgement(this.ply, player, info)) {
      return this.#end(`${this.#analysis.bot} says no win rates`);
    }
    this.#ask(this.ply + 1);
  }

  #end(text) {
    this.stop();
    this.text = text;
    this.#onChange();
  }
}
