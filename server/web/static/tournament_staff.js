// The part of a tournament's page for administrators: pause, more rounds, other entrants, the end.

import { html } from "./elements.js";
import { gettext, told } from "./texts.js";

const find = (id) => document.getElementById(id);
const section = find("staff");

let isPaused = false;
let rounds = Number(section?.dataset.rounds);
let request = null;

/** Show the part to an administrator, by an event of the connection. */
export function showStaff(connection, event, tournament) {
  if (!section) return;
  if (event.type === "welcome" && event.frame_bytes && section.hidden) begin(connection, event, tournament);
  if (event.type !== "tournament" || event.tournament !== tournament) return;
  isPaused = Boolean(event.paused);
  rounds = event.spec.rounds;
  find("pause").textContent = isPaused ? gettext("Continue") : gettext("Pause");
  const [late] = find("replaced").options;
  const names = event.spec.entrants.filter((_, place) => !(event.withdrawn ?? []).includes(place)).map(({ name }) => name);
  find("replaced").replaceChildren(late, ...names.map((name) => html("option", { value: name }, gettext("in place of %(name)s", { name }))));
  find("new-player").disabled = !event.hosted;
  if (event.over) section.hidden = true;
}

function begin(connection, welcome, tournament) {
  section.hidden = false; // only administrators may send longer messages
  request = (fields) => ask(connection, { tournament, ...fields });
  for (const { name, player } of welcome.bots ?? []) find("new-player").append(html("option", { value: player }, name));
  find("pause").addEventListener("click", () => request({ type: "change_tournament", paused: !isPaused }));
  find("extend").addEventListener("click", () => request({ type: "change_tournament", rounds: rounds + 1 }));
  find("end").addEventListener("click", () => confirm(gettext("End this tournament with the results so far? Running matches are aborted.")) && request({ type: "end_tournament" }));
  find("enter").addEventListener("submit", enter);
}

async function enter(event) {
  event.preventDefault();
  const entrant = { name: find("new-name").value.trim(), version: "", player: find("new-player").value || null };
  const replaced = find("replaced").value || null;
  if (await request({ type: "change_tournament", replaced, entrant })) event.target.reset();
}

/** Send a request; show its error. Returns whether it was carried out. */
async function ask(connection, message) {
  find("staff-error").textContent = "";
  try {
    await connection.request(message);
    return true;
  } catch ({ message: text }) {
    find("staff-error").textContent = told(text);
    return false;
  }
}
