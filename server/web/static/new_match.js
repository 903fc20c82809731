// The form for a new match: requests a match, waits for the opponent, and cancels the request.

import { html } from "./elements.js";
import { clockText, gameText } from "./overview.js";

const find = (id) => document.getElementById(id);
const BOT = "bot ", PLAYER = "player ";

export class NewMatchForm {
  #connection;
  #games;
  #form = find("new");
  #waiting = find("waiting");
  #request = null; // the seek or challenge_bot, until its match has begun
  #seek = null; // the id that the server gave it
  #accepted = null; // the id of the seek that it accepts
  #error = null; // the element that shows why it failed
  #players = [];
  #bots = [];
  #guest = true;
  #linkedOpponent; // the opponent that the address of the page names
  #chosen = false; // has the person chosen an opponent?

  /** `games`: the name, description and parameters of each. */
  constructor(connection, games) {
    this.#connection = connection;
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
    // After a match was opened, the page may be shown again from the back-forward cache.
    addEventListener("pageshow", ({ persisted }) => persisted && this.#show());
    const query = new URLSearchParams(location.search);
    const linked = partsOfSpec(query.get("game") ?? "");
    if (this.#games.has(linked.name)) game.value = linked.name;
    this.#linkedOpponent = query.get("opponent");
    this.#showParameters();
    this.#setParameters(linked.parameters);
    this.showOpponents([]);
    this.#show();
  }

  /** Is a request open? */
  get isWaiting() {
    return this.#request !== null;
  }

  /** Handle a `welcome`: the server closed the seek with the old connection, so it is sent again. */
  welcome({ bots = [], guest }) {
    this.#bots = bots;
    this.#guest = guest ?? false;
    this.#seek = null;
    if (this.#request) this.#send(this.#request, this.#error);
  }

  /** Offer these players as opponents. */
  showOpponents(players) {
    this.#players = [...players];
    const { opponent } = this.#form.elements;
    // Not while the person is choosing: the list would change under the pointer.
    if (document.activeElement !== opponent) this.#renderOpponents(opponent);
  }

  #renderOpponents(opponent) {
    const listed = new Set([this.#connection.name, ...this.#bots.map(({ name }) => name)]);
    const others = this.#players.filter(({ name }) => !listed.has(name));
    const linked = this.#linkedOpponent;
    if (linked && !listed.has(linked) && !others.some(({ name }) => name === linked)) others.push({ name: linked });
    const groups = [
      option("", "Anybody"),
      group("Bots of this server", this.#bots.map((bot) => option(BOT + bot.name, botText(bot)))),
      group(
        "Here now",
        others.map(({ name, role }) => option(PLAYER + name, role === "bot" ? `${name} (bot)` : name)),
      ),
    ];
    const before = this.#chosen ? opponent.value : this.#defaultOpponent();
    opponent.replaceChildren(...groups.filter(Boolean));
    opponent.value = before;
    if (opponent.selectedIndex < 0) opponent.value = "";
    this.#showRated();
  }

  #defaultOpponent() {
    const linked = this.#linkedOpponent;
    if (linked) return (this.#bots.some(({ name }) => name === linked) ? BOT : PLAYER) + linked;
    return this.#bots.length ? BOT + this.#bots[0].name : "";
  }

  /** Accept an open seek or a challenge; a failure is shown in `error`. */
  accept({ seek, game, clock, rated, name, seat }, error) {
    if (this.isWaiting && this.#accepted === seek) return; // a double click
    this.#accepted = seek;
    const other = seat ? { seat: 3 - seat } : {};
    this.#send({ type: "seek", game, clock, rated, opponent: name, ...other }, error);
  }

  /** Send a request and wait for its match; it takes the place of an earlier request. */
  async #send(request, error) {
    this.#cancelSeek();
    this.#request = request;
    this.#error = error;
    error.textContent = "";
    find("waiting-text").textContent = waitingText(request);
    const hadFocus = this.#form.contains(document.activeElement);
    this.#show();
    if (hadFocus) find("cancel").focus();
    try {
      const { seek } = await this.#connection.request(request);
      if (this.#request === request) this.#seek = seek;
      else this.#connection.send({ type: "cancel", seek });
    } catch (failure) {
      // Without a connection, the request is sent again after the next welcome.
      if (this.#request === request && failure.code !== "lost") this.fail(failure.message);
    }
  }

  /** The request has failed; `text` says why. */
  fail(text) {
    if (!this.isWaiting) return;
    this.#error.textContent = text;
    this.#stop();
  }

  /** The match has begun. The display stays as it is, as the page is about to be left. */
  finish() {
    this.#request = this.#seek = null;
  }

  #cancel() {
    this.#cancelSeek();
    this.#stop();
  }

  /** The seek may be closed already: then a match has begun, and `started` is on its way. */
  #cancelSeek() {
    if (this.#seek) this.#connection.request({ type: "cancel", seek: this.#seek }).catch(() => {});
    this.#seek = null;
  }

  #stop() {
    const hadFocus = this.#waiting.contains(document.activeElement);
    this.finish();
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
    const request = {
      game: this.#spec(game.value),
      clock: clock.value || ownClock.value.trim(),
      rated: rated.checked && !rated.disabled,
      ...(seat.value && { seat: Number(seat.value) }),
    };
    const name = opponent.value;
    if (name.startsWith(BOT)) Object.assign(request, { type: "challenge_bot", player: name.slice(BOT.length) });
    else {
      request.type = "seek";
      if (name) request.opponent = name.slice(PLAYER.length);
    }
    this.#accepted = null;
    this.#send(request, find("new-error"));
  }

  /** The specification of a game: its name, and the parameters that differ from their defaults. */
  #spec(name) {
    const given = [];
    for (const { name: key, default: defaultValue } of this.#games.get(name).parameters) {
      const input = find(`parameter-${key}`);
      const value = input.type === "checkbox" ? String(input.checked) : input.value.trim();
      if (value !== "" && value !== String(defaultValue)) given.push(`${key}=${value}`);
    }
    return given.length ? `${name}(${given.join(",")})` : name;
  }

  #showParameters() {
    const { parameters } = this.#games.get(this.#form.elements.game.value);
    const container = find("parameters");
    container.hidden = parameters.length === 0;
    container.replaceChildren(...parameters.map(parameterField));
  }

  /** Fill in a Map of parameters; those that the game does not have are left out. */
  #setParameters(given) {
    for (const [name, value] of given) {
      const input = find(`parameter-${name}`);
      if (input?.type === "checkbox") input.checked = value === "true";
      else if (input) input.value = value;
    }
  }

  #showRated() {
    const { rated } = this.#form.elements;
    rated.disabled = this.#guest;
    find("rated-hint").hidden = !this.#guest;
  }
}

/** The name and the parameters, a Map, of a specification such as "go(size=9)". */
function partsOfSpec(spec) {
  const [name, text = ""] = spec.replace(/\)$/, "").split("(");
  return { name, parameters: new Map(text.split(",").map((each) => each.split("="))) };
}

/** The name, level and time of a bot: "Playout Strong (strong, 2 s a move)". */
function botText({ name, level, move_s: moveS }) {
  const known = [level, moveS && `${moveS} s a move`].filter(Boolean);
  return known.length ? `${name} (${known.join(", ")})` : name;
}

function option(value, text) {
  return html("option", { value }, text);
}

function group(label, options) {
  return options.length ? html("optgroup", { label }, ...options) : null;
}

function parameterField({ name, default: defaultValue, about, choices = [] }) {
  const id = `parameter-${name}`;
  const label = name.replaceAll("_", " ");
  const hint = about && html("span", { class: "hint", id: `${id}-hint` }, about);
  const described = about ? { "aria-describedby": `${id}-hint` } : {};
  if (typeof defaultValue === "boolean") {
    const input = html("input", { id, type: "checkbox", ...(defaultValue && { checked: "" }), ...described });
    return html("div", { class: "field" }, html("label", { class: "choice" }, input, label), hint);
  }
  if (choices.length) {
    const options = choices.map((each) => option(each, each.replaceAll("_", " ")));
    const input = html("select", { id, ...described }, ...options);
    if (defaultValue !== null) input.value = defaultValue;
    return html("div", { class: "field" }, html("label", { for: id }, label), input, hint);
  }
  const numeric = typeof defaultValue === "number" ? { inputmode: "decimal" } : {};
  const value = defaultValue ?? "";
  const input = html("input", { id, value, maxlength: 100, autocomplete: "off", ...numeric, ...described });
  return html("div", { class: "field" }, html("label", { for: id }, label), input, hint);
}

function waitingText({ type, player, opponent, game, clock }) {
  const terms = `${gameText(game)}, ${clockText(clock)}`;
  if (type === "challenge_bot") return `${player} is getting ready: ${terms}`;
  if (opponent) return `Waiting for ${opponent} to accept: ${terms}`;
  return `Waiting for an opponent: ${terms}`;
}
