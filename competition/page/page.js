// The page of a competition: its standings or, for #team=NAME, those of a team; the submissions of
// one account or that team, and those of all.

import { dropped, packed } from "/folder.js";
import { gettext, listText, ngettext, numberText, pgettext, told } from "/texts.js";

const STATES = {
  queued: gettext("queued"),
  running: gettext("running"),
  accepted: gettext("accepted"),
  refused: gettext("refused"),
  failed: gettext("failed"),
};
const STAGES = {
  unpack: pgettext("stage", "unpack"),
  build: pgettext("stage", "build"),
  check: pgettext("stage", "check"),
  matches: pgettext("stage", "matches"),
};
const at = (id) => document.getElementById(id);
const time = (seconds) => new Date(seconds * 1000).toLocaleString(document.documentElement.lang);
let authorization = null;
let you = null;
let shown = null;
let pages = "";

async function answerTo(path, options = {}) {
  const headers = authorization ? { Authorization: authorization } : {};
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!answer.ok) throw new Error(told((await answer.text()).trim()));
  return answer;
}

async function ask(path, options) {
  return (await answerTo(path, options)).json();
}

function row(cells, kind) {
  const line = document.createElement("tr");
  line.className = kind;
  for (const cell of cells) line.insertCell().append(cell);
  return line;
}

function left(seconds) {
  if (seconds < 3600) {
    const whole = Math.max(0, Math.floor(seconds));
    return gettext("%(minutes)s min %(seconds)s s", { minutes: Math.floor(whole / 60), seconds: whole % 60 });
  }
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return gettext("%(days)s d %(hours)s h %(minutes)s min", { days: Math.floor(hours / 24), hours: hours % 24, minutes: minutes % 60 });
}

function showState(state) {
  document.title = state.title;
  at("title").textContent = state.title;
  at("rules").textContent =
    gettext(
      "%(game)s, clock %(clock)s. Bots speak %(protocols)s; at most %(submission_mb)s MiB, %(submissions_per_day)s submissions a day. %(queued)s in the queue.",
      { ...state, game: listText(state.games), protocols: listText(state.protocols) },
    );
  at("hosts").textContent = state.build_hosts.length
    ? gettext("Builds reach %(hosts)s by a proxy.", { hosts: listText(state.build_hosts) })
    : "";
  at("deadline").textContent = state.refusal
    ? gettext("Nothing can be handed in: %(reason)s", { reason: state.refusal })
    : state.open
      ? gettext("Open until %(time)s: %(left)s left.", { time: time(state.deadline), left: left(state.deadline - state.now) })
      : state.now < state.opens
        ? gettext("Opens on %(time)s.", { time: time(state.opens) })
        : gettext("Closed: nothing more is accepted.");
  at("final").hidden = !state.final;
  pages = state.pages.startsWith(":") ? `${location.protocol}//${location.hostname}${state.pages}` : state.pages;
  at("last-matches").replaceChildren(...matchRows(state.matches));
  showStandings(at("standings"), state.standings, state.house);
  const games = Object.entries(state.of_games);
  at("means").hidden = !games.length;
  at("games").replaceChildren(...games.flatMap(([game, standings]) => {
    const heading = document.createElement("h3");
    heading.textContent = game;
    const table = at("standings").closest("table").cloneNode(true);
    table.tBodies[0].removeAttribute("id");
    showStandings(table.tBodies[0], standings, state.house);
    return [heading, table];
  }));
}

function showStandings(body, standings, house) {
  body.replaceChildren(
    ...standings.map((each, place) => row(
      [
        `${place + 1}`, nameOf(each, house), each.version, each.rating.toFixed(0),
        each.error === null ? "" : each.error.toFixed(0), `${each.matches}`, `${each.points}`,
      ],
      house.includes(each.name) ? "house" : each.retired ? "retired" : "",
    )),
  );
}

function matchRows(matches) {
  const games = new Set(matches.map((each) => each.game));
  const named = ({ match, game }) => games.size > 1 ? `${match}, ${game}` : match;
  return matches.map((each) => row([
    pages ? linkTo(`${pages}/matches/${each.match}`, named(each)) : named(each), ...each.players,
    each.winner > 0 ? gettext("%(name)s won (%(reason)s)", { name: each.players[each.winner - 1], reason: told(each.reason) }) : told(each.reason),
    time(each.ended_at),
  ], ""));
}

function nameOf({ name }, house) {
  if (house.includes(name)) return name;
  return linkTo(`#team=${encodeURIComponent(name)}`, name);
}

function linkTo(address, text) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = text;
  return link;
}

function chosenTeam() {
  const found = location.hash.match(/^#team=(.+)$/);
  return found && decodeURIComponent(found[1]);
}

function showTeam({ team, accounts, versions, matches, plot }) {
  at("team-name").textContent = team;
  at("accounts").textContent = accounts?.length ? gettext("Accounts: %(names)s", { names: listText(accounts) }) : "";
  const drawn = new DOMParser().parseFromString(plot, "text/html").body.childNodes;
  at("plot").replaceChildren(...drawn);
  at("versions").replaceChildren(
    ...versions.reverse().map((each) => row([each.version, time(each.at)], "")),
  );
  at("matches").replaceChildren(...matchRows(matches));
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
      [choice(each), each.file, time(each.at), STATES[each.state], STAGES[each.stage], told(each.reason)], each.state,
    )),
  );
}

function showOne(submission) {
  at("which").textContent = gettext("Submission %(number)s: %(state)s", { number: submission.id, state: STATES[submission.state] });
  at("log").textContent = submission.log;
  at("uses").replaceChildren(
    ...submission.uses.reverse().map((each) => row(
      [each.match, gettext("%(number)s s", { number: numberText(each.cpu_s, 2) }), `${each.memory_mb} MiB`, told(each.end)], "",
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

function showAll({ submissions, banned, workers, ladder_matches: matches }) {
  at("staff").hidden = false;
  at("most").textContent = ngettext("The ladders play at most %(num)s match at once.", "The ladders play at most %(num)s matches at once.", matches);
  at("workers").replaceChildren(
    ...workers.map(({ address, cores, fault }) => row(
      [address || gettext("this machine"), cores ? numberText(cores, 0) : "", fault ? told(fault) : gettext("plays")],
      fault ? "failed" : "",
    )),
  );
  const waiting = submissions.filter((each) => each.waiting).length;
  const running = submissions.find((each) => each.state === "running");
  at("queue").textContent =
    running
      ? gettext("%(num)s in the queue; submission %(number)s is at the stage %(stage)s.", { num: waiting, number: running.id, stage: STAGES[running.stage] })
      : gettext("%(num)s in the queue; none is handled.", { num: waiting });
  at("all").replaceChildren(
    ...submissions.reverse().map((each) => {
      const actions = document.createElement("span");
      const ban = banned.includes(each.team) ? "unban" : "ban";
      actions.append(action(ban === "ban" ? gettext("ban") : gettext("unban"), () => change(ban, each.team)));
      if (each.state === "failed" && !each.waiting) {
        actions.append(action(gettext("retry"), () => change("retry", each.id)));
      }
      const { team, account, file, state, stage, reason } = each;
      return row(
        [choice(each), team, account, file, time(each.at), STATES[state], STAGES[stage], told(reason), actions], state,
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
    at("whose").textContent = record ? gettext("Submissions of %(team)s", { team }) : gettext("Your submissions");
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
    at("author").textContent = you.staff
      ? gettext("What administrators hand in is only tested; also after the deadline.")
      : gettext("You hand in for %(team)s.", { team: you.team });
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

at("grades").addEventListener("click", async () => {
  try {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await (await answerTo("staff/grades.csv")).blob());
    link.download = "grades.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    at("message").textContent = error.message;
  }
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

// A link of playout-competition accounts: the token is not kept in the address.
const invited = new URLSearchParams(location.hash.slice(1));
if (invited.has("token")) {
  history.replaceState(null, "", location.pathname);
  at("name").value = invited.get("account");
  at("token").value = invited.get("token");
  at("account").requestSubmit();
}

refresh();
setInterval(refresh, 1000);
