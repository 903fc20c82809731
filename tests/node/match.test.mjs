// What the page of a match knows and how it is browsed: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Browsing, plyAfter, plyOf } from "../../server/web/static/browsing.js";
import { Clocks, after, spell, spellSeconds } from "../../server/web/static/clocks.js";
import * as notation from "../../server/web/static/notation.js";
import { Record } from "../../server/web/static/record.js";

// Browsing.

test("who looks at the end follows the match", () => {
  const browsing = new Browsing(4);
  browsing.grow(5);
  assert.equal(browsing.ply, 5);
  assert.ok(browsing.live);
});

test("who looks back stays there while moves arrive, and returns with End", () => {
  const browsing = new Browsing(4);
  assert.ok(browsing.go(2));
  browsing.grow(5);
  assert.equal(browsing.ply, 2);
  assert.ok(!browsing.live);
  browsing.go(plyAfter("End", browsing.ply));
  assert.equal(browsing.ply, 5);
  browsing.grow(6);
  assert.equal(browsing.ply, 6);
});

test("before the beginning and after the end there is nothing to see", () => {
  const browsing = new Browsing(2, 99);
  assert.equal(browsing.ply, 2);
  assert.ok(!browsing.go(plyAfter("ArrowRight", browsing.ply)));
  assert.ok(browsing.go(plyAfter("Home", browsing.ply)));
  assert.ok(!browsing.go(plyAfter("ArrowLeft", browsing.ply)));
  assert.equal(browsing.ply, 0);
  assert.equal(plyAfter("a", 1), null);
});

test("an address may ask for a ply", () => {
  assert.equal(plyOf("?ply=12"), 12);
  assert.equal(plyOf("?ply=0&x=1"), 0);
  for (const search of ["", "?ply=", "?ply=-1", "?ply=1e3", "?ply=x", "?ply=12345678"]) {
    assert.equal(plyOf(search), null);
  }
});

// Clocks.

const timeControl = (main_s, increment_s, periods, period_s) => ({
  main_s,
  increment_s,
  periods,
  period_s,
});
const BYO_YOMI = timeControl(600, 0, 5, 30);
const FISCHER = timeControl(300, 3, 0, 0);

test("a clock runs through its main time, then through its periods", () => {
  assert.deepEqual(after({ main_s: 10, periods: 5 }, BYO_YOMI, 4), { main_s: 6, periods: 5 });
  assert.deepEqual(after({ main_s: 10, periods: 5 }, BYO_YOMI, 15), { main_s: 25, periods: 4 });
  assert.deepEqual(after({ main_s: 10, periods: 5 }, BYO_YOMI, 50), { main_s: 20, periods: 3 });
  assert.deepEqual(after({ main_s: 10, periods: 5 }, BYO_YOMI, 999), { main_s: 0, periods: 0 });
  assert.deepEqual(after({ main_s: 3, periods: 0 }, FISCHER, 9), { main_s: 0, periods: 0 });
});

test("time is spelled in tenths when it is short", () => {
  const spelled = [0, 0.04, 9.99, 10, 59.2, 65, 3600, 3725].map(spellSeconds);
  assert.deepEqual(spelled, ["0.0", "0.0", "9.9", "0:10", "1:00", "1:05", "1:00:00", "1:02:05"]);
});

test("periods that have not begun are told apart from what runs", () => {
  const both = { time: "0:12", periods: "3 × 30 s", low: false };
  assert.deepEqual(spell({ main_s: 12, periods: 3 }, BYO_YOMI), both);
  const waiting = { time: "0:30", periods: "2 × 30 s", low: false };
  assert.deepEqual(spell({ main_s: 0, periods: 3 }, BYO_YOMI), waiting);
  const perMove = { time: "1.0", periods: "", low: true };
  assert.deepEqual(spell({ main_s: 0, periods: 1 }, timeControl(0, 0, 1, 1)), perMove);
});

test("only the clock of the player to move runs, and none without clocks", () => {
  const clocks = new Clocks(FISCHER);
  assert.equal(clocks.show(1, 0), null);
  clocks.set([{ main_s: 100, periods: 0 }, { main_s: 50, periods: 0 }], 2, 1000);
  assert.equal(clocks.show(1, 1030).time, "1:40");
  assert.equal(clocks.show(2, 1030).time, "0:20");
  clocks.set(clocks.at(1030), 0, 1030);
  assert.equal(clocks.show(2, 1099).time, "0:20");
});

// Notation.

const CHOICES = ["a1", "b2", "Pass"].map((name, action) => ({ name, action, cells: [] }));

test("a move is typed in upper or lower case", () => {
  assert.equal(notation.read(" B2 ", CHOICES).choice.action, 1);
  assert.equal(notation.read("pass", CHOICES).choice.action, 2);
});

test("a move that is not possible is answered with those that are", () => {
  assert.match(notation.read("c3", CHOICES).fault, /“c3” is not possible.*a1, b2, Pass\.$/);
  assert.match(notation.read(" ", CHOICES).fault, /Type/);
  const many = Array.from({ length: 30 }, (_, at) => ({ name: `m${at}`, action: at, cells: [] }));
  assert.match(notation.read("x".repeat(99), many).fault, /^“x{20}” .*m11 and 18 more\.$/);
});

// The record.

const position = (...cells) => ({ cells, last: [], note: "" });
const DATA = {
  match: "m1",
  game: "nim",
  players: ["Ann", "Bob"],
  clock: "none",
  board: {},
  to_move: 2,
  positions: [
    { view: position(0) },
    { view: { ...position(1), name: "a1" }, player: 1, action: 0, info: { win_rate: 0.6 } },
  ],
};
const update = (ply, fields = {}) => ({
  type: "update",
  match: "m1",
  ply,
  player: (ply % 2) + 1,
  action: ply,
  to_move: ((ply + 1) % 2) + 1,
  view: { ...position(ply + 1), name: `move ${ply + 1}` },
  ...fields,
});
const record = () => new Record(structuredClone(DATA));

test("moves are added in order, once, and a gap is noticed", () => {
  const match = record();
  assert.ok(match.add(update(1, { legal_moves: CHOICES })));
  assert.deepEqual([match.last, match.toMove, match.legalMoves], [2, 1, CHOICES]);
  assert.ok(match.add(update(1)));
  assert.equal(match.last, 2);
  assert.ok(!match.add(update(3)));
  assert.equal(match.last, 2);
});

test("how it stands is taken as the truth, and missing positions are noticed", () => {
  const match = record();
  assert.ok(match.start({ moves: [0], to_move: 2, seat: 2, legal_moves: CHOICES }));
  assert.deepEqual([match.seat, match.legalMoves], [2, CHOICES]);
  assert.ok(!match.start({ moves: [0, 1], to_move: 1 }));
  assert.deepEqual([match.seat, match.legalMoves], [null, []]);
});

test("what is older than what is known is not taken", () => {
  const match = record();
  match.add(update(1));
  assert.ok(!match.refresh(DATA));
  assert.equal(match.last, 2);
  match.end({ winner: 1, returns: [1, 0], reason: "resignation", text: "Bob resigned" });
  assert.ok(!match.refresh({ ...DATA, positions: match.positions }));
  assert.ok(match.refresh({ ...DATA, positions: match.positions, result: { winner: 1 } }));
});

test("each position has its clocks, and the last one those of now", () => {
  const now = [{ main_s: 9, periods: 0 }, { main_s: 8, periods: 0 }];
  const clocked = { ...DATA, time_control: FISCHER, clocks: now };
  const match = new Record(structuredClone(clocked));
  assert.deepEqual(match.clocksAt(1), now);
  assert.deepEqual(match.clocksAt(0), [{ main_s: 300, periods: 0 }, { main_s: 300, periods: 0 }]);
  const later = [{ main_s: 9, periods: 0 }, { main_s: 4, periods: 0 }];
  match.add(update(1, { clocks: later }));
  match.end({ winner: 1, returns: [1, 0], reason: "rules", text: "Ann won" });
  assert.deepEqual(match.clocksAt(2), later);
  assert.equal(record().clocksAt(1), null);
});

test("win rates are all from the point of view of player 1", () => {
  const match = record();
  match.add(update(1, { info: { win_rate: 0.3 } }));
  match.add(update(2));
  match.add(update(3, { info: { win_rate: 0.9, proven: -1 } }));
  const [first, second] = match.rates();
  assert.deepEqual(first, [{ ply: 1, rate: 0.6 }]);
  assert.deepEqual(second, [{ ply: 2, rate: 0.7 }, { ply: 4, rate: 1 }]);
});

test("a move is announced with whose turn it is", () => {
  const match = record();
  match.seat = 2;
  match.add(update(1));
  assert.equal(notation.announcement(update(1), match), "You play move 2; Ann to move.");
  match.add(update(2));
  assert.equal(notation.announcement(update(2), match), "Ann plays move 3; your turn.");
  match.add(update(3, { to_move: 0 }));
  assert.equal(notation.announcement(update(3), match), "You play move 4.");
});

test("who plays hears what becomes of the match when the server stops", () => {
  assert.match(notation.farewell({ seconds: 4.2, kept: true }), /5 seconds .*go on/);
  assert.match(notation.farewell({ seconds: 4.2 }), /no result/);
});

test("the result is told in words", () => {
  const match = record();
  assert.equal(notation.standing(match), "Bob to move");
  match.end({ winner: 1, returns: [1, 0], reason: "time", text: "Bob ran out of time" });
  assert.equal(notation.standing(match), "Ann won");
  assert.equal(notation.why(match.result), "Bob ran out of time");
  assert.equal(notation.outcome({ winner: -1 }, DATA.players), "A tie");
  assert.equal(notation.outcome({ winner: 0 }, DATA.players), "No result");
  assert.equal(notation.why({ reason: "rules", text: "Ann won" }), "");
});
