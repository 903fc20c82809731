// The choice of an opponent: a bot of the server by its level, a player, or a friend by a link.

import { html } from "./elements.js";
import { newLink } from "./friend_link.js";
import { gettext, listText, ngettext, told } from "./texts.js";

const find = (id) => document.getElementById(id);

/** The value of the choice of a player instead of a bot: no bot has an empty name. */
const PLAYER = "";
/** That of a friend who gets a link: no name is a space. */
const FRIEND = " ";
/** Whom the bots of each level suit. */
const LEVELS = {
  easy: gettext("for beginners"),
  medium: gettext("for casual players"),
  strong: gettext("for experienced players"),
  master: gettext("for the strongest players"),
  max: gettext("the strongest of this server"),
};

export class OpponentChoice {
  #choices = find("new-bots");
  #select = find("new-opponent");
  #ownName;
  #onChange;
  #bots = [];
  #players = [];
  #wanted; // what the address of the page names: {bot, level, opponent}
  #chosen = false; // has the person chosen an opponent?
  #atGame = new Map(); // how each bot plays the chosen game: {player, move_s, rating}
  #game = null;

  /** `ownName` returns this person's name; `onChange` is called when another one may be chosen. */
  constructor(ownName, wanted, onChange) {
    this.#ownName = ownName;
    this.#onChange = onChange;
    this.#wanted = wanted;
    this.#choices.addEventListener("change", () => {
      this.#chosen = true;
      this.#showChosen();
    });
    this.#select.addEventListener("blur", () => this.#renderPlayers());
  }

  /** The opponent in words. */
  get text() {
    if (this.#isFriend) return gettext("a friend");
    return this.#bot?.name ?? (this.#select.value || gettext("anybody"));
  }

  /** What is to be chosen on the next visit, as the address of the page would name it. */
  get kept() {
    return this.#bot ? { bot: this.#bot.name } : { opponent: "" };
  }

  /** The type and the opponent of a request for a match. */
  get request() {
    const bot = this.#bot;
    if (bot) return { type: "challenge_bot", player: bot.name };
    if (this.#isFriend) return { type: "seek", link: newLink() };
    return { type: "seek", ...(this.#select.value && { opponent: this.#select.value }) };
  }

  /** Offer these bots, those of `welcome`. */
  showBots(bots) {
    if (JSON.stringify(bots) === JSON.stringify(this.#bots) && this.#choices.children.length) return;
    const before = this.#chosen ? this.#value : this.#default(bots);
    this.#bots = bots;
    const others = [PLAYER, FRIEND];
    const isOffered = others.includes(before) || bots.some(({ name }) => name === before);
    const known = isOffered ? before : this.#default(bots);
    const levels = Object.keys(LEVELS).flatMap((level) => bots.find((bot) => bot.level === level) ?? []);
    const scale = levels.length > 1 ? levels : [];
    const choiceOf = (bot) => choice(bot.name, bot.name === known, ...labels(bot));
    const alone = html(
      "div",
      { class: "segments" },
      ...bots.filter((bot) => !scale.includes(bot)).map(choiceOf),
      choice(PLAYER, known === PLAYER, gettext("A player"), gettext("of this server")),
      choice(FRIEND, known === FRIEND, gettext("A friend"), gettext("by a link")),
    );
    this.#choices.replaceChildren(...(scale.length ? [html("div", { class: "scale" }, ...scale.map(choiceOf))] : []), alone);
    this.#renderPlayers();
    this.#showRatings();
    this.#showChosen();
  }

  /** Show how the bots play a game, a specification, and their ratings there. */
  async showGame(game) {
    if (game === this.#game) return;
    this.#game = game;
    const query = new URLSearchParams({ game, per_page: 200 });
    const response = await fetch(`/api/bots?${query}`).catch(() => null);
    const found = response?.ok ? (await response.json()).items : [];
    if (game !== this.#game) return; // another one was chosen meanwhile
    this.#atGame = new Map(found.map((bot) => [bot.name, bot]));
    this.#showRatings();
    this.#showChosen();
  }

  /** Offer these players as opponents. */
  showPlayers(players) {
    this.#players = [...players];
    // Not while the person is choosing: the list would change under the pointer.
    if (document.activeElement !== this.#select) this.#renderPlayers();
  }

  get #value() {
    return this.#choices.querySelector("input:checked")?.value;
  }

  get #bot() {
    return this.#bots.find(({ name }) => name === this.#value);
  }

  get #isFriend() {
    return this.#value === FRIEND;
  }

  /** The bot or the player that the address names; otherwise the first bot. */
  #default(bots) {
    const { bot, level, opponent } = this.#wanted;
    const wanted =
      bots.find(({ name, player }) => [name, player].includes(bot) || name === opponent) ??
      bots.find((each) => level && each.level === level);
    return wanted?.name ?? (opponent === undefined ? bots[0]?.name ?? PLAYER : PLAYER);
  }

  #renderPlayers() {
    const listed = new Set([this.#ownName(), ...this.#bots.map(({ name }) => name)]);
    const others = this.#players.filter(({ name }) => !listed.has(name));
    const linked = this.#wanted.opponent;
    if (linked && !listed.has(linked) && !others.some(({ name }) => name === linked)) others.push({ name: linked });
    const before = this.#select.value || (this.#select.options.length ? "" : linked ?? "");
    this.#select.replaceChildren(
      html("option", { value: "" }, gettext("Anybody")),
      ...others.map(({ name, role }) => html("option", { value: name }, role === "bot" ? gettext("%(name)s (bot)", { name }) : name)),
    );
    this.#select.value = before;
    if (this.#select.selectedIndex < 0) this.#select.value = "";
  }

  #showRatings() {
    for (const label of this.#choices.querySelectorAll("label")) {
      const bot = this.#atGame.get(label.querySelector("input").value);
      label.querySelector(".rating").textContent = bot?.rating ? Math.round(bot.rating.rating) : "";
      if (bot) label.title = bot.player;
    }
  }

  #showChosen() {
    this.#onChange();
    const bot = this.#bot;
    find("people-choice").hidden = this.#value !== PLAYER;
    const none = this.#bots.length ? "" : gettext("This server starts no bots.");
    const other = this.#isFriend ? gettext("You get a link. Who opens it plays you, without registration.") : none;
    find("bot-hint").textContent = bot ? hint(this.#atGame.get(bot.name) ?? bot) : other;
  }
}

/** What a bot is called: its level and its name, or its name alone. */
function labels({ name, level }) {
  return level ? [told(level[0].toUpperCase() + level.slice(1)), name] : [name];
}

/** A bot in words: "Playout Easy: for beginners, up to 2 seconds a move, server rating 1650 ± 40". */
function hint({ name, level, move_s: moveS, rating, anchor }) {
  const parts = [LEVELS[level] ?? gettext("a bot of this server")];
  if (moveS) parts.push(ngettext("up to %(num)s second a move", "up to %(num)s seconds a move", moveS));
  if (rating) {
    const [value, error] = [rating.rating, rating.error].map(Math.round);
    parts.push(gettext("server rating %(value)s ± %(error)s (%(anchor)s has 1500)", { value, error, anchor: anchor[0] }));
  } else parts.push(gettext("not rated at this game"));
  return gettext("%(name)s: %(text)s", { name, text: listText(parts) });
}

function choice(value, checked, text, more) {
  const input = html("input", { type: "radio", name: "bot", value, checked });
  const small = [...(more ? [html("small", {}, more)] : []), html("small", { class: "rating" })];
  return html("label", {}, input, html("span", { class: "name" }, text, " ", ...small));
}
