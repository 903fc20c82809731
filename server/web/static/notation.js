// Moves as people type them, and what is said of moves. Nothing of a page is needed.

const LISTED = 12;

/** The choice that `text` names, {choice}, or why there is none, {fault}. */
export function read(text, legalMoves) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return { fault: "Type a move first." };
  const choice = legalMoves.find(({ name }) => name.toLowerCase() === wanted);
  if (choice) return { choice };
  const names = legalMoves.slice(0, LISTED).map(({ name }) => name);
  const more = legalMoves.length > LISTED ? ` and ${legalMoves.length - LISTED} more` : "";
  const possible = `${names.join(", ")}${more}`;
  return { fault: `“${text.trim().slice(0, 20)}” is not possible here. Possible: ${possible}.` };
}

/** Whose turn it is, or how it ended. */
export function standing({ players, seat, toMove, result }) {
  if (result) return outcome(result, players);
  return toMove === seat ? "Your turn" : `${players[toMove - 1]} to move`;
}

/** The result in words. */
export function outcome({ winner }, players) {
  if (winner > 0) return `${players[winner - 1]} won`;
  return winner < 0 ? "A tie" : "No result";
}

/** What the result does not say: why it is so. "" where the rules say it. */
export function why({ reason, text }) {
  return reason === "rules" ? "" : text;
}

/** A move and what follows, to be read aloud. */
export function announcement({ player, view }, record) {
  const who = player === record.seat ? "You play" : `${record.players[player - 1]} plays`;
  const next = record.toMove === record.seat ? "your turn" : standing(record);
  return `${who} ${view.name}${record.toMove ? `; ${next}` : ""}.`;
}

/** What is said when the server is about to stop, by its `closing`. */
export function farewell({ seconds, kept }) {
  const then = kept ? "go on when it is back" : "have no result";
  const when = `The server stops in ${Math.ceil(seconds)} seconds at most.`;
  return `${when} Matches that are not over by then ${then}.`;
}

/** A rate from 0 to 1 for people. */
export function percent(rate) {
  return `${(100 * rate).toFixed(rate > 0 && rate < 1 ? 1 : 0)} %`;
}
