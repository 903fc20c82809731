// The analysis that a player sent with its move: its principal variation (pv) and its candidates.

import { candidateTable, isGuided } from "./candidate_table.js";
import { html } from "./elements.js";
import { percent } from "./match_text.js";
import { gettext, listText, ngettext, numberText } from "./texts.js";

/** More visits than this per simulation are from a search before. */
const KEPT = 1.05;
/** What the board can show of the candidates: a share of each, from 0 to 1. */
const HEAT = {
  nothing: () => 0,
  search: ({ visits }, all) => visits / all,
  policy: ({ prior }) => prior ?? 0,
};
const LABELS = {
  nothing: gettext("Nothing"),
  search: gettext("Visits of the search"),
  policy: gettext("Policy of the net"),
};
const PROVEN = {
  1: gettext("a proven win"),
  0: gettext("a proven tie"),
  [-1]: gettext("a proven loss"),
};

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
    const said = { name: players[player - 1], move: view.name, text: summary(info, view.candidates) };
    const parts = [html("p", {}, gettext("%(name)s on %(move)s: %(text)s", said))];
    if (view.pv?.length) {
      const label = html("span", { class: "muted" }, gettext("Expected:"), " ");
      parts.push(html("p", { class: "pv" }, label, view.pv.join(" ")));
    }
    if (view.candidates?.length) {
      parts.push(candidateTable([...view.candidates], view.name, { onPoint: this.#onPoint }));
    }
    this.#text.replaceChildren(...parts);
  }

  #heatChoice() {
    const options = Object.entries(LABELS).map(([value, label]) => {
      const checked = value === "search" ? "" : null;
      const button = html("input", { type: "radio", name: "heat", value, checked });
      return html("label", { class: "row nowrap" }, button, label);
    });
    const legend = html("legend", {}, gettext("On the board"));
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
}

/** "a proven win; 61.0 % to win; 20,000 simulations, depth 11, 0.98 s". If the candidates have more
 * visits than there were simulations, the search went on with a tree from before. */
export function summary(info, candidates = []) {
  const { win_rate: rate, simulations, depth, seconds, proven } = info;
  const visits = (candidates ?? []).reduce((sum, candidate) => sum + candidate.visits, 0);
  const isGiven = (value) => value !== null && value !== undefined;
  const effort = [
    isGiven(simulations) && ngettext("%(num)s simulation", "%(num)s simulations", simulations),
    isGiven(depth) && gettext("depth %(number)s", { number: depth }),
    isGiven(seconds) && gettext("%(number)s s", { number: numberText(seconds, 2) }),
    isGiven(simulations) && visits > KEPT * simulations && gettext("tree kept from before"),
  ].filter(Boolean);
  const parts = [listText(effort)];
  if (isGiven(rate)) parts.unshift(gettext("%(percent)s to win", { percent: percent(rate) }));
  if (isGiven(proven)) parts.unshift(PROVEN[proven]);
  return parts.filter(Boolean).join(gettext("; "));
}
