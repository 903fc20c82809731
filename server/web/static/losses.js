// The moves of a match that lost the most, by its win rates. Uses no element of a page.

/** At most so many moves are marked, each of which lost at least so much. */
const [MOST, LEAST] = [3, 0.1];

/** The signs of moves that lost much, and how much they lost at least. */
const SIGNS = [
  ["??", 0.3],
  ["?", 0.2],
  ["?!", LEAST],
];

/** All moves that lost much, with the sign that annotators give them. With dice there are none: a
 * difference of win rates is luck, too. */
export function signedLosses(record) {
  if (record.board?.has_chance) return [];
  const signOf = (loss) => SIGNS.find(([, least]) => loss >= least)[0];
  return largestLosses(record, Infinity).map((each) => ({ ...each, sign: signOf(each.loss) }));
}

/** The `most` moves that lost the most, [{ply, player, loss}], the largest loss first. `loss` is by how much
 * the mover's win rate fell. If one bot has judged the positions, it says so; otherwise each player,
 * whose win rate was lower at the next move. */
export function largestLosses(record, most = MOST) {
  const [first, second, judged] = record.rates();
  const found = judged.length > 1 ? byJudge(record, judged) : [...byPlayer(first, 1), ...byPlayer(second, 2)];
  return found
    .filter(({ loss }) => loss >= LEAST)
    .sort((one, other) => other.loss - one.loss)
    .slice(0, most);
}

/** What each move lost between two positions that were judged. */
function byJudge(record, judged) {
  const rates = new Map(judged.map(({ ply, rate }) => [ply, rate]));
  const later = judged.filter(({ ply }) => rates.has(ply - 1));
  return later.map(({ ply, rate }) => {
    const { player } = record.positions[ply];
    const fall = rates.get(ply - 1) - rate;
    return { ply, player, loss: player === 1 ? fall : -fall };
  });
}

/** What each move of a player lost until that player's next one. */
function byPlayer(points, player) {
  return points.slice(0, -1).map(({ ply, rate }, at) => {
    const fall = rate - points[at + 1].rate;
    return { ply, player, loss: player === 1 ? fall : -fall };
  });
}
