// A graph of the win rates that the players sent with their moves, and those by which a bot judges the
// positions: all are those of player 1 winning.

import { svg } from "./elements.js";
import { signedLosses } from "./losses.js";
import { percent } from "./match_text.js";
import { gettext } from "./texts.js";

const HEIGHT = 120;
/** The room beside and above the curves. */
const [BESIDE, ABOVE] = [4, 6];
/** The width is at least this many plies: the curve of a shorter match does not fill it. */
const FEWEST_PLIES = 10;
const SERIES = ["player-1", "player-2", "judge"];

/** Draws into an SVG element. `onGo(ply)` is called for a click, `onValue(text)` with the win rate at
 * the ply under the pointer, or at the shown ply. */
export class WinRateGraph {
  #element;
  #curves = SERIES.map((name) => svg("path", { class: `rate ${name}` }));
  #losses = svg("g", { class: "losses" });
  #middle = svg("path", { class: "middle" });
  #frame = svg("path", { class: "frame" });
  #width = 400;
  #points = svg("g");
  #cursor = svg("line", { class: "cursor", y1: 0, y2: HEIGHT });
  #record = null;
  #ply = 0;
  #onValue;

  constructor(element, onGo, onValue) {
    this.#element = element;
    this.#onValue = onValue;
    element.replaceChildren(this.#frame, this.#middle, this.#cursor, ...this.#curves, this.#losses, this.#points);
    new ResizeObserver(() => this.#resize()).observe(element);
    this.#resize();
    element.addEventListener("click", (event) => onGo(this.#plyAt(event)));
    element.addEventListener("pointermove", (event) => this.#showValue(this.#plyAt(event)));
    element.addEventListener("pointerleave", () => this.#showValue(this.#ply));
  }

  /** Take the proportions of the element, so that nothing is distorted. */
  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#element;
    if (width && height) this.#width = ((HEIGHT + 2 * ABOVE) * width) / height - 2 * BESIDE;
    const full = this.#width + 2 * BESIDE;
    this.#element.setAttribute("viewBox", `${-BESIDE} ${-ABOVE} ${full} ${HEIGHT + 2 * ABOVE}`);
    this.#middle.setAttribute("d", `M0 ${HEIGHT / 2}H${this.#width}`);
    this.#frame.setAttribute("d", `M0 0H${this.#width}M0 ${HEIGHT}H${this.#width}`);
    if (this.#record) this.show(this.#record, this.#ply);
  }

  /** Draw the rates of a match, and a cursor at `ply`. */
  show(record, ply) {
    this.#record = record;
    this.#ply = ply;
    const series = record.rates();
    series.forEach((points, at) => {
      const coordinates = (point) => `${this.#x(point.ply)} ${y(point.rate)}`;
      this.#curves[at].setAttribute("d", points.length ? `M${points.map(coordinates).join("L")}` : "");
    });
    const here = series.flatMap((points, at) =>
      points
        .filter((point) => point.ply === ply || points.length === 1)
        .map(({ ply: x, rate }) => this.#point(x, rate, SERIES[at])),
    );
    this.#points.replaceChildren(...here);
    this.#losses.replaceChildren(...signedLosses(record).map((loss) => this.#mark(loss, series)));
    this.#cursor.setAttribute("x1", this.#x(ply));
    this.#cursor.setAttribute("x2", this.#x(ply));
    this.#element.setAttribute("aria-valuemax", record.last);
    this.#element.setAttribute("aria-valuenow", ply);
    this.#element.setAttribute("aria-valuetext", describe(record, ply));
    this.#showValue(ply);
  }

  #point(ply, rate, name) {
    return svg("circle", { class: name, cx: this.#x(ply), cy: y(rate), r: 4 });
  }

  /** A triangle at a move that lost much, where the curve of those who say so is at this ply. */
  #mark({ ply, player, sign }, series) {
    const points = series[2].length > 1 ? series[2] : series[player - 1];
    const { rate } = points.find((point) => point.ply === ply);
    const place = `translate(${this.#x(ply)} ${y(rate)})`;
    const title = svg("title", {}, `${this.#record.positions[ply].view.name}${sign}`);
    return svg("path", { class: `player-${player}`, d: "M0 -5L6 5H-6z", transform: place }, title);
  }

  #showValue(ply) {
    this.#onValue(describe(this.#record, ply));
  }

  #x(ply) {
    return (this.#width * ply) / this.#span();
  }

  #plyAt({ clientX }) {
    const { left, width } = this.#element.getBoundingClientRect();
    const x = ((clientX - left) / width) * (this.#width + 2 * BESIDE) - BESIDE;
    return Math.max(0, Math.min(Math.round((x / this.#width) * this.#span()), this.#record.last));
  }

  #span() {
    return Math.max(this.#record.last, FEWEST_PLIES);
  }
}

function y(rate) {
  return HEIGHT * (1 - rate);
}

/** The last win rate up to that ply, in words. */
function describe(record, ply) {
  const points = record
    .rates()
    .flatMap((series, latest) => series.map((point) => ({ ...point, latest })))
    .filter((point) => point.ply <= ply);
  if (!points.length) return ply ? gettext("No win rate yet") : gettext("Before the first move");
  const { ply: at, rate, latest } = points.reduce((one, other) => (one.ply > other.ply ? one : other));
  const { name } = record.positions[at].view;
  const speaker = record.speakers[latest];
  const position = at ? `${at}. ${name}` : gettext("Before the first move");
  return gettext("%(position)s: %(percent)s, says %(name)s", { position, percent: percent(rate), name: speaker });
}
