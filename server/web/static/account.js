// The account and the session of this browser. The account (a name and its token) is stored in
// localStorage; the session, by which a lost connection is resumed, in sessionStorage, so that
// each tab has its own. Where the browser forbids storage, both last as long as the page.

const ACCOUNT = "account", SESSION = "session", PLAYED = "played";
/** The maximum number of matches whose sessions are noted. */
const MOST_PLAYED = 100;

/** Dispatches "account" or "session" when that value changes. */
export const accountEvents = new EventTarget();

/** The stored account, {name, token}; null for a guest. */
export const account = () => read("localStorage", ACCOUNT);

/** {name, key, guest, administrator, role, playing: [match, ...], fault}, or null before the first
 * welcome. */
export const session = () => read("sessionStorage", SESSION);

/** Store another account, {name, token}, or null to become a guest. */
export function setAccount(value) {
  write("localStorage", ACCOUNT, value);
  accountEvents.dispatchEvent(new Event("account"));
}

/** Store what is needed to resume the session, or null to forget it. */
export function setSession(value) {
  write("sessionStorage", SESSION, value);
  accountEvents.dispatchEvent(new Event("session"));
}

/** The session of a tab of this browser that plays a match, null for none. */
export const sessionPlaying = (match) => read("localStorage", PLAYED)?.[match] ?? null;

/** Note which session plays a match, null for none. The oldest notes are dropped: a match may end while no
 * page is open. */
export function setSessionPlaying(match, value) {
  const { [match]: before, ...others } = read("localStorage", PLAYED) ?? {};
  if (before?.key === value?.key) return;
  const kept = Object.fromEntries(Object.entries(others).slice(1 - MOST_PLAYED));
  write("localStorage", PLAYED, value ? { ...kept, [match]: value } : kept);
}

/** A random name for a guest, which is very unlikely to be in use. */
export function guestName() {
  const letters = "abcdefghjkmnpqrstuvwxyz23456789";
  const random = crypto.getRandomValues(new Uint8Array(6));
  return "guest-" + Array.from(random, (byte) => letters[byte % letters.length]).join("");
}

// Another tab has changed the account.
addEventListener("storage", ({ key }) => {
  if (key === ACCOUNT) accountEvents.dispatchEvent(new Event("account"));
});

/** Values that the browser refused to store, and those of a page in a frame: the frames of one page
 * would share its session. */
const memory = new Map();
const isFrame = window !== window.top;

function read(storage, key) {
  try {
    if (!isFrame) return JSON.parse(window[storage].getItem(key));
  } catch {
    // It may be in memory.
  }
  return memory.get(key) ?? null;
}

function write(storage, key, value) {
  try {
    if (isFrame) memory.set(key, value);
    else if (value) window[storage].setItem(key, JSON.stringify(value));
    else window[storage].removeItem(key);
  } catch {
    memory.set(key, value);
  }
}
