// Asks a bot of the server about positions, one at a time, and keeps what it says. Uses no element
// of a page.

import { told } from "./texts.js";

/** Wait before a question is sent: who browses quickly asks about the last position only. */
const PAUSE_MS = 250;

/** `onChange()` is called when something new is known. */
export class BotAnalysis {
  #connection = null;
  #connect;
  #onChange;
  #pauseMs;
  #timer = null;
  /** What is asked, null for nothing. */
  #question = null;
  #id = null;
  /** The name of the bot that thinks, once it is known. */
  bot = "";
  /** How many analyses come first; null before that is known. */
  place = null;
  info = null;
  /** The lines of moves that it expects, the best first. */
  lines = [];
  over = false;
  /** Why it has failed, or ended before its time. */
  text = "";

  /** `connect()` returns the connection to the server, whose events `receive` is given. A question is
   * sent after `pauseMs`. */
  constructor(connect, onChange, pauseMs = PAUSE_MS) {
    this.#connect = connect;
    this.#onChange = onChange;
    this.#pauseMs = pauseMs;
  }

  /** Ask another question, {game, moves, bot, seconds, played}. */
  ask(question) {
    this.#end();
    this.#question = question;
    this.#connection ??= this.#connect();
    this.#timer = setTimeout(() => this.#send(), this.#pauseMs);
  }

  /** Ask nothing more. */
  stop() {
    if (!this.#question) return;
    this.#end();
    this.#question = null;
  }

  /** Take an event of the server. */
  receive(event) {
    if (event.type === "welcome" && this.#question) this.ask(this.#question);
    if (!this.#id || event.analysis !== this.#id) return;
    if (event.type === "analysis_queued") this.place = event.place ?? 0;
    if (event.type === "analysis_update") {
      this.info = event.info ?? this.info;
      this.lines = event.info ? [event.info.pv ?? [], ...(event.lines ?? [])] : this.lines;
      this.over = event.over ?? false;
      this.text = told(event.text ?? "");
      if (this.over) this.#id = null;
    }
    this.#onChange();
  }

  #end() {
    clearTimeout(this.#timer);
    if (this.#id) this.#connection.send({ type: "stop_analysis", analysis: this.#id });
    this.#id = this.place = this.info = null;
    this.lines = [];
    this.over = false;
    this.text = "";
  }

  async #send() {
    const question = this.#question;
    try {
      const queued = await this.#connection.request({ type: "analyse", ...question });
      if (question !== this.#question) {
        this.#connection.send({ type: "stop_analysis", analysis: queued.analysis });
        return;
      }
      this.#id = queued.analysis;
      this.bot = queued.bot;
      this.place = queued.place ?? 0;
    } catch (error) {
      if (question !== this.#question || error.code === "lost") return; // `welcome` asks again
      this.over = true;
      this.text = error.message;
    }
    this.#onChange();
  }
}
