// The WebSocket connection to the server: requests and their responses, events, reconnection.

import { account, accountEvents, guestName, session, setSession, setSessionPlaying } from "./account.js";
import { gettext, told } from "./texts.js";

const FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 10_000;
/** After QUIET_MS without a message, or PLAYING_MS during a match, a ping is sent; the server has
 * RESPONSE_MS to respond. */
const QUIET_MS = 25_000, PLAYING_MS = 5000, RESPONSE_MS = 10_000;
/** A request without any message after it is followed by a ping, as the network may have failed. */
const UNANSWERED_MS = 2000;

const TOKEN = /^[0-9a-f]{32}$/;
/** Browsers and systems by what they call themselves; those of the first list of each count first. */
const DEVICE = [[/Firefox|Edg/, /Chrome|Safari/], [/Android|iPhone|iPad/, /Windows|Mac OS|Linux/]];

/** Error codes after which the page does not reconnect, and what it says then. */
const FINAL = {
  replaced: gettext("This page goes on in another tab. Reload it to go on here."),
  kicked: "",
  registration_closed: "",
  unsupported_protocol: gettext("This page is older than the server. Reload it."),
};

/** A request that failed: `code` is for programs, `message` for people. */
export class RequestError extends Error {
  constructor({ code, text, seconds }) {
    super(told(text));
    this.code = code;
    this.seconds = seconds;
  }
}

function openSocket() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}/socket`);
}

function hello(fields) {
  return { type: "hello", protocol_min: 1, protocol_max: 1, software: "web page", ...fields };
}

/**
 * Send requests over a separate connection, each after the reply to the one before. Resolves with the
 * last reply; rejects with RequestError.
 */
function exchange(...messages) {
  return new Promise((resolve, reject) => {
    const socket = openSocket();
    const unanswered = messages.map((message, id) => ({ ...message, id }));
    const send = () => socket.send(JSON.stringify(unanswered[0]));
    const lost = { code: "lost", text: gettext("The server does not respond. Try again in a moment.") };
    socket.onopen = send;
    socket.onclose = () => reject(new RequestError(lost));
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "error") reject(new RequestError(event));
      else if (event.re !== unanswered[0].id) return;
      else if (unanswered.splice(0, 1) && unanswered.length) return send();
      else resolve(event);
      socket.close();
    };
  });
}

/**
 * Register a name, or prove that it belongs to this person: with its token, its password or a code.
 * Resolves with {name, token}; rejects with RequestError.
 */
export async function signIn(name, secret) {
  const isToken = !secret || TOKEN.test(secret);
  const request = isToken ? hello({ name, token: secret, role: "human" }) : { type: "log_in", name, secret, software: deviceName() };
  const { name: known, token } = await exchange(request);
  return { name: known, token: token ?? secret };
}

/** Send a request of an account, {name, token}, over a separate connection. */
export function askAs({ name, token }, request) {
  return exchange(hello({ name, token, role: "spectator" }), request);
}

/** What a person may call this browser, such as "Firefox, Linux". */
function deviceName() {
  const { userAgent } = navigator;
  return DEVICE.map(([first, second]) => (first.exec(userAgent) ?? second.exec(userAgent) ?? "?")[0]).join(", ");
}

/**
 * A connection that reconnects by itself, and resumes its session and the matches of that.
 *
 * `onEvent(event)` receives every event of the server, responses included, except errors that
 * respond to a request. After each `welcome`, seek and watch again.
 * `onState("connecting" | "open" | "lost", text)`: "lost" with a text is final.
 */
export class ServerConnection {
  #role;
  #views;
  #onEvent;
  #onState;
  #socket = null;
  #pending = new Map();
  #lastId = 0;
  #failures = 0;
  #timer = null;
  #closed = false;
  #waiting = false; // for the next attempt to connect
  #refusedAccount = null; // the token that the server refused, and its reason
  #helloId = null; // the id of the last hello
  #isOpen = false;
  #askedAt = null; // the time of the last request or ping, null if a message has come since

  #lag = 0;
  #isPlaying = false;

  /** The last `welcome`: this person's name, and what the server offers. */
  welcome = null;

  constructor({ role = "spectator", views = true, onEvent = () => {}, onState = () => {} }) {
    this.#role = role;
    this.#views = views;
    this.#onEvent = onEvent;
    this.#onState = onState;
    addEventListener("online", () => this.#checkNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.#checkNow());
    addEventListener("pagehide", () => this.#disconnect());
    addEventListener("pageshow", ({ persisted }) => persisted && !this.#closed && this.#connect());
    accountEvents.addEventListener("account", () => this.#changeName());
    this.#connect();
  }

  /** How long the server took to respond the last time, or takes now, in milliseconds. */
  get lag() {
    return this.#askedAt === null ? this.#lag : Math.max(this.#lag, performance.now() - this.#askedAt);
  }

  /** The name that others see, or null before the first welcome. */
  get name() {
    return this.welcome?.name ?? null;
  }

  /** Send a message without waiting for a response; dropped without a connection. */
  send(message) {
    if (this.#isOpen) this.#transmit(message);
  }

  /** Send a request. Resolves with its response; rejects with RequestError, whose code is `lost`
   * if there is no connection. */
  request(message) {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) {
        reject(new RequestError({ code: "lost", text: gettext("There is no connection to the server.") }));
        return;
      }
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve, reject });
      this.#askedAt ??= performance.now();
      this.#transmit({ ...message, id });
      this.#setTimer(UNANSWERED_MS, () => this.#ping());
    });
  }

  /** Close the connection for good. */
  close() {
    this.#closed = true;
    this.#disconnect();
  }

  // The connection.

  #connect() {
    clearTimeout(this.#timer);
    this.#waiting = false;
    this.#onState("connecting", "");
    const socket = openSocket();
    this.#socket = socket;
    socket.onopen = () => this.#sendHello();
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => this.#reconnectLater();
    this.#setTimer(RESPONSE_MS, () => this.#abandon());
  }

  #transmit(message) {
    this.#socket.send(JSON.stringify(message));
  }

  #disconnect() {
    clearTimeout(this.#timer);
    this.#isOpen = false;
    this.#askedAt = null;
    if (!this.#socket) return;
    this.#socket.onclose = null;
    this.#socket.onmessage = null;
    this.#socket.close();
    this.#socket = null;
    this.#rejectPending();
  }

  /** Reconnect without waiting until a dead connection has been closed properly. */
  #abandon() {
    this.#disconnect();
    this.#reconnectLater();
  }

  #reconnectLater(text = "") {
    this.#disconnect();
    this.#onState("lost", text);
    if (this.#closed) return;
    const longest = Math.min(FIRST_WAIT_MS * 2 ** this.#failures, LONGEST_WAIT_MS);
    this.#failures += 1;
    this.#waiting = true;
    this.#setTimer(longest * (0.5 + Math.random() / 2), () => this.#connect());
  }

  #closeWith(text) {
    this.#closed = true;
    this.#reconnectLater(text);
  }

  /** The page became visible or the network came back: connect at once, or ping. */
  #checkNow() {
    if (this.#closed) return;
    if (this.#waiting) this.#connect();
    else if (this.#isOpen) this.#ping();
  }

  #ping() {
    this.#askedAt ??= performance.now();
    this.send({ type: "ping" });
    this.#setTimer(RESPONSE_MS, () => this.#abandon());
  }

  #awaitMessage() {
    this.#setTimer(this.#isPlaying ? PLAYING_MS : QUIET_MS, () => this.#ping());
  }

  #setTimer(milliseconds, callback) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(callback, milliseconds);
  }

  #rejectPending() {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    const lost = { code: "lost", text: gettext("The connection was lost before the server responded.") };
    for (const { reject } of pending) reject(new RequestError(lost));
  }

  // Name and session.

  #sendHello() {
    const stored = session();
    const mine = this.#account();
    const id = (this.#helloId = ++this.#lastId);
    let identity;
    if (stored && this.#canResume(stored, mine)) identity = { name: stored.name, session: stored.key };
    else if (mine) identity = mine;
    else identity = { name: stored?.guest ? stored.name : guestName(), guest: true };
    this.#transmit(hello({ id, role: this.#role, views: this.#views, ...identity }));
  }

  #account() {
    const mine = account();
    return mine && mine.token !== this.#refusedAccount?.token ? mine : null;
  }

  /** A session has one role and one name; one that is playing is resumed under any name. */
  #canResume(stored, mine) {
    if (!stored.key || (this.#role !== "spectator" && stored.role === "spectator")) return false;
    return stored.playing.length > 0 || stored.name === mine?.name || (stored.guest && !mine);
  }

  #receiveWelcome(event) {
    this.#failures = 0;
    this.#isOpen = true;
    this.welcome = event;
    const stored = session();
    const same = stored?.key === event.session;
    setSession({
      name: event.name,
      key: event.session,
      guest: event.guest ?? false,
      administrator: Boolean(event.frame_bytes), // only they may send longer messages
      role: same ? stored.role : this.#role,
      playing: same ? stored.playing : [],
      fault: event.guest && account() ? this.#refusedAccount?.text : null,
    });
    this.#onState("open", "");
  }

  /** The hello was refused: try another identity, or give up. */
  #receiveHelloError(event) {
    const { code, text, seconds } = event;
    const stored = session();
    if (seconds) return this.#setTimer(seconds * 1000, () => this.#abandon());
    if (code === "unknown_session" && stored?.key) {
      for (const match of stored.playing) setSessionPlaying(match, null);
      setSession({ ...stored, key: null, playing: [] });
    } else if (this.#account()) this.#refusedAccount = { token: account().token, text: told(text) };
    else if (code === "name_taken") setSession(null);
    else if (code in FINAL) return this.#closeWith(FINAL[code] || told(text));
    else return this.#abandon();
    this.#sendHello();
  }

  #changeName() {
    const stored = session();
    const mine = this.#account();
    if (this.#closed || !this.welcome || stored?.playing.length) return;
    if (stored?.guest ? !mine : stored?.name === mine?.name) return;
    this.#disconnect();
    this.#connect();
  }

  // Events of the server.

  #receive(event) {
    this.#awaitMessage();
    if (this.#askedAt !== null) this.#lag = performance.now() - this.#askedAt;
    this.#askedAt = null;
    const { type, re, code, text } = event;
    if (type === "pong") return;
    if (type === "ping") return this.send({ type: "ping" });
    if (type === "error" && re === this.#helloId) return this.#receiveHelloError(event);
    if (type === "error" && re === undefined && code in FINAL) return this.#closeWith(FINAL[code] || told(text));
    const pending = this.#pending.get(re);
    this.#pending.delete(re);
    if (type === "error" && pending) return pending.reject(new RequestError(event));
    if (type === "welcome") this.#receiveWelcome(event);
    if (type === "started" || type === "ended") this.#trackMatch(event);
    this.#onEvent(event);
    pending?.resolve(event);
  }

  /** Store which matches the session plays: until they have ended the name stays the same. */
  #trackMatch({ type, match, seat }) {
    const stored = session();
    const others = stored.playing.filter((each) => each !== match);
    const playing = type === "started" && seat ? [...others, match] : others;
    this.#isPlaying = playing.length > 0;
    this.#awaitMessage();
    if (playing.length !== stored.playing.length) setSession({ ...stored, playing });
    if (seat || type === "ended") setSessionPlaying(match, seat ? session() : null);
  }
}
