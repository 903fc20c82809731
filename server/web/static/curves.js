// What both players of a match say of it, as curves on one axis of moves: win rates, depths, times.

import { svg } from "./elements.js";
import { percent } from "./match_text.js";
import { gettext, numberText } from "./texts.js";

const WIDTH = 1000, HEIGHT = 100;
/** The axis has at least this many moves: the curves of a shorter match do not fill it. */
const FEWEST_PLIES = 10;

/** Draws into the elements `curve-rate`, `curve-depth` and `curve-seconds`. */
export class Curves {
  #part;
  #kinds = {
    rate: { valueOf: null, text: (value, seat) => percent(seat === 1 ? value : 1 - value), most: 1 },
    depth: { valueOf: ({ depth }) => depth, text: (value) => numberText(value) },
    seconds: { valueOf: ({ seconds }) => seconds, text: (value) => gettext("%(seconds)s s", { seconds: numberText(value, 1) }) },
  };

  /** `part(id)` is an element of the page. */
  constructor(part) {
    this.#part = part;
  }

  /** Draw the curves of a MatchRecord. Returns whether there are any. */
  show(record) {
    const span = Math.max(record.last, FEWEST_PLIES);
    this.#part("axis-end").textContent = numberText(span);
    const known = Object.entries(this.#kinds).map(([key, kind]) => this.#draw(this.#part(`curve-${key}`), kind, record, span));
    return known.includes(true);
  }

  #draw(figure, kind, record, span) {
    const series = kind.valueOf ? valuesOf(record, kind.valueOf) : record.rates().slice(0, 2).map((points) => points.map(({ ply, rate }) => ({ ply, value: rate })));
    const top = kind.most ?? Math.max(...series.flat().map(({ value }) => value), 0);
    figure.hidden = !series.flat().length;
    if (figure.hidden) return false;
    const place = ({ ply, value }) => `${(WIDTH * ply) / span} ${HEIGHT * (1 - (top ? value / top : 0))}`;
    const lines = series.map((points, at) => svg("path", { class: `rate player-${at + 1}`, d: points.length ? `M${points.map(place).join("L")}` : "" }));
    const ends = series.map((points, at) => svg("path", { class: `end player-${at + 1}`, d: points.length ? `M${place(points.at(-1))}h0` : "" }));
    const middle = svg("path", { class: "middle", d: `M0 ${HEIGHT / 2}H${WIDTH}` });
    figure.querySelector("svg").replaceChildren(svg("path", { class: "frame", d: `M0 0H${WIDTH}M0 ${HEIGHT}H${WIDTH}` }), middle, ...lines, ...ends);
    const texts = series.map((points, at) => (points.length ? kind.text(points.at(-1).value, at + 1) : ""));
    texts.forEach((text, at) => (figure.querySelector(`.of-${at + 1}`).textContent = text));
    const title = figure.querySelector("span").textContent;
    const said = texts.flatMap((text, at) => (text ? [gettext("%(name)s: %(text)s", { name: record.players[at], text })] : []));
    figure.querySelector("svg").setAttribute("aria-label", [title, ...said].join(", "));
    return true;
  }
}

/** The values of the analyses of both players, each as {ply, value}. */
function valuesOf(record, valueOf) {
  const series = [[], []];
  record.positions.forEach(({ player, info }, ply) => {
    const value = info && valueOf(info);
    if (player && value !== null && value !== undefined) series[player - 1].push({ ply, value });
  });
  return series;
}
