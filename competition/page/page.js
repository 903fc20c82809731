// The page of a competition: its standings or, for #team=NAME, those of a team; the submissions of
// one account or that team, and those of all.

import { dropped, packed } from "/folder.js";

const at = (id) => document.getElementById(id);
const time = (seconds) => new Date(seconds * 1000).toLocaleString();
let authorization = null;
let you = null;
let shown = null;

async function ask(path, options = {}) {
  const headers = authorization ? { Authorization: authorization } : {};
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

function row(cells, kind) {
  const line = document.createElement("tr");
  line.className = kind;
  for (const cell of cells) line.insertCell().append(cell);
  return line;
}

function left(seconds) {
  const minutes = Math.max(0, Math.floor(seconds / 60));
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h ${minutes % 60} min`;
}

function showState(state) {
  document.title = state.title;
  at("title").textContent = state.title;
  at("rules").textContent =
    `${state.game}, clock ${state.clock}. Bots speak ${state.protocols.join(", ")}; at most ` +
    `${state.submission_mb} MiB, ${state.submissions_per_day} submissions a day. ` +
    `${state.queued} in the queue.`;
  at("deadline").textContent = state.refusal
    ? `Nothing can be handed in: ${state.refusal}`
    : state.open
      ? `Open until ${time(state.deadline)}: ${left(state.deadline - state.now)} left.`
      : state.now < state.opens
        ? `Opens on ${time(state.opens)}.`
        : "Closed: nothing more is accepted.";
  at("standings").replaceChildren(
    ...state.standings.map((each, place) => row(
      [
        `${place + 1}`, nameOf(each, state.house), each.version, each.rating.toFixed(0),
        each.error === null ? "" : each.error.toFixed(0), `${each.matches}`, `${each.won + each.tied / 2}`,
      ],
      state.house.includes(each.name) ? "house" : each.retired ? "retired" : "",
    )),
  );
}

function nameOf({ name }, house) {
  if (house.includes(name)) return name;
  const link = document.createElement("a");
  link.href = `#team=${encodeURIComponent(name)}`;
  link.textContent = name;
  return link;
}

function chosenTeam() {
  const found = location.hash.match(/^#team=(.+)$/);
  return found && decodeURIComponent(found[1]);
}

function showTeam({ team, accounts, versions, matches, plot }) {
  at("team-name").textContent = team;
  at("accounts").textContent = accounts?.length ? `Accounts: ${accounts.join(", ")}` : "";
  const drawn = new DOMParser().parseFromString(plot, "text/html").body.childNodes;
  at("plot").replaceChildren(...drawn);
  at("versions").replaceChildren(
    ...versions.reverse().map((each) => row([each.version, time(each.at)], "")),
  );
  at("matches").replaceChildren(
    ...matches.map((each) => row([
      each.match, ...each.players,
      each.winner > 0 ? `${each.players[each.winner - 1]} won (${each.reason})` : each.reason,
      time(each.ended_at),
    ], "")),
  );
}

function action(text, act) {
  const button = document.createElement("button");
  button.textContent = text;
  button.addEventListener("click", act);
  return button;
}

function choice(submission) {
  return action(`${submission.id}`, () => { shown = submission.id; refresh(); });
}

function showOwn(submissions) {
  at("submissions").replaceChildren(
    ...submissions.reverse().map((each) => row(
      [choice(each), each.file, time(each.at), each.state, each.stage, each.reason], each.state,
    )),
  );
}

function showOne(submission) {
  at("which").textContent = `Submission ${submission.id}: ${submission.state}`;
  at("log").textContent = submission.log;
  at("uses").replaceChildren(
    ...submission.uses.reverse().map((each) => row(
      [each.match, `${each.cpu_s.toFixed(2)} s`, `${each.memory_mb} MiB`, each.end], "",
    )),
  );
}

async function change(name, value) {
  try {
    showAll(await ask(`staff/${name}/${encodeURIComponent(value)}`, { method: "PUT" }));
    at("message").textContent = "";
  } catch (error) {
    at("message").textContent = error.message;
  }
}

function showAll({ submissions, banned }) {
  at("staff").hidden = false;
  const waiting = submissions.filter((each) => each.waiting).length;
  const running = submissions.find((each) => each.state === "running");
  at("queue").textContent =
    `${waiting} in the queue; ` +
    (running ? `submission ${running.id} is at the stage ${running.stage}.` : "none is handled.");
  at("all").replaceChildren(
    ...submissions.reverse().map((each) => {
      const actions = document.createElement("span");
      const ban = banned.includes(each.team) ? "unban" : "ban";
      actions.append(action(ban, () => change(ban, each.team)));
      if (each.state === "failed" && !each.waiting) {
        actions.append(action("retry", () => change("retry", each.id)));
      }
      const { team, account, file, state, stage, reason } = each;
      return row(
        [choice(each), team, account, file, time(each.at), state, stage, reason, actions], state,
      );
    }),
  );
}

async function refresh() {
  try {
    showState(await ask("state"));
    const team = chosenTeam();
    document.body.classList.toggle("of-team", team !== null);
    at("team").hidden = team === null;
    const record = team && (await ask(`teams/${encodeURIComponent(team)}`));
    if (record) showTeam(record);
    if (!you) return;
    const submissions = record ? record.submissions : you.team && (await ask("submissions"));
    at("own").hidden = record !== null && !submissions;
    at("whose").textContent = record ? `Submissions of ${team}` : "Your submissions";
    showOwn(submissions ?? []);
    if (you.staff) showAll(await ask("staff"));
    if (shown !== null) showOne(await ask(`submissions/${shown}`));
  } catch (error) {
    at("message").textContent = error.message;
  }
}

at("account").addEventListener("submit", async (event) => {
  event.preventDefault();
  const bytes = new TextEncoder().encode(`${at("name").value}:${at("token").value}`);
  authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  try {
    you = (await ask("state")).you;
    if (!you?.staff) await ask("submissions");
    at("message").textContent = "";
    at("account").hidden = true;
    at("upload").hidden = !you.team;
  } catch (error) {
    authorization = you = null;
    at("message").textContent = error.message;
  }
  refresh();
});

// Hands in what `found` promises: a file, or the files of a folder with their paths.
async function handIn(found) {
  try {
    const { name, body } = await packed(await found);
    const path = `submissions/${encodeURIComponent(name)}`;
    shown = (await ask(path, { method: "PUT", body })).id;
    at("message").textContent = "";
  } catch (error) {
    at("message").textContent = error.message;
  }
  refresh();
}

at("upload").addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = at("file").files.length ? at("file").files : at("folder").files;
  handIn([...chosen].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
});

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  if (you?.team) handIn(dropped(event.dataTransfer));
});

at("extend").addEventListener("submit", (event) => {
  event.preventDefault();
  change("extend", new Date(at("until").value).toISOString());
});

addEventListener("hashchange", () => {
  shown = null;
  for (const part of ["which", "log", "uses"]) at(part).replaceChildren();
  refresh();
});

refresh();
setInterval(refresh, 1000);
