// Who the person is. The account, a name with its token, is kept in this browser; the session, for
// coming back to matches, in this tab. Where nothing may be kept, it is known for this page only.

const ACCOUNT = "account", SESSION = "session";

/** Tells with "account" or "session" that it is another one than before. */
export const identity = new EventTarget();

/** {name, token}, or null for a guest. */
export const account = () => read("localStorage", ACCOUNT);

/** {name, key, guest, role, playing: [match, ...], fault}, or null before the first welcome. */
export const session = () => read("sessionStorage", SESSION);

/** Be somebody else from now on: {name, token}, or null for a guest. */
export function setAccount(value) {
  write("localStorage", ACCOUNT, value);
  identity.dispatchEvent(new Event("account"));
}

/** Keep what leads back to the session, or forget it. */
export function setSession(value) {
  write("sessionStorage", SESSION, value);
  identity.dispatchEvent(new Event("session"));
}

/** A name that most likely nobody has. */
export function guestName() {
  const letters = "abcdefghjkmnpqrstuvwxyz23456789";
  const random = crypto.getRandomValues(new Uint8Array(6));
  return "guest-" + Array.from(random, (byte) => letters[byte % letters.length]).join("");
}

addEventListener("storage", ({ key }) => {
  if (key === ACCOUNT) identity.dispatchEvent(new Event("account"));
});

const unkept = new Map();

function read(storage, key) {
  try {
    return JSON.parse(window[storage].getItem(key));
  } catch {
    return unkept.get(key) ?? null;
  }
}

function write(storage, key, value) {
  try {
    if (value) window[storage].setItem(key, JSON.stringify(value));
    else window[storage].removeItem(key);
  } catch {
    unkept.set(key, value);
  }
}
