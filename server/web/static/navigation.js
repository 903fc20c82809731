// Addresses of matches, navigation to them, and links to the rules of games.

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

/** Let a link to the page of a game open a dialog with its rules instead. */
export function opensDialog(link) {
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const { showRules } = await import("./rules.js"); // fetched at the first click
    await showRules(link.href);
  });
}
