// The page on which administrators create tournaments. The form's fields come from the server, which
// checks the values, makes the file of them, and reads a file into them.

import { showConnectionStatus } from "./connection_status.js";
import { html } from "./elements.js";
import { ServerConnection } from "./server_connection.js";
import { gettext, ngettext, told } from "./texts.js";

/** Separates games, whose parameters have no blanks. */
const BLANKS = /\s+/;

const find = (id) => document.getElementById(id);
const form = find("organize");
const entrants = find("entrants");

/** The values without a field, from a file. */
let others = {};
/** The specification of the last check, if it had no faults and nothing has changed since. */
let spec = null;

const connection = new ServerConnection({
  views: false,
  onEvent: ({ type }) => type === "welcome" && begin(),
  onState: showConnectionStatus,
});

async function begin() {
  const isStaff = Boolean(connection.welcome.frame_bytes); // only administrators may send longer messages
  find("gate").hidden = isStaff;
  form.hidden = !isStaff;
  if (!isStaff) {
    find("gate").textContent = gettext("This page is for administrators of the server. %(name)s is not one.", { name: connection.name });
    return;
  }
  if (!entrants.children.length) {
    addEntrant();
    for (const field of topFields()) { // a link may choose values
      const chosen = new URLSearchParams(location.search).get(field.dataset.path);
      if (chosen) show(field, chosen);
    }
  }
  const { players } = await connection.request({ type: "list" });
  find("present").replaceChildren(...players.filter(({ guest }) => !guest).map(({ name }) => html("option", { value: name })));
}

// Fields.

const fieldsOf = (element) => [...element.querySelectorAll("[data-kind]")];
const inputOf = (field) => field.querySelector("input,select");

/** The value of a field for the file; undefined if it is empty. */
function valueOf(field) {
  const input = inputOf(field), text = input.value.trim();
  if (field.dataset.kind === "truth") return input.checked || undefined;
  if (!text) return undefined;
  if (field.dataset.kind === "games") return text.split(BLANKS);
  if (field.dataset.kind === "moment") return new Date(text).toISOString();
  if (["whole", "number"].includes(field.dataset.kind)) return Number.isFinite(Number(text)) ? Number(text) : text;
  return text;
}

function show(field, value) {
  const input = inputOf(field);
  if (field.dataset.kind === "truth") input.checked = Boolean(value);
  else if (field.dataset.kind === "games") input.value = Array.isArray(value) ? value.join(" ") : "";
  else {
    const text = field.dataset.kind === "moment" ? localTime(value) : String(value ?? "");
    if (input.localName === "select" && text && ![...input.options].some((each) => each.value === text)) input.append(html("option", { value: text }, text));
    input.value = text;
  }
}

/** A time as an input of the local time has it, without seconds; empty for no time. */
function localTime(text) {
  const at = new Date(text ?? "");
  return Number.isNaN(at.getTime()) ? "" : new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The values of the fields within an element, over `base`, by the path of each. */
function collected(element, base) {
  const values = structuredClone(base);
  for (const field of fieldsOf(element)) {
    const keys = field.dataset.path.split("."), last = keys.pop();
    const value = valueOf(field);
    let table = values;
    for (const key of keys) {
      if (value === undefined && !table[key]) break;
      table = table[key] ??= {};
    }
    if (value !== undefined) table[last] = value;
    else if (table !== values || !keys.length) delete table[last];
  }
  return values;
}

const topFields = () => fieldsOf(form).filter((each) => !entrants.contains(each));

/** All values of the form, as in a file. */
function values() {
  const top = { querySelectorAll: () => topFields() };
  const found = collected(top, others);
  for (const [key, value] of Object.entries(found)) {
    if (typeof value === "object" && !Array.isArray(value) && !Object.keys(value).length && !(key in others)) delete found[key];
  }
  found.entrants = [...entrants.children].map((each) => collected(each, each.others ?? {}));
  return found;
}

function fill(found) {
  others = structuredClone(found);
  delete others.entrants;
  for (const field of topFields()) show(field, field.dataset.path.split(".").reduce((table, key) => table?.[key], found));
  entrants.replaceChildren();
  const listed = Array.isArray(found.entrants) ? found.entrants : [];
  for (const each of listed) if (typeof each === "object") addEntrant(each);
}

function addEntrant(value = {}) {
  const row = find("entrant").content.firstElementChild.cloneNode(true);
  const number = entrants.children.length + 1;
  for (const field of fieldsOf(row)) {
    const input = inputOf(field);
    if (input.id) field.querySelector("label").htmlFor = input.id = `${input.id}-${Math.random().toString(36).slice(2)}`;
    if (field.dataset.path === "player") {
      const bots = (connection.welcome.bots ?? []).flatMap(({ name, player, players }) => [[name, player], ...Object.values(players ?? {}).map((other) => [name, other])]);
      input.replaceWith(html("select", { id: input.id }, html("option", { value: "" }, gettext("an account that logs in")),
        ...bots.map(([name, player]) => html("option", { value: player }, name === player ? name : `${name} · ${player}`))));
    }
    show(field, value[field.dataset.path]);
  }
  row.others = value;
  row.setAttribute("aria-label", gettext("Entrant %(number)s", { number }));
  row.querySelector("[data-remove]").addEventListener("click", () => {
    row.remove();
    changed();
  });
  entrants.append(row);
  return row;
}

/** After a change of the form, only another check allows the start. */
function changed() {
  spec = null;
  find("start").disabled = true;
}

// Checks.

async function check(request) {
  find("error").textContent = "";
  find("done").textContent = gettext("Checking …");
  for (const each of document.querySelectorAll("#organize .error")) each.textContent = "";
  changed();
  try {
    const draft = await connection.request({ type: "check_tournament", ...request });
    if (Object.keys(draft.values).length) fill(draft.values); // a text that is no TOML has none
    if (request.values) find("toml").value = draft.toml;
    offerDownload(find("toml").value);
    const faults = draft.faults ?? [];
    faults.forEach(showFault);
    spec = draft.spec ?? null;
    find("start").disabled = !spec;
    find("done").textContent = faults.length
      ? ngettext("%(num)s fault", "%(num)s faults", faults.length)
      : gettext("There are no faults: it can start.");
  } catch ({ message }) {
    find("done").textContent = "";
    find("error").textContent = message;
  }
}

/** Show a fault beside its field, or beside the nearest one around it. */
function showFault({ path, line, text }) {
  const keys = path.map(String);
  const row = keys[0] === "entrants" && keys.length > 1 ? entrants.children[keys[1]] : null;
  const rest = row ? keys.slice(2) : keys;
  let place = null;
  for (let length = rest.length; length > 0 && !place; length -= 1) {
    const wanted = rest.slice(0, length).join(".");
    place = (row ?? form).querySelector(`[data-path="${CSS.escape(wanted)}"]`);
  }
  for (let around = place?.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
  const shown = place?.querySelector(".error") ?? row?.querySelector(".error") ?? find("error");
  const fault = shown === find("error") ? gettext("Line %(line)s: %(text)s", { line, text: told(text) }) : told(text);
  shown.textContent = [shown.textContent, fault].filter(Boolean).join(" · ");
}

function offerDownload(text) {
  const link = find("download");
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  link.hidden = false;
}

async function start() {
  find("start").disabled = true;
  try {
    const { tournament } = await connection.request({ type: "create_tournament", spec, hosted: true });
    location.href = `/tournaments/${tournament}`;
  } catch ({ message }) {
    find("error").textContent = message;
  }
}

async function upload({ target }) {
  const [file] = target.files;
  if (!file) return;
  find("toml").value = await file.text();
  target.value = "";
  await check({ toml: find("toml").value });
}

form.addEventListener("input", (event) => event.target.id !== "upload" && changed());
form.addEventListener("submit", (event) => event.preventDefault());
find("add").addEventListener("click", () => {
  changed();
  inputOf(addEntrant().querySelector("[data-kind]")).focus();
});
find("add-bots").addEventListener("click", () => {
  changed();
  for (const row of [...entrants.children]) if (!valueOf(fieldsOf(row)[0])) row.remove();
  for (const { name, player } of connection.welcome.bots ?? []) addEntrant({ name, player });
});
find("check").addEventListener("click", () => check({ values: values() }));
find("use").addEventListener("click", () => check({ toml: find("toml").value }));
find("upload").addEventListener("change", upload);
find("start").addEventListener("click", start);
