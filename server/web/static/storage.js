// Choices that the browser keeps. Where it forbids storage, they hold for the page.

/** The value of a key, null for none. */
export function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
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
