// The lists of the lobby, from an overview and its news: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Overview } from "../../server/web/static/overview.js";

const ANN = { name: "Ann", role: "bot" };
const BOB = { name: "Bob", role: "human", guest: true };
const SEEK = { type: "seeking", seek: "s1", name: "Ann", game: "nim", matches: 2 };
const MATCH = { match: "m1", game: "nim", players: ["Ann", "Bob"], clock: "none", ply: 3 };
const TOTALS = { humans: 1, bots: 1, spectators: 0, seeks: 1, matches: 1 };

const outcome = (match) => ({ match, game: "nim", players: ["Ann", "Bob"], plies: 7, text: "Ann won" });

function shown() {
  const overview = new Overview();
  const outcomes = [outcome("m-2"), outcome("m-1")];
  const event = { players: [ANN, BOB], seeks: [SEEK], matches: [MATCH], outcomes, totals: TOTALS };
  assert.ok(overview.apply({ type: "overview", ...event }));
  return overview;
}

test("an overview fills all lists, with the latest result first", () => {
  const overview = shown();
  assert.deepEqual([...overview.players.values()], [ANN, BOB]);
  assert.deepEqual([...overview.seeks.keys()], ["s1"]);
  assert.deepEqual([...overview.matches.keys()], ["m1"]);
  assert.deepEqual(overview.outcomes.map(({ match }) => match), ["m-1", "m-2"]);
});

test("news add and remove items; other items stay", () => {
  const overview = shown();
  overview.apply({ type: "news", left: [BOB], gone: ["m1"], outcomes: [outcome("m1")] });
  assert.deepEqual([...overview.players.values()], [ANN]);
  assert.equal(overview.matches.size, 0);
  assert.deepEqual([...overview.seeks.values()], [SEEK]);
  assert.deepEqual(overview.outcomes.map(({ match }) => match), ["m1", "m-1", "m-2"]);
  assert.deepEqual(overview.totals, TOTALS);
});

test("a seek that is sent again replaces the old one", () => {
  const overview = shown();
  overview.apply({ type: "news", opened: [{ ...SEEK, matches: 1 }], totals: { ...TOTALS, seeks: 1 } });
  assert.deepEqual([...overview.seeks.values()], [{ ...SEEK, matches: 1 }]);
});

test("a guest and an account of the same name are two players", () => {
  const overview = shown();
  overview.apply({ type: "news", came: [{ ...ANN, guest: true }] });
  assert.equal(overview.players.size, 3);
});

test("an overview after a lost connection replaces all lists", () => {
  const overview = shown();
  const empty = { players: [], seeks: [], matches: [], outcomes: [], totals: TOTALS };
  overview.apply({ type: "overview", ...empty });
  assert.equal(overview.players.size + overview.seeks.size + overview.matches.size, 0);
});

test("other events are not applied", () => {
  assert.equal(new Overview().apply({ type: "started" }), false);
});
