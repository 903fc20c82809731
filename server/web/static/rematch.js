// Another match against the same opponent, with colours swapped.

import { openMatch } from "./navigation.js";

const KEPT = "playout-challenged-bots";

/** Which player the server started under a name, null if it did not do so for this tab. */
function botPlayerOf(name) {
  return kept()[name] ?? null;
}

/** Keep which player the server started, so that it can be asked for again. */
export function keepChallengedBot(name, player) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...kept(), [name]: player }));
  } catch {
    // Where nothing may be kept, the bot is asked for under its name.
  }
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

/** A button for it, and what is said beside it. */
export class Rematch {
  #button;
  #text;
  #link;
  #record;
  #seek = null;

  constructor(button, text, link, record) {
    this.#button = button;
    this.#text = text;
    this.#link = link;
    this.#record = record;
    button.addEventListener("click", () => (this.#seek ? this.#cancel() : this.#ask()));
  }

  /** Hear an event of the server: the match may begin, or the opponent may want one, too. */
  hear(event) {
    if (event.type === "started" && this.#seek && event.seat && event.match !== this.#record.id) {
      openMatch(event.match);
    } else if (event.type === "seeking" && event.name === this.#opponent && !this.#seek) {
      if (event.game === this.#record.game) this.#say(`${event.name} wants to play again.`);
    } else if (event.type === "notice" && event.code === "bot_failed" && this.#seek) {
      this.#wait(null, event.text);
    } else if (event.type === "welcome" && this.#seek) {
      this.#wait(null, "The connection was lost meanwhile. Ask again.");
    }
  }

  get #opponent() {
    return this.#record.players[2 - this.#record.seat];
  }

  async #ask() {
    const { game, clock, rated, seat } = this.#record;
    const player = botPlayerOf(this.#opponent);
    const wish = { game, clock, seat: 3 - seat };
    const request = player
      ? { type: "challenge_bot", player, ...wish }
      : { type: "seek", opponent: this.#opponent, rated, ...wish };
    this.#button.disabled = true;
    try {
      const seeking = await this.#link.request(request);
      // If it was matched at once, the page is being left already.
      if (player) keepChallengedBot(seeking.opponent, player);
      this.#wait(seeking.seek ?? null, `Waiting for ${seeking.opponent ?? this.#opponent} …`);
    } catch (fault) {
      this.#say(fault.message);
    } finally {
      this.#button.disabled = false;
    }
  }

  async #cancel() {
    try {
      await this.#link.request({ type: "cancel", seek: this.#seek });
      this.#wait(null, "");
    } catch (fault) {
      this.#wait(null, fault.message);
    }
  }

  #wait(seek, text) {
    this.#seek = seek;
    this.#button.textContent = seek ? "Cancel" : "Play again";
    this.#say(text);
  }

  #say(text) {
    this.#text.textContent = text;
  }
}
