"""An opening as it is written in a file, before it is played."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from games import Game, State


class BadOpening(ValueError):
    """An opening that cannot be used: the line of its mistake, from 1, and the reason."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class WrittenMove(NamedTuple):
    """A move in the notation of the file, and its line."""

    line: int
    text: str


class WrittenOpening(NamedTuple):
    """The moves of an opening that begins at `line`.

    `action` gives the action of a move's text in a state, or raises IllegalAction or BadOpening;
    `hint` is added to the text of an illegal one.
    """

    line: int
    moves: tuple[WrittenMove, ...]
    action: Callable[[Game, State, str], int]
    hint: str = ""


#: Reads the openings of a file's text; errors stand in the place of their openings.
OpeningReader = Callable[[str, Game], Iterator[WrittenOpening | BadOpening]]
