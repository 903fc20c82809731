// The page of a competition: its standings, and the submissions of one account.

const at = (id) => document.getElementById(id);
const time = (seconds) => new Date(seconds * 1000).toLocaleString();
let authorization = null;
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
        `${place + 1}`, each.name, each.version, each.rating.toFixed(0),
        each.error === null ? "" : each.error.toFixed(0), `${each.matches}`, `${each.won + each.tied / 2}`,
      ],
      state.house.includes(each.name) ? "house" : each.retired ? "retired" : "",
    )),
  );
}

function showOwn(submissions) {
  at("own").hidden = false;
  at("submissions").replaceChildren(
    ...submissions.reverse().map((each) => {
      const button = document.createElement("button");
      button.textContent = `${each.id}`;
      button.addEventListener("click", () => { shown = each.id; refresh(); });
      const cells = [button, each.file, time(each.at), each.state, each.stage, each.reason];
      return row(cells, each.state);
    }),
  );
}

async function refresh() {
  try {
    showState(await ask("state"));
    if (!authorization) return;
    showOwn(await ask("submissions"));
    if (shown === null) return;
    const one = await ask(`submissions/${shown}`);
    at("which").textContent = `Submission ${one.id}: ${one.state}`;
    at("log").textContent = one.log;
  } catch (error) {
    at("message").textContent = error.message;
  }
}

at("account").addEventListener("submit", async (event) => {
  event.preventDefault();
  const bytes = new TextEncoder().encode(`${at("name").value}:${at("token").value}`);
  authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  try {
    await ask("submissions");
    at("message").textContent = "";
    at("account").hidden = true;
    at("upload").hidden = false;
  } catch (error) {
    authorization = null;
    at("message").textContent = error.message;
  }
  refresh();
});

at("upload").addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = at("file").files[0];
  try {
    const path = `submissions/${encodeURIComponent(file.name)}`;
    shown = (await ask(path, { method: "PUT", body: file })).id;
    at("message").textContent = "";
  } catch (error) {
    at("message").textContent = error.message;
  }
  refresh();
});

refresh();
setInterval(refresh, 1000);
