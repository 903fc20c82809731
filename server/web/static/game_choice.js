// The choice of a game by the pictures of example positions, with the fields of its parameters.

import "./dice_boards.js";
import { html } from "./elements.js";
import { readJson, write } from "./storage.js";
import { newBoard } from "./text_board.js";
import { ngettext, told } from "./texts.js";
import { partsOfSpec } from "./wording.js";

const find = (id) => document.getElementById(id);

/** How many games of the last matches are remembered. */
const RECENT = 8;

const nameOf = (tile) => tile.querySelector("input").value;

export class GameChoice {
  #choices = find("new-games");
  #games;
  /** The value of the button of a group, "" for all games. */
  #group = "";
  /** Names of games that the browser keeps. */
  #recent = readJson("recent-games", []);
  #favourites = readJson("favourite-games", []);

  /** `games`: the name, description and parameters of each; `onPlay` is called for a match at once. */
  constructor(games, onPlay) {
    this.#games = new Map(games.map((game) => [game.name, game]));
    this.#choices.addEventListener("change", () => this.#showChosen());
    this.#choices.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      if (button.value !== this.#name) this.choose(button.value);
      onPlay();
    });
    find("game-search").addEventListener("input", () => this.#filter());
    find("groups").addEventListener("click", ({ target }) => target.closest("button") && this.#chooseGroup(target.value));
    find("favourite").addEventListener("click", () => this.#switchFavourite());
    find("game-search").addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    this.#showChosen();
    this.#filter();
    this.#draw();
  }

  /** Show how many matches of each game are being played. */
  showPlaying(matches) {
    for (const tile of this.#tiles) {
      const num = matches[nameOf(tile)] ?? 0;
      const [text, shown] = [ngettext("%(num)s match", "%(num)s matches", num), tile.querySelector(".playing")];
      shown.hidden = num === 0;
      shown.title = text;
      shown.replaceChildren(html("span", { "aria-hidden": "true" }, String(num)), html("span", { class: "visually-hidden" }, text));
    }
  }

  /** Remember that a match of a game, a specification, was asked for. */
  noteUse(spec) {
    const { name } = partsOfSpec(spec);
    this.#recent = [name, ...this.#recent.filter((each) => each !== name)].slice(0, RECENT);
    write("recent-games", JSON.stringify(this.#recent));
    this.#filter();
  }

  #switchFavourite() {
    const others = this.#favourites.filter((each) => each !== this.#name);
    this.#favourites = others.length < this.#favourites.length ? others : [...others, this.#name];
    write("favourite-games", JSON.stringify(this.#favourites));
    this.#showFavourite();
    this.#filter();
  }

  #showFavourite() {
    find("favourite").setAttribute("aria-pressed", this.#favourites.includes(this.#name));
    for (const tile of this.#tiles) tile.classList.toggle("is-favourite", this.#favourites.includes(nameOf(tile)));
  }

  #chooseGroup(group) {
    this.#group = group;
    this.#filter();
  }

  /** Show the games of the chosen group whose name, here or in English, has the words of the search;
   * choose the first if a search leaves one. */
  #filter() {
    const words = find("game-search").value.trim().toLowerCase().split(/\s+/);
    const listed = (names) => names.filter((name) => this.#games.has(name));
    const chosen = { favourites: listed(this.#favourites), recent: listed(this.#recent) };
    if (chosen[this.#group]?.length === 0) this.#group = "";
    const found = this.#tiles.filter((tile) => {
      const name = nameOf(tile);
      const names = `${tile.querySelector(".title").textContent} ${name.replaceAll("_", " ")}`.toLowerCase();
      const isInGroup = chosen[this.#group]?.includes(name) ?? (!this.#group || tile.dataset.groups.split(" ").includes(this.#group));
      tile.hidden = !(isInGroup && words.every((word) => names.includes(word)));
      return !tile.hidden;
    });
    for (const button of find("groups").children) {
      button.setAttribute("aria-pressed", button.value === this.#group);
      if (button.value in chosen) button.hidden = chosen[button.value].length === 0;
    }
    for (const each of this.#choices.querySelectorAll(".skeleton")) each.hidden = Boolean(this.#group || words[0]);
    find("no-games").hidden = found.length > 0;
    if (found.length === 1 && words[0]) this.choose(nameOf(found[0]));
  }

  get #tiles() {
    return [...this.#choices.querySelectorAll(":scope > :not(.skeleton)")];
  }

  /** The specification of the game: its name, and the parameters that differ from their defaults. */
  get spec() {
    const given = [];
    for (const { name: key, default: defaultValue } of this.#games.get(this.#name).parameters) {
      const input = find(`parameter-${key}`);
      const value = input.type === "checkbox" ? String(input.checked) : input.value.trim();
      if (value !== "" && value !== String(defaultValue)) given.push(`${key}=${value}`);
    }
    return given.length ? `${this.#name}(${given.join(",")})` : this.#name;
  }

  /** Choose the game of a specification; nothing happens if it is not known. */
  choose(spec) {
    const { name, parameters } = partsOfSpec(spec);
    if (!this.#games.has(name)) return;
    this.#input(name).checked = true;
    this.#showChosen();
    // A specification, unlike a name, is meant as it is.
    if (parameters.size) this.#showDefaults();
    for (const [key, value] of parameters) {
      const input = find(`parameter-${key}`);
      if (input?.type === "checkbox") input.checked = value === "true";
      else if (input) input.value = value;
    }
  }

  #showDefaults() {
    for (const { name: key, default: value } of this.#games.get(this.#name).parameters) {
      const input = find(`parameter-${key}`);
      if (input.type === "checkbox") input.checked = value === true;
      else input.value = value ?? "";
    }
  }

  get #name() {
    return this.#choices.querySelector("input:checked").value;
  }

  #input(name) {
    return this.#choices.querySelector(`input[value="${CSS.escape(name)}"]`);
  }

  #showChosen() {
    const { parameters } = this.#games.get(this.#name);
    const container = find("parameters");
    container.hidden = parameters.length === 0;
    container.replaceChildren(...parameters.map(parameterField));
    find("new-title").textContent = told(this.#games.get(this.#name).title);
    find("new-rules").href = `/games/${encodeURIComponent(this.#name)}`;
    this.#showColours();
    this.#showFavourite();
  }

  /** Show the colours of the players of this game beside the choice of the seat. */
  #showColours() {
    const board = this.#input(this.#name).parentElement.querySelector(".board");
    for (const colour of ["--first", "--second"]) {
      const value = board ? getComputedStyle(board).getPropertyValue(colour) : "";
      find("new-seats").style.setProperty(colour, value);
    }
  }

  /** Draw the pictures; the form can be used without them, and before they are there. */
  async #draw() {
    const response = await fetch("/games/positions.json").catch(() => null);
    if (!response?.ok) return;
    const positions = await response.json();
    for (const [name, { board, view }] of Object.entries(positions)) {
      const picture = this.#input(name)?.parentElement.querySelector(".picture");
      if (picture) newBoard(picture, board, { small: true }).show(view);
    }
    this.#showColours();
  }
}

function parameterField({ name, proposed: defaultValue, about, choices = [] }) {
  const id = `parameter-${name}`;
  const label = told(name.replaceAll("_", " "));
  const hint = about && html("span", { class: "hint", id: `${id}-hint` }, told(about));
  const described = about ? { "aria-describedby": `${id}-hint` } : {};
  if (typeof defaultValue === "boolean") {
    const input = html("input", { id, type: "checkbox", ...(defaultValue && { checked: "" }), ...described });
    return html("div", { class: "field" }, html("label", { class: "choice" }, input, label), hint);
  }
  if (choices.length) {
    const options = choices.map((each) => html("option", { value: each }, each.replaceAll("_", " ")));
    const input = html("select", { id, ...described }, ...options);
    if (defaultValue !== null) input.value = defaultValue;
    return html("div", { class: "field" }, html("label", { for: id }, label), input, hint);
  }
  const numeric = typeof defaultValue === "number" ? { inputmode: "decimal" } : {};
  const value = defaultValue ?? "";
  const input = html("input", { id, value, maxlength: 100, autocomplete: "off", ...numeric, ...described });
  return html("div", { class: "field" }, html("label", { for: id }, label), input, hint);
}
