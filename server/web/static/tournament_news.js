// News of a running tournament: the server tells when a match begins or ends.

/** How often a tournament is asked for that is played by another server, which tells nothing. */
const POLL_MS = 5000;

/** Pass all events of `connection` to `receive`. `onChange()` is called when the pages of the
 * tournament have changed. */
export class TournamentNews {
  #connection;
  #tournament;
  #onChange;
  #polling = null;

  constructor(connection, tournament, onChange) {
    this.#connection = connection;
    this.#tournament = tournament;
    this.#onChange = onChange;
  }

  receive(event) {
    if (event.type === "welcome") this.#watch();
    const isNews = event.type === "fixture" || event.type === "tournament";
    if (isNews && event.tournament === this.#tournament) this.#onChange();
  }

  #watch() {
    const request = { type: "watch_tournament", tournament: this.#tournament, from_now: true };
    this.#connection.request(request).catch((error) => {
      if (error.code === "unknown_tournament") this.#polling ??= setInterval(() => this.#poll(), POLL_MS);
    });
  }

  #poll() {
    const isOver = document.querySelector('[data-over="yes"]') !== null;
    if (isOver && !document.hidden) clearInterval(this.#polling);
    this.#onChange();
  }
}
