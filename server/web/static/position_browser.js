// Which position of a match is shown. Uses no element of a page.

/** `ply` is the number of moves before the shown position. At the last one, new moves are followed. */
export class PositionBrowser {
  /** For a match with `last` moves; starts at `ply`, or at the last position if that is null. */
  constructor(last, ply = null) {
    this.last = last;
    this.ply = ply === null ? last : clamp(ply, last);
  }

  /** Is the last position shown? */
  get live() {
    return this.ply === this.last;
  }

  /** Show the position after `ply` moves. Returns whether another position is shown now. */
  go(ply) {
    const before = this.ply;
    this.ply = clamp(ply, this.last);
    return this.ply !== before;
  }

  /** Set the number of moves. Follows to the last position if that was shown before (unless `follows`
   * is false), or if the shown one is not there any more. */
  extend(last, follows = true) {
    if ((this.live && follows) || this.ply > last) this.ply = last;
    this.last = last;
  }
}

/** The ply in the query of an address (`?ply=12`), null if it has none. */
export function plyOf(search) {
  const text = new URLSearchParams(search).get("ply");
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
}

/** The ply to which a key leads from `ply`, null for keys that do not browse. */
export function plyAfter(key, ply) {
  const plies = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: Infinity };
  return plies[key] ?? null;
}

function clamp(ply, last) {
  return Math.min(Math.max(ply, 0), last);
}
