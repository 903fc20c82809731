// Another match against the same opponent, with seats swapped.

import { openMatch } from "./navigation.js";
import { gettext, told } from "./texts.js";

/** The button "Play again", and the text beside it. */
export class Rematch {
  #button;
  #text;
  #connection;
  #record;
  #seek = null;

  constructor(button, text, connection, record) {
    this.#button = button;
    this.#text = text;
    this.#connection = connection;
    this.#record = record;
    button.addEventListener("click", () => (this.#seek ? this.#cancel() : this.#send()));
  }

  /** Handle an event of the server: the rematch begins, or the opponent seeks one as well. */
  receive(event) {
    if (event.type === "started" && this.#seek && event.seat && event.match !== this.#record.id) {
      openMatch(event.match);
    } else if (event.type === "seeking" && event.name === this.#opponent && !this.#seek) {
      if (event.game === this.#record.game) this.#showText(gettext("%(name)s wants to play again.", { name: event.name }));
    } else if (event.type === "notice" && event.code === "bot_failed" && this.#seek) {
      this.#setSeek(null, told(event.text));
    } else if (event.type === "welcome" && this.#seek) {
      this.#setSeek(null, gettext("The connection was lost in the meantime. Ask again."));
    }
  }

  get #opponent() {
    return this.#record.players[2 - this.#record.seat];
  }

  async #send() {
    const { game, clock, rated, seat } = this.#record;
    const terms = { game, clock, rated, seat: 3 - seat };
    const bots = this.#connection.welcome?.bots ?? [];
    const request = bots.some(({ name }) => name === this.#opponent)
      ? { type: "challenge_bot", player: this.#opponent, ...terms }
      : { type: "seek", opponent: this.#opponent, ...terms };
    this.#button.disabled = true;
    try {
      const { seek, opponent } = await this.#connection.request(request);
      this.#setSeek(seek, gettext("Waiting for %(name)s …", { name: opponent ?? this.#opponent }));
    } catch (error) {
      this.#showText(error.message);
    } finally {
      this.#button.disabled = false;
    }
  }

  async #cancel() {
    try {
      await this.#connection.request({ type: "cancel", seek: this.#seek });
      this.#setSeek(null, "");
    } catch (error) {
      this.#setSeek(null, error.message);
    }
  }

  #setSeek(seek, text) {
    this.#seek = seek;
    this.#button.textContent = seek ? gettext("Cancel") : gettext("Play again");
    this.#showText(text);
  }

  #showText(text) {
    this.#text.textContent = text;
  }
}
