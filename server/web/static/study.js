// The analysis of a match's positions: moves of one's own, and what a bot of the server thinks.

import { summary } from "./analysis.js";
import { BotAnalysis } from "./bot_analysis.js";
import { MatchAnalysis } from "./match_analysis.js";
import { candidateTable } from "./candidate_table.js";
import { html } from "./elements.js";
import { rateOf } from "./match_record.js";
import { percent, rollText, sentence } from "./match_text.js";
import { OwnMoves, movesOf } from "./own_moves.js";
import { gettext, ngettext } from "./texts.js";

/** Moves of a bot's line that are shown, and candidates that have an arrow. */
const [LINE, ARROWS] = [10, 3];

/**
 * Fills the part "study" of a page. `part(id)` is an element of the page, `search` the query of its
 * address.
 *
 * hooks: tries (whether moves are tried at once), connect() (returns the connection to the server),
 * onChange() (another position is to be shown), onJudged(analysis) (win rates have changed), onAnswer() (`rate`
 * may have changed), onPoint(cells), onHeat(shares) and onArrows(arrows) (the board is to mark these).
 */
export class Study {
  #part;
  #record;
  #hooks;
  #own;
  #bot;
  /** A second bot, which is asked the same when the first has ended: a person has one analysis at a time. */
  #other;
  /** What the second bot is asked, null before the first has ended. */
  #otherQuestion = null;
  /** Judges all positions of the match. */
  #all;
  #isTrying = false;
  #isAsking = false;
  #isAllowed = true;
  /** What the bot is asked now, as text. */
  #asked = "";
  /** Why moves cannot be tried. */
  #fault = "";
  /** The last position after tried moves, which is shown until the next one is known. */
  #shown = null;
  /** The position of the bot's line under the pointer or the focus. */
  #preview = null;

  constructor(part, record, ply, search, hooks) {
    this.#part = part;
    this.#record = record;
    this.#hooks = hooks;
    this.#own = new OwnMoves(record, ply, movesOf(search));
    this.#isTrying = hooks.tries || this.#own.moves.length > 0;
    this.#bot = new BotAnalysis(hooks.connect, () => {
      this.#askOther();
      this.draw();
      hooks.onAnswer();
    });
    this.#other = new BotAnalysis(hooks.connect, () => this.draw(), 0);
    this.#all = new MatchAnalysis(hooks.connect, record, () => hooks.onJudged(this.#all));
    this.#listen();
  }

  /** The moves that were tried and are shown. */
  get moves() {
    return this.#own.actions;
  }

  /** The positions after them, null while they are not known. */
  get line() {
    return this.#own.here?.positions ?? null;
  }

  /** The win rate of player 1 in the shown position, as the bot says; null if it is not known. */
  get rate() {
    const rate = this.#isAsking && this.#bot.info ? rateOf(this.#bot.info) : null;
    return rate === null || this.mover === 1 ? rate : 1 - rate;
  }

  /** The position to show instead of that of the match, null for that of the match. */
  get position() {
    if (this.#preview) return this.#preview;
    if (!this.#own.at) return null;
    this.#shown = this.#own.here?.positions.at(-1) ?? this.#shown;
    return this.#shown;
  }

  /** The moves that can be tried now. */
  get legalMoves() {
    return this.#isTrying && !this.#preview ? (this.#own.here?.legal_moves ?? []) : [];
  }

  /** The player who makes them. */
  get mover() {
    return this.#own.here?.to_move || 1;
  }

  /** Have a bot judge all positions, in place of its other analyses. */
  judgeAll() {
    this.#isAsking = false;
    this.#bot.stop();
    if (!this.#all.isRunning) this.#all.start(this.#part("analyst").value);
  }

  /** Stop the bot's answers about the shown positions: a lesson asks about them. */
  stopAsking() {
    if (!this.#isAsking) return;
    this.#isAsking = false;
    this.#ask();
  }

  /** Try a move of one action or several. Returns false if no moves are tried here. */
  play(actions) {
    if (!this.#isTrying) return false;
    this.#try([...this.#own.actions, ...actions]);
    return true;
  }

  /** Try these moves after the first `ply` moves of the match. */
  open(ply, moves) {
    this.#own.set(ply, []);
    this.#try(moves);
  }

  /** Show one tried move fewer, or one more. Returns whether there is one. */
  step(key) {
    const steps = { ArrowLeft: 1, ArrowRight: -1 }[key];
    if (!steps || !this.#own.back(steps)) return false;
    this.#hooks.onChange();
    return true;
  }

  /** Return to the match. Returns whether that changes anything. */
  leave() {
    const had = this.#own.moves.length > 0;
    this.#own.set(this.#own.ply, []);
    return had;
  }

  /** Take an event of the server. */
  receive(event) {
    if (event.type === "taken_back") this.#own.forget();
    if (event.type === "welcome") this.#stopOther(); // the first bot is asked again
    this.#bot.receive(event);
    this.#other.receive(event);
    this.#all.receive(event);
  }

  /** The match shows the position after `ply` moves. Its players cannot try moves until it is over
   * (`isAllowed`); and bots help nobody while a player could gain by that (`isHelped`). */
  show(ply, isAllowed, isHelped = isAllowed) {
    this.#isAllowed = isAllowed;
    this.#part("study").hidden = !isAllowed;
    for (const id of ["ask", "analyst", "other-analyst", "ask-all"]) if (this.#part(id)) this.#part(id).hidden = !isHelped;
    if (!isHelped) {
      this.#isAsking = false;
      this.#all.stop();
    }
    if (!isAllowed) {
      this.leave();
      this.#isTrying = this.#isAsking = false;
      this.#all.stop();
    }
    if (ply !== this.#own.ply) this.#fault = "";
    this.#own.begin(ply);
    if (this.#isTrying || this.#isAsking) this.#load();
    this.#ask();
  }

  /** Draw what is known; to be called after the board was drawn. */
  draw() {
    const part = this.#part;
    if (!this.#isAllowed) return;
    part("try-moves").setAttribute("aria-pressed", this.#isTrying);
    part("ask")?.setAttribute("aria-pressed", this.#isAsking);
    const { board } = this.#record;
    const names = this.#own.here?.positions.map(({ view, player }) => (player === 0 ? rollText(board, view.name) : view.name));
    part("own-moves").hidden = !this.#own.at;
    if (names) part("own-moves-text").textContent = names.join(" ");
    part("study-fault").textContent = this.#fault;
    if (!part("study-bot")) return; // no bots are offered
    part("ask-all").textContent = this.#all.isRunning ? gettext("Stop") : gettext("Analyse all moves");
    const { isRunning, ply, count, text: fault } = this.#all;
    const progress = isRunning ? gettext("Position %(number)s of %(count)s …", { number: ply + 1, count }) : fault;
    part("ask-all-text").textContent = progress && sentence(progress);
    part("study-bot").hidden = !this.#isAsking;
    if (!this.#isAsking) return;
    const { over, info } = this.#bot;
    for (const [id, analysis] of [["study-text", this.#bot], ["other-text", this.#otherQuestion && this.#other]]) {
      const text = analysis ? this.#describe(analysis) : "";
      if (part(id).textContent !== text) part(id).textContent = text;
    }
    part("think-on").hidden = !over || !info || isProven(info);
    const candidates = this.#candidates();
    this.#drawTable(candidates);
    this.#drawLines(this.#bot, part("study-line"));
    this.#drawLines(this.#other, part("other-line"));
    if (!this.#preview) this.#mark(candidates);
  }

  // Actions of the person.

  #listen() {
    const part = this.#part;
    const toggle = (change) => () => {
      change();
      this.#hooks.onChange();
    };
    part("try-moves").addEventListener("click", toggle(() => {
      this.#isTrying = !this.#isTrying;
      if (!this.#isTrying) this.leave();
    }));
    part("ask")?.addEventListener("click", toggle(() => {
      this.#isAsking = !this.#isAsking;
      this.#all.stop(); // a person has one analysis at a time
    }));
    part("ask-all")?.addEventListener("click", toggle(() => {
      if (this.#all.isRunning) this.#all.stop();
      else this.judgeAll();
    }));
    part("think-on")?.addEventListener("click", toggle(() => (this.#asked = "")));
    for (const id of ["analyst", "other-analyst"]) part(id)?.addEventListener("change", () => this.#hooks.onChange());
    part("take-back").addEventListener("click", () => this.#try(this.#own.actions.slice(0, -1)));
    part("back-to-match").addEventListener("click", toggle(() => this.leave()));
    for (const line of [part("study-line"), part("other-line")]) {
      line?.addEventListener("pointerleave", () => this.#showPreview(null));
      line?.addEventListener("focusout", ({ relatedTarget }) => {
        if (!line.contains(relatedTarget)) this.#showPreview(null);
      });
    }
  }

  #try(moves) {
    this.#isTrying = true;
    this.#preview = null;
    this.#fault = "";
    this.#own.set(this.#own.ply, moves);
    this.#hooks.onChange();
  }

  #showPreview(position) {
    if (position === this.#preview) return;
    this.#preview = position;
    this.#hooks.onChange();
  }

  async #load() {
    if (this.#own.here || this.#fault) return;
    const asked = this.#own.actions;
    try {
      await this.#own.load();
    } catch (error) {
      this.#fault = error.message;
      if (asked.length) this.leave();
    }
    this.#hooks.onChange();
  }

  /** Ask the bot about the shown position, unless it was asked already. */
  #ask() {
    const { here, actions, ply } = this.#own;
    const [bot, other] = ["analyst", "other-analyst"].map((id) => this.#part(id)?.value);
    const isAsked = this.#isAsking && here && here.to_move !== 0;
    const asked = isAsked ? `${bot}/${other} ${here.actions.join(" ")}` : "";
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#stopOther();
    if (!asked) return this.#bot.stop();
    const played = actions.length ? undefined : this.#record.positions[ply + 1]?.action;
    this.#bot.ask({ game: this.#record.game, moves: here.actions, bot, played });
  }

  #askOther() {
    const bot = this.#part("other-analyst").value;
    if (!bot || !this.#bot.over || this.#otherQuestion) return;
    this.#otherQuestion = { game: this.#record.game, moves: this.#own.here.actions, bot };
    this.#other.ask(this.#otherQuestion);
  }

  #stopOther() {
    this.#otherQuestion = null;
    this.#other.stop();
  }

  // The display.

  /** What a bot has said, in a sentence. */
  #describe({ bot, place, info, over, text }) {
    const { here } = this.#own;
    if (here?.to_move === 0 && here.legal_moves.length) return gettext("A roll comes next.");
    if (here?.to_move === 0) return gettext("The game is over in this position.");
    if (!info && over) return sentence(text);
    if (!info && place === null) return gettext("Asking …");
    if (!info && place) return ngettext("%(num)s analysis before this one.", "%(num)s analyses before this one.", place);
    if (!info) return gettext("%(name)s begins to think …", { name: bot });
    const visits = info.actions?.map(([, count]) => ({ visits: count }));
    const said = summary(info, visits) || gettext("no win rate");
    const ended = over && text ? ` ${sentence(text)}` : "";
    const values = { bot, name: this.#record.players[this.mover - 1], text: said };
    return gettext("%(bot)s on %(name)s, who is to move: %(text)s.", values) + ended;
  }

  /** The analysed moves as the table and the board need them. */
  #candidates() {
    const moves = new Map((this.#own.here?.legal_moves ?? []).map((move) => [move.action, move]));
    return (this.#bot.info?.actions ?? [])
      .filter(([action]) => moves.has(action))
      .map(([action, visits, rate]) => ({ ...moves.get(action), visits, win_rate: rate }));
  }

  #drawTable(candidates) {
    const { ply, actions } = this.#own;
    const played = actions.length ? null : (this.#record.positions[ply + 1]?.view.name ?? null);
    const onChoose = ({ action }) => this.#try([...this.#own.actions, action]);
    const { onPoint } = this.#hooks;
    const table = () => candidateTable(candidates, played, { onPoint, onChoose });
    const key = JSON.stringify([played, candidates.map(({ action, visits }) => [action, visits])]);
    this.#fill(this.#part("study-table"), key, candidates.length ? [table] : []);
  }

  /** The lines that a bot expects, the best first, with its win rates: a button for each move, which shows
   * the position after it. */
  async #drawLines(bot, element) {
    const lines = bot.lines.map((line) => line.slice(0, LINE)).filter(({ length }) => length);
    const [before, asked] = [this.#own.actions, this.#asked];
    const found = await Promise.all(lines.map((line) => this.#own.load([...before, ...line]).catch(() => null)));
    if (asked !== this.#asked) return;
    const rates = new Map((bot.info?.actions ?? []).map(([action, , rate]) => [action, rate]));
    const items = lines.flatMap((line, place) => {
      const positions = found[place]?.positions.slice(before.length);
      if (!positions) return [];
      const rate = rates.get(line[0]);
      const label = rate === undefined ? [] : [html("span", { class: "muted" }, percent(rate)), " "];
      return [() => html("li", {}, ...label, ...positions.map((position, at) => this.#lineButton(position, [...before, ...line.slice(0, at + 1)])))];
    });
    this.#fill(element, lines.join("/"), items);
  }

  #lineButton(position, moves) {
    const button = html("button", { type: "button", class: "candidate" }, position.view.name);
    button.addEventListener("pointerenter", () => this.#showPreview(position));
    button.addEventListener("focus", () => this.#showPreview(position));
    button.addEventListener("click", () => this.#try(moves));
    return button;
  }

  /** Fill an element with what `key` stands for, unless it has that already, or the person points at
   * what is in it about the same position. */
  #fill(element, key, makers) {
    const isSame = element.dataset.asked === this.#asked && element.childElementCount > 0;
    const hadFocus = element.contains(document.activeElement);
    if (isSame && (hadFocus || element.matches(":hover") || element.dataset.key === key)) return;
    element.dataset.asked = this.#asked;
    element.dataset.key = key;
    element.replaceChildren(...makers.map((make) => make()));
    if (hadFocus) (element.querySelector("button") ?? this.#part("ask")).focus();
  }

  /** Mark the candidates on the board: arrows for moves of pieces, a heat map for others. */
  #mark(candidates) {
    const all = candidates.reduce((sum, { visits }) => sum + visits, 0) || 1;
    const drawn = candidates.filter(({ cells, visits }) => cells?.length && visits);
    const isMoved = ({ cells }) => cells.length > 1;
    const arrows = drawn.filter(isMoved).slice(0, ARROWS);
    this.#hooks.onArrows(arrows.map(({ cells, visits }) => [cells[0], cells.at(-1), visits / all]));
    const heat = drawn.filter((each) => !isMoved(each));
    this.#hooks.onHeat(new Map(heat.map(({ cells, visits }) => [cells.at(-1), visits / all])));
  }
}

function isProven({ proven }) {
  return proven !== null && proven !== undefined;
}
