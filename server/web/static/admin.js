// The page of administrators: shows the state of the server, and changes accounts, sessions, matches.
// The server checks each request; to others it answers with an error, and this page shows nothing.

import { showConnectionStatus } from "./connection_status.js";
import { html } from "./elements.js";
import { updateKeyedList } from "./keyed_list.js";
import { matchAddress } from "./navigation.js";
import { ServerConnection } from "./server_connection.js";
import { gameText } from "./wording.js";

const EVERY_MS = 5000;
/** The most entries in each list of the server. */
const LISTED = 200;

const find = (id) => document.getElementById(id);
const rowsOf = (label) => document.querySelector(`[aria-label="${label}"] tbody`);
const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);
const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");

let timer = null;

const connection = new ServerConnection({
  views: false,
  onEvent: ({ type }) => type === "welcome" && begin(),
  onState: showConnectionStatus,
});

/** Show the page if this person is an administrator. */
async function begin() {
  await refresh();
  if (!find("administration").hidden) await search();
}

// What is shown.

async function refresh() {
  try {
    if (!document.hidden) await show();
    clearTimeout(timer);
    timer = setTimeout(refresh, EVERY_MS);
  } catch (error) {
    if (error.code === "lost") return; // the next welcome begins again
    if (error.code !== "not_allowed") throw error;
    if (!find("administration").hidden) return location.reload(); // which removes all data
    find("gate").textContent = `This page is for administrators of the server. ${connection.name} is not one: ${error.message}.`;
  }
}

async function show() {
  const state = await connection.request({ type: "inspect_server" });
  const listing = await connection.request({ type: "list" });
  find("gate").hidden = true;
  find("administration").hidden = false;
  find("health").textContent = state.fault ? `Not healthy: ${state.fault}` : "The server is healthy.";
  find("warning").textContent = state.warning ?? "";
  find("jobs").replaceChildren(...(state.jobs ?? ["no jobs"]).map((job) => html("li", {}, job)));
  rowsOf("Limits").replaceChildren(...state.limits.map(({ name, value }) => row([`--${name.replaceAll("_", "-")}`, value])));
  rowsOf("Metrics").replaceChildren(...state.metrics.map(({ name, value, text }) => row([name, rounded(value), text])));
  const errors = (state.errors ?? []).map(({ at, level, text }) => html("li", { class: "log" }, `${moment(at)} ${level}: ${text}`));
  find("errors").replaceChildren(...(errors.length ? errors : [html("li", { class: "muted" }, "None since the start.")]));
  find("more").hidden = Math.max(listing.players.length, listing.matches.length) < LISTED;
  showPresent(listing.players);
  showMatches(listing.matches);
  showBots(listing.players, state.limits);
}

/** A row of a table; the second of its values is aligned as a number. */
function row(values) {
  return html("tr", {}, ...values.map((value, at) => html("td", { class: at === 1 && "number" }, String(value))));
}

function rounded(value) {
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(3);
}

/** The connected names, each once with the number of its sessions. */
function showPresent(players) {
  const sessions = new Map();
  for (const each of players) {
    const known = sessions.get(each.name);
    sessions.set(each.name, { ...each, count: (known?.count ?? 0) + 1 });
  }
  updateKeyedList(
    find("present"),
    "name",
    sessions,
    ({ name }) => {
      const text = `Kick ${name}? All its sessions end, and its running matches are lost.`;
      const kick = button("Kick", name, () => confirm(text) && change({ type: "kick", name }, `${name} was kicked.`));
      return html("li", { class: "row apart" }, html("span", { class: "name" }), kick);
    },
    ({ firstElementChild }, { name, role, guest, count }) => {
      const kind = guest ? `${role}, guest` : role;
      firstElementChild.textContent = `${name} · ${kind}${count > 1 ? ` · ${count} sessions` : ""}`;
    },
  );
}

function showMatches(matches) {
  updateKeyedList(
    find("running"),
    "match",
    matches.map((each) => [each.match, each]),
    ({ match, players, game }) => {
      const names = players.join(" – ");
      const link = html("a", { class: "name", href: matchAddress(match) }, names);
      const text = `Abort the match ${names}? It ends without a result.`;
      const abort = button("Abort", names, () => confirm(text) && change({ type: "abort", match }, "The match was aborted."));
      return html("li", { class: "row apart" }, html("span", {}, link, ` · ${gameText(game)}`), abort);
    },
  );
}

function showBots(players, limits) {
  const most = limits.find(({ name }) => name === "bots").value;
  const bots = (connection.welcome.bots ?? []).map(({ name, level, player }) => {
    const playing = players.filter((each) => each.name === name).length;
    return html("li", {}, html("b", { class: "name" }, name), ` · ${level ?? "no level"} · ${playing} playing · `, html("code", {}, player));
  });
  find("bots").replaceChildren(...bots, html("li", { class: "muted" }, `At most ${most} at once.`));
}

// Accounts.

async function search() {
  const { accounts, total } = await connection.request({ type: "list_accounts", search: find("search-text").value });
  find("found").textContent = total > accounts.length ? `The first ${accounts.length} of ${total}` : `${total} found`;
  rowsOf("Accounts").replaceChildren(...accounts.map(accountRow));
}

function accountRow({ name, created_at, administrator, locked, bot }) {
  const link = html("a", { href: `/players/${encodeURIComponent(name)}` }, name);
  const status = [administrator && "administrator", bot && "bot", locked && "locked"].filter(Boolean).join(", ");
  const buttons = administrator || bot ? [] : [
    button("Rename", name, () => rename(name)),
    button(locked ? "Unlock" : "Lock", name, () => lock(name, !locked)),
    button("New link", name, () => renew(name)),
  ];
  const cells = [link, day(created_at), status, html("div", { class: "row nowrap" }, ...buttons)];
  return html("tr", {}, ...cells.map((cell, at) => html("td", { class: at === 0 && "who" }, cell)));
}

async function rename(name) {
  const newName = prompt(`New name of ${name}; the token stays valid, and played matches keep the old name.`, name)?.trim();
  if (newName) await change({ type: "change_account", name, new_name: newName }, `${name} is now ${newName}.`);
}

async function lock(name, locked) {
  if (locked && !confirm(`Lock ${name}? Nobody can use the name until you unlock it, and its running matches are lost.`)) return;
  await change({ type: "change_account", name, locked }, `${name} is ${locked ? "locked" : "unlocked"}.`);
}

async function renew(name) {
  if (!confirm(`Make a new link for ${name}? The token that is in use becomes invalid.`)) return;
  const answer = await change({ type: "change_account", name, new_token: true }, "");
  if (answer) showLinks(answer.accounts);
}

async function create(event) {
  event.preventDefault();
  const field = find("create-names");
  const names = field.value.split("\n").map((name) => name.trim()).filter(Boolean);
  const answer = await change({ type: "create_accounts", names }, "");
  if (!answer) return;
  field.value = "";
  showLinks(answer.accounts);
}

/** Show the links of accounts with new tokens. */
function showLinks(accounts) {
  const links = accounts.map(({ name, token }) => [name, `${location.origin}/invite#${encodeURIComponent(name)}:${token}`]);
  rowsOf("Links of accounts").replaceChildren(...links.map(([name, link]) =>
    html("tr", {}, html("td", { class: "who" }, name), html("td", {}, html("code", {}, link)))));
  find("links").hidden = false;
  find("links-title").focus();
}

// Requests.

function button(text, subject, onClick) {
  const element = html("button", { type: "button", class: "button small", "aria-label": `${text} ${subject}` }, text);
  element.addEventListener("click", onClick);
  return element;
}

/** Send a request, show its error or `text`, and what it has changed. Returns the answer, or null. */
async function change(request, text) {
  find("error").textContent = "";
  try {
    const answer = await connection.request(request);
    find("done").textContent = text;
    await Promise.all([search(), refresh()]);
    return answer;
  } catch ({ message }) {
    find("error").textContent = message;
    find("error").scrollIntoView({ block: "nearest" });
    return null;
  }
}

find("search").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
find("create").addEventListener("submit", create);
find("print").addEventListener("click", () => print());
find("hide-links").addEventListener("click", () => {
  rowsOf("Links of accounts").replaceChildren();
  find("links").hidden = true;
});
document.addEventListener("visibilitychange", () => !document.hidden && connection.welcome && refresh());
