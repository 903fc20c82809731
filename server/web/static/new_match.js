// The form for a new match: requests a match, waits for the opponent, and cancels the request.

import { FriendLink } from "./friend_link.js";
import { GameChoice } from "./game_choice.js";
import { sentence } from "./match_text.js";
import { OpponentChoice } from "./opponent_choice.js";
import { readJson, write } from "./storage.js";
import { gettext, listText } from "./texts.js";
import { clockText, gameText, givesDays } from "./wording.js";

/** The key of the choices that the browser keeps for the next visit. */
const KEPT = "new-match";

const find = (id) => document.getElementById(id);

export class NewMatchForm {
  #connection;
  #game;
  #opponent;
  #form = find("new");
  #waiting = find("waiting");
  #friendLink = new FriendLink();
  #request = null; // the seek or challenge_bot, until its match has begun
  #seek = null; // the id that the server gave it
  #accepted = null; // the id of the seek that it accepts
  #error = null; // the element that shows why it failed

  /** `games`: the name, description and parameters of each; `bots`: those of the server. */
  constructor(connection, { games, bots }) {
    this.#connection = connection;
    this.#form.addEventListener("submit", (event) => this.#submit(event));
    find("cancel").addEventListener("click", () => this.#cancel());
    const { clock } = this.#form.elements;
    clock.addEventListener("change", () => {
      this.#showOwnClock();
      if (clock.value === "") find("new-own-clock").focus();
    });
    // On a phone, the terms are a sheet from below, which a tap on a game opens.
    find("open-terms").addEventListener("click", () => this.#openTerms(!this.#areTermsOpen));
    find("new-games").addEventListener("click", ({ target, detail }) => detail && target.matches("input") && this.#openTerms(true));
    find("terms").addEventListener("keydown", ({ key }) => key === "Escape" && this.#openTerms(false));
    // After a match was opened, the page may be shown again from the back-forward cache.
    addEventListener("pageshow", ({ persisted }) => persisted && this.#show());
    this.#show();
    const wanted = this.#wanted();
    this.#game = new GameChoice(games, () => this.#form.requestSubmit());
    this.#opponent = new OpponentChoice(() => connection.name, wanted, () => this.#showSummary());
    this.#opponent.showBots(bots);
    this.#showRated(true);
    this.#fill(wanted);
    this.#changed();
    this.#form.addEventListener("change", () => this.#changed());
  }

  get #areTermsOpen() {
    return find("open-terms").getAttribute("aria-expanded") === "true";
  }

  #openTerms(isOpen) {
    const button = find("open-terms");
    if (!isOpen && find("terms").contains(document.activeElement)) button.focus();
    button.setAttribute("aria-expanded", isOpen);
    button.textContent = isOpen ? gettext("Close") : gettext("Choose");
  }

  #changed() {
    this.#opponent.showGame(this.#game.spec);
    this.#showSummary();
  }

  /** What the address of the page names; without an address, what was chosen last. */
  #wanted() {
    const named = Object.fromEntries(new URLSearchParams(location.search));
    const { bot, opponent, ...terms } = readJson(KEPT, {});
    const isNamed = ["bot", "level", "opponent"].some((key) => key in named);
    return { ...terms, ...(isNamed ? {} : { bot, opponent }), ...named };
  }

  /** Is a request open? */
  get isWaiting() {
    return this.#request !== null;
  }

  /**
   * Handle a `welcome`: the server closed the seek with the old connection, so it is sent again. One
   * for a match by correspondence is still open.
   */
  welcome({ bots = [], guest }) {
    this.#opponent.showBots(bots);
    this.#showRated(guest ?? false);
    const lasts = this.#seek && givesDays(this.#request.clock);
    this.#seek = null;
    if (lasts) this.#stop();
    else if (this.#request) this.#send(this.#request, this.#error);
  }

  /** Does the form wait for the match of this seek? */
  isOf(seek) {
    return seek === this.#seek;
  }

  /** Offer these players as opponents. */
  showOpponents(players) {
    this.#opponent.showPlayers(players);
  }

  /** Show how many matches of each game are being played. */
  showPlaying(matches) {
    this.#game.showPlaying(matches);
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
    this.#game.noteUse(request.game);
    this.#request = request;
    this.#error = error;
    error.textContent = "";
    find("waiting-text").textContent = waitingText(request);
    const hadFocus = document.activeElement === find("start");
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

  /** Say what the request waits for. */
  say(text) {
    if (this.isWaiting) find("waiting-text").textContent = text;
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
    if (hadFocus) find("start").focus();
  }

  #show() {
    find("summary").hidden = find("start").hidden = this.isWaiting;
    this.#waiting.hidden = !this.isWaiting;
    this.showLink({ ...this.#request, seek: this.#request?.link });
  }

  /** Show the link to a seek, or none without a seek. */
  showLink({ seek, game, clock }) {
    this.#friendLink.show(seek, seek && gettext("Play %(game)s against me, %(clock)s", { game: gameText(game), clock: clockText(clock) }));
  }

  /** Say beside the button what it begins. */
  #showSummary() {
    const terms = [gameText(this.#game.spec), this.#opponent.text, clockText(this.#clock)];
    find("summary").textContent = terms.join(" · ");
  }

  get #clock() {
    const { clock, own_clock: ownClock } = this.#form.elements;
    return clock.value || ownClock.value.trim();
  }

  #submit(event) {
    event.preventDefault();
    const { seat, rated } = this.#form.elements;
    this.#accepted = null;
    const terms = { game: this.#game.spec, clock: this.#clock };
    write(KEPT, JSON.stringify({ ...terms, ...this.#opponent.kept, seat: seat.value }));
    const request = {
      ...this.#opponent.request,
      ...terms,
      rated: rated.checked && !rated.disabled,
      ...(seat.value && { seat: Number(seat.value) }),
    };
    this.#send(request, find("new-error"));
  }

  /** Fill in what the address of the page names, so that Enter or a click begins the match. */
  #fill({ game, bot, level, clock, seat }) {
    const { elements } = this.#form;
    if (game) this.#game.choose(game);
    if (["1", "2"].includes(seat)) elements.seat.value = seat;
    if (clock) {
      const text = clock.replace(" ", "+"); // a plus sign in an address means a space
      elements.clock.value = text;
      if (elements.clock.selectedIndex < 0) {
        elements.clock.value = "";
        elements.own_clock.value = text;
      }
      this.#showOwnClock();
    }
    if (location.search && (game || bot || level)) find("start").focus();
  }

  #showOwnClock() {
    const isOwn = this.#form.elements.clock.value === "";
    find("own-clock").hidden = !isOwn;
    find("new-own-clock").required = isOwn; // the browser asks for it
  }

  #showRated(guest) {
    this.#form.elements.rated.disabled = guest;
    find("rated-hint").hidden = !guest;
  }
}

function waitingText({ type, player, opponent, game, clock, link }) {
  const terms = listText([gameText(game), clockText(clock)]);
  if (type === "challenge_bot") return gettext("%(name)s is getting ready: %(terms)s", { name: player, terms });
  if (opponent) return gettext("Waiting for %(name)s to accept: %(terms)s", { name: opponent, terms });
  const text = link ? gettext("Waiting for your friend: %(terms)s", { terms }) : gettext("Waiting for an opponent: %(terms)s", { terms });
  return givesDays(clock) ? [sentence(text), gettext("You may leave this page meanwhile.")].join(" ") : text;
}
