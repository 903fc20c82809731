// The connection to the server: requests and their answers, events, and coming back when it is lost.

import { account, guestName, identity, session, setSession } from "./account.js";

const FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 10_000;
/** So long after the last message the server is asked for a sign of life, and has so long to answer. */
const QUIET_MS = 25_000, ANSWER_MS = 10_000;

/** After these the server does not want this page back. */
const FINAL = {
  replaced: "This page goes on in another tab. Reload it to go on here.",
  kicked: "",
  registration_closed: "",
  unsupported_protocol: "This page is older than the server. Reload it.",
};

/** What the server said no to: `code` is for programs, `message` for people. */
export class Refused extends Error {
  constructor({ code, text, seconds }) {
    super(text);
    this.code = code;
    this.seconds = seconds;
  }
}

/** Open a connection; what the server says comes as events. */
function open() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}/socket`);
}

function hello(fields) {
  return { type: "hello", protocol_min: 1, protocol_max: 1, software: "web page", ...fields };
}

/**
 * Register a name, or prove with a token that it is one's own, over a connection of its own.
 * Resolves with {name, token}; rejects with Refused.
 */
export function introduce(name, token) {
  return new Promise((resolve, reject) => {
    const socket = open();
    const lost = { code: "lost", text: "The server does not answer. Try again in a moment." };
    socket.onopen = () => socket.send(JSON.stringify(hello({ name, token, role: "human" })));
    socket.onclose = () => reject(new Refused(lost));
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "welcome") resolve({ name: event.name, token: event.token ?? token });
      else if (event.type === "error") reject(new Refused(event));
      else return;
      socket.close();
    };
  });
}

/**
 * A connection that comes back by itself, to the same session and its matches.
 *
 * `onEvent(event)` gets every event of the server but errors that answer a request; answers too.
 * It gets a `welcome` whenever a connection is there: seek and watch again then.
 * `onState("connecting" | "open" | "lost", text)`: with a text, it does not come back.
 */
export class Link {
  #role;
  #views;
  #onEvent;
  #onState;
  #socket = null;
  #pending = new Map();
  #ids = 0;
  #failures = 0;
  #timer = null;
  #over = false;
  #waiting = false; // for the time of the next attempt
  #refused = null; // the token that the server did not take, and why
  #asked = null; // the id of the last hello
  #isOpen = false;

  /** The last `welcome`: who one is, and what the server offers. */
  welcome = null;

  constructor({ role = "spectator", views = true, onEvent = () => {}, onState = () => {} }) {
    this.#role = role;
    this.#views = views;
    this.#onEvent = onEvent;
    this.#onState = onState;
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
    addEventListener("pagehide", () => this.#leave());
    addEventListener("pageshow", ({ persisted }) => persisted && !this.#over && this.#connect());
    identity.addEventListener("account", () => this.#changeName());
    this.#connect();
  }

  /** What others know one by, or null before the first welcome. */
  get name() {
    return this.welcome?.name ?? null;
  }

  /** Send a message, if there is a connection; nobody waits for the answer. */
  send(message) {
    if (this.#isOpen) this.#transmit(message);
  }

  /** Send a request. Resolves with its answer; rejects with Refused, `lost` without connection. */
  request(message) {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) {
        reject(new Refused({ code: "lost", text: "There is no connection to the server." }));
        return;
      }
      const id = ++this.#ids;
      this.#pending.set(id, { resolve, reject });
      this.#transmit({ ...message, id });
    });
  }

  /** Hang up for good. */
  close() {
    this.#over = true;
    this.#leave();
  }

  // The connection.

  #connect() {
    clearTimeout(this.#timer);
    this.#waiting = false;
    this.#onState("connecting", "");
    const socket = open();
    this.#socket = socket;
    socket.onopen = () => this.#sayHello();
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => this.#lose();
    this.#expect(ANSWER_MS, () => this.#drop());
  }

  #transmit(message) {
    this.#socket.send(JSON.stringify(message));
  }

  #leave() {
    clearTimeout(this.#timer);
    this.#isOpen = false;
    if (!this.#socket) return;
    this.#socket.onclose = null;
    this.#socket.onmessage = null;
    this.#socket.close();
    this.#socket = null;
    this.#refusePending();
  }

  /** Without waiting for a connection that is dead to be closed properly. */
  #drop() {
    this.#leave();
    this.#lose();
  }

  #lose(text = "") {
    this.#leave();
    this.#onState("lost", text);
    if (this.#over) return;
    const longest = Math.min(FIRST_WAIT_MS * 2 ** this.#failures, LONGEST_WAIT_MS);
    this.#failures += 1;
    this.#waiting = true;
    this.#expect(longest * (0.5 + Math.random() / 2), () => this.#connect());
  }

  #end(text) {
    this.#over = true;
    this.#lose(text);
  }

  /** Somebody looks at the page, or the network is back: is the connection still there? */
  #hurry() {
    if (this.#over) return;
    if (this.#waiting) this.#connect();
    else if (this.#isOpen) this.#ask();
  }

  #ask() {
    this.send({ type: "ping" });
    this.#expect(ANSWER_MS, () => this.#drop());
  }

  #expect(milliseconds, otherwise) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(otherwise, milliseconds);
  }

  #refusePending() {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    const lost = { code: "lost", text: "The connection was lost before the server answered." };
    for (const { reject } of pending) reject(new Refused(lost));
  }

  // Who one is.

  #sayHello() {
    const kept = session();
    const mine = this.#account();
    const id = (this.#asked = ++this.#ids);
    let who;
    if (kept && this.#mayTakeUp(kept, mine)) who = { name: kept.name, session: kept.key };
    else if (mine) who = mine;
    else who = { name: kept?.guest ? kept.name : guestName(), guest: true };
    this.#transmit(hello({ id, role: this.#role, views: this.#views, ...who }));
  }

  #account() {
    const mine = account();
    return mine && mine.token !== this.#refused?.token ? mine : null;
  }

  /** A session keeps its role and its name; one that plays is kept in any case. */
  #mayTakeUp(kept, mine) {
    if (!kept.key || (this.#role !== "spectator" && kept.role === "spectator")) return false;
    return kept.playing.length > 0 || kept.name === mine?.name || (kept.guest && !mine);
  }

  #welcomed(event) {
    this.#failures = 0;
    this.#isOpen = true;
    this.welcome = event;
    const kept = session();
    const same = kept?.key === event.session;
    setSession({
      name: event.name,
      key: event.session,
      guest: event.guest ?? false,
      role: same ? kept.role : this.#role,
      playing: same ? kept.playing : [],
      fault: event.guest && account() ? this.#refused?.text : null,
    });
    this.#onState("open", "");
  }

  /** Hello was refused: come as somebody else, or not at all. */
  #declined(event) {
    const { code, text, seconds } = event;
    const kept = session();
    if (seconds) return this.#expect(seconds * 1000, () => this.#drop());
    if (code === "unknown_session" && kept?.key) setSession({ ...kept, key: null, playing: [] });
    else if (this.#account()) this.#refused = { token: account().token, text };
    else if (code === "name_taken") setSession(null);
    else if (code in FINAL) return this.#end(FINAL[code] || text);
    else return this.#drop();
    this.#sayHello();
  }

  #changeName() {
    const kept = session();
    const mine = this.#account();
    if (this.#over || !this.welcome || kept?.playing.length) return;
    if (kept?.guest ? !mine : kept?.name === mine?.name) return;
    this.#leave();
    this.#connect();
  }

  // What the server says.

  #receive(event) {
    this.#expect(QUIET_MS, () => this.#ask());
    const { type, re, code, text } = event;
    if (type === "pong") return;
    if (type === "ping") return this.send({ type: "ping" });
    if (type === "error" && re === this.#asked) return this.#declined(event);
    if (type === "error" && re === undefined && code in FINAL) return this.#end(FINAL[code] || text);
    const asker = this.#pending.get(re);
    this.#pending.delete(re);
    if (type === "error" && asker) return asker.reject(new Refused(event));
    if (type === "welcome") this.#welcomed(event);
    if (type === "started" || type === "ended") this.#note(event);
    this.#onEvent(event);
    asker?.resolve(event);
  }

  /** Which matches the session plays, so that it is not given up meanwhile. */
  #note({ type, match, seat }) {
    const kept = session();
    const others = kept.playing.filter((each) => each !== match);
    const playing = type === "started" && seat ? [...others, match] : others;
    if (playing.length !== kept.playing.length) setSession({ ...kept, playing });
  }
}
