// Asking for a match: the form, waiting for an opponent, and taking it back.

import { clockText, gameText } from "./overview.js";
import { keepChallengedBot } from "./rematch.js";
import { html } from "./svg.js";

const find = (id) => document.getElementById(id);
const BOT = "bot ", PLAYER = "player ";

export class Asking {
  #link;
  #games;
  #form = find("new");
  #waiting = find("waiting");
  #wanted = null; // the request, while its match has not begun
  #seek = null; // what the server calls it
  #error = null; // where to say that it failed
  #players = [];
  #bots = [];
  #guest = true;
  #wish; // the opponent that the address names
  #chosen = false; // has the person chosen one?

  /** `games`: for each its name, what it is about and its parameters. */
  constructor(link, games) {
    this.#link = link;
    this.#games = new Map(games.map((game) => [game.name, game]));
    const { opponent, game, clock } = this.#form.elements;
    this.#form.addEventListener("submit", (event) => this.#submit(event));
    find("cancel").addEventListener("click", () => this.#cancel());
    opponent.addEventListener("change", () => {
      this.#chosen = true;
      this.#showRated();
    });
    opponent.addEventListener("blur", () => this.#renderOpponents(opponent));
    game.addEventListener("change", () => this.#showParameters());
    clock.addEventListener("change", () => {
      find("own-clock").hidden = clock.value !== "";
      if (clock.value === "") find("new-own-clock").focus();
    });
    const wished = new URLSearchParams(location.search);
    if (this.#games.has(wished.get("game"))) game.value = wished.get("game");
    this.#wish = wished.get("opponent");
    this.#showParameters();
    this.showOpponents([]);
    this.#show();
  }

  /** Does somebody wait here for a match? */
  get isWaiting() {
    return this.#wanted !== null;
  }

  /** A connection is there: what was sought before is sought again. */
  welcome({ bots = [], guest }) {
    this.#bots = bots;
    this.#guest = guest ?? false;
    if (this.#wanted) this.ask(this.#wanted, this.#error);
  }

  /** Whom one may challenge: an iterable of players. */
  showOpponents(players) {
    this.#players = [...players];
    const { opponent } = this.#form.elements;
    // Not under the hands of somebody who is choosing.
    if (document.activeElement !== opponent) this.#renderOpponents(opponent);
  }

  #renderOpponents(opponent) {
    const others = this.#players.filter(({ name }) => name !== this.#link.name);
    if (this.#wish && !others.some(({ name }) => name === this.#wish)) others.push({ name: this.#wish });
    const groups = [
      option("", "Anybody"),
      group("Bots of this server", this.#bots.map((bot) => option(BOT + bot, bot))),
      group(
        "Here now",
        others.map(({ name, role }) => option(PLAYER + name, role === "bot" ? `${name} (bot)` : name)),
      ),
    ];
    const before = this.#chosen ? opponent.value : this.#usual();
    opponent.replaceChildren(...groups.filter(Boolean));
    opponent.value = before;
    if (opponent.selectedIndex < 0) opponent.value = "";
    this.#showRated();
  }

  /** The one that is offered first. */
  #usual() {
    if (this.#wish) return PLAYER + this.#wish;
    return this.#bots.length ? BOT + this.#bots[0] : "";
  }

  /** Play what somebody seeks. */
  accept({ game, clock, rated, name, seat }, error) {
    const other = seat ? { seat: 3 - seat } : {};
    this.ask({ type: "seek", game, clock, rated, opponent: name, ...other }, error);
  }

  /** Ask for a match and wait for it; what goes wrong is said in `error`. */
  async ask(wanted, error) {
    this.#wanted = wanted;
    this.#seek = null;
    this.#error = error;
    error.textContent = "";
    find("waiting-text").textContent = waitingText(wanted);
    const hadFocus = this.#form.contains(document.activeElement);
    this.#show();
    if (hadFocus) find("cancel").focus();
    try {
      const { seek, opponent } = await this.#link.request(wanted);
      if (wanted.type === "challenge_bot") keepChallengedBot(opponent, wanted.player);
      if (this.#wanted === wanted) this.#seek = seek;
      else this.#link.send({ type: "cancel", seek });
    } catch (fault) {
      // Without a connection it is asked for when there is one again.
      if (this.#wanted === wanted && fault.code !== "lost") this.fail(fault.message);
    }
  }

  /** There will be no match. */
  fail(text) {
    if (!this.#wanted) return;
    this.#error.textContent = text;
    this.#stop();
  }

  #cancel() {
    const seek = this.#seek;
    this.#stop();
    // It may be closed already; then a match has begun, and the page hears of it.
    if (seek) this.#link.request({ type: "cancel", seek }).catch(() => {});
  }

  #stop() {
    const hadFocus = this.#waiting.contains(document.activeElement);
    this.#wanted = this.#seek = null;
    this.#show();
    if (hadFocus) this.#form.querySelector(".primary").focus();
  }

  #show() {
    this.#form.hidden = this.isWaiting;
    this.#waiting.hidden = !this.isWaiting;
  }

  #submit(event) {
    event.preventDefault();
    const { opponent, game, clock, own_clock: ownClock, seat, rated } = this.#form.elements;
    const wanted = {
      game: this.#spec(game.value),
      clock: clock.value || ownClock.value.trim(),
      ...(seat.value && { seat: Number(seat.value) }),
    };
    const name = opponent.value;
    if (name.startsWith(BOT)) Object.assign(wanted, { type: "challenge_bot", player: name.slice(BOT.length) });
    else {
      Object.assign(wanted, { type: "seek", rated: rated.checked && !rated.disabled });
      if (name) wanted.opponent = name.slice(PLAYER.length);
    }
    this.ask(wanted, find("new-error"));
  }

  /** The game with those parameters that are not as usual. */
  #spec(name) {
    const given = [];
    for (const { name: key, default: usual } of this.#games.get(name).parameters) {
      const input = find(`parameter-${key}`);
      const value = input.type === "checkbox" ? String(input.checked) : input.value.trim();
      if (value !== "" && value !== String(usual)) given.push(`${key}=${value}`);
    }
    return given.length ? `${name}(${given.join(",")})` : name;
  }

  #showParameters() {
    const { parameters } = this.#games.get(this.#form.elements.game.value);
    const place = find("parameters");
    place.hidden = parameters.length === 0;
    place.replaceChildren(...parameters.map(parameterField));
  }

  #showRated() {
    const { opponent, rated } = this.#form.elements;
    find("rated").hidden = opponent.value.startsWith(BOT);
    rated.disabled = this.#guest;
    find("rated-hint").hidden = !this.#guest;
  }
}

function option(value, text) {
  return html("option", { value }, text);
}

function group(label, options) {
  return options.length ? html("optgroup", { label }, ...options) : null;
}

function parameterField({ name, default: usual, about }) {
  const id = `parameter-${name}`;
  const label = name.replaceAll("_", " ");
  const hint = about && html("span", { class: "hint", id: `${id}-hint` }, about);
  const described = about ? { "aria-describedby": `${id}-hint` } : {};
  if (typeof usual === "boolean") {
    const input = html("input", { id, type: "checkbox", ...(usual && { checked: "" }), ...described });
    return html("div", { class: "field" }, html("label", { class: "choice" }, input, label), hint);
  }
  const numeric = typeof usual === "number" ? { inputmode: "decimal" } : {};
  const value = usual ?? "";
  const input = html("input", { id, value, maxlength: 40, autocomplete: "off", ...numeric, ...described });
  return html("div", { class: "field" }, html("label", { for: id }, label), input, hint);
}

function waitingText({ type, player, opponent, game, clock }) {
  const what = `${gameText(game)}, ${clockText(clock)}`;
  if (type === "challenge_bot") return `${player} is being started: ${what}`;
  if (opponent) return `Waiting for ${opponent} to accept: ${what}`;
  return `Waiting for an opponent: ${what}`;
}
