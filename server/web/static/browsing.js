// Which position of a match is looked at. Nothing of a page is needed.

/** `ply` counts the moves before the position. Who looks at the last one follows the match. */
export class Browsing {
  /** Of a match with `last` moves; `ply` is where to begin, the end if it is null. */
  constructor(last, ply = null) {
    this.last = last;
    this.ply = ply === null ? last : clamp(ply, last);
  }

  /** Is the newest position looked at? */
  get live() {
    return this.ply === this.last;
  }

  /** Look at the position after `ply` moves. True if that is another one. */
  go(ply) {
    const before = this.ply;
    this.ply = clamp(ply, this.last);
    return this.ply !== before;
  }

  /** There are `last` moves now. Who looks at an earlier position stays there. */
  grow(last) {
    if (this.live) this.ply = last;
    this.last = last;
  }
}

/** The ply that an address asks for (`?ply=12`), null for none. */
export function plyOf(search) {
  const text = new URLSearchParams(search).get("ply");
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
}

/** Where a key leads from `ply`, null if it is none of those for browsing. */
export function plyAfter(key, ply) {
  const leads = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: Infinity };
  return leads[key] ?? null;
}

function clamp(ply, last) {
  return Math.min(Math.max(ply, 0), last);
}
