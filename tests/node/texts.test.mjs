// The texts of scripts in the language of the page: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

const TEXTS = {
  "A tie": "Remis",
  "%(name)s to move": "%(name)s ist am Zug",
  "%(num)s move": { one: "%(num)s Zug", other: "%(num)s Züge" },
  "%(number)s %%": "%(number)s Prozent",
  ", ": " und ",
  "seat\u0004first": "zuerst",
  "data\u0004Chess": "Schach",
  "data\u0004%(name)s resigned": "%(name)s hat aufgegeben",
  "data\u0004is it over (%(name)s)?": "ist es vorbei, %(name)s?",
};

globalThis.document = {
  documentElement: { lang: "de" },
  getElementById: (id) => (id === "texts" ? { href: "/texts/de-1.json" } : null),
};
globalThis.fetch = async (address) => ({ ok: address === "/texts/de-1.json", json: async () => TEXTS });

const { gettext, listText, ngettext, numberText, pgettext, told } = await import("../../server/web/static/texts.js");

test("a text has its values in the order of the language", () => {
  assert.equal(gettext("A tie"), "Remis");
  assert.equal(gettext("%(name)s to move", { name: "%(num)s $&" }), "%(num)s $& ist am Zug");
  assert.equal(gettext("%(number)s %%", { number: 61 }), "61 Prozent");
  assert.equal(listText(["Ada", "Bo"]), "Ada und Bo");
});

test("a text with a number has the form of its plural", () => {
  assert.equal(ngettext("%(num)s move", "%(num)s moves", 1), "1 Zug");
  assert.equal(ngettext("%(num)s move", "%(num)s moves", 1500), "1.500 Züge");
  assert.equal(ngettext("%(num)s seed", "%(num)s seeds", 1), "1 seed");
  assert.equal(ngettext("%(num)s seed", "%(num)s seeds", 2), "2 seeds");
});

test("a context tells texts apart", () => {
  assert.equal(pgettext("seat", "first"), "zuerst");
  assert.equal(pgettext("place", "first"), "first");
});

test("texts of data are known as a whole, or by their pattern", () => {
  assert.equal(told("Chess"), "Schach");
  assert.equal(told("Ada resigned"), "Ada hat aufgegeben");
  assert.equal(told("is it over (Ada)?"), "ist es vorbei, Ada?");
  assert.equal(told("Ada 1.5 resigned"), "Ada 1.5 hat aufgegeben");
  assert.equal(told("1.5 resigned"), "1,5 hat aufgegeben");
  assert.equal(told("Ada sings"), "Ada sings");
  assert.equal(told("toString"), "toString");
});

test("numbers have the signs of the language", () => {
  assert.equal(numberText(1234.5), "1.234,5");
  assert.equal(numberText(61, 1), "61,0");
});
