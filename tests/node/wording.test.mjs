// What pages call games and clocks: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { clockText, gameText, givesDays, titles } from "../../server/web/static/wording.js";

const { clocks, games } = JSON.parse(readFileSync(new URL("wording.json", import.meta.url)));

test("clocks are as people say them", () => {
  for (const [clock, text] of Object.entries(clocks)) assert.equal(clockText(clock), text);
  assert.equal(clockText(null), "any clock");
  assert.equal(clockText("another notation"), "another notation");
});

test("a clock of a day or more is for matches by correspondence", () => {
  for (const clock of ["86400/move", "86400+0", "0+3x28800", "172800+3600", "86400d60"]) assert.ok(givesDays(clock), clock);
  for (const clock of ["none", "86399/move", "300+3", "0+2x28800", "1+86400", "120d86400", "another notation"]) {
    assert.ok(!givesDays(clock), clock);
  }
});

test("games have their titles and parameters", () => {
  for (const [spec, text] of Object.entries(games)) {
    titles.set(spec.split("(")[0], text.split(" (")[0]);
    assert.equal(gameText(spec), text);
  }
  assert.equal(gameText("my_game(rows=3)"), "my game (rows 3)");
});
