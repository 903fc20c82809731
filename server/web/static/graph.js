// How the players saw their chances, move by move: always from the point of view of player 1.

import { percent } from "./notation.js";
import { svg } from "./svg.js";

const [WIDTH, HEIGHT] = [400, 120];
/** With few moves, the line does not fill the width. */
const FEWEST_PLIES = 10;

/** Draws into an SVG element; `onGo(ply)` is called for a click, `onValue(text)` with what was said
 * at the ply that the pointer is at, or else the one that is shown. */
export class Graph {
  #element;
  #lines = [1, 2].map((seat) => svg("path", { class: `rate player-${seat}` }));
  #points = svg("g");
  #cursor = svg("line", { class: "cursor", y1: 0, y2: HEIGHT });
  #record = null;
  #ply = 0;
  #onValue;

  constructor(element, onGo, onValue) {
    this.#element = element;
    this.#onValue = onValue;
    element.setAttribute("viewBox", `-4 -6 ${WIDTH + 8} ${HEIGHT + 12}`);
    const middle = svg("path", { class: "middle", d: `M0 ${HEIGHT / 2}H${WIDTH}` });
    const frame = svg("path", { class: "frame", d: `M0 0H${WIDTH}M0 ${HEIGHT}H${WIDTH}` });
    element.replaceChildren(frame, middle, this.#cursor, ...this.#lines, this.#points);
    element.addEventListener("click", (event) => onGo(this.#plyAt(event)));
    element.addEventListener("pointermove", (event) => this.#tell(this.#plyAt(event)));
    element.addEventListener("pointerleave", () => this.#tell(this.#ply));
  }

  /** Show what is known, and at which ply one is. */
  show(record, ply) {
    this.#record = record;
    this.#ply = ply;
    const series = record.rates();
    series.forEach((points, at) => {
      const place = (point) => `${this.#x(point.ply)} ${y(point.rate)}`;
      this.#lines[at].setAttribute("d", points.length ? `M${points.map(place).join("L")}` : "");
    });
    const here = series.flatMap((points, at) =>
      points
        .filter((point) => point.ply === ply || points.length === 1)
        .map(({ ply: x, rate }) => this.#point(x, rate, at + 1)),
    );
    this.#points.replaceChildren(...here);
    this.#cursor.setAttribute("x1", this.#x(ply));
    this.#cursor.setAttribute("x2", this.#x(ply));
    this.#element.setAttribute("aria-valuemax", record.last);
    this.#element.setAttribute("aria-valuenow", ply);
    this.#element.setAttribute("aria-valuetext", describe(record, ply));
    this.#tell(ply);
  }

  #point(ply, rate, seat) {
    return svg("circle", { class: `player-${seat}`, cx: this.#x(ply), cy: y(rate), r: 4 });
  }

  #tell(ply) {
    this.#onValue(describe(this.#record, ply));
  }

  #x(ply) {
    return (WIDTH * ply) / this.#span();
  }

  #plyAt({ clientX }) {
    const { left, width } = this.#element.getBoundingClientRect();
    const x = ((clientX - left) / width) * (WIDTH + 8) - 4;
    return Math.max(0, Math.min(Math.round((x / WIDTH) * this.#span()), this.#record.last));
  }

  #span() {
    return Math.max(this.#record.last, FEWEST_PLIES);
  }
}

function y(rate) {
  return HEIGHT * (1 - rate);
}

/** What was said last up to that ply. */
function describe(record, ply) {
  const said = record.rates().flat().filter((point) => point.ply <= ply);
  if (!said.length) return ply ? "Nothing is said yet" : "Before the first move";
  const { ply: at, rate } = said.reduce((one, other) => (one.ply > other.ply ? one : other));
  const { player, view } = record.positions[at];
  return `${at}. ${view.name}: ${percent(rate)}, says ${record.players[player - 1]}`;
}
