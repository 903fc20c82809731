// The page of administrators: shows the state of the server, and changes accounts, sessions, matches.
// The server checks each request; to others it answers with an error, and this page shows nothing.

import { showConnectionStatus } from "./connection_status.js";
import { html } from "./elements.js";
import { updateKeyedList } from "./keyed_list.js";
import { matchAddress } from "./navigation.js";
import { ServerConnection } from "./server_connection.js";
import { gettext, listText, ngettext, numberText, pgettext, told } from "./texts.js";
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
    find("gate").textContent = gettext("This page is for administrators of the server. %(name)s is not one.", { name: connection.name });
  }
}

async function show() {
  const state = await connection.request({ type: "inspect_server" });
  const listing = await connection.request({ type: "list" });
  find("gate").hidden = true;
  find("administration").hidden = false;
  find("health").textContent = state.fault ? gettext("Not healthy: %(fault)s", { fault: state.fault }) : gettext("The server is healthy.");
  find("warning").textContent = state.warning ?? "";
  find("jobs").replaceChildren(...(state.jobs ?? ["no jobs"]).map((job) => html("li", {}, told(job))));
  rowsOf(gettext("Limits")).replaceChildren(...state.limits.map(({ name, value }) => row([`--${name.replaceAll("_", "-")}`, value])));
  rowsOf(gettext("Metrics")).replaceChildren(...state.metrics.map(({ name, value, text }) => row([name, rounded(value), text])));
  const errors = (state.errors ?? []).map(({ at, level, text }) => html("li", { class: "log" }, `${moment(at)} ${level}: ${text}`));
  find("errors").replaceChildren(...(errors.length ? errors : [html("li", { class: "muted" }, gettext("None since the start."))]));
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
  return Number.isInteger(value) ? numberText(value) : numberText(Number(value.toPrecision(3)));
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
      const text = gettext("Kick %(name)s? All its sessions end, and its running matches are lost.", { name });
      const done = gettext("%(name)s was kicked.", { name });
      const kick = button(gettext("Kick"), name, () => confirm(text) && change({ type: "kick", name }, done));
      return html("li", { class: "row apart" }, html("span", { class: "name" }), kick);
    },
    ({ firstElementChild }, { name, role, guest, count }) => {
      const kind = listText([told(role), guest && gettext("guest")].filter(Boolean));
      const sessions = count > 1 && ngettext("%(num)s session", "%(num)s sessions", count);
      firstElementChild.textContent = [name, kind, sessions].filter(Boolean).join(" · ");
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
      const text = gettext("Abort the match %(names)s? It ends without a result.", { names });
      const done = gettext("The match was aborted.");
      const abort = button(gettext("Abort"), names, () => confirm(text) && change({ type: "abort", match }, done));
      return html("li", { class: "row apart" }, html("span", {}, link, ` · ${gameText(game)}`), abort);
    },
  );
}

function showBots(players, limits) {
  const most = limits.find(({ name }) => name === "bots").value;
  const bots = (connection.welcome.bots ?? []).map(({ name, level, player }) => {
    const playing = players.filter((each) => each.name === name).length;
    const facts = [level ? told(level[0].toUpperCase() + level.slice(1)) : gettext("no level"), gettext("%(num)s playing", { num: playing })];
    return html("li", {}, html("b", { class: "name" }, name), ` · ${facts.join(" · ")} · `, html("code", {}, player));
  });
  find("bots").replaceChildren(...bots, html("li", { class: "muted" }, gettext("At most %(num)s at once.", { num: most })));
}

// Accounts.

async function search() {
  const { accounts, total } = await connection.request({ type: "list_accounts", search: find("search-text").value });
  find("found").textContent = total > accounts.length ? gettext("The first %(num)s of %(total)s", { num: accounts.length, total }) : gettext("%(num)s found", { num: total });
  rowsOf(gettext("Accounts")).replaceChildren(...accounts.map(accountRow));
}

function accountRow({ name, created_at, administrator, locked, bot }) {
  const link = html("a", { href: `/players/${encodeURIComponent(name)}` }, name);
  const status = listText([administrator && gettext("administrator"), bot && gettext("bot"), locked && gettext("locked")].filter(Boolean));
  const buttons = administrator || bot ? [] : [
    button(gettext("Rename"), name, () => rename(name)),
    button(locked ? gettext("Unlock") : pgettext("account", "Lock"), name, () => lock(name, !locked)),
    button(gettext("New link"), name, () => renew(name)),
  ];
  const cells = [link, day(created_at), status, html("div", { class: "row nowrap" }, ...buttons)];
  return html("tr", {}, ...cells.map((cell, at) => html("td", { class: at === 0 && "who" }, cell)));
}

async function rename(name) {
  const question = gettext("New name of %(name)s; the token stays valid, and played matches keep the old name.", { name });
  const newName = prompt(question, name)?.trim();
  const done = gettext("%(name)s is now %(newName)s.", { name, newName });
  if (newName) await change({ type: "change_account", name, new_name: newName }, done);
}

async function lock(name, locked) {
  const question = gettext("Lock %(name)s? Nobody can use the name until you unlock it, and its running matches are lost.", { name });
  if (locked && !confirm(question)) return;
  const done = locked ? gettext("%(name)s is locked.", { name }) : gettext("%(name)s is unlocked.", { name });
  await change({ type: "change_account", name, locked }, done);
}

async function renew(name) {
  if (!confirm(gettext("Make a new link for %(name)s? The token that is in use becomes invalid.", { name }))) return;
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
  rowsOf(gettext("Links of accounts")).replaceChildren(...links.map(([name, link]) =>
    html("tr", {}, html("td", { class: "who" }, name), html("td", {}, html("code", {}, link)))));
  find("links").hidden = false;
  find("links-title").focus();
}

// Requests.

function button(text, subject, onClick) {
  const element = html("button", { type: "button", class: "button small", "aria-label": gettext("%(action)s %(subject)s", { action: text, subject }) }, text);
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
  rowsOf(gettext("Links of accounts")).replaceChildren();
  find("links").hidden = true;
});
document.addEventListener("visibilitychange", () => !document.hidden && connection.welcome && refresh());
