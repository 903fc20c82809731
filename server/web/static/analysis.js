// The analysis that a player sent with its move: its principal variation (pv) and its candidates.

import { html } from "./elements.js";
import { percent } from "./match_text.js";

const ROWS = 8;
const PROVEN = { 1: "a proven win", 0: "a proven tie", [-1]: "a proven loss" };

/** Fills a panel. `onPoint(cells)` is called with the cells of the candidate under the pointer or
 * the focus, [] for none. */
export class AnalysisPanel {
  #panel;
  #onPoint;

  constructor(panel, onPoint) {
    this.#panel = panel;
    this.#onPoint = onPoint;
  }

  /** Show the analysis of the move that led to this position. */
  show({ player, view, info }, players) {
    if (!info) return this.#panel.replaceChildren();
    const parts = [html("p", {}, `${players[player - 1]} on ${view.name}: ${summary(info)}`)];
    if (view.pv?.length) {
      const label = html("span", { class: "muted" }, "Expected: ");
      parts.push(html("p", { class: "pv" }, label, view.pv.join(" ")));
    }
    if (view.candidates?.length) parts.push(this.#table(view.candidates, view.name));
    this.#panel.replaceChildren(...parts);
  }

  #table(candidates, played) {
    const head = html("tr", {}, cell("th", "Move"), cell("th", "Visits", "number"));
    head.append(cell("th", "Win rate", "number"));
    const visited = candidates.filter(({ visits }) => visits > 0);
    const best = visited.sort((a, b) => b.visits - a.visits).slice(0, ROWS);
    const rows = best.map((candidate) => this.#row(candidate, candidate.name === played));
    const table = html("table", { class: "table" }, html("thead", {}, head));
    table.append(html("tbody", {}, ...rows));
    const label = "Candidate moves";
    const attributes = { class: "scroll", tabindex: 0, role: "region", "aria-label": label };
    return html("div", attributes, table);
  }

  #row({ name, visits, win_rate: rate, cells }, isPlayed) {
    const button = html("button", { type: "button", class: "candidate" }, name);
    if (isPlayed) button.append(html("span", { class: "muted" }, " played"));
    const move = html("td", {}, button);
    const row = html("tr", {}, move, cell("td", visits.toLocaleString("en"), "number"));
    row.append(cell("td", percent(rate), "number"));
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
