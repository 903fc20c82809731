// Texts in the language of the page. A text is written in English, with values as in "%(name)s won".
// A page in another language names the file with the translations; what is missing stays English.

/** The context of texts that come as data. */
const DATA = "data\u0004";

const language = globalThis.document?.documentElement.lang || "en";
const plurals = new Intl.PluralRules(language);
const translations = await load(globalThis.document?.getElementById("texts")?.href);

/** The texts of data that have values, as [pattern, translation]; made when they are needed. */
let patterns = null;

/** A text with these values. */
export function gettext(text, values = {}) {
  return filled(translations[text] ?? text, values);
}

/** A text that has another meaning elsewhere. */
export function pgettext(context, text, values = {}) {
  return filled(translations[`${context}\u0004${text}`] ?? text, values);
}

/** A text with a number, which is its value "num". */
export function ngettext(one, many, number, values = {}) {
  const english = number === 1 ? one : many;
  const text = translations[one]?.[plurals.select(number)] ?? english;
  return filled(text, { num: numberText(number), ...values });
}

/** A text that comes as data, such as the name of a game; it stays as it is if it is not known. */
export function told(text) {
  const known = translations[DATA + text];
  if (known) return filled(known, {});
  patterns ??= Object.entries(translations)
    .filter(([key]) => key.startsWith(DATA) && key.includes("%("))
    .sort(([one], [other]) => ownWords(other) - ownWords(one))
    .map(patternOf);
  for (const [pattern, translation] of patterns) {
    const found = pattern.exec(text);
    if (found) return filled(translation, Object.fromEntries(Object.entries(found.groups).map(valueOf)));
  }
  return text;
}

/** A number as the language writes it, with so many decimals; by default with those it has. */
export function numberText(number, digits) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits ?? 20 };
  return number.toLocaleString(language, options);
}

/** Several texts as a list. */
export function listText(texts) {
  return texts.join(gettext(", "));
}

async function load(address) {
  if (!address) return {};
  const response = await fetch(address).catch(() => null);
  return response?.ok ? response.json() : {};
}

function filled(text, values) {
  return text.replace(/%(?:\((\w+)\)s|%)/g, (_, name) => (name ? values[name] : "%"));
}

/** A value within a text that comes as data: decimals have the sign of the language. */
function valueOf([name, text]) {
  return [name, /^-?\d+\.\d+$/.test(text) ? numberText(Number(text)) : text];
}

/** The length of a text without its values: of two that fit, the longer one is meant. */
function ownWords(text) {
  return text.replace(/%\(\w+\)s/g, "").length;
}

function patternOf([key, translation]) {
  const parts = key.slice(DATA.length).split(/%\((\w+)\)s/);
  const escaped = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const sources = parts.map((part, at) => (at % 2 ? `(?<${part}>.+)` : escaped(part)));
  return [new RegExp(`^${sources.join("")}$`), translation];
}
