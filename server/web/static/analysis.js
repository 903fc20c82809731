// The analysis that a player sent with its move: its principal variation (pv) and its candidates.

import { html } from "./elements.js";
import { percent } from "./match_text.js";

const ROWS = 8;
/** What the board can show of the candidates: a share of each, from 0 to 1. */
const HEAT = {
  nothing: () => 0,
  search: ({ visits }, all) => visits / all,
  policy: ({ prior }) => prior ?? 0,
};
const LABELS = { nothing: "Nothing", search: "Visits of the search", policy: "Policy of the net" };
const PROVEN = { 1: "a proven win", 0: "a proven tie", [-1]: "a proven loss" };

/** Fills a panel. `onPoint(cells)` is called with the cells of the candidate under the pointer or
 * the focus, [] for none. `onHeat(shares)` is called with a share from 0 to 1 for each cell of a
 * candidate, which a net's policy or the search gives it. */
export class AnalysisPanel {
  #text = html("div");
  #choice;
  #onPoint;
  #onHeat;
  #candidates = [];

  constructor(panel, onPoint, onHeat) {
    this.#onPoint = onPoint;
    this.#onHeat = onHeat;
    this.#choice = this.#heatChoice();
    panel.replaceChildren(this.#text, this.#choice);
  }

  /** Show the analysis of the move that led to this position. */
  show({ player, view, info }, players) {
    this.#candidates = (info && view.candidates) ?? [];
    this.#choice.hidden = !this.#candidates.some(isGuided);
    this.#showHeat();
    if (!info) return this.#text.replaceChildren();
    const parts = [html("p", {}, `${players[player - 1]} on ${view.name}: ${summary(info)}`)];
    if (view.pv?.length) {
      const label = html("span", { class: "muted" }, "Expected: ");
      parts.push(html("p", { class: "pv" }, label, view.pv.join(" ")));
    }
    if (view.candidates?.length) parts.push(this.#table(view.candidates, view.name));
    this.#text.replaceChildren(...parts);
  }

  #heatChoice() {
    const options = Object.entries(LABELS).map(([value, label]) => {
      const checked = value === "search" ? "" : null;
      const button = html("input", { type: "radio", name: "heat", value, checked });
      return html("label", { class: "row nowrap" }, button, label);
    });
    const legend = html("legend", {}, "On the board");
    const choice = html("fieldset", { class: "field small" }, legend, ...options);
    choice.addEventListener("change", () => this.#showHeat());
    return choice;
  }

  #showHeat() {
    const { value } = this.#choice.querySelector("input:checked");
    const shown = this.#choice.hidden ? [] : this.#candidates.filter(({ cells }) => cells?.length);
    const all = this.#candidates.reduce((sum, { visits }) => sum + visits, 0);
    const shares = shown.map((each) => [each.cells.at(-1), HEAT[value](each, all)]);
    this.#onHeat(new Map(shares.filter(([, share]) => share > 0)));
  }

  #table(candidates, played) {
    const head = html("tr", {}, cell("th", "Move"), cell("th", "Visits", "number"));
    head.append(cell("th", "Win rate", "number"));
    const guided = candidates.some(isGuided);
    if (guided) head.append(cell("th", "Policy", "number"));
    const visited = candidates.filter(({ visits }) => visits > 0);
    const best = visited.sort((a, b) => b.visits - a.visits).slice(0, ROWS);
    const rows = best.map((candidate) => this.#row(candidate, candidate.name === played, guided));
    const table = html("table", { class: "table" }, html("thead", {}, head));
    table.append(html("tbody", {}, ...rows));
    const label = "Candidate moves";
    const attributes = { class: "scroll", tabindex: 0, role: "region", "aria-label": label };
    return html("div", attributes, table);
  }

  #row({ name, visits, win_rate: rate, prior, cells }, isPlayed, guided) {
    const button = html("button", { type: "button", class: "candidate" }, name);
    if (isPlayed) button.append(html("span", { class: "muted" }, " played"));
    const move = html("td", {}, button);
    const row = html("tr", {}, move, cell("td", visits.toLocaleString("en"), "number"));
    row.append(cell("td", percent(rate), "number"));
    if (guided) row.append(cell("td", percent(prior ?? 0), "number"));
    const point = () => this.#onPoint(cells ?? []);
    const leave = () => this.#onPoint([]);
    row.addEventListener("pointerenter", point);
    row.addEventListener("pointerleave", leave);
    button.addEventListener("focus", point);
    button.addEventListener("blur", leave);
    button.addEventListener("click", point);
    return row;
  }
}

/** Did a net give the candidate a probability? */
function isGuided({ prior }) {
  return prior !== null && prior !== undefined;
}

function cell(name, text, style = null) {
  return html(name, { class: style, scope: name === "th" ? "col" : null }, text);
}

function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** "a proven win; 61.0 % to win; 20,000 simulations, depth 11, 0.98 s". */
function summary(info) {
  const { win_rate: rate, simulations, depth, seconds, proven } = info;
  const isGiven = (value) => value !== null && value !== undefined;
  const effort = [
    isGiven(simulations) && count(simulations, "simulation"),
    isGiven(depth) && `depth ${depth}`,
    isGiven(seconds) && `${seconds.toFixed(2)} s`,
  ].filter(Boolean);
  const parts = [effort.join(", ")];
  if (isGiven(rate)) parts.unshift(`${percent(rate)} to win`);
  if (isGiven(proven)) parts.unshift(PROVEN[proven]);
  return parts.filter(Boolean).join("; ");
}
