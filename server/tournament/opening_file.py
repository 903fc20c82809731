"""Files of openings: one opening on each line.

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

_BETWEEN = re.compile(r"[\s,]+")
_NUMBER = re.compile("[0-9]{1,9}")


class BadOpening(ValueError):
    """A line that is not a valid opening; the text gives the reason."""


def read(text: str, game: Game) -> Iterator[tuple[int, tuple[int, ...] | BadOpening]]:
    """Each opening's line, from 1, and its actions, or the error.

    An opening that leads to the same position as an earlier one is an error.
    """
    seen: dict[State, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        moves = line.partition("#")[0].strip()
        if not moves:
            continue
        try:
            actions, state = _played(moves, game)
            if state in seen:
                raise BadOpening(f"it leads to the same position as line {seen[state]}")
            seen[state] = number
            yield number, actions
        except BadOpening as error:
            yield number, error


def _played(moves: str, game: Game) -> tuple[tuple[int, ...], State]:
    """The actions of a line, and the position after them. Raises BadOpening."""
    in_brackets = re.fullmatch(r"\[(.*)\]", moves)
    words = [word for word in _BETWEEN.split(in_brackets[1] if in_brackets else moves) if word]
    state = game.initial_state()
    actions: list[int] = []
    for word in words:
        try:
            action = _number(word) if in_brackets else game.parse_action(state, word)
            state = game.next_state(state, action)
        except IllegalAction as error:
            hint = "" if in_brackets else " (numbers of actions are written in brackets)"
            raise BadOpening(f"{game}, move {len(actions) + 1}: {error}{hint}") from error
        actions.append(action)
    if game.winner(state):
        raise BadOpening(f"{game}: the game is over after these moves")
    return tuple(actions), state


def _number(word: str) -> int:
    if not _NUMBER.fullmatch(word):
        raise BadOpening(f"expected the number of an action in brackets, not {word[:50]!r}")
    return int(word)
