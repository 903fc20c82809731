"""The numbers of a position of draughts in Portable Draughts Notation (PDN 3.0), as `:H3:F40`.

H is the number of plies since the last capture or move of a man, F the number of the first move.
"""

from __future__ import annotations

import re

from playout.games.core.grid import JumpingGame
from playout.games.core.spec import SpecError

_NUMBERS = re.compile(r":([HF])(\d{1,6})", re.IGNORECASE)


def placed_numbers(game: JumpingGame, fen: str | None, limit: int) -> int:
    """Return the H of a position, after `JumpingGame.placed`; sets `first_number` and `canonical`.

    With `limit` plies the match is over. Raises SpecError.
    """
    found = _NUMBERS.findall((fen or "").replace(" ", ""))
    numbers = {letter.upper(): int(number) for letter, number in found}
    quiet, first = numbers.get("H", 0), max(1, numbers.get("F", 1))
    written = game.canonical["fen"]
    if written is None or (quiet, first) == (0, 1):
        return 0
    if quiet >= limit:
        raise SpecError(
            f"no match begins with the position {fen!r}: it is a tie after {limit} plies"
        )
    game.first_number = first
    game.canonical = {"fen": f"{written}:H{quiet}:F{first}"}
    return quiet
