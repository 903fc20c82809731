// The rolls of a match follow from its key: see docs/protocol-games.md. Uses no element of a page.

import { gettext } from "./texts.js";

const NUMBERS = 2n ** 256n;

/** The plies of the rolls of a match that do not follow from its key, empty if all do. `match` is the data of
 * a match as under /api/matches/ID. Rejects with an Error whose message says what is missing. */
export async function wrongRolls({ match, commitment, key, rolls, opening = 0, positions = [] }) {
  if (!globalThis.crypto?.subtle) {
    throw new Error(gettext("This browser verifies rolls only on pages with HTTPS. The command playout-server verify does so, too."));
  }
  const isHexadecimal = (text) => /^[0-9a-f]{64}$/.test(text);
  const isRoll = (roll) => [roll?.ply, roll?.n, roll?.first, roll?.last].every(Number.isSafeInteger) && roll.n > 0;
  const areLists = Array.isArray(rolls) && Array.isArray(positions) && rolls.every(isRoll) && positions.every(Boolean);
  if (typeof match !== "string" || !isHexadecimal(commitment) || !isHexadecimal(key) || !areLists) {
    throw new Error(gettext("This is not the JSON of a finished match with rolls, as under /api/matches/ID."));
  }
  const secret = Uint8Array.from(key.match(/../g), (digits) => parseInt(digits, 16));
  if (numberOf(await crypto.subtle.digest("SHA-256", secret)) !== BigInt(`0x${commitment}`)) {
    throw new Error(gettext("The key is not the one whose SHA-256 the players got."));
  }
  const played = positions.filter(({ player, ply }) => player === 0 && ply > opening).map(({ ply }) => ply - 1);
  if (played.join() !== rolls.map(({ ply }) => ply).join()) {
    throw new Error(gettext("The rolls are not those among the moves of the match."));
  }
  const signer = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const wrong = [];
  for (const { ply, n, first, last } of rolls) {
    const number = await numberBelow(BigInt(n), (counter) => signed(signer, `${match}:${ply}:${counter}`));
    if (number < first || number > last) wrong.push(ply);
  }
  return wrong;
}

/** The first of the numbers of a source that is below the last multiple of `n`, modulo `n`. */
async function numberBelow(n, source) {
  const end = NUMBERS - (NUMBERS % n);
  for (let counter = 0; ; counter += 1) {
    const number = await source(counter);
    if (number < end) return number % n;
  }
}

async function signed(signer, text) {
  return numberOf(await crypto.subtle.sign("HMAC", signer, new TextEncoder().encode(text)));
}

/** The bytes as a whole number, the first byte first. */
function numberOf(buffer) {
  return new Uint8Array(buffer).reduce((number, byte) => number * 256n + BigInt(byte), 0n);
}
