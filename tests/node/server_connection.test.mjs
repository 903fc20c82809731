// The connection of a page, against a fake server: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

// The parts of a browser that a connection needs.

class Storage {
  #values = new Map();
  getItem(key) {
    return this.#values.get(key) ?? null;
  }
  setItem(key, value) {
    this.#values.set(key, value);
  }
  removeItem(key) {
    this.#values.delete(key);
  }
  clear() {
    this.#values.clear();
  }
}

/** The server's end of a connection: what it received, and methods to deliver events. */
class Socket {
  static all = [];
  received = [];
  open = true;

  constructor(address) {
    this.address = address;
    Socket.all.push(this);
  }
  send(text) {
    assert.ok(this.open);
    this.received.push(JSON.parse(text));
  }
  close() {
    this.open = false;
  }

  static get last() {
    return Socket.all.at(-1);
  }
  get hello() {
    return this.received.findLast(({ type }) => type === "hello");
  }
  get lastRequest() {
    return this.received.at(-1);
  }
  deliver(event) {
    this.onmessage({ data: JSON.stringify(event) });
  }
  break() {
    this.open = false;
    this.onclose?.();
  }
  /** Accept the hello, under the name in it. */
  welcome(fields = {}) {
    const { id, name, guest } = this.hello;
    this.deliver({ type: "welcome", re: id, session: "key 1", name, ...(guest && { guest }), ...fields });
  }
  refuse(code, text = code) {
    this.deliver({ type: "error", re: this.hello.id, code, text });
  }
}

const page = new EventTarget();
Object.assign(globalThis, {
  window: globalThis,
  top: globalThis,
  localStorage: new Storage(),
  sessionStorage: new Storage(),
  location: { protocol: "http:", host: "here:8080" },
  document: Object.assign(new EventTarget(), {
    documentElement: { lang: "en" },
    getElementById: () => null,
  }),
  WebSocket: Socket,
  addEventListener: page.addEventListener.bind(page),
});

const { account, session, sessionPlaying, setAccount } = await import("../../server/web/static/account.js");
const { ServerConnection, signIn } = await import("../../server/web/static/server_connection.js");

const LONG_MS = 60_000;
let connection = null;
let events = [];
let states = [];

beforeEach(() => {
  connection?.close();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  localStorage.clear();
  sessionStorage.clear();
  Socket.all = [];
  [events, states] = [[], []];
});

/** The server's end of a connection that has sent hello. */
function opened(fields = { role: "human" }) {
  connection = new ServerConnection({
    ...fields,
    onEvent: (event) => events.push(event),
    onState: (...state) => states.push(state),
  });
  Socket.last.onopen();
  return Socket.last;
}

function reconnected() {
  mock.timers.tick(LONG_MS);
  Socket.last.onopen();
  return Socket.last;
}

test("a person without an account connects as a guest with a random name", () => {
  const server = opened();
  const { name, guest, role, views, session: key } = server.hello;
  assert.match(name, /^guest-[a-z0-9]{6}$/);
  assert.deepEqual([guest, role, views, key], [true, "human", true, undefined]);
  assert.equal(server.address, "ws://here:8080/socket");
  server.welcome();
  assert.deepEqual(states, [["connecting", ""], ["open", ""]]);
  assert.equal(connection.name, name);
});

test("a random name that is taken is replaced by another one", () => {
  const server = opened();
  const first = server.hello.name;
  server.refuse("name_taken");
  assert.notEqual(server.hello.name, first);
  assert.equal(server.received.length, 2);
});

test("a lost connection is opened again, to the same session", () => {
  const server = opened();
  server.welcome();
  server.break();
  assert.deepEqual(states.at(-1), ["lost", ""]);
  const next = reconnected();
  assert.notEqual(next, server);
  assert.deepEqual([next.hello.name, next.hello.session], [server.hello.name, "key 1"]);
  next.welcome();
  assert.deepEqual(events.map(({ type }) => type), ["welcome", "welcome"]);
});

test("the wait grows with each failure, up to ten seconds", () => {
  opened();
  const waits = [];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const before = Socket.all.length;
    Socket.last.break();
    let waited = 0;
    for (; Socket.all.length === before; waited += 50) mock.timers.tick(50);
    waits.push(waited);
  }
  assert.ok(waits[0] <= 550, waits);
  assert.ok(waits.at(-1) >= 5000, waits);
  assert.ok(Math.max(...waits) <= 10_050, waits);
});

test("when the network is back, the connection is opened at once", () => {
  opened().break();
  page.dispatchEvent(new Event("online"));
  assert.equal(Socket.all.length, 2);
});

test("after unknown_session a new session begins on the same connection", () => {
  opened().welcome();
  Socket.last.break();
  const server = reconnected();
  const { name } = server.hello;
  server.refuse("unknown_session");
  assert.deepEqual([server.hello.name, server.hello.session], [name, undefined]);
  assert.equal(server.hello.guest, true);
});

test("an account connects with its token", () => {
  setAccount({ name: "Ann", token: "t" });
  const server = opened();
  const { name, token, guest } = server.hello;
  assert.deepEqual([name, token, guest], ["Ann", "t", undefined]);
});

test("after a refused token a guest connects, and the reason is stored", () => {
  setAccount({ name: "Ann", token: "t" });
  const server = opened();
  server.refuse("bad_token", "this is not the token");
  assert.equal(server.hello.guest, true);
  server.welcome();
  assert.equal(session().fault, "this is not the token");
  assert.deepEqual(account(), { name: "Ann", token: "t" });
});

test("a new account is used at once, or after the running match", () => {
  opened().welcome();
  Socket.last.deliver({ type: "started", match: "m", seat: 1 });
  setAccount({ name: "Ann", token: "t" });
  assert.equal(Socket.all.length, 1);
  Socket.last.deliver({ type: "ended", match: "m" });
  setAccount({ name: "Ann", token: "t" });
  Socket.last.onopen();
  assert.equal(Socket.last.hello.name, "Ann");
});

test("a guest's session with a running match is resumed under any account", () => {
  opened().welcome();
  Socket.last.deliver({ type: "started", match: "m", seat: 2 });
  setAccount({ name: "Ann", token: "t" });
  Socket.last.break();
  assert.equal(reconnected().hello.session, "key 1");
});

test("a spectator's session is not resumed by a player", () => {
  opened({ role: "spectator" }).welcome();
  connection.close();
  assert.equal(opened().hello.session, undefined);
});

test("a connection that another tab replaced is not opened again", () => {
  const server = opened();
  server.welcome();
  server.deliver({ type: "error", code: "replaced", text: "this session goes on elsewhere" });
  assert.match(states.at(-1)[1], /another tab/);
  mock.timers.tick(LONG_MS);
  page.dispatchEvent(new Event("online"));
  assert.equal(Socket.all.length, 1);
});

test("a request resolves with the event that has its id, which onEvent receives as well", async () => {
  const server = opened();
  server.welcome();
  const response = connection.request({ type: "seek", game: "nim" });
  const { id, type } = server.lastRequest;
  assert.equal(type, "seek");
  server.deliver({ type: "seeking", seek: "other" });
  server.deliver({ type: "seeking", re: id, seek: "mine" });
  assert.equal((await response).seek, "mine");
  assert.deepEqual(events.slice(1).map(({ seek }) => seek), ["other", "mine"]);
});

test("a refused request rejects with code and text, and onEvent receives nothing", async () => {
  const server = opened();
  server.welcome();
  const response = connection.request({ type: "seek", game: "chess" });
  server.deliver({ type: "error", re: server.lastRequest.id, code: "bad_game", text: "there is no chess" });
  await assert.rejects(response, { code: "bad_game", message: "there is no chess" });
  assert.equal(events.length, 1);
});

test("a request without a connection, or whose connection is lost, rejects", async () => {
  const server = opened();
  await assert.rejects(connection.request({ type: "list" }), { code: "lost" });
  server.welcome();
  const response = connection.request({ type: "list" });
  server.break();
  await assert.rejects(response, { code: "lost" });
});

test("a ping of the server is responded to", () => {
  const server = opened();
  server.welcome();
  server.deliver({ type: "ping", seconds: 60 });
  assert.deepEqual(server.lastRequest, { type: "ping" });
  assert.equal(events.length, 1);
});

test("a silent server is pinged, and the connection abandoned without a response", () => {
  const server = opened();
  server.welcome();
  mock.timers.tick(25_000);
  assert.deepEqual(server.lastRequest, { type: "ping" });
  server.deliver({ type: "pong" });
  mock.timers.tick(24_000);
  assert.equal(server.open, true);
  mock.timers.tick(1000);
  mock.timers.tick(10_000);
  assert.equal(server.open, false);
  assert.deepEqual(states.at(-1), ["lost", ""]);
});

test("a player's page pings a silent server soon", () => {
  const server = opened();
  server.welcome();
  server.deliver({ type: "started", match: "m", seat: 1 });
  mock.timers.tick(5000);
  assert.deepEqual(server.lastRequest, { type: "ping" });
  server.deliver({ type: "ended", match: "m" });
  mock.timers.tick(24_000);
  assert.equal(server.received.length, 2);
});

test("other tabs know the session that plays a match, until it has ended", () => {
  const server = opened();
  server.welcome();
  server.deliver({ type: "started", match: "m", seat: 2 });
  assert.equal(sessionPlaying("m").key, session().key);
  sessionStorage.clear(); // another tab
  opened().welcome({ session: "key 2" });
  Socket.last.deliver({ type: "started", match: "m" });
  assert.equal(sessionPlaying("m").key, "key 1");
  Socket.last.deliver({ type: "ended", match: "m" });
  assert.equal(sessionPlaying("m"), null);
});

test("the sessions of a hundred matches are known to other tabs", () => {
  const server = opened();
  server.welcome();
  for (let number = 0; number < 101; number++) server.deliver({ type: "started", match: `m${number}`, seat: 1 });
  assert.equal(sessionPlaying("m0"), null);
  assert.equal(sessionPlaying("m1").key, session().key);
  assert.equal(sessionPlaying("m100").key, session().key);
});

test("a session that has ended is not offered to other tabs", () => {
  opened().welcome();
  Socket.last.deliver({ type: "started", match: "m", seat: 1 });
  Socket.last.break();
  reconnected().refuse("unknown_session");
  assert.equal(sessionPlaying("m"), null);
});

test("a rate limit delays the next hello", () => {
  const server = opened();
  server.deliver({ type: "error", re: server.hello.id, code: "rate_limited", text: "wait", seconds: 3 });
  assert.equal(server.received.length, 1);
  mock.timers.tick(3000);
  assert.equal(server.open, false);
});

test("a name is registered over a separate connection", async () => {
  const done = signIn("Ann");
  const server = Socket.last;
  server.onopen();
  const { name, token, guest, role } = server.hello;
  assert.deepEqual([name, token, guest, role], ["Ann", undefined, undefined, "human"]);
  server.welcome({ token: "new" });
  assert.deepEqual(await done, { name: "Ann", token: "new" });
  assert.equal(server.open, false);
});

test("a refused name rejects", async () => {
  const done = signIn("Ann", "0".repeat(32));
  Socket.last.onopen();
  assert.equal(Socket.last.hello.token, "0".repeat(32));
  Socket.last.refuse("bad_token", "this is not the token");
  await assert.rejects(done, { code: "bad_token", message: "this is not the token" });
});
