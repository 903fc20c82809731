// Parses typed moves, and describes moves and results. Uses no element of a page.

const LISTED = 12;

/** The legal move that `text` names, {move}, or why there is none, {fault}. */
export function parseMove(text, legalMoves) {
  const wanted = text.trim();
  if (!wanted) return { fault: "Type a move first." };
  const isWanted = ({ name }) => name.toLowerCase() === wanted.toLowerCase();
  const move = legalMoves.find(({ name }) => name === wanted) ?? legalMoves.find(isWanted);
  if (move) return { move };
  const names = legalMoves.slice(0, LISTED).map(({ name }) => name);
  const more = legalMoves.length > LISTED ? ` and ${legalMoves.length - LISTED} more` : "";
  const possible = `${names.join(", ")}${more}`;
  return { fault: `“${text.trim().slice(0, 20)}” is not possible here. Possible: ${possible}.` };
}

/** The player to move, or the result. */
export function statusText({ players, seat, toMove, result }) {
  if (result) return resultText(result, players, seat);
  return toMove === seat ? "Your turn" : `${players[toMove - 1]} to move`;
}

/** The result in words, for the person in `seat`, or for spectators. */
export function resultText({ winner }, players, seat = null) {
  if (winner > 0 && seat) return winner === seat ? "You won" : "You lost";
  if (winner > 0) return `${players[winner - 1]} won`;
  return winner < 0 ? "A tie" : "No result";
}

/** Why the match ended so, "" where the rules decided it. */
export function reasonText({ reason, text }) {
  return reason === "rules" ? "" : text;
}

/** A move, what it did and the player who moves next, for a screen reader. */
export function announcement({ player, view }, record, did = "") {
  const mover = player === record.seat ? "You play" : `${record.players[player - 1]} plays`;
  const next = record.toMove === record.seat ? "your turn" : statusText(record);
  return `${mover} ${view.name}${did && `, ${did}`}${record.toMove ? `; ${next}` : ""}.`;
}

/** An open offer in words. */
export function offerText({ offer, player, lead }, { players, seat }) {
  if (offer === "score") return scoreOfferText(player, lead, players, seat);
  if (player !== seat) {
    return `${players[player - 1]} ${offer === "draw" ? "offers a draw" : "asks to take a move back"}.`;
  }
  const made = offer === "draw" ? "You offer a draw" : "You ask to take a move back";
  return `${made}. ${players[2 - seat]} can accept, or decline by a move.`;
}

/** The result of a score: `lead` are the points by which player 1 is ahead. */
export function leadText(lead, players) {
  return lead === 0 ? "a tie" : `${players[lead > 0 ? 0 : 1]} wins by ${Math.abs(lead)}`;
}

function scoreOfferText(player, lead, players, seat) {
  const result = leadText(lead ?? 0, players);
  if (player !== seat) return `${players[player - 1]} offers to count: ${result}.`;
  return `You offer to count: ${result}. ${players[2 - seat]} can accept, or decline by a move.`;
}

/** How an offer was closed that was not accepted. */
export function closedOfferText({ offer, player, how }, { players, seat }) {
  const closer = how === "withdrawn" ? player : 3 - player;
  const what = { draw: "the draw", takeback: "the takeback", score: "the score" }[offer];
  return `${closer === seat ? "You have" : `${players[closer - 1]} has`} ${how} ${what}.`;
}

/** A takeback and the player who moves next, for a screen reader. */
export function takebackText({ player, ply }, record) {
  const who = player === record.seat ? "You take" : `${record.players[player - 1]} takes`;
  const next = record.toMove === record.seat ? "your turn" : statusText(record);
  return `${who} a move back, to move ${ply}; ${next}.`;
}

/** The number of moves that a person tries, after the text for a ply; "" for none. */
export function triedText(moves) {
  return moves ? ` and ${moves} ${moves > 1 ? "moves" : "move"} of your own` : "";
}

/** The text for `closing`, which the server sends before it stops. */
export function closingText({ seconds, kept }) {
  const outcome = kept ? "go on when the server is back" : "have no result";
  const when = `The server stops in ${Math.ceil(seconds)} seconds at most.`;
  return `${when} Matches that are not over by then ${outcome}.`;
}

/** A text as a sentence. */
export function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

/** A rate from 0 to 1 as a percentage. */
export function percent(rate) {
  return `${(100 * rate).toFixed(rate > 0 && rate < 1 ? 1 : 0)} %`;
}
