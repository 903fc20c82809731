// The ratings of players who seek a match, at the game of the seek.

import { gettext } from "./texts.js";

/** For each game, a promise of the ratings by name, and of the name that has 1500, as they were when
 * first needed. */
const known = new Map();

/** Show in `place` the rating of a player at a game, a specification; nothing without one. */
export async function showRating(place, name, game) {
  if (!known.has(game)) known.set(game, ratingsAt(game));
  const { entries, anchor } = await known.get(game);
  const rated = entries.get(name);
  if (!rated) return;
  place.textContent = `${Math.round(rated.rating)} ± ${Math.round(rated.error)}`;
  place.title = gettext("Server rating: Elo, on a scale on which %(name)s has 1500", { name: anchor[0] });
}

async function ratingsAt(game) {
  const query = new URLSearchParams({ game, per_page: 200 });
  const response = await fetch(`/api/players?${query}`).catch(() => null);
  const { items = [], anchor = null } = response?.ok ? await response.json() : {};
  return { entries: new Map(items.map((each) => [each.name, each])), anchor };
}
