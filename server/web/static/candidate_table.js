// A table of the moves that a bot has considered.

import { html } from "./elements.js";
import { percent } from "./match_text.js";
import { gettext, numberText } from "./texts.js";

const ROWS = 8;

/** A table of candidates, {name, visits, win_rate, prior, cells}, the most visited first. `played` is
 * the name of the move that was played, which has a row in any case; null for none. `onPoint(cells)`
 * is called with the cells of the candidate under the pointer or the focus, [] for none, and
 * `onChoose(candidate)` for a click. */
export function candidateTable(candidates, played, { onPoint, onChoose }) {
  const isGuidedByNet = candidates.some(isGuided);
  const columns = [gettext("Visits"), gettext("Win rate"), ...(isGuidedByNet ? [gettext("Policy")] : [])];
  const heads = columns.map((text) => cell("th", text, "number"));
  const head = html("thead", {}, html("tr", {}, cell("th", gettext("Move")), ...heads));
  const rows = shown(candidates, played).map((candidate) => {
    const { name, visits, win_rate: rate, prior, cells } = candidate;
    const button = html("button", { type: "button", class: "candidate" }, name);
    if (name === played) button.append(" ", html("span", { class: "muted" }, gettext("played")));
    const numbers = [visits ? numberText(visits) : "–", visits ? percent(rate) : "–"];
    if (isGuidedByNet) numbers.push(percent(prior ?? 0));
    const row = html("tr", {}, html("td", {}, button), ...numbers.map((text) => cell("td", text, "number")));
    const point = () => onPoint(cells ?? []);
    const leave = () => onPoint([]);
    row.addEventListener("pointerenter", point);
    row.addEventListener("pointerleave", leave);
    button.addEventListener("focus", point);
    button.addEventListener("blur", leave);
    button.addEventListener("click", () => (onChoose ? onChoose(candidate) : point()));
    return row;
  });
  const table = html("table", { class: "table" }, head, html("tbody", {}, ...rows));
  const attributes = { class: "scroll", tabindex: 0, role: "region", "aria-label": gettext("Candidate moves") };
  return html("div", attributes, table);
}

/** Did a net give the candidate a probability? */
export function isGuided({ prior }) {
  return prior !== null && prior !== undefined;
}

/** The most visited candidates, and the move that was played. */
function shown(candidates, played) {
  const visited = candidates.filter(({ visits }) => visits > 0);
  const best = visited.sort((a, b) => b.visits - a.visits).slice(0, ROWS);
  if (played === null || best.some(({ name }) => name === played)) return best;
  const known = candidates.find(({ name }) => name === played);
  return [...best, known ?? { name: played, visits: 0, win_rate: 0, cells: [] }];
}

function cell(name, text, style = null) {
  return html(name, { class: style, scope: name === "th" ? "col" : null }, text);
}
