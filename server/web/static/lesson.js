// Learning from mistakes: a person tries again where a move of a match lost the most, and a bot of
// the server judges the new move.

import { BotAnalysis } from "./bot_analysis.js";
import { largestLosses } from "./losses.js";
import { percent, sentence } from "./match_text.js";
import { OwnMoves } from "./own_moves.js";
import { gettext } from "./texts.js";

/** At most so many mistakes of a player are shown. */
const MOST = 5;
/** How long the bot thinks about a move: as long as about a position of the match. */
const SECONDS = 0.3;
/** Win rates that differ by less count as equal. */
const EQUAL = 0.05;

/**
 * Fills the part "lesson" of a page. `part(id)` is an element of the page.
 *
 * hooks: connect() (returns the connection to the server), judgeAll() (has a bot judge all positions;
 * then `judged` is called), go(ply) (shows a position of the match), onChange() (what is shown has
 * changed), onPoint(cells) (the board is to mark these).
 */
export class Lesson {
  #part;
  #record;
  #hooks;
  #bot;
  /** The moves that lost the most, in their order in the match; null before they are known. */
  #mistakes = null;
  #isOpen = false;
  /** The number of the mistake that is shown. */
  #at = 0;
  /** The number of moves in the position of the match that is shown. */
  #ply = -1;
  /** What the server knows of moves after the position before the mistake. */
  #own = null;
  /** The actions of the move that the person tries, null for none; `isBest` asks for the bot's move instead. */
  #tried = null;
  #isBest = false;
  #text = "";

  constructor(part, record, hooks) {
    this.#part = part;
    this.#record = record;
    this.#hooks = hooks;
    this.#bot = new BotAnalysis(hooks.connect, () => this.#answered(), 0);
    part("lesson-again").addEventListener("click", () => this.#show(this.#at));
    part("lesson-best").addEventListener("click", () => this.#askBest());
    part("lesson-next").addEventListener("click", () => this.#show(this.#at + 1));
  }

  /** Is the position before a mistake shown, for another try? */
  get isHere() {
    return this.#isOpen && this.#own !== null && this.#ply === this.#own.ply;
  }

  /** The position after the move that was tried, null for none. */
  get position() {
    return (this.isHere && this.#own.here?.positions.at(-1)) || null;
  }

  /** The moves that can be tried now. */
  get legalMoves() {
    return this.#tried === null && !this.#isBest ? (this.#own.here?.legal_moves ?? []) : [];
  }

  /** The player who makes them. */
  get mover() {
    return this.#mistake.player;
  }

  /** Begin with the first mistake, or end. */
  toggle() {
    if (this.#isOpen) this.#close();
    else this.#open();
  }

  /** Try a move of one action or several. Returns false if no mistake is shown. */
  play(actions) {
    if (!this.isHere) return false;
    this.#try(actions);
    return true;
  }

  /** Take an event of the server. */
  receive(event) {
    this.#bot.receive(event);
  }

  /** The bot has judged the match; `text` says why it has failed, "" if it has not. */
  judged(text) {
    if (!this.#isOpen || this.#mistakes) return;
    if (text) this.#text = sentence(text);
    else this.#find();
    this.#hooks.onChange();
  }

  /** The match shows the position after `ply` moves: draw what is known. */
  draw(ply) {
    this.#ply = ply;
    const part = this.#part;
    part("learn").setAttribute("aria-pressed", this.#isOpen);
    part("lesson").hidden = !this.#isOpen;
    if (part("lesson-text").textContent !== this.#text) part("lesson-text").textContent = this.#text;
    part("lesson-again").hidden = !this.#own;
    part("lesson-best").hidden = !this.#own || this.#isBest;
    part("lesson-next").hidden = !this.#own || this.#at + 1 >= this.#mistakes.length;
  }

  get #mistake() {
    return this.#mistakes[this.#at];
  }

  #open() {
    this.#isOpen = true;
    if (this.#mistakes) return this.#show(0);
    this.#text = gettext("The bot looks for mistakes …");
    const [, , judged] = this.#record.rates();
    if (judged.length > this.#record.last) this.#find();
    else this.#hooks.judgeAll();
    this.#hooks.onChange();
  }

  #close() {
    this.#isOpen = false;
    this.#own = null;
    this.#bot.stop();
    this.#hooks.onChange();
  }

  /** List the mistakes of the person, or of both players for a spectator. */
  #find() {
    const { seat } = this.#record;
    const all = largestLosses(this.#record, Infinity).filter(({ player }) => !seat || player === seat);
    this.#mistakes = all.slice(0, MOST).sort((one, other) => one.ply - other.ply);
    if (this.#mistakes.length) this.#show(0);
    else this.#text = gettext("The bot has found no mistakes.");
  }

  async #show(at) {
    this.#at = at;
    this.#reset();
    const { ply, player, loss } = this.#mistake;
    const own = new OwnMoves(this.#record, ply - 1, []);
    this.#own = own;
    const values = {
      number: at + 1,
      count: this.#mistakes.length,
      name: this.#record.players[player - 1],
      loss: percent(loss),
      move: this.#record.positions[ply].view.name,
    };
    this.#text = gettext("Mistake %(number)s of %(count)s: %(name)s lost %(loss)s by %(move)s. Find a better move.", values);
    this.#hooks.go(ply - 1);
    await this.#load();
    if (own === this.#own) this.#hooks.onChange();
  }

  #reset() {
    this.#bot.stop();
    this.#tried = null;
    this.#isBest = false;
    this.#hooks.onPoint([]);
  }

  /** Ask the server about the moves. Returns null, with a text for the person, if that fails. */
  async #load() {
    try {
      return await this.#own.load();
    } catch ({ message }) {
      this.#text = message;
      return null;
    }
  }

  async #try(actions) {
    this.#tried = actions;
    this.#own.set(this.#own.ply, actions);
    this.#text = gettext("The bot thinks about your move …");
    this.#hooks.onChange();
    const here = await this.#load();
    if (actions === this.#tried && here) {
      if (here.to_move === 0) this.#judge(rateOf(here.winner, this.mover));
      else this.#ask(here.actions);
    }
    this.#hooks.onChange();
  }

  #askBest() {
    this.#reset();
    this.#isBest = true;
    this.#own.set(this.#own.ply, []);
    this.#text = gettext("The bot thinks …");
    this.#hooks.go(this.#own.ply);
    this.#ask(this.#record.positions.slice(1, this.#own.ply + 1).map(({ action }) => action));
    this.#hooks.onChange();
  }

  #ask(moves) {
    this.#bot.ask({ game: this.#record.game, moves, bot: this.#record.judge, seconds: SECONDS });
  }

  #answered() {
    const { over, info, text } = this.#bot;
    if (!over || !this.#own) return;
    const isSaid = info && !text;
    if (!isSaid) this.#text = sentence(text || gettext("the bot has said nothing"));
    else if (!this.#isBest) this.#judge(this.#rateOfTried(info));
    const best = isSaid && this.#isBest ? this.#nameBest(info) : null;
    this.#hooks.onChange();
    if (best) this.#hooks.onPoint(best.cells); // after the board was drawn
  }

  /** The win rate of the mover after the move that was tried. */
  #rateOfTried({ win_rate: rate, proven }) {
    const known = proven === null || proven === undefined ? (rate ?? 0.5) : (proven + 1) / 2;
    return this.#own.here.to_move === this.mover ? known : 1 - known;
  }

  #judge(rate) {
    const { ply, player } = this.#mistake;
    const judged = new Map(this.#record.rates()[2].map((each) => [each.ply, each.rate]));
    const [best, was] = [ply - 1, ply].map((at) => (player === 1 ? judged.get(at) : 1 - judged.get(at)));
    const played = this.#record.positions[ply];
    const move = this.#own.here.positions.at(-1).view.name;
    const values = { move, played: played.view.name, percent: percent(rate) };
    if (this.#tried.every((action, at) => this.#record.positions[ply + at]?.action === action)) this.#text = gettext("%(move)s is the move of the match.", values);
    else if (rate > best - EQUAL) {
      this.#text = gettext("Well done: %(move)s is as good as the bot's choice, %(percent)s to win.", values);
    } else if (rate > was + EQUAL) {
      this.#text = gettext("%(move)s is better than %(played)s, %(percent)s to win, but not the best.", values);
    } else this.#text = gettext("%(move)s is not better than %(played)s, %(percent)s to win.", values);
  }

  /** Say which move the bot prefers, and return it. */
  #nameBest({ actions = [], pv = [] }) {
    const best = this.#own.known([])?.legal_moves.find(({ action }) => action === (pv[0] ?? actions[0]?.[0]));
    const values = { name: this.#record.judge, move: best?.name };
    this.#text = best ? gettext("%(name)s plays %(move)s.", values) : gettext("The bot has named no move.");
    return best;
  }
}

/** A player's win rate at the end of the game: `winner` is 1, 2, or -1 for a tie. */
function rateOf(winner, player) {
  return winner < 0 ? 0.5 : Number(winner === player);
}
