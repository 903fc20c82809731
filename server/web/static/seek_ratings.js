// The ratings of players who seek a match, at the game of the seek.

/** For each game, a promise of the ratings by name, as they were when first needed. */
const known = new Map();

/** Show in `place` the rating of a player at a game, a specification; nothing without one. */
export async function showRating(place, name, game) {
  if (!known.has(game)) known.set(game, ratingsAt(game));
  const rated = (await known.get(game)).get(name);
  if (rated) place.textContent = `${Math.round(rated.rating)} ± ${Math.round(rated.error)}`;
}

async function ratingsAt(game) {
  const query = new URLSearchParams({ game, per_page: 200 });
  const response = await fetch(`/api/players?${query}`).catch(() => null);
  const { items = [] } = response?.ok ? await response.json() : {};
  return new Map(items.map((each) => [each.name, each]));
}
