"""Lists of openings: one opening on each line.

    # notation, with blanks or commas between the moves,
    d3 c5 f6
    # or the numbers of the actions, in brackets
    [19, 34, 45]

Brackets distinguish the two, because in some games moves are written as numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from games import Game, IllegalAction, State
from server.tournament.written_opening import BadOpening, WrittenMove, WrittenOpening

_BETWEEN = re.compile(r"[\s,]+")
_NUMBER = re.compile("[0-9]{1,9}")
_HINT = " (numbers of actions are written in brackets)"


def read(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yields the opening of each line that is neither empty nor a comment."""
    for number, line in enumerate(text.split("\n"), start=1):
        written = line.partition("#")[0].strip()
        if not written:
            continue
        in_brackets = re.fullmatch(r"\[(.*)\]", written)
        words = _BETWEEN.split(in_brackets[1] if in_brackets else written)
        moves = tuple(WrittenMove(number, word) for word in words if word)
        if in_brackets:
            yield WrittenOpening(number, moves, _number)
        else:
            yield WrittenOpening(number, moves, _named, _HINT)


def _named(game: Game, state: State, word: str) -> int:
    return game.parse_action(state, word)


def _number(game: Game, state: State, word: str) -> int:
    if not _NUMBER.fullmatch(word):
        raise IllegalAction(f"expected the number of an action in brackets, not {word[:50]!r}")
    return int(word)
