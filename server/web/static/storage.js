// Choices that the browser keeps. Where it forbids storage, they hold for the page.

/** The value of a key, null for none. */
export function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The list or the object that is kept as JSON; `usual` if there is none, or another value. */
export function readJson(key, usual) {
  try {
    const found = JSON.parse(read(key));
    return found?.constructor === usual.constructor ? found : usual;
  } catch {
    return usual;
  }
}

/** Keep a value, a text. */
export function write(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice holds for this page.
  }
}
