// The scripts of a match page that need no page: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PositionBrowser, plyAfter, plyOf } from "../../server/web/static/position_browser.js";
import { Clocks, clockAfter, formatClock, formatSeconds } from "../../server/web/static/clocks.js";
import { captured, leadOf } from "../../server/web/static/captures.js";
import * as text from "../../server/web/static/match_text.js";
import { largestLosses, signedLosses } from "../../server/web/static/losses.js";
import { OwnMoves, movesOf } from "../../server/web/static/own_moves.js";
import { VariationTree } from "../../server/web/static/analysis_room.js";
import { groupOf, pointsOf, prisonersOf } from "../../server/web/static/counting.js";
import { MatchAnalysis } from "../../server/web/static/match_analysis.js";
import { MatchRecord } from "../../server/web/static/match_record.js";

// PositionBrowser.

test("at the last position, new moves are followed", () => {
  const browser = new PositionBrowser(4);
  browser.extend(5);
  assert.equal(browser.ply, 5);
  assert.ok(browser.live);
});

test("at an earlier position new moves change nothing, and End returns to the last", () => {
  const browser = new PositionBrowser(4);
  assert.ok(browser.go(2));
  browser.extend(5);
  assert.equal(browser.ply, 2);
  assert.ok(!browser.live);
  browser.go(plyAfter("End", browser.ply));
  assert.equal(browser.ply, 5);
  browser.extend(6);
  assert.equal(browser.ply, 6);
});

test("plies before the first and after the last position are clamped", () => {
  const browser = new PositionBrowser(2, 99);
  assert.equal(browser.ply, 2);
  assert.ok(!browser.go(plyAfter("ArrowRight", browser.ply)));
  assert.ok(browser.go(plyAfter("Home", browser.ply)));
  assert.ok(!browser.go(plyAfter("ArrowLeft", browser.ply)));
  assert.equal(browser.ply, 0);
  assert.equal(plyAfter("a", 1), null);
});

test("an address may name a ply", () => {
  assert.equal(plyOf("?ply=12"), 12);
  assert.equal(plyOf("?ply=0&x=1"), 0);
  for (const search of ["", "?ply=", "?ply=-1", "?ply=1e3", "?ply=x", "?ply=12345678"]) {
    assert.equal(plyOf(search), null);
  }
});

// Moves of one's own.

test("an address may have moves", () => {
  assert.deepEqual(movesOf("?ply=2&moves=3,5"), [3, 5]);
  for (const search of ["", "?moves=", "?moves=3,", "?moves=-1", "?moves=a", "?moves=12345678901"]) {
    assert.deepEqual(movesOf(search), []);
  }
});

test("own moves are gone through, and belong to one ply", () => {
  const own = new OwnMoves({ id: "m" }, 2, [3, 5]);
  assert.ok(own.back());
  assert.deepEqual(own.actions, [3]);
  assert.ok(own.back(-1));
  assert.ok(!own.back(-1));
  assert.deepEqual(own.actions, [3, 5]);
  own.begin(2);
  assert.deepEqual(own.actions, [3, 5]);
  own.begin(3);
  assert.deepEqual(own.actions, []);
  assert.ok(!own.back());
});

// The tree of variations.

const moved = (action, player, name) => ({ action, player, view: { name, cells: [], last: [] } });
const OPENING = [{ view: {} }, moved(1, 1, "e4"), moved(2, 2, "e5"), moved(3, 1, "Nf3")];

test("variations are written behind the moves that they replace, promoted and deleted", () => {
  const record = new MatchRecord({ match: "m", game: "chess", players: ["a", "b"], board: { surface: "checkered" }, positions: OPENING });
  const tree = new VariationTree(record);
  const written = (parent) => [...tree.tokens(parent)].map((each) => (each >= 0 ? `${tree.numberOf(each)}${tree.nodes[each].name}` : each)).join(" ");
  const [c5, d4, c3] = [moved(4, 2, "c5"), moved(5, 1, "d4"), moved(6, 1, "c3")];
  assert.equal(tree.add(0, OPENING.slice(1)), -4); // the moves of the match are no variation
  tree.add(1, [c5, d4]);
  assert.equal(tree.add(0, [OPENING[1], c5, c3]), 2);
  assert.equal(tree.add(1, [c5, c3]), 2);
  assert.equal(written(-2), "( 1…c5 2.d4 ( 2.c3 ) )");
  assert.deepEqual(tree.lineTo(2), { ply: 1, moves: [4, 6] });
  tree.promote(2);
  assert.equal(written(-2), "( 1…c5 2.c3 ( 2.d4 ) )");
  assert.equal(tree.nodes[0].name, "c5");
  tree.add(3, [moved(7, 2, "Nc6")]);
  assert.equal(written(-4), "2…Nc6"); // it continues the match
  tree.remove(0);
  assert.deepEqual(tree.nodes.map(({ name }) => name), ["Nc6"]);
  assert.equal(written(-2), "");
});

test("a tree follows a match that goes on or is taken back", () => {
  const record = { id: "m", last: 1, positions: OPENING.slice(0, 2) };
  const tree = new VariationTree(record);
  const lines = () => tree.nodes.map((_, at) => tree.lineTo(at));
  tree.add(1, [OPENING[2], OPENING[3], moved(7, 2, "Nc6")]);
  tree.add(1, [moved(4, 2, "c5")]);
  record.positions = OPENING;
  record.last = 3;
  tree.follow();
  assert.deepEqual(lines(), [{ ply: 3, moves: [7] }, { ply: 1, moves: [4] }]);
  record.positions = OPENING.slice(0, 2);
  record.last = 1;
  tree.follow();
  assert.deepEqual(lines(), [{ ply: 1, moves: [4] }]);
});

test("of what a browser has kept, a damaged value or another kind counts as none", () => {
  const record = { id: "m", last: 0, positions: [{}] };
  try {
    for (const kept of ["[", "null", "7", "{}", "[null]", '[{"parent": 0, "name": "e4"}]', '[{"parent": -1}]']) {
      globalThis.localStorage = { getItem: () => kept };
      assert.deepEqual(new VariationTree(record).nodes, []);
    }
  } finally {
    delete globalThis.localStorage;
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
  assert.deepEqual(clockAfter({ main_s: 10, periods: 5 }, BYO_YOMI, 4), { main_s: 6, periods: 5 });
  assert.deepEqual(clockAfter({ main_s: 10, periods: 5 }, BYO_YOMI, 15), { main_s: 25, periods: 4 });
  assert.deepEqual(clockAfter({ main_s: 10, periods: 5 }, BYO_YOMI, 50), { main_s: 20, periods: 3 });
  assert.deepEqual(clockAfter({ main_s: 10, periods: 5 }, BYO_YOMI, 999), { main_s: 0, periods: 0 });
  assert.deepEqual(clockAfter({ main_s: 3, periods: 0 }, FISCHER, 9), { main_s: 0, periods: 0 });
});

test("the main time of a clock with a delay runs after the delay", () => {
  const control = { ...timeControl(120, 0, 0, 0), delay_s: 12 }, full = { main_s: 120, periods: 0, delay_s: 12 };
  assert.deepEqual(clockAfter(full, control, 5), { main_s: 120, periods: 0, delay_s: 7 });
  assert.deepEqual(clockAfter(full, control, 15), { main_s: 117, periods: 0, delay_s: 0 });
  assert.deepEqual(clockAfter(full, control, 999), { main_s: 0, periods: 0 });
  assert.deepEqual(formatClock(full, control), { time: "2:00", periods: "+ 12 s", low: false });
  assert.deepEqual(formatClock({ ...full, delay_s: 0 }, control), { time: "2:00", periods: "", low: false });
  const clocks = new Clocks([control, control]);
  clocks.set([full, full], 1, 100);
  assert.deepEqual([clocks.left(1, 107), clocks.left(2, 107)], [125, 132]);
});

test("times below ten seconds are shown in tenths", () => {
  const formatted = [0, 0.04, 9.99, 10, 59.2, 65, 3600, 3725].map(formatSeconds);
  assert.deepEqual(formatted, ["0.0", "0.0", "9.9", "0:10", "1:00", "1:05", "1:00:00", "1:02:05"]);
});

test("the periods after the running one are shown separately", () => {
  const both = { time: "0:12", periods: "3 × 30 s", low: false };
  assert.deepEqual(formatClock({ main_s: 12, periods: 3 }, BYO_YOMI), both);
  const waiting = { time: "0:30", periods: "2 × 30 s", low: false };
  assert.deepEqual(formatClock({ main_s: 0, periods: 3 }, BYO_YOMI), waiting);
  const perMove = { time: "1.0", periods: "", low: true };
  assert.deepEqual(formatClock({ main_s: 0, periods: 1 }, timeControl(0, 0, 1, 1)), perMove);
});

test("only the clock of the player to move runs, and none without clocks", () => {
  const clocks = new Clocks([FISCHER, FISCHER]);
  assert.equal(clocks.show(1, 0), null);
  clocks.set([{ main_s: 100, periods: 0 }, { main_s: 50, periods: 0 }], 2, 1000);
  assert.equal(clocks.show(1, 1030).time, "1:40");
  assert.equal(clocks.show(2, 1030).time, "0:20");
  clocks.set(clocks.at(1030), 0, 1030);
  assert.equal(clocks.show(2, 1099).time, "0:20");
});

test("players with different clocks have their own periods", () => {
  const clocks = new Clocks([timeControl(0, 0, 1, 1), timeControl(0, 0, 1, 30)]);
  clocks.set([{ main_s: 0, periods: 1 }, { main_s: 0, periods: 1 }], 2, 0);
  assert.equal(clocks.show(1, 0).time, "1.0");
  assert.equal(clocks.show(2, 0).time, "0:30");
});

// Texts.

const MOVES = ["a1", "b2", "Pass"].map((name, action) => ({ name, action, cells: [] }));

test("a typed move may be in upper or lower case", () => {
  assert.equal(text.parseMove(" B2 ", MOVES).move.action, 1);
  assert.equal(text.parseMove("pass", MOVES).move.action, 2);
});

test("upper and lower case count between two moves that differ in nothing else", () => {
  const moves = ["Bxc6", "bxc6", "Nf3"].map((name, action) => ({ name, action, cells: [] }));
  assert.equal(text.parseMove("Bxc6", moves).move.action, 0);
  assert.equal(text.parseMove("bxc6", moves).move.action, 1);
  assert.equal(text.parseMove("nf3", moves).move.action, 2);
});

test("for an impossible move the legal ones are listed", () => {
  assert.match(text.parseMove("c3", MOVES).fault, /“c3” is not possible.*a1, b2, Pass\.$/);
  assert.match(text.parseMove(" ", MOVES).fault, /Type/);
  const many = Array.from({ length: 30 }, (_, at) => ({ name: `m${at}`, action: at, cells: [] }));
  assert.match(text.parseMove("x".repeat(99), many).fault, /^“x{20}” .*m11 and 18 more\.$/);
});

// Captured pieces.

const MATERIAL = { pawn: 1, knight: 3, queen: 9 };
/** A position with pieces as in "pPPq": upper case belongs to player 1. */
const pieces = (letters) => ({
  cells: [...letters].map((letter) => (letter === letter.toUpperCase() ? 1 : 2)),
  kinds: [...letters].map((letter) => ({ p: "pawn", n: "knight", q: "queen", k: "king" })[letter.toLowerCase()]),
});

test("pieces that are missing were captured, unless they were promoted", () => {
  const first = pieces("PPPNQKpppnqk");
  const of = (now, owner) => captured(MATERIAL, first, pieces(now), owner).map(([kind, count]) => `${count} ${kind}`);
  assert.deepEqual(of("PPPNQKpppnqk", 1), []);
  assert.deepEqual(of("PNQKpppnqk", 1), ["2 pawn"]);
  assert.deepEqual(of("PNQKpnk", 2), ["1 queen", "2 pawn"]);
  assert.deepEqual(of("PPNQQKpk", 1), []); // a pawn became a queen
  assert.deepEqual(of("PNQQKk", 1), ["1 pawn"]);
  assert.equal(leadOf(MATERIAL, pieces("PPNQQKpk"), 1), 22);
  assert.equal(leadOf(MATERIAL, pieces("PPNQQKpk"), 2), -22);
});

test("a move that removes or turns pieces of the opponent is a capture", () => {
  const isCapture = (...cells) => {
    const positions = [{ view: { cells: [1, 2, 0] } }, { view: { cells }, player: 1 }];
    return new MatchRecord({ ...DATA, positions }).hasCaptured;
  };
  assert.ok(isCapture(0, 1, 0));
  assert.ok(isCapture(1, 1, 1));
  assert.ok(!isCapture(1, 2, 1));
  assert.ok(!isCapture(0, 2, 0));
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
const record = () => new MatchRecord(structuredClone(DATA));

test("a move has its own number, and on a checkered board that of its pair", () => {
  const numbers = (surface, ...movers) => {
    const moves = movers.map((player) => ({ view: position(0), player }));
    const match = new MatchRecord({ ...DATA, board: { surface }, positions: [DATA.positions[0], ...moves] });
    return movers.map((_, at) => match.numberOf(at + 1)).join(" ");
  };
  assert.equal(numbers("plain", 1, 2, 1), "1 2 3");
  assert.equal(numbers("plain", 1, 1, 2, 2, 2, 1), "1 1 2 2 2 3"); // several steps of one move
  assert.equal(numbers("checkered", 1, 2, 1, 2), "1. 1… 2. 2…");
  assert.equal(numbers("checkered", 1, 1, 2, 2, 1), "1. 1. 1… 1… 2."); // jumps that go on
  assert.equal(numbers("checkered", 2, 1, 2), "1… 2. 2…");
});

test("clocks with a day or more for a move are slow", () => {
  const slow = (...control) => new MatchRecord({ ...DATA, time_control: timeControl(...control) }).isSlow;
  assert.ok(slow(86400, 0, 0, 0));
  assert.ok(slow(0, 0, 1, 86400));
  assert.ok(!slow(3600, 30, 5, 60));
  assert.ok(!new MatchRecord({ ...DATA, time_control: null }).isSlow);
});

test("moves are added in order and once, and a gap is reported", () => {
  const match = record();
  assert.ok(match.add(update(1, { legal_moves: MOVES })));
  assert.deepEqual([match.last, match.toMove, match.legalMoves], [2, 1, MOVES]);
  assert.ok(match.add(update(1)));
  assert.equal(match.last, 2);
  assert.ok(!match.add(update(3)));
  assert.equal(match.last, 2);
});

test("started replaces the state, and missing positions are reported", () => {
  const match = record();
  assert.ok(match.start({ moves: [0], to_move: 2, seat: 2, legal_moves: MOVES }));
  assert.deepEqual([match.seat, match.legalMoves], [2, MOVES]);
  assert.ok(!match.start({ moves: [0, 1], to_move: 1 }));
  assert.deepEqual([match.seat, match.legalMoves], [null, []]);
});

test("data older than the known state is ignored", () => {
  const match = record();
  match.add(update(1));
  assert.ok(!match.refresh(DATA));
  assert.equal(match.last, 2);
  match.end({ winner: 1, returns: [1, 0], reason: "resignation", text: "Bob resigned" });
  assert.ok(!match.refresh({ ...DATA, positions: match.positions }));
  assert.ok(match.refresh({ ...DATA, positions: match.positions, result: { winner: 1 } }));
});

test("each position has its clocks, and the last one the current clocks", () => {
  const now = [{ main_s: 9, periods: 0 }, { main_s: 8, periods: 0 }];
  const clocked = { ...DATA, time_control: FISCHER, clocks: now };
  const match = new MatchRecord(structuredClone(clocked));
  assert.deepEqual(match.clocksAt(1), now);
  assert.deepEqual(match.clocksAt(0), [{ main_s: 300, periods: 0 }, { main_s: 300, periods: 0 }]);
  const later = [{ main_s: 9, periods: 0 }, { main_s: 4, periods: 0 }];
  match.add(update(1, { clocks: later }));
  match.end({ winner: 1, returns: [1, 0], reason: "rules", text: "Ann won" });
  assert.deepEqual(match.clocksAt(2), later);
  assert.equal(record().clocksAt(1), null);
});

test("all win rates are those of player 1", () => {
  const match = record();
  for (const ply of [1, 2, 3]) match.add(update(ply));
  match.analyse({ ply: 1, info: { win_rate: 0.3 } });
  match.analyse({ ply: 3, info: { win_rate: 0.9, proven: -1 }, pv: ["a1"], candidates: [] });
  match.analyse({ ply: 9, info: { win_rate: 0.9 } }); // of a move that was taken back
  assert.deepEqual(match.positions[4].view.pv, ["a1"]);
  const [first, second, judged] = match.rates();
  assert.deepEqual(first, [{ ply: 1, rate: 0.6 }]);
  assert.deepEqual(second, [{ ply: 2, rate: 0.7 }, { ply: 4, rate: 1 }]);
  assert.deepEqual(judged, []);
});

test("the largest losses are between the win rates of a player", () => {
  const match = record(); // player 1 has sent 60 % with move 1
  for (const [ply, win_rate] of [[1, 0.3], [2, 0.2], [3, 0.35], [4, 0.15]]) {
    match.add(update(ply));
    match.analyse({ ply, info: { win_rate } });
  }
  assert.deepEqual(largestLosses(match).map(({ ply, player }) => [ply, player]), [[1, 1]]);
});

test("a bot that has judged the positions says which moves lost the most", () => {
  const match = record();
  for (const ply of [1, 2, 3]) match.add(update(ply));
  match.startJudging("Max");
  const rates = [0.5, 0.2, 0.75, 0.7]; // for the player to move: 50, 80, 75 and 30 % for player 1
  rates.forEach((win_rate, ply) => match.addJudgement(ply, 1 + (ply % 2), { win_rate }));
  assert.ok(!match.addJudgement(4, 1, {}));
  const found = largestLosses(match).map(({ ply, player, loss }) => [ply, player, loss.toFixed(2)]);
  assert.deepEqual(found, [[3, 1, "0.45"]]);
  assert.equal(match.speakers[2], "Max");
  assert.deepEqual(signedLosses(match).map(({ ply, sign }) => [ply, sign]), [[3, "??"]]);
  for (const [win_rate, sign] of [[0.5, "?"], [0.61, "?!"], [0.7, undefined]]) {
    match.addJudgement(3, 2, { win_rate: 1 - win_rate });
    assert.equal(signedLosses(match).find(({ ply }) => ply === 3)?.sign, sign);
  }
});

test("the end by the rules is judged by them", () => {
  const match = record();
  match.end({ winner: 2, returns: [0, 1], reason: "rules", text: "Bob won" });
  match.startJudging("Max");
  assert.deepEqual(match.rates()[2], [{ ply: 1, rate: 0 }]);
});

/** Have a bot judge a match, which says 20 % for the player to move in each position. `toMove` is what
 * the server says about the last position, null where it says nothing. */
async function judged(match, toMove) {
  const asked = [];
  const told = { ok: toMove !== null, json: async () => ({ to_move: toMove }) };
  globalThis.fetch = async (address) => {
    asked.push(address);
    return told;
  };
  const over = new Promise((resolve) => {
    const connection = {
      send() {},
      async request({ moves }) {
        const id = `analysis ${moves.length}`;
        setTimeout(() => all.receive({ type: "analysis_update", analysis: id, info: { win_rate: 0.2 }, over: true }));
        return { analysis: id, bot: "Max" };
      },
    };
    const all = new MatchAnalysis(() => connection, match, () => all.isRunning || resolve(all));
    all.start("Max");
  });
  return { asked, text: (await over).text };
}

test("the last position is judged for the player who would have moved, if no rule has ended it", async () => {
  const match = record();
  match.end({ winner: 1, returns: [1, 0], reason: "resignation", text: "Bob resigned" });
  const { asked, text: fault } = await judged(match, 2);
  assert.deepEqual(asked, ["/matches/m1/positions.json?ply=1&moves="]);
  assert.deepEqual(match.rates()[2], [{ ply: 0, rate: 0.2 }, { ply: 1, rate: 0.8 }]);
  assert.equal(fault, "");
});

test("the last position of a running match is judged, and that after the rules' end is not", async () => {
  const running = record();
  await judged(running, 1);
  assert.deepEqual(running.rates()[2], [{ ply: 0, rate: 0.2 }, { ply: 1, rate: 0.8 }]);
  const ended = record();
  ended.end({ winner: 2, returns: [0, 1], reason: "rules", text: "Bob won" });
  const { asked } = await judged(ended, 1);
  assert.deepEqual(asked, []);
  assert.deepEqual(ended.rates()[2], [{ ply: 0, rate: 0.2 }, { ply: 1, rate: 0 }]);
});

test("an unknown player to move in the last position ends the analysis with the reason", async () => {
  const match = record();
  match.end({ winner: 1, returns: [1, 0], reason: "time", text: "Bob ran out of time" });
  assert.match((await judged(match, null)).text, /cannot show this position/);
  assert.deepEqual((await judged(match, 0)).text, ""); // the game is over there
  assert.deepEqual(match.rates()[2], [{ ply: 0, rate: 0.2 }]);
});

test("a move is announced with the player to move", () => {
  const match = record();
  match.seat = 2;
  match.add(update(1));
  assert.equal(text.announcement(update(1), match), "You play move 2; Ann to move.");
  match.add(update(2));
  assert.equal(text.announcement(update(2), match), "Ann plays move 3; your turn.");
  match.add(update(3, { to_move: 0 }));
  assert.equal(text.announcement(update(3), match), "You play move 4.");
});

test("before the server stops, the fate of running matches is told", () => {
  assert.match(text.closingText({ seconds: 4.2, kept: true }), /5 seconds .*go on/);
  assert.match(text.closingText({ seconds: 4.2 }), /no result/);
});

test("the result is shown in words", () => {
  const match = record();
  assert.equal(text.statusText(match), "Bob to move");
  match.end({ winner: 1, returns: [1, 0], reason: "time", text: "Bob ran out of time" });
  assert.equal(text.statusText(match), "Ann won");
  assert.equal(text.reasonText(match.result), "Bob ran out of time");
  assert.equal(text.resultText(match.result, DATA.players, 1), "You won");
  assert.equal(text.resultText(match.result, DATA.players, 2), "You lost");
  assert.equal(text.resultText({ winner: -1 }, DATA.players), "A tie");
  assert.equal(text.resultText({ winner: 0 }, DATA.players), "No result");
  assert.equal(text.reasonText({ reason: "rules", text: "Ann won" }), "");
});

// Draws and takebacks.

/** A match in which this person, in seat 2, has made move 2. */
function playing(fields = {}) {
  const match = new MatchRecord(structuredClone({ ...DATA, ...fields }));
  match.start({ moves: [match.positions[1].action], to_move: 2, seat: 2 });
  match.add(update(1));
  return match;
}

test("a takeback leaves the first moves, and another may follow them", () => {
  const match = playing();
  const offer = { offer: "takeback", player: 2, ply: 2 };
  match.offer(offer);
  assert.ok(match.takeBack({ ply: 1, player: 2, to_move: 2, legal_moves: MOVES }));
  assert.deepEqual([match.last, match.toMove, match.legalMoves, match.offers], [1, 2, MOVES, []]);
  assert.equal(match.takebacks, 1);
  assert.ok(match.add(update(1, { action: 7 })));
  assert.equal(match.positions[2].action, 7);
  assert.ok(!match.takeBack({ ply: 5, player: 1, to_move: 1 }));
});

test("moves that were taken back while the page was away are dropped", () => {
  const match = playing();
  const [first] = [match.positions[1].action];
  assert.ok(!match.start({ moves: [first, 99], to_move: 1, seat: 2 }));
  assert.equal(match.last, 1);
  const browser = new PositionBrowser(2, 2);
  browser.extend(match.last);
  assert.equal(browser.ply, 1);
});

test("what may be offered follows from the moves and from earlier offers", () => {
  const fresh = record();
  fresh.seat = 2;
  assert.ok(fresh.mayAbort);
  assert.match(fresh.whyNotOffered("draw"), /once both players have moved/);
  assert.match(fresh.whyNotOffered("takeback"), /not moved yet/);
  const match = playing();
  assert.ok(!match.mayAbort);
  assert.equal(match.whyNotOffered("draw"), null);
  match.offer({ offer: "draw", player: 2, ply: 2 });
  assert.match(match.whyNotOffered("takeback"), /an offer already/);
  match.closeOffer({ offer: "draw", player: 2 });
  assert.equal(match.whyNotOffered("takeback"), null);
  assert.match(match.whyNotOffered("draw"), /after your next move/);
  match.add(update(2));
  match.add(update(3));
  assert.equal(match.whyNotOffered("draw"), null);
});

test("players see whose offer it is, and spectators have none to answer", () => {
  const match = playing();
  const offer = { offer: "draw", player: 1, ply: 2 };
  match.offer(offer);
  assert.deepEqual([match.opponentsOffer, match.ownOffer], [offer, null]);
  assert.equal(text.offerText(offer, match), "Ann offers a draw.");
  const own = { ...offer, offer: "takeback", player: 2 };
  const waiting = "You ask to take a move back. Ann can accept, or decline by a move.";
  assert.equal(text.offerText(own, match), waiting);
  const said = (each, how) => text.closedOfferText({ ...each, how }, match);
  assert.equal(said(offer, "declined"), "You have declined the draw.");
  assert.equal(said(offer, "withdrawn"), "Ann has withdrawn the draw.");
  assert.equal(said(own, "declined"), "Ann has declined the takeback.");
  match.toMove = 2;
  const taken = text.takebackText({ player: 2, ply: 1 }, match);
  assert.equal(taken, "You take a move back, to move 1; your turn.");
  match.seat = null;
  assert.equal(match.opponentsOffer, null);
});

// Counting.

/** The cells of a picture: X is Black, O is White. */
const cellsOf = (...rows) => rows.join("").split("").map((each) => ".XO".indexOf(each));

test("stones and what they surround are points, and dead stones are captured", () => {
  const board = { rows: 3, columns: 4 };
  const cells = cellsOf(".X.O", "XX.O", "O..O");
  assert.deepEqual(pointsOf(board, cells, new Set()), [4, 4]);
  assert.deepEqual(pointsOf(board, cells, new Set([8])), [4, 3]);
  assert.deepEqual(pointsOf(board, cells, new Set([3, 7, 8, 11])), [12, 0]);
  assert.deepEqual(pointsOf(board, cells.map(() => 0), new Set()), [0, 0]);
});

test("stones that are reached over empty cells are marked together", () => {
  const board = { rows: 3, columns: 4 };
  const cells = cellsOf("O.X.", ".OX.", "..XO");
  assert.deepEqual(groupOf(board, cells, 0).sort(), [0, 5]);
  assert.deepEqual(groupOf(board, cells, 11), [11]);
  assert.deepEqual(groupOf(board, cells, 2).sort((one, other) => one - other), [2, 6, 10]);
});

test("prisoners are the stones that have left the board", () => {
  const positions = [cellsOf("OX", ".."), cellsOf("OX", "X."), cellsOf(".X", "X."), cellsOf(".X", "XO")];
  const views = positions.map((cells) => ({ view: { cells } }));
  assert.deepEqual([0, 1, 2, 3].map((ply) => prisonersOf(views, ply, 1)), [0, 0, 1, 1]);
  assert.equal(prisonersOf(views, 3, 2), 0);
});

// Games with dice.

/** A match of moves, [player, name]; 0 rolls. */
function rolled(geometry, ...moves) {
  const view = (name) => ({ cells: [], last: [], name });
  const positions = [{ view: view() }, ...moves.map(([player, name]) => ({ player, view: view(name) }))];
  return new MatchRecord({ ...DATA, board: { geometry, cell_labels: [] }, positions, to_move: 1, result: null });
}

/** The plies of each move of a player. */
function movesOfPlayers(record) {
  const found = [];
  for (let ply = 1; ply <= record.last; ply += 1) {
    if (record.isStep(ply)) found.at(-1).push(ply);
    else found.push([record.moverOf(ply), ply]);
  }
  return found;
}

test("a roll is part of the move after it, and of the one before it where a player chose to roll", () => {
  const double = rolled("points", [0, "31"], [2, "8/5 6/5"], [0, "22"], [1, "24/22(2)"], [1, "6/4(2)"], [0, "65"]);
  assert.deepEqual(movesOfPlayers(double), [[2, 1, 2], [1, 3, 4, 5], [1, 6]]);
  assert.equal(double.numberOf(5), "2");
  const pig = rolled("scores", [1, "roll"], [0, "5"], [1, "roll"], [0, "1"], [2, "roll"], [0, "4"], [2, "hold"], [1, "roll"]);
  assert.deepEqual(movesOfPlayers(pig), [[1, 1, 2, 3, 4], [2, 5, 6, 7], [1, 8]]);
  assert.ok(pig.hasSteps);
});

test("rolls are written as players write them, and announced in words", () => {
  const [points, grid] = [{ geometry: "points" }, { geometry: "grid" }];
  assert.deepEqual([text.rollText(points, "13"), text.rolledText(points, "13")], ["3-1:", "rolled 3-1"]);
  assert.deepEqual([text.rollText(grid, "4"), text.rolledText(grid, "4")], ["4:", "rolled 4"]);
  assert.deepEqual([text.rollText({ geometry: "scores" }, "6"), text.rollText(grid, "314256")], ["6", "314256"]);
  assert.equal(text.rolledText(grid, "314256"), "set-up 314256");
  const record = { board: points, players: ["Ann", "Bob"], seat: 1, toMove: 1 };
  const event = { player: 2, views: [{ name: "8/5 6/5" }], view: { name: "42" } };
  assert.equal(text.announcement(event, record), "Bob plays 8/5 6/5; rolled 4-2; your turn.");
  assert.deepEqual(text.parseMove("6/5  8/5", [{ name: "8/5 6/5" }]).move, { name: "8/5 6/5" });
});

test("the luck of a match is awaited from its end until its data say that it is known", () => {
  const record = rolled("points", [0, "31"], [2, "8/5 6/5"]);
  record.board.has_chance = true;
  const found = () => [record.awaitsLuck, record.luck];
  assert.deepEqual(found(), [false, null]);
  record.end({ winner: 2, returns: [0, 1], reason: "resignation" });
  assert.deepEqual(found(), [true, null]);
  const { positions, result } = record;
  const data = (rolls, awaited) => ({ positions, result, rolls, luck_awaited: awaited });
  record.refresh(data([{ ply: 0 }], true));
  assert.deepEqual(found(), [true, null]);
  record.refresh(data([{ ply: 0, luck: -0.25 }]));
  assert.deepEqual(found(), [false, -0.25]);
  record.refresh(data([{ ply: 0 }]));
  assert.deepEqual(found(), [false, null]);
  assert.deepEqual([-0.25, 0.1236, -0.0001].map(text.luckText), ["-0.250", "+0.124", "+0.000"]);
});

test("a roll that allows no move is a pass, which the page makes", () => {
  const record = rolled("points", [0, "31"]);
  record.seat = 1;
  record.legalMoves = [{ action: 1351, name: "pass", cells: [] }];
  assert.ok(record.mustPass);
  assert.equal(text.statusText(record), "You cannot move");
  record.legalMoves = [{ action: 3, name: "8/5 6/5", cells: [1, 2, 3, 2] }];
  assert.ok(!record.mustPass);
});
