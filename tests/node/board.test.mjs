// The scripts of a board that need no page: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  beginsAbove,
  blockEnds,
  blockOf,
  cellName,
  contentName,
  countedBy,
  edgeNames,
  isUsed,
  layoutOf,
  pieceName,
  seedsName,
  starPoints,
} from "../../server/web/static/board_layout.js";
import "../../server/web/static/dice_boards.js";
import { areaOf, below, centreOf, edges, hexagon } from "../../server/web/static/hexagons.js";
import { commonStart, exact, grips, nextCells, pick, targetOf, withMove, withWays } from "../../server/web/static/move_selection.js";
import { afterSteps, distanceOf } from "../../server/web/static/points.js";

const GRID = {
  rows: 2,
  columns: 3,
  geometry: "grid",
  piece: "mark",
  column_labels: ["a", "b", "c"],
  row_labels: ["1", "2"],
};
const COLUMNS = {
  ...GRID,
  geometry: "columns",
  piece: "disc",
  column_labels: ["1", "2", "3"],
  row_labels: ["", ""],
};
const heap = (columns) => ({ rows: 1, columns, geometry: "heap", piece: "chip" });

for (const board of [GRID, { ...GRID, geometry: "hex" }, COLUMNS, heap(1), heap(7), heap(13), heap(1000)]) {
  for (const flipped of [false, true]) {
    test(`each cell has its own place: ${board.geometry} of ${board.columns}, ${flipped}`, () => {
      const { rows, columns, placeOf, cellAt } = layoutOf(board, flipped);
      for (let cell = 0; cell < board.rows * board.columns; cell += 1) {
        const [row, column] = placeOf(cell);
        assert.ok(row >= 0 && row < rows && column >= 0 && column < columns);
        assert.equal(cellAt(row, column), cell);
      }
    });
  }
}

test("there is no cell outside the board, nor after the end of a heap", () => {
  const { cellAt } = layoutOf(GRID);
  for (const [row, column] of [[-1, 0], [0, -1], [2, 0], [0, 3]]) {
    assert.equal(cellAt(row, column), -1);
  }
  const wrapped = layoutOf(heap(13));
  assert.deepEqual([wrapped.rows, wrapped.columns], [3, 5]);
  assert.equal(wrapped.cellAt(2, 3), -1);
});

test("flipping turns a grid by 180 degrees; where pieces fall, down stays down", () => {
  assert.deepEqual(layoutOf(GRID, true).placeOf(0), [1, 2]);
  assert.deepEqual(layoutOf(COLUMNS, true).placeOf(0), [0, 2]);
});

test("a player whose pieces begin above sees the board from the other side", () => {
  const board = { ...GRID, rows: 4 };
  const cells = [1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 2];
  assert.deepEqual([1, 2].map((player) => beginsAbove(board, cells, player)), [true, false]);
  const empty = cells.map(() => 0);
  assert.equal(beginsAbove(board, empty, 1), false);
  const mixed = [1, 2, 2, 1];
  assert.equal(beginsAbove({ ...board, columns: 2 }, mixed, 1), false);
  assert.equal(beginsAbove({ ...board, geometry: "columns" }, cells, 1), false);
});

test("boards of Go have the usual star points", () => {
  const named = (side) => {
    const board = { rows: side, columns: side };
    return starPoints(board).map((cell) => `${1 + Math.floor(cell / side)},${1 + (cell % side)}`);
  };
  assert.deepEqual(named(4), []);
  assert.deepEqual(named(5), ["3,3"]);
  assert.deepEqual(named(9), ["3,3", "3,7", "7,3", "7,7", "5,5"]);
  assert.deepEqual(named(13), ["4,4", "4,10", "10,4", "10,10", "7,7"]);
  assert.deepEqual(named(19).length, 9);
  assert.ok(named(19).includes("4,10") && named(19).includes("16,16"));
  assert.deepEqual(starPoints({ rows: 9, columns: 7 }), []);
});

const HEX = { ...GRID, rows: 3, geometry: "hex", row_labels: ["1", "2", "3"], edges: [1, 2, 1, 2] };

/** The points of a path. */
const pointsOf = (path) => path.replace("M", "").split("L").map((each) => each.split(" ").map(Number));

test("each row of hexagons is half a cell further to the right, and touches the one above", () => {
  const [x, y] = centreOf(1, 1, 40);
  const [right, above] = centreOf(0, 1, 40);
  assert.equal(x - right, 20);
  assert.ok(Math.abs(Math.hypot(x - right, y - above) - 40) < 1e-9);
  const centres = [0, 1, 2].flatMap((row) => [0, 1, 2].map((column) => centreOf(row, column, 40)));
  const [left, top, width, height] = areaOf(centres, 40);
  assert.deepEqual([left, Math.round(top), width], [0, 0, 40 * (3 + 2 / 2)]);
  const lowest = Math.max(...pointsOf(hexagon(centreOf(2, 0, 40), 40).replace("z", "")).map((each) => each[1]));
  assert.ok(Math.abs(lowest - height) < 0.01);
});

test("the area of hexagons has no more than those that are used, and a column goes on below it", () => {
  const [corner, middle] = [centreOf(0, 2, 40), centreOf(1, 1, 40)];
  const [left, , width] = areaOf([corner, middle], 40);
  assert.deepEqual([left, width], [60, 60]);
  const [x, y] = below(middle, 40);
  const next = centreOf(2, 1, 40);
  assert.ok(x > middle[0] && x < next[0] && y > middle[1] && y < next[1]);
});

test("the edges of hexagons form a closed line around the board", () => {
  const drawn = edges(HEX, 40).map(pointsOf);
  drawn.forEach((points, at) => assert.deepEqual(points.at(-1), drawn[(at + 1) % 4][0]));
  assert.deepEqual(drawn.map((points) => points.length), [7, 7, 7, 7]);
});

test("a cell at an edge names the player to whom the edge belongs", () => {
  assert.deepEqual(edgeNames(HEX, 0, ["Ann", "Bob"]), ["top edge of Ann", "left edge of Bob"]);
  assert.deepEqual(edgeNames(HEX, 4), []);
  assert.deepEqual(edgeNames(HEX, 8), ["right edge of player 2", "bottom edge of player 1"]);
  assert.deepEqual(edgeNames(GRID, 0), []);
});

test("cells and pieces have names", () => {
  assert.equal(cellName(GRID, 5), "c2");
  assert.equal(cellName(COLUMNS, 5), "column 3, row 1");
  assert.equal(cellName(heap(9), 0), "1 of 9");
  const heaps = { rows: 2, columns: 3, geometry: "heap", piece: "chip", cell_labels: ["1", "", "", "1", "2", "3"] };
  assert.equal(cellName(heaps, 4), "heap 2, 2");
  assert.equal(cellName(heaps, 1), "heap 1, unused");
  assert.equal(layoutOf(heaps).columns, 3);
  assert.deepEqual([0, 1].map((cell) => isUsed(heaps, cell)), [true, false]);
  assert.equal(isUsed(GRID, 0), true);
  assert.deepEqual([0, 1, 12].map(seedsName), ["0 seeds", "1 seed", "12 seeds"]);
  assert.equal(pieceName(GRID, 0), "empty");
  assert.equal(pieceName(GRID, 2, ["Ann", "Bob"]), "O");
  assert.equal(pieceName(COLUMNS, 2, ["Ann", "Bob"]), "disc of Bob");
  assert.equal(pieceName(COLUMNS, 1), "disc of player 1");
  assert.equal(pieceName({ ...COLUMNS, surface: "blue" }, 2, ["Ann", "Bob"]), "yellow disc");
  assert.equal(pieceName(COLUMNS, 7), "7");
  assert.equal(pieceName(heap(9), 1), "chip");
  assert.equal(pieceName(heap(9), 0), "taken");
});

test("a cell may have a name of its own, and a piece a kind", () => {
  const numbered = { ...GRID, piece: "disc", cell_labels: ["", "1", "", "2", "", "3"] };
  assert.equal(cellName(numbered, 3), "2");
  assert.equal(cellName(numbered, 0), "unused");
  assert.equal(pieceName(numbered, 2, ["Ann", "Bob"], "king"), "king of Bob");
  assert.equal(pieceName(numbered, 0, ["Ann", "Bob"], ""), "empty");
  assert.equal(pieceName(numbered, 3, ["Ann", "Bob"], "arrow"), "arrow");
});

const move = (action, ...cells) => ({ action, name: String(action), cells });

test("one click is enough where no other move begins with its cell", () => {
  const legalMoves = [move(0, 4), move(1, 5)];
  assert.deepEqual(nextCells(legalMoves), new Set([4, 5]));
  assert.equal(pick(legalMoves, [], 5).move.action, 1);
  assert.deepEqual(pick(legalMoves, [], 3), { picked: [] });
});

test("blocks are numbered row by row, and each has its cells", () => {
  const nine = { columns: 9, block: 3 };
  assert.deepEqual([0, 1, 4, 8].map((at) => blockEnds(nine, at)), [
    [0, 20],
    [3, 23],
    [30, 50],
    [60, 80],
  ]);
  assert.deepEqual([0, 3, 20, 40, 80].map((cell) => blockOf(nine, cell)), [0, 1, 0, 4, 8]);
});

test("cells are picked in order, and another first cell starts again", () => {
  const legalMoves = [move(0, 1, 2), move(1, 1, 3), move(2, 7, 8)];
  assert.deepEqual(pick(legalMoves, [], 1), { picked: [1] });
  assert.deepEqual(nextCells(legalMoves, [1]), new Set([2, 3]));
  assert.equal(pick(legalMoves, [1], 3).move.action, 1);
  assert.deepEqual(pick(legalMoves, [1], 7), { picked: [7] });
  assert.deepEqual(pick(legalMoves, [1], 1), { picked: [] });
  assert.deepEqual(pick(legalMoves, [1], 5), { picked: [] });
});

test("moves that no further cell distinguishes are returned by exact", () => {
  const pass = move(64);
  assert.deepEqual(exact([pass, move(1, 3)]), [pass]);
  const promotions = [move(0, 1, 2), move(1, 1, 2)];
  assert.deepEqual(pick(promotions, [1], 2), { picked: [1, 2] });
  assert.deepEqual(exact(promotions, [1, 2]), promotions);
  const longer = [move(0, 1), move(1, 1, 2)];
  assert.deepEqual(pick(longer, [], 1), { picked: [1] });
  assert.deepEqual(exact(longer, [1]), [longer[0]]);
});

test("where pieces fall, any cell of the column is its target", () => {
  const targets = new Set([4]);
  assert.equal(targetOf(COLUMNS, targets, 1), 4);
  assert.equal(targetOf(COLUMNS, targets, 4), 4);
  assert.equal(targetOf(COLUMNS, targets, 2), -1);
  assert.equal(targetOf(GRID, targets, 1), -1);
});

test("cells with which all moves begin are picked already, but never a whole move", () => {
  assert.deepEqual(commonStart([]), []);
  assert.deepEqual(commonStart([move(0, 4)]), []);
  assert.deepEqual(commonStart([move(0, 4, 5)]), [4]);
  assert.deepEqual(commonStart([move(0, 4, 5), move(1, 4, 6)]), [4]);
  assert.deepEqual(commonStart([move(0, 4, 5), move(1, 3, 6)]), []);
  assert.deepEqual(commonStart([move(0, 4), move(1, 4, 6)]), []);
  assert.deepEqual(commonStart([move(0)]), []);
  assert.deepEqual(commonStart([move(0, 4, 5, 6), move(1, 4, 5, 7), move(2, 4, 8, 7)]), [4]);
});

// Backgammon: 14 columns with the bar in column 6 and the checkers borne off in column 13.

const labels = [13, 14, 15, 16, 17, 18, "bar", 19, 20, 21, 22, 23, 24, "off", 12, 11, 10, 9, 8, 7, "bar", 6, 5, 4, 3, 2, 1, "off"];
const POINTS = { rows: 2, columns: 14, geometry: "points", piece: "disc", surface: "wood", cell_labels: labels.map(String) };
/** A position from the checkers on cells, as [cell, player, count]. */
function onPoints(dice, ...placed) {
  const view = { cells: Array(28).fill(0), counts: Array(28).fill(0), dice };
  for (const [cell, player, count] of placed) [view.cells[cell], view.counts[cell]] = [player, count];
  return view;
}

test("points count from the end of each player, and the second player sees them from the other side", () => {
  assert.deepEqual([18, 12, 6, 27].map((cell) => distanceOf(cell, 1)), [8, 24, 25, 0]);
  assert.deepEqual([12, 18, 20, 13].map((cell) => distanceOf(cell, 2)), [1, 17, 25, 0]);
  const second = countedBy(POINTS, 2);
  assert.deepEqual([cellName(second, 12), cellName(second, 6), cellName(POINTS, 12)], ["point 1", "bar", "point 24"]);
  assert.equal(countedBy(POINTS, 1), POINTS);
  assert.equal(countedBy(GRID, 2), GRID);
  assert.deepEqual([1, 2].map((player) => beginsAbove(POINTS, [], player)), [false, true]);
  const { placeOf, cellAt } = layoutOf(POINTS, true);
  assert.deepEqual([placeOf(26), cellAt(1, 12)], [[0, 12], 12]);
  const view = onPoints([], [18, 1, 3], [20, 2, 1]);
  assert.deepEqual([18, 20, 0].map((cell) => contentName(POINTS, view, cell, ["Ann", "Bob"])), ["3 checkers of Ann", "1 checker of Bob", "empty"]);
});

test("a checker moves by a die, which is then used, and hits a single one of the opponent", () => {
  const before = onPoints([3, 1], [18, 1, 3], [21, 1, 5], [23, 2, 1]);
  const after = afterSteps(before, [18, 22], 1); // 8/5 by the three
  assert.deepEqual([after.counts[18], after.counts[22], after.dice], [2, 1, [-3, 1]]);
  const hit = afterSteps(before, [18, 22, 22, 23], 1);
  assert.deepEqual([hit.cells[23], hit.counts[20], hit.cells[20], hit.dice], [1, 1, 2, [-3, -1]]);
  assert.deepEqual(afterSteps(before, [18, 23], 1).dice, [-3, -1]); // by their sum
  assert.deepEqual(afterSteps(before, [18], 1).counts, before.counts); // the target is not chosen yet
  assert.equal(before.counts[18], 3);
});

test("a checker is borne off by its number or a higher one", () => {
  const before = onPoints([6, 4], [24, 1, 1], [25, 1, 1]);
  assert.deepEqual(afterSteps(before, [24, 27], 1).dice, [6, 4].map((die) => (die === 4 ? -4 : die)));
  assert.deepEqual(afterSteps(onPoints([6, 3], [23, 1, 1]), [23, 27], 1).dice, [-6, 3]);
  assert.deepEqual(afterSteps(onPoints([-2, -2, 2, 2], [25, 1, 2]), [25, 27, 25, 27], 1).dice, [-2, -2, -2, -2]);
});

test("a capture of several pieces is played by a click on its last square, or one jump at a time", () => {
  const sequences = [{ name: "32x14", cells: [63, 27], actions: [1113] }];
  const all = withWays([{ action: 1572, name: "32x23", cells: [63, 45], sequences }]);
  const { picked } = pick(all, [], 63);
  assert.deepEqual(nextCells(all, picked), new Set([45, 27]));
  const { action, actions, name } = pick(all, picked, 27).move;
  assert.deepEqual([action, actions, name], [1572, [1113], "32x14"]);
  assert.equal(pick(all, picked, 45).move.actions, undefined);
});

test("a move of several checkers is clicked in each order, and the last click is replaced", () => {
  const move = { action: 7, name: "8/5 6/5", cells: [18, 22, 21, 22], ways: [[21, 22, 18, 22]] };
  const other = { action: 8, name: "8/4", cells: [18, 22, 22, 23], ways: [[18, 23]] };
  const all = withWays([move, other]);
  assert.equal(all.length, 4);
  const clicked = (cells) => cells.reduce(({ picked = [] }, cell) => pick(all, picked, cell), {});
  const played = (cells) => clicked(cells).move.action;
  assert.equal(played([18, 22, 21, 22]), 7);
  assert.equal(played([21, 22, 18, 22]), 7);
  assert.equal(played([18, 23]), 8);
  assert.deepEqual(clicked([18, 22, 22, 21]), { picked: [18, 22, 21] });
  assert.equal(played([18, 22, 22, 21, 22]), 7);
  assert.deepEqual([...grips(all, Array(28).fill(1))], [18, 21]);
  assert.deepEqual([...grips(all, Array(28).fill(1), [18, 22])], [21, 22]);
  const sent = withMove({ ...onPoints([3, 1], [18, 1, 3], [21, 1, 5]), last: [] }, move.cells, 1, "points");
  assert.deepEqual([sent.counts[22], sent.last], [2, [18, 22, 21]]);
});
