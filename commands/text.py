"""Text for people: without control characters, in lines, with numbers and dates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

#: The longest line of moves, in characters.
COLUMNS = 80

#: The text for an unknown number.
UNKNOWN = "\N{EN DASH}"

_CONTROL = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")


def plain(text: str) -> str:
    """Return the text with a space in place of each control character, such as a line break."""
    return text.translate(_CONTROL)


def filled(pieces: Iterable[str], between: str = "") -> str:
    """Return the pieces on lines of at most COLUMNS characters, unless a piece is longer."""
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(between) + len(piece) > COLUMNS:
            lines.append("")
        lines[-1] += (between if lines[-1] else "") + piece
    return "\n".join(lines)


def utc(at: float) -> datetime:
    """Return the UTC date and time of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share, 0 to 1, as in `87.5%`; a dash if it is unknown."""
    return UNKNOWN if share is None else f"{100 * share:.{digits}f}%"


def counted(number: int, one: str) -> str:
    """Return a number with its noun, as in `1 pair`, `2 pairs`, `3 matches`, `4 plies`."""
    if number == 1:
        return f"1 {one}"
    if one.endswith("ply"):
        return f"{number} {one.removesuffix('y')}ies"
    return f"{number} {one}{'es' if one.endswith('ch') else 's'}"
