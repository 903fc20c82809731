// Draws a board as SVG from the server's `board` (its geometry) and `view` (a position).

import { blockEnds, blockOf, cellName, contentName, edgeNames, isStore, isUsed, layoutOf, pieceName, starPoints } from "./board_layout.js";
import { dragPieces } from "./drag.js";
import { html, svg } from "./elements.js";
import * as hexagons from "./hexagons.js";
import { MoveDialog } from "./move_dialog.js";
import { commonStart, exact, grips, nextCells, pick, slides, targetOf, withWays } from "./move_selection.js";
import { keyOf, piece, pieceOf, withDice } from "./pieces.js";
import { gettext, listText, told } from "./texts.js";

/** The width of a cell in units of the drawing. */
const CELL = 40;
const EDGE = 2;
/** The width of what shows whose edge it is, half of it outside of the cells. */
const OWNED_EDGE = 10;
/** The geometries of boards on which pieces can move to another cell. */
const MOVING = ["grid", "hex"];
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const [FALL_MS, SLIDE_MS, FLIP_MS] = [60, 160, 240];
/** Steps of the opacity of a tint, and the greatest, at which pieces still stand out. */
const [HEAT_LEVELS, HEAT_OPACITY] = [10, 0.55];
/** The largest font size at which two digits in the corner of a cell do not reach its piece. */
const CORNER = 8;
/** Moves without a cell whose buttons do not stand out, as players rarely want them. */
const PLAIN = ["pass", "continue"];
/** The classes of what belongs to player 1 and player 2. */
const OWNERS = ["", "first", "second"];
/** Narrower cells are hard to hit with a finger, so that a move needs a second tap there. */
const FINGER_PX = 32;

/** Whether the window is so wide that coordinates are smaller, as a MediaQueryList. */
const wideWindow = matchMedia("(min-width: 56rem)");
/** The width of boards, in heights, that need the room of a column beside them, or the whole width. */
const [WIDE, STRIP] = [1.15, 2.5];

/** Give the board of a page, which `boardOf` returns, the room that its proportions need, also after they
 * have changed with the window. Returns a function that does so for another board. */
export function fitBoard(page, boardOf) {
  const fit = () => {
    const board = boardOf();
    if (!board) return;
    page.style.setProperty("--aspect", board.aspect);
    page.classList.toggle("is-wide", board.aspect > WIDE);
    page.classList.toggle("is-strip", board.aspect > STRIP);
  };
  wideWindow.addEventListener("change", () => requestAnimationFrame(fit)); // after the board is drawn anew
  fit();
  return fit;
}

/** Shows positions of one match, and takes moves by mouse, touch and keyboard.
 *
 * options: small (no coordinates, no controls, hidden from screen readers), flipped, label (the
 * accessible name of the board), players (their names), choices (the place of buttons for moves
 * without cells, by default below the board), dice (the place of dice where the board has no room
 * for them), onChoose(...actions) (called for a move, which has several actions if it is a long
 * capture), confirms() (whether a second click plays a chosen move).
 */
export class BoardView {
  #board;
  #options;
  #flipped;
  #layout;
  #svg;
  /** How a board of its own geometry is drawn, undefined for the others: see dice_boards.js. */
  #special;
  #buttons;
  #layers;
  #dice = svg("g", { class: "layer dice", "aria-hidden": "true" });
  #arrows = svg("g", { class: "layer arrows", "aria-hidden": "true" });
  /** The arrows that the user has drawn, as pairs of cells; a pair of the same cell is a ring. */
  #drawn = [];
  #ownArrows = svg("g", { class: "layer arrows own", "aria-hidden": "true" });
  /** Is the last move marked above its piece, rather than below it? */
  #marksAbove;
  #cells = new Map();
  #view = { cells: [], last: [] };
  /** Shares from 0 to 1 by cell. */
  #heat = new Map();
  #legalMoves = [];
  /** The legal moves once for each way to click them. */
  #ways = [];
  #mover = 1;
  #picked = [];
  /** The move that was chosen and waits for a second click, null for none. */
  #pending = null;
  #targets = new Set();
  /** The target that was tapped once and needs a second tap, -1 for none. */
  #tapped = -1;
  /** The player who may choose a move in advance, 0 for nobody, and the cells that were chosen. */
  #planner = 0;
  #planned = [];
  /** The element of a piece that was dragged to its new cell, until the next position is shown. */
  #dragged = null;
  #focused = 0;
  /** The cells that are marked until the next position is shown. */
  #marked = new Set();
  /** The dialog that asks which move is meant, null if none was needed for this position. */
  #dialog = null;

  constructor(container, board, options = {}) {
    this.#board = board;
    this.#options = options;
    this.#flipped = options.flipped ?? false;
    this.#special = withDice.boards[board.geometry];
    this.#svg = svg("svg");
    this.#buttons = options.choices ?? html("div", { class: "board-choices" });
    container.append(this.#svg);
    if (!options.small) {
      if (!options.choices) container.append(this.#buttons);
      this.#listen();
      wideWindow.addEventListener("change", () => this.#svg.isConnected && this.#rebuild());
    }
    this.#build();
  }

  /** Can the board be flipped? */
  get flippable() {
    return !["heap", "scores"].includes(this.#board.geometry);
  }

  /** The width of the drawing divided by its height. */
  get aspect() {
    const { width, height } = this.#svg.viewBox.baseVal;
    return width / height;
  }

  /** Show a position. `legalMoves` can be chosen by clicks, as moves of player `mover`. While it is
   * not their turn, player `planner` can choose a move in advance, which is played with the first
   * position that has legal moves. */
  show(view, legalMoves = [], mover = 1, planner = 0) {
    const before = this.#view;
    const isWaiting = this.#dragged && view === before && !legalMoves.length;
    const isSame = view === before && legalMoves === this.#legalMoves;
    if (!isSame) this.#dialog?.close();
    if (view !== before) this.#drawn = [];
    this.#view = view;
    this.#heat = new Map();
    if (!isSame) this.#ways = withWays(legalMoves);
    this.#legalMoves = legalMoves;
    this.#mover = mover;
    this.#planner = planner;
    const planned = this.#planned;
    if (!planner) this.#planned = [];
    if (!isSame) {
      this.#picked = this.#firstPicked();
      this.#pending = null;
    }
    this.#tapped = -1;
    this.#draw();
    if (isWaiting) return; // the server has not answered the move of the dragged piece
    if (this.#board.geometry === "columns" && isNext(before, view)) this.#animateFall(view.last[0]);
    else if (!this.#dragged) this.#animateSlides(before, view);
    this.#animateFlips(before, view);
    this.#putBack();
    if (legalMoves.length) this.#playPlanned(planned);
  }

  /** Take back the move that was chosen in advance. */
  forgetPlan() {
    this.#planned = [];
  }

  /** Show the board from the other side. */
  flip() {
    this.#flipped = !this.#flipped;
    this.#rebuild();
  }

  /** Tint cells by their shares, a Map from cell to 0..1, until the next position is shown. */
  tint(heat) {
    this.#heat = heat;
    this.#drawHeat();
  }

  /** Show the piece on a cell, if there is one, as not confirmed, until the next position is shown. */
  fade(cell) {
    this.#layers.pieces.at(cell)?.classList.add("unconfirmed");
  }

  /** Mark these cells, such as those of a candidate move. */
  highlight(cells) {
    const changed = [...this.#marked, ...cells];
    this.#marked = new Set(cells);
    for (const cell of changed) this.#nameCell(cell);
    this.#layers.hint.show(new Map(cells.map((cell) => [cell, "hint"])));
  }

  /** Point from cells to others, [from, to, share from 0 to 1], until the next position is shown. */
  point(arrows) {
    this.#arrows.replaceChildren(...arrows.map(([from, to, share]) => this.#arrow(from, to, share)));
  }

  // Drawn once, and again for another side or size.

  #rebuild() {
    this.#build();
    this.#draw();
  }

  #build() {
    const board = this.#board;
    const { small, label } = this.#options;
    this.#layout = layoutOf(board, this.#flipped);
    const hasLabels = !small && !["heap", "scores"].includes(board.geometry);
    const [x, y, width, height] = this.#area();
    // Proportional to the board, so that letters are readable on a screen of 360 pixels.
    const font = width * (wideWindow.matches ? 0.022 : 0.032);
    const left = hasLabels && board.row_labels.some(Boolean) ? font * 1.7 : 0;
    const hasColumns = hasLabels && board.column_labels.some(Boolean);
    const hasPoints = hasLabels && board.geometry === "points";
    const top = (hasColumns && this.#startsAtTop()) || hasPoints ? font * 1.6 : 0;
    const bottom = hasPoints ? top : hasColumns && !top ? font * 1.2 : 0;
    this.#svg.replaceChildren();
    const box = [x - left, y - top, width + left, height + top + bottom];
    const edge = board.edges ? OWNED_EDGE / 2 : EDGE;
    const attributes = {
      class: `board is-${board.geometry} is-${board.piece} is-${board.surface ?? "plain"}${board.dark_begins ? " is-dark-first" : ""}${small ? " is-small" : ""}`,
      viewBox: box.map((each, at) => (at < 2 ? each - edge : each + 2 * edge)).join(" "),
      ...(small ? { "aria-hidden": "true" } : { role: "grid", "aria-label": label ?? gettext("Board") }),
    };
    for (const [key, value] of Object.entries(attributes)) this.#svg.setAttribute(key, value);
    this.#svg.append(this.#ground(width, height));
    this.#layers = this.#makeLayers();
    // Names in the corners of cells can be read above stones, and beside the pieces of a checkered
    // board, which they would cross.
    const { dots, under } = this.#layers;
    const below = board.surface === "checkered" ? under : dots;
    if (hasLabels) below.element.after(this.#labels(font));
    this.#svg.append(this.#dice);
    if (!small) this.#svg.append(this.#arrows, this.#ownArrows, this.#grid());
  }

  /** The rectangle around the cells: its left, top, width and height. */
  #area() {
    const { rows, columns } = this.#layout;
    if (this.#special) return [0, 0, ...this.#special.area(this.#layout)];
    if (this.#board.geometry !== "hex") return [0, 0, columns * CELL, rows * CELL];
    return hexagons.areaOf(this.#usedCells().map((cell) => this.#centre(cell)), CELL);
  }

  /** The width and the height of a cell. */
  #sizeOf(cell) {
    return this.#special?.size ?? [CELL, isStore(this.#board, cell) ? 2 * CELL : CELL];
  }

  #usedCells() {
    const { rows, columns } = this.#board;
    return Array.from({ length: rows * columns }, (_, cell) => cell).filter((cell) => isUsed(this.#board, cell));
  }

  /** The hexagons of a drawn row or column that are used, from its beginning; others use all cells. */
  #lineOf(count, cellAt) {
    const cells = Array.from({ length: count }, (_, at) => cellAt(at));
    return this.#board.geometry === "hex" ? cells.filter((cell) => isUsed(this.#board, cell)) : cells;
  }

  /** Are the letters of the columns above the board? They are below it where row 1 is the last one, as in
   * chess, and on hexagons whose columns do not all begin in the first row. */
  #startsAtTop() {
    if (this.#board.geometry === "grid" && this.#board.row_labels.at(-1) === "1") return false;
    const { columns, cellAt } = this.#layout;
    return this.#lineOf(columns, (column) => cellAt(0, column)).length === columns;
  }

  /** The empty board. */
  #ground(width, height) {
    const { rows, columns } = this.#layout;
    const { geometry, piece, block, surface } = this.#board;
    const ground = svg("g", { class: "ground", "aria-hidden": "true" });
    if (geometry === "hex") {
      ground.append(...this.#hexagons());
      return ground;
    }
    if (geometry === "scores") {
      ground.append(...this.#usedCells().map((cell) => this.#frame(cell, 0, { class: "wood", rx: 8 })));
      return ground;
    }
    if (geometry !== "heap") ground.append(svg("rect", { class: "wood", width, height, rx: surface === "checkered" ? 0 : 4 }));
    if (this.#special) {
      ground.append(...this.#special.ground(this.#layout, this.#usedCells(), height));
      return ground;
    }
    if (geometry !== "grid") {
      ground.append(svg("path", { class: "hole", d: this.#holes() }));
      return ground;
    }
    if (surface === "checkered") {
      ground.append(svg("path", { class: "dark", d: darkSquares(rows, columns) }));
      return ground;
    }
    if (surface === "blank") return ground;
    const inset = piece === "stone" ? CELL / 2 : 0;
    ground.append(svg("path", { class: "line", d: lines(rows, columns, 1, inset) }));
    if (surface === "wood") ground.append(...this.#stars());
    if (block) ground.append(svg("path", { class: "heavy", d: lines(rows, columns, block, 0) }));
    return ground;
  }

  /** The rectangle of a cell, without a margin. */
  #frame(cell, margin, attributes) {
    const [x, y] = this.#centre(cell);
    return svg("rect", { ...attributes, ...boxOf(this.#sizeOf(cell), margin, x, y) });
  }

  #stars() {
    return starPoints(this.#board).map((cell) => {
      const [cx, cy] = this.#centre(cell);
      return svg("circle", { class: "star", cx, cy, r: 3.4 });
    });
  }

  #hexagons() {
    const { edges = [] } = this.#board;
    // Turned by 180 degrees, an edge is where the opposite one was.
    const owners = this.#flipped ? [...edges.slice(2), ...edges.slice(0, 2)] : edges;
    const drawn = hexagons.edges(this.#layout, CELL);
    const owned = owners.map((owner, at) =>
      svg("path", { class: `edge ${OWNERS[owner]}`, d: drawn[at], "stroke-width": OWNED_EDGE }),
    );
    const cells = this.#usedCells().map((cell) => this.#shape(cell));
    return [...owned, svg("path", { class: "hexagon", d: cells.join("") })];
  }

  /** The path of a cell that is a hexagon. */
  #shape(cell, width = CELL) {
    return hexagons.hexagon(this.#centre(cell), width);
  }

  #holes() {
    const { rows, columns } = this.#board;
    const hole = (cell) => {
      if (!isUsed(this.#board, cell)) return "";
      const [x, y] = this.#centre(cell);
      if (isStore(this.#board, cell)) return `M${x - 15} ${y - 20}v40a15 15 0 1 0 30 0v-40a15 15 0 1 0-30 0z`;
      return `M${x - 15} ${y}a15 15 0 1 0 30 0a15 15 0 1 0-30 0z`;
    };
    return Array.from({ length: rows * columns }, (_, cell) => hole(cell)).join("");
  }

  #labels(font) {
    const { row_labels: rowLabels, column_labels: columnLabels, columns, edges } = this.#board;
    const { rows, columns: width, cellAt } = this.#layout;
    const away = edges ? EDGE : 0;
    const startsAtTop = this.#startsAtTop();
    const labels = svg("g", { class: "labels", "aria-hidden": "true", "font-size": font });
    columnLabels.forEach((_, column) => {
      const cell = this.#lineOf(rows, (row) => cellAt(row, column)).at(startsAtTop ? 0 : -1);
      const [x, y] = this.#centre(cell);
      const [right, down] = hexagons.below([x, y], CELL);
      const below = this.#board.geometry === "hex" ? { x: right, y: down + font * 0.35 } : { x, y: y + CELL / 2 + font };
      labels.append(svg("text", startsAtTop ? { x, y: -font * 0.55 - away } : below, columnLabels[cell % columns]));
    });
    rowLabels.forEach((_, row) => {
      const [cell] = this.#lineOf(width, (column) => cellAt(row, column));
      const [x, y] = this.#centre(cell);
      const place = { x: x - CELL / 2 - font * 0.85 - away, y: y + font * 0.35 };
      labels.append(svg("text", place, rowLabels[Math.floor(cell / columns)]));
    });
    const size = Math.min(font * 0.8, CORNER);
    const { geometry } = this.#board;
    if (geometry === "points") {
      labels.append(...this.#usedCells().map((cell) => this.#pointLabel(cell, font)));
      return labels;
    }
    const named = geometry === "hex" ? [] : this.#board.cell_labels;
    (named ?? []).forEach((text, cell) => {
      if (isStore(this.#board, cell)) return; // its form says it
      const [x, y] = this.#centre(cell);
      const place = { x: x - 19, y: y - 19 + size * 0.75, "font-size": size };
      labels.append(svg("text", { class: "in-cell", ...place }, text));
    });
    return labels;
  }

  /** The number of a point, beyond its edge. */
  #pointLabel(cell, font) {
    const [x, y] = this.#centre(cell);
    const isUpper = this.#layout.placeOf(cell)[0] === 0;
    const number = Number(this.#board.cell_labels[cell]) || "";
    return svg("text", { x, y: isUpper ? -font * 0.45 : y + this.#sizeOf(cell)[1] / 2 + font * 1.1 }, String(number));
  }

  /** Layers by name, the lowest first. */
  #makeLayers() {
    const { geometry, piece: style, surface } = this.#board;
    const opacity = (level) => (HEAT_OPACITY * level) / HEAT_LEVELS;
    const isLarge = Boolean(this.#special);
    const rect = (cell, margin, attributes = {}) => svg("rect", { ...attributes, ...boxOf(this.#sizeOf(cell), margin) });
    const circle = (r) => (_, cell) => (isLarge ? rect(cell, 2, { rx: 3 }) : svg("circle", { r }));
    const blockSize = this.#board.block * CELL;
    const ground = { x: -blockSize / 2, y: -blockSize / 2, width: blockSize, height: blockSize };
    const draws = {
      heat: (level, cell) => (isLarge ? rect(cell, 1, { "fill-opacity": opacity(level) }) : tint(geometry, { "fill-opacity": opacity(level) })),
      under: (_, cell) => (isLarge ? rect(cell, 0) : svg("rect", { x: -20, y: -20, width: 40, height: 40, rx: geometry === "pits" ? 20 : 0 })),
      checked: circle(19),
      pieces: (key, cell) => this.#piece(key, cell),
      over: circle(5.5),
      areas: (owner) => svg("rect", { class: `area ${OWNERS[owner]}`, x: -5.5, y: -5.5, width: 11, height: 11 }),
      winning: circle(17),
      dots: (kind, cell) => (isLarge ? rect(cell, 1, { rx: 3 }) : svg("circle", { class: kind, r: kind === "ring" ? 17 : 5 })),
      ghost: (key) => pieceOf(style, key),
      picked: circle(17),
      planned: circle(17),
      hint: circle(17),
    };
    const marksBelow = ["grid", "pits", "points", "scores"].includes(geometry) && style !== "stone" && surface !== "green";
    this.#marksAbove = !marksBelow;
    const active = new Layer("active", () => svg("rect", ground), (at) => this.#middle(at));
    const layers = { active, blocks: new Layer("blocks", wonBlock(this.#board), (at) => this.#middle(at)) };
    for (const [name, draw] of Object.entries(draws)) {
      layers[name] = new Layer(name, draw, (cell) => this.#centre(cell));
    }
    this.#svg.append(...Object.values(layers).map(({ element }) => element));
    return layers;
  }

  #piece(key, cell) {
    if (this.#special) return this.#special.piece(key, cell, this.#layout.placeOf(cell)[0] === 0);
    return pieceOf(this.#board.piece, key, isStore(this.#board, cell));
  }

  /** One invisible element for each cell, in drawn order: for clicks, focus and screen readers. */
  #grid() {
    const { rows, columns, cellAt } = this.#layout;
    const grid = svg("g", { class: "cells", role: "rowgroup" });
    this.#cells.clear();
    for (let row = 0; row < rows; row += 1) {
      const group = svg("g", { role: "row" });
      for (let column = 0; column < columns; column += 1) {
        const cell = cellAt(row, column);
        if (cell < 0) continue;
        const element = this.#target(cell);
        const attributes = {
          class: "cell",
          role: "gridcell",
          tabindex: cell === this.#focused ? 0 : -1,
          "data-cell": cell,
        };
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        this.#cells.set(cell, element);
        group.append(element);
      }
      grid.append(group);
    }
    return grid;
  }

  /** The part of a cell that is clicked. */
  #target(cell) {
    if (this.#board.geometry === "hex") return svg("path", { d: this.#shape(cell, CELL - 2) });
    return this.#frame(cell, 1, { rx: 3 });
  }

  // Drawn for each position.

  #draw() {
    const view = this.#drawnView;
    const { cells, last, blocks = [], winning = [], checked = [], areas = [] } = view;
    const layers = this.#layers;
    layers.blocks.show(new Map([...blocks.entries()].filter(([, owner]) => owner !== 0)));
    this.#targets = nextCells(this.#ways, this.#picked);
    const taken = [...cells.keys()].filter((cell) => cells[cell] !== 0);
    layers.pieces.element.querySelector(".unconfirmed")?.classList.remove("unconfirmed");
    layers.pieces.show(new Map(taken.map((cell) => [cell, keyOf(view, cell)])));
    this.#drawDice(view.dice ?? [], view.cube ?? []);
    const lastLayer = this.#marksAbove ? layers.over : layers.under;
    lastLayer.show(new Map(last.map((cell) => [cell, "last"])));
    layers.winning.show(new Map(winning.map((cell) => [cell, "winning"])));
    layers.areas.show(new Map([...areas.entries()].filter(([, owner]) => owner !== 0)));
    layers.checked.show(new Map(checked.map((cell) => [cell, "checked"])));
    layers.hint.show(new Map());
    this.#marked.clear();
    this.point([]);
    this.#showDrawn();
    this.#drawHeat();
    if (this.#options.small) return;
    const dot = (cell) => (cells[cell] && this.#board.geometry !== "pits" ? "ring" : "dot");
    layers.active.show(this.#activeBlocks());
    layers.dots.show(new Map([...this.#hinted()].map((cell) => [cell, dot(cell)])));
    const picked = (this.#pending?.cells ?? this.#picked).slice(this.#pending ? 0 : this.#done.length);
    layers.picked.show(new Map(picked.map((cell) => [cell, "picked"])));
    layers.planned.show(new Map(this.#planned.map((cell) => [cell, "planned"])));
    layers.ghost.show(new Map());
    if (this.#pending) this.#placeGhost(picked[0], picked.at(-1));
    const held = this.#held();
    for (const [cell, element] of this.#cells) {
      this.#nameCell(cell);
      element.classList.toggle("target", targetOf(this.#board, this.#targets, cell) >= 0);
      element.classList.toggle("grip", held.has(cell));
    }
    const complete = exact(this.#ways, this.#picked);
    if (this.#pending) this.#showPending(this.#pending);
    else if (this.#isAmbiguous(complete)) this.#ask(complete);
    else this.#showButtons(complete);
  }

  /** The cells of the moves of checkers that were chosen, of a move of several; () on other boards. */
  get #done() {
    const { length } = this.#picked;
    return this.#board.geometry === "points" ? this.#picked.slice(0, length - (length % 2)) : [];
  }

  /** The position with the moves of checkers that were chosen. */
  get #drawnView() {
    if (this.#board.geometry !== "points") return this.#view;
    const cells = this.#pending?.cells ?? this.#done;
    return cells.length ? withDice.afterSteps(this.#view, cells, this.#mover) : this.#view;
  }

  /** The cells that are picked before the first click; of several checkers, those of one. */
  #firstPicked() {
    const picked = commonStart(this.#ways);
    return this.#board.geometry === "points" ? picked.slice(0, 1) : picked;
  }

  /** Draw the dice and the doubling cube on the board; where it has no room, dice beside it. */
  #drawDice(dice, cube) {
    if (!this.#special) {
      const pictures = dice.map((number) => svg("svg", { viewBox: "-16 -16 32 32", "aria-hidden": "true" }, withDice.die(number, 30)));
      this.#options.dice?.replaceChildren(...pictures);
      return;
    }
    const [x, y, side] = this.#special.dice(this.#layout);
    const gap = side * 1.2;
    const drawn = dice.map((number, at) => {
      const away = (at - (dice.length - 1) / 2) * gap;
      return svg("g", { transform: `translate(${x + away} ${y})` }, withDice.die(number, side));
    });
    this.#dice.replaceChildren(...drawn, ...(cube.length ? [withDice.cube(cube, this.#layout)] : []));
  }

  /** The targets that are marked: those of a piece that was chosen, and those that a player would have
   * to look for. Not the own pieces, and not the cells of a board on which most are legal. */
  #hinted() {
    const { cells, dice } = this.#drawnView;
    if (this.#picked.length || dice?.length || this.#board.geometry === "pits") return this.#targets;
    const empty = [...this.#targets].filter((cell) => !cells[cell]);
    const free = cells.filter((value) => value === 0).length;
    return empty.length < this.#targets.size || 2 * empty.length > free ? new Set() : this.#targets;
  }

  /** The blocks in which the player has to move, if not all are open. */
  #activeBlocks() {
    const { block, rows, columns } = this.#board;
    if (!this.#view.blocks?.length || this.#picked.length) return new Map();
    const active = new Set([...this.#targets].map((cell) => blockOf(this.#board, cell)));
    const isLimited = active.size < (rows / block) * (columns / block);
    return new Map(isLimited ? [...active].map((at) => [at, "active"]) : []);
  }

  #drawHeat() {
    const most = Math.max(...this.#heat.values());
    const level = (share) => Math.round((share / most) * HEAT_LEVELS);
    const levels = [...this.#heat].map(([cell, share]) => [cell, level(share)]);
    this.#layers.heat.show(new Map(levels.filter(([, each]) => each > 0)));
  }

  #nameCell(cell) {
    const element = this.#cells.get(cell);
    const name = this.#describe(cell);
    if (element?.getAttribute("aria-label") !== name) element?.setAttribute("aria-label", name);
  }

  #describe(cell) {
    const content = contentName(this.#board, this.#drawnView, cell, this.#options.players);
    const words = [cellName(this.#board, cell), ...(content ? [content] : [])];
    words.push(...edgeNames(this.#board, cell, this.#options.players));
    if (this.#view.last.includes(cell)) words.push(gettext("last move"));
    if (this.#view.winning?.includes(cell)) words.push(gettext("won by this"));
    if (this.#view.checked?.includes(cell)) words.push(gettext("in check"));
    const owner = this.#view.blocks?.[blockOf(this.#board, cell)];
    if (owner) {
      const name = pieceName(this.#board, owner, this.#options.players);
      words.push(gettext("block of %(name)s", { name }));
    }
    if ((this.#pending?.cells ?? this.#picked.slice(this.#done.length)).includes(cell)) words.push(gettext("picked"));
    if (this.#pending?.cells.at(-1) === cell) words.push(gettext("play it by a second click"));
    if (this.#marked.has(cell)) words.push(gettext("marked"));
    if (this.#planned.includes(cell)) words.push(gettext("chosen in advance"));
    if (this.#targets.has(cell)) words.push(gettext("can be played"));
    return listText(words);
  }

  /** Have all cells been picked, and several moves have them? */
  #isAmbiguous(complete) {
    return complete.length > 1 && this.#picked.length > 0 && this.#targets.size === 0;
  }

  #ask(moves) {
    if (this.#dialog) return;
    const legalMoves = this.#legalMoves;
    this.#setButtons();
    const cell = this.#cells.get(this.#picked.at(-1));
    const pictureOf = (kind) => this.#picture(pieceOf(this.#board.piece, `${this.#mover} ${kind}`));
    this.#dialog = new MoveDialog(moves, cell.getBoundingClientRect(), pictureOf, (move) => {
      this.#dialog = null;
      if (this.#legalMoves !== legalMoves) return; // another position is shown now
      this.#picked = this.#firstPicked();
      this.#draw();
      if (move) this.#choose(move);
    });
  }

  /** A drawing of a piece with the colours of this board. */
  #picture(element) {
    const size = -CELL / 2;
    const attributes = { class: this.#svg.getAttribute("class"), viewBox: `${size} ${size} ${CELL} ${CELL}` };
    return svg("svg", { ...attributes, "aria-hidden": "true" }, element);
  }

  /** Play a move, or wait for a second click if moves are confirmed. */
  #choose(move) {
    if (!this.#options.confirms?.()) return this.#play(move);
    this.#pending = move;
    this.#draw();
  }

  #play({ action, actions = [] }) {
    this.#options.onChoose?.(action, ...actions);
  }

  /** Play the move that waits if a cell is its last one; otherwise forget it. */
  #confirm(cell) {
    const move = this.#pending;
    const { cells } = move;
    const isTarget = cell >= 0 && cells.length && targetOf(this.#board, new Set(cells.slice(-1)), cell) >= 0;
    this.#pending = null;
    this.#draw();
    if (isTarget) this.#play(move);
    return isTarget;
  }

  /** Show the buttons of the move that waits. */
  #showPending(move) {
    const play = this.#button(gettext("Play %(move)s", { move: told(move.name) }), () => this.#play(move));
    const cancel = this.#button(gettext("Cancel"), () => this.#confirm(-1), "button");
    this.#setButtons(play, cancel);
  }

  /** Show buttons for moves that cannot be completed by clicking a cell. */
  #showButtons(moves) {
    if (withDice.rollChoice && moves.length > withDice.SIDES) {
      return this.#setButtons(...withDice.rollChoice(this.#board, moves, (move) => this.#choose(move)));
    }
    const buttons = moves.map((move) => {
      const { name } = move;
      const text = told(name.charAt(0).toUpperCase() + name.slice(1));
      return this.#button(text, () => this.#choose(move), PLAIN.includes(name) ? "button" : undefined);
    });
    if (this.#done.length) buttons.push(this.#button(gettext("Take back"), () => this.#takeBack(), "button"));
    const hadFocus = this.#buttons.querySelector(":focus-visible") !== null;
    this.#setButtons(...buttons);
    if (hadFocus) this.#cells.get(this.#focused).focus();
  }

  /** Show these buttons. Their place stays when they go: a second click hits nothing else. */
  #setButtons(...buttons) {
    const { offsetHeight, style } = this.#buttons;
    if (offsetHeight) style.minHeight = `${offsetHeight}px`;
    this.#buttons.replaceChildren(...buttons);
  }

  #button(text, onClick, style = "button primary") {
    const button = html("button", { type: "button", class: style }, text);
    button.addEventListener("click", onClick);
    return button;
  }

  #animateFall(cell) {
    const [row] = this.#layout.placeOf(cell);
    this.#animate(cell, [0, -(row + 1) * CELL], FALL_MS * (row + 2), "cubic-bezier(.5,0,.9,.6)");
  }

  /** Slide the pieces that have moved to another cell. */
  #animateSlides(before, after) {
    if (!MOVING.includes(this.#board.geometry)) return;
    for (const [from, to] of slides(before, after, keyOf)) {
      const [[x, y], [toX, toY]] = [this.#centre(from), this.#centre(to)];
      this.#animate(to, [x - toX, y - toY], SLIDE_MS, "ease-out");
    }
  }

  /** Turn the discs over that have another player now. */
  #animateFlips(before, after) {
    if (this.#board.piece !== "disc" || after.kinds?.length || this.#isStill) return;
    after.cells.forEach((owner, cell) => {
      const was = before.cells[cell];
      if (!was || !owner || was === owner) return;
      const [old, now] = [was, owner].map((each) => `var(--${OWNERS[each]})`);
      const frames = [
        { transform: "none", fill: old },
        { transform: "scaleX(0)", fill: old, offset: 0.5 },
        { transform: "scaleX(0)", fill: now, offset: 0.5 },
        { transform: "none", fill: now },
      ];
      this.#layers.pieces.at(cell)?.firstElementChild.animate(frames, { duration: FLIP_MS });
    });
  }

  /** Is nothing to be animated? */
  get #isStill() {
    return this.#options.small || matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  /** Let the piece on a cell come from a place beside it. */
  #animate(cell, [x, y], duration, easing) {
    if (this.#isStill) return;
    const frames = [{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }];
    this.#layers.pieces.at(cell)?.firstElementChild.animate(frames, { duration, easing });
  }

  // Input.

  #listen() {
    const cellOf = (event) => Number(event.target.dataset?.cell ?? -1);
    // A click sets no focus, so that the arrow keys still browse the moves.
    this.#svg.addEventListener("mousedown", (event) => event.preventDefault());
    this.#listenToRightButton(cellOf);
    this.#svg.addEventListener("click", (event) => {
      if (this.#drawn.length) this.#showDrawn((this.#drawn = []));
      if (event.pointerType === "touch" && this.#needsSecondTap(cellOf(event))) return;
      this.#click(cellOf(event));
    });
    this.#svg.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") this.#preview(cellOf(event));
    });
    this.#svg.addEventListener("pointerleave", () => this.#preview(-1));
    this.#svg.addEventListener("focusin", (event) => this.#preview(cellOf(event)));
    this.#svg.addEventListener("focusout", () => this.#preview(-1));
    this.#svg.addEventListener("keydown", (event) => this.#press(event, cellOf(event)));
    dragPieces(this.#svg, (cell) => this.#grab(cell), (cell) => this.#drop(cell));
  }

  /** A drag with the right button draws an arrow, a click a ring; the same again removes it. */
  #listenToRightButton(cellOf) {
    let from = -1;
    this.#svg.addEventListener("contextmenu", (event) => event.preventDefault());
    this.#svg.addEventListener("pointerdown", (event) => (from = event.button === 2 ? cellOf(event) : -1));
    this.#svg.addEventListener("pointerup", (event) => {
      const to = cellOf(event);
      if (event.button !== 2 || from < 0 || to < 0) return;
      const others = this.#drawn.filter(([one, other]) => one !== from || other !== to);
      this.#drawn = others.length < this.#drawn.length ? others : [...others, [from, to]];
      this.#showDrawn();
    });
  }

  #showDrawn() {
    const ring = (cell) => {
      const [cx, cy] = this.#centre(cell);
      return svg("circle", { cx, cy, r: 17 });
    };
    const shapes = this.#drawn.map(([from, to]) => (from === to ? ring(from) : this.#arrow(from, to, 1)));
    this.#ownArrows.replaceChildren(...shapes);
  }

  /** The cells whose pieces can be dragged. */
  #held() {
    if (!this.#planner) return grips(this.#ways, this.#drawnView.cells, this.#done);
    return new Set([...this.#view.cells.keys()].filter((cell) => this.#isPlanners(cell)));
  }

  /** Has a cell a piece that the planner may move? */
  #isPlanners(cell) {
    return this.#view.cells[cell] === this.#planner && MOVING.includes(this.#board.geometry);
  }

  /** Pick the piece on a cell, and return its element. */
  #grab(cell) {
    if (this.#planner) this.#planned = [];
    if (this.#picked.at(-1) !== cell) this.#click(cell);
    const element = this.#layers.pieces.at(cell);
    element.parentElement.append(element); // above the other pieces
    const drawn = element.firstElementChild;
    const checker = this.#board.geometry === "points" ? drawn.lastElementChild.firstElementChild : drawn;
    return (this.#dragged = checker ?? drawn.lastElementChild);
  }

  /** Play the move to a cell; on another one, or if further cells are needed, put the piece back. */
  #drop(cell) {
    const before = this.#planner ? this.#planned : this.#picked;
    const isTarget = !this.#planner && this.#targetAt(cell) >= 0;
    if (isTarget) this.#click(cell);
    else if (cell !== before.at(-1)) this.#click(this.#planner ? cell : -1);
    const isPlayed = isTarget && this.#picked.length <= before.length;
    if (!isPlayed || this.#dialog || this.#pending) this.#putBack();
  }

  #putBack() {
    this.#dragged?.style.removeProperty("transform");
    this.#dragged = null;
  }

  /** Preview the move that a click on this cell would make. */
  #preview(cell) {
    if (this.#pending || this.#board.geometry === "points") return;
    const target = cell < 0 ? -1 : targetOf(this.#board, this.#targets, cell);
    const shown = new Map();
    if (target >= 0 && this.#board.geometry === "heap") {
      // A move takes the cells from the target to the end of its heap.
      const { columns } = this.#board;
      const end = (Math.floor(target / columns) + 1) * columns;
      this.#view.cells.forEach((value, at) => {
        if (at >= target && at < end && value) shown.set(at, "0");
      });
    } else if (target >= 0) return this.#placeGhost(this.#picked.at(-1), target);
    this.#layers.ghost.show(shown);
  }

  /** Show the piece that a move puts on an empty cell: the one on another cell, or a new one. */
  #placeGhost(from, target) {
    const { cells, kinds } = this.#view;
    const placed = kinds?.[target] ? `${this.#mover} ${kinds[target]}` : String(this.#mover);
    const key = cells[from] ? keyOf(this.#view, from) : placed;
    this.#layers.ghost.show(new Map(cells[target] === 0 ? [[target, key]] : []));
  }

  /** Is this the first of two taps? If so, marks the target and shows a button for its move. */
  #needsSecondTap(cell) {
    const target = cell < 0 ? -1 : targetOf(this.#board, this.#targets, cell);
    const scale = this.#svg.getBoundingClientRect().width / this.#svg.viewBox.baseVal.width;
    const isWide = scale * CELL >= FINGER_PX || this.#board.geometry === "points";
    if (target < 0 || target === this.#tapped || isWide || this.#options.confirms?.()) return false;
    this.#tapped = target;
    this.#preview(target);
    this.#layers.picked.show(new Map([[target, "picked"]]));
    const text = gettext("Play %(move)s", { move: cellName(this.#board, target) });
    const button = this.#button(text, () => this.#click(target));
    this.#setButtons(button);
    return true;
  }

  /** Choose a move in advance: a cell, or a piece and its target. Another click takes it back. */
  #plan(cell) {
    const [from, to] = this.#planned;
    const isBegun = to === undefined && this.#isPlanners(from);
    if (cell < 0 || cell === from || (from !== undefined && !isBegun)) this.#planned = [];
    else this.#planned = isBegun && !this.#isPlanners(cell) ? [from, cell] : [cell];
    this.#draw();
  }

  /** Play the move that was chosen in advance, as far as it is legal. */
  #playPlanned(cells) {
    for (const cell of cells) {
      if (cell === this.#picked.at(-1)) continue;
      if (targetOf(this.#board, this.#targets, cell) < 0) return this.#click(-1);
      this.#click(cell);
    }
  }

  /** The target of a click on a cell, -1 for none. A king castles by a click on its rook, too. */
  #targetAt(cell) {
    const [king] = this.#picked;
    const { kinds, cells } = this.#view;
    const isRook = kinds?.[cell] === "rook" && kinds[king] === "king" && cells[cell] === cells[king];
    const side = Math.sign(cell - king);
    const isCastling = (to) => Math.abs(to - king) === 2 && Math.sign(to - king) === side && !cells[to];
    if (isRook && this.#picked.length === 1) return [...this.#targets].find(isCastling) ?? -1;
    return cell < 0 ? -1 : targetOf(this.#board, this.#targets, cell);
  }

  #click(cell) {
    if (this.#planner) return this.#plan(cell);
    if (this.#pending && this.#confirm(cell)) return;
    const target = this.#targetAt(cell);
    if (target < 0 && this.#picked.length === 0) return;
    const { move, picked } = pick(this.#ways, this.#picked, target < 0 ? cell : target);
    this.#picked = picked?.length ? picked : this.#unpicked(move);
    this.#draw();
    if (move) this.#choose(move);
  }

  /** Take back the moves of checkers that were chosen. */
  #takeBack() {
    this.#picked = this.#firstPicked();
    this.#draw();
  }

  /** What stays picked when a piece is put back: the moves of other checkers, if several move. */
  #unpicked(move) {
    const done = this.#done;
    return !move && done.length && done.length < this.#picked.length ? done : this.#firstPicked();
  }

  #press(event, cell) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const [row, column] = this.#layout.placeOf(cell);
    const step = STEPS[event.key];
    if (event.key === "Enter" || event.key === " ") this.#click(cell);
    else if (event.key === "Escape" && this.#canUnpick()) this.#click(-1);
    else if (event.key === "Escape") event.target.blur();
    else if (step) this.#focus(this.#layout.cellAt(row + step[0], column + step[1]));
    else if (event.key === "Home") this.#focus(this.#layout.cellAt(row, 0));
    else if (event.key === "End") this.#focus(this.#lastOf(row));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Has the user picked cells, beside those with which all moves begin? */
  #canUnpick() {
    if (this.#planned.length || this.#pending) return true;
    return this.#picked.length > 0 && this.#picked.length > this.#firstPicked().length;
  }

  #lastOf(row) {
    for (let column = this.#layout.columns - 1; ; column -= 1) {
      const cell = this.#layout.cellAt(row, column);
      if (cell >= 0) return cell;
    }
  }

  #focus(cell) {
    if (cell < 0) return;
    this.#cells.get(this.#focused).setAttribute("tabindex", -1);
    this.#focused = cell;
    this.#cells.get(cell).setAttribute("tabindex", 0);
    this.#cells.get(cell).focus();
  }

  #centre(cell) {
    const [row, column] = this.#layout.placeOf(cell);
    if (this.#special) return this.#special.centre(row, column);
    if (isStore(this.#board, cell)) return [(column + 0.5) * CELL, CELL];
    if (this.#board.geometry === "hex") return hexagons.centreOf(row, column, CELL);
    return [(column + 0.5) * CELL, (row + 0.5) * CELL];
  }

  /** An arrow that is wider for a greater share, and stops before the centre of the last cell. */
  #arrow(from, to, share) {
    const [[x, y], [toX, toY]] = [this.#centre(from), this.#centre(to)];
    const length = Math.hypot(toX - x, toY - y) - 6;
    const [half, head] = [1.5 + 3 * share, 7 + 5 * share];
    const neck = length - 1.6 * head;
    const shape = `M8 ${-half}H${neck}V${-head}L${length} 0L${neck} ${head}V${half}H8z`;
    const angle = (Math.atan2(toY - y, toX - x) * 180) / Math.PI;
    return svg("path", { d: shape, transform: `translate(${x} ${y}) rotate(${angle})` });
  }

  /** The centre of a block: the mean of the centres of its first and its last cell. */
  #middle(at) {
    const [first, last] = blockEnds(this.#board, at).map((cell) => this.#centre(cell));
    return [(first[0] + last[0]) / 2, (first[1] + last[1]) / 2];
  }
}

/** Drawings of one kind on cells. Only those that have changed are drawn again. */
class Layer {
  #shown = new Map();
  #draw;
  #centre;

  constructor(name, draw, centre) {
    this.element = svg("g", { class: `layer ${name}`, "aria-hidden": "true" });
    this.#draw = draw;
    this.#centre = centre;
  }

  /** The element on a cell, undefined for none. */
  at(cell) {
    return this.#shown.get(cell)?.element;
  }

  /** Show one drawing for each pair of cell and kind. */
  show(wanted) {
    for (const [cell, { kind, element }] of this.#shown) {
      if (wanted.get(cell) === kind) continue;
      element.remove();
      this.#shown.delete(cell);
    }
    for (const [cell, kind] of wanted) {
      if (this.#shown.has(cell)) continue;
      const [x, y] = this.#centre(cell);
      const element = svg("g", { transform: `translate(${x} ${y})` }, this.#draw(kind, cell));
      this.#shown.set(cell, { kind, element });
      this.element.append(element);
    }
  }
}

/** The attributes of a rectangle around a point, of a size less a margin on each side. */
function boxOf([width, height], margin, x = 0, y = 0) {
  const box = { width: width - 2 * margin, height: height - 2 * margin };
  return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
}

/** A tint: of the whole cell, or of a ring around the hole of a disc. */
function tint(geometry, attributes) {
  if (geometry === "hex") return svg("path", { ...attributes, d: hexagons.hexagon([0, 0], CELL - 1) });
  const inset = geometry === "columns" ? 2 : 0.5;
  const size = CELL - 2 * inset;
  const place = { x: -size / 2, y: -size / 2, width: size, height: size };
  return svg("rect", { ...attributes, ...place, rx: geometry === "columns" ? 18 : 2 });
}

/** Does `after` have exactly one new piece? */
function isNext(before, after) {
  const changed = after.cells.filter((value, cell) => value !== before.cells[cell]);
  return before.cells.length > 0 && after.last.length > 0 && changed.length === 1 && changed[0] > 0;
}

/** The ground of a block that a player has won: tinted, with a large piece of that player. */
function wonBlock({ block, piece: style }) {
  const size = block * CELL;
  const ground = { x: -size / 2, y: -size / 2, width: size, height: size };
  return (owner) => {
    const large = svg("g", { transform: `scale(${block * 0.9})` }, piece(style, owner));
    return svg("g", {}, svg("rect", ground), large);
  };
}

/** The squares that are dark where those in the corner at the top left are light. */
function darkSquares(rows, columns) {
  const square = (row, column) => `M${column * CELL} ${row * CELL}h${CELL}v${CELL}h${-CELL}z`;
  const all = Array.from({ length: rows * columns }, (_, at) => [Math.floor(at / columns), at % columns]);
  return all.filter(([row, column]) => (row + column) % 2).map((each) => square(...each)).join("");
}

/** The lines between cells, one after every `step` cells; with an inset, through their centres. */
function lines(rows, columns, step, inset) {
  const parts = [];
  const [right, bottom] = [columns * CELL - inset, rows * CELL - inset];
  for (let x = inset || step * CELL; x < columns * CELL; x += step * CELL) {
    parts.push(`M${x} ${inset}V${bottom}`);
  }
  for (let y = inset || step * CELL; y < rows * CELL; y += step * CELL) {
    parts.push(`M${inset} ${y}H${right}`);
  }
  return parts.join("");
}
