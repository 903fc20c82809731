// The connection of a page, against a server of a few lines: run by tests/unit/web/test_scripts.py.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

// A browser, as far as a connection needs one.

class Storage {
  #kept = new Map();
  getItem(key) {
    return this.#kept.get(key) ?? null;
  }
  setItem(key, value) {
    this.#kept.set(key, value);
  }
  removeItem(key) {
    this.#kept.delete(key);
  }
  clear() {
    this.#kept.clear();
  }
}

/** The server's end of a connection is what the tests hold: what it heard, and what it says. */
class Socket {
  static all = [];
  heard = [];
  open = true;

  constructor(address) {
    this.address = address;
    Socket.all.push(this);
  }
  send(text) {
    assert.ok(this.open);
    this.heard.push(JSON.parse(text));
  }
  close() {
    this.open = false;
  }

  static get last() {
    return Socket.all.at(-1);
  }
  get hello() {
    return this.heard.findLast(({ type }) => type === "hello");
  }
  get asked() {
    return this.heard.at(-1);
  }
  say(event) {
    this.onmessage({ data: JSON.stringify(event) });
  }
  break() {
    this.open = false;
    this.onclose?.();
  }
  /** Let it in: as who it says it is, or under that session. */
  welcome(fields = {}) {
    const { id, name, guest } = this.hello;
    this.say({ type: "welcome", re: id, session: "key 1", name, ...(guest && { guest }), ...fields });
  }
  refuse(code, text = code) {
    this.say({ type: "error", re: this.hello.id, code, text });
  }
}

const page = new EventTarget();
Object.assign(globalThis, {
  window: globalThis,
  localStorage: new Storage(),
  sessionStorage: new Storage(),
  location: { protocol: "http:", host: "here:8080" },
  document: new EventTarget(),
  WebSocket: Socket,
  addEventListener: page.addEventListener.bind(page),
});

const { account, session, setAccount } = await import("../../server/web/static/account.js");
const { introduce, Link } = await import("../../server/web/static/link.js");

const LONG_MS = 60_000;
let link = null;
let events = [];
let states = [];

beforeEach(() => {
  link?.close();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  localStorage.clear();
  sessionStorage.clear();
  Socket.all = [];
  [events, states] = [[], []];
});

/** A page that has said hello. */
function opened(fields = { role: "human" }) {
  link = new Link({
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

test("a person without a name comes as a guest whose name is made up", () => {
  const server = opened();
  const { name, guest, role, views, session: key } = server.hello;
  assert.match(name, /^guest-[a-z0-9]{6}$/);
  assert.deepEqual([guest, role, views, key], [true, "human", true, undefined]);
  assert.equal(server.address, "ws://here:8080/socket");
  server.welcome();
  assert.deepEqual(states, [["connecting", ""], ["open", ""]]);
  assert.equal(link.name, name);
});

test("a name that somebody has by chance is replaced by another one", () => {
  const server = opened();
  const first = server.hello.name;
  server.refuse("name_taken");
  assert.notEqual(server.hello.name, first);
  assert.equal(server.heard.length, 2);
});

test("a lost connection is made again, to the same session", () => {
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

test("it waits longer after each failure, and not much longer than ten seconds", () => {
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

test("when the network is back, nobody waits", () => {
  opened().break();
  page.dispatchEvent(new Event("online"));
  assert.equal(Socket.all.length, 2);
});

test("a session that is over is followed by a new one, on the same connection", () => {
  opened().welcome();
  Socket.last.break();
  const server = reconnected();
  const { name } = server.hello;
  server.refuse("unknown_session");
  assert.deepEqual([server.hello.name, server.hello.session], [name, undefined]);
  assert.equal(server.hello.guest, true);
});

test("a name of one's own comes with its token", () => {
  setAccount({ name: "Ann", token: "t" });
  const server = opened();
  const { name, token, guest } = server.hello;
  assert.deepEqual([name, token, guest], ["Ann", "t", undefined]);
});

test("whose token is refused comes as a guest, and is told why", () => {
  setAccount({ name: "Ann", token: "t" });
  const server = opened();
  server.refuse("bad_token", "this is not the token");
  assert.equal(server.hello.guest, true);
  server.welcome();
  assert.equal(session().fault, "this is not the token");
  assert.deepEqual(account(), { name: "Ann", token: "t" });
});

test("a name that was taken just now is used at once, but not by one who plays", () => {
  opened().welcome();
  Socket.last.say({ type: "started", match: "m", seat: 1 });
  setAccount({ name: "Ann", token: "t" });
  assert.equal(Socket.all.length, 1);
  Socket.last.say({ type: "ended", match: "m" });
  setAccount({ name: "Ann", token: "t" });
  Socket.last.onopen();
  assert.equal(Socket.last.hello.name, "Ann");
});

test("who plays as a guest takes the session up, whatever the name is by now", () => {
  opened().welcome();
  Socket.last.say({ type: "started", match: "m", seat: 2 });
  setAccount({ name: "Ann", token: "t" });
  Socket.last.break();
  assert.equal(reconnected().hello.session, "key 1");
});

test("a spectator's session is not taken up by one who wants to play", () => {
  opened({ role: "spectator" }).welcome();
  link.close();
  assert.equal(opened().hello.session, undefined);
});

test("one who was replaced by another tab stays away, and says so", () => {
  const server = opened();
  server.welcome();
  server.say({ type: "error", code: "replaced", text: "this session goes on elsewhere" });
  assert.match(states.at(-1)[1], /another tab/);
  mock.timers.tick(LONG_MS);
  page.dispatchEvent(new Event("online"));
  assert.equal(Socket.all.length, 1);
});

test("a request is answered by the event with its id, which is an event, too", async () => {
  const server = opened();
  server.welcome();
  const answer = link.request({ type: "seek", game: "nim" });
  const { id, type } = server.asked;
  assert.equal(type, "seek");
  server.say({ type: "seeking", seek: "other" });
  server.say({ type: "seeking", re: id, seek: "mine" });
  assert.equal((await answer).seek, "mine");
  assert.deepEqual(events.slice(1).map(({ seek }) => seek), ["other", "mine"]);
});

test("a refused request rejects with code and text, and is no event", async () => {
  const server = opened();
  server.welcome();
  const answer = link.request({ type: "seek", game: "chess" });
  server.say({ type: "error", re: server.asked.id, code: "bad_game", text: "there is no chess" });
  await assert.rejects(answer, { code: "bad_game", message: "there is no chess" });
  assert.equal(events.length, 1);
});

test("a request whose connection is lost, or not there, rejects", async () => {
  const server = opened();
  await assert.rejects(link.request({ type: "list" }), { code: "lost" });
  server.welcome();
  const answer = link.request({ type: "list" });
  server.break();
  await assert.rejects(answer, { code: "lost" });
});

test("the server hears that somebody is there when it asks", () => {
  const server = opened();
  server.welcome();
  server.say({ type: "ping", seconds: 60 });
  assert.deepEqual(server.asked, { type: "ping" });
  assert.equal(events.length, 1);
});

test("a server that has fallen silent is asked, and given up when it does not answer", () => {
  const server = opened();
  server.welcome();
  mock.timers.tick(25_000);
  assert.deepEqual(server.asked, { type: "ping" });
  server.say({ type: "pong" });
  mock.timers.tick(24_000);
  assert.equal(server.open, true);
  mock.timers.tick(1000);
  mock.timers.tick(10_000);
  assert.equal(server.open, false);
  assert.deepEqual(states.at(-1), ["lost", ""]);
});

test("who is told to wait before registering does", () => {
  const server = opened();
  server.say({ type: "error", re: server.hello.id, code: "rate_limited", text: "wait", seconds: 3 });
  assert.equal(server.heard.length, 1);
  mock.timers.tick(3000);
  assert.equal(server.open, false);
});

test("a name is registered over a connection of its own", async () => {
  const done = introduce("Ann");
  const server = Socket.last;
  server.onopen();
  const { name, token, guest, role } = server.hello;
  assert.deepEqual([name, token, guest, role], ["Ann", undefined, undefined, "human"]);
  server.welcome({ token: "new" });
  assert.deepEqual(await done, { name: "Ann", token: "new" });
  assert.equal(server.open, false);
});

test("a name that is refused is not one's own", async () => {
  const done = introduce("Ann", "wrong");
  Socket.last.onopen();
  Socket.last.refuse("bad_token", "this is not the token");
  await assert.rejects(done, { code: "bad_token", message: "this is not the token" });
});
