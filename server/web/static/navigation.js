// Addresses of matches, and navigation to them.

let leaving = false;

/** The address of the page of a match. */
export function matchAddress(match) {
  return `/matches/${encodeURIComponent(match)}`;
}

/**
 * Open the page of a match. Only the first call navigates: a second navigation, even to the same
 * address, would abort the first one while its page is being loaded.
 */
export function openMatch(match) {
  if (leaving) return;
  leaving = true;
  location.assign(matchAddress(match));
}

// The page is shown again from the browser's back-forward cache.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) leaving = false;
});
