"""The openings of a tournament: random moves that leave both sides a chance, or those of a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from playout import games
from playout.protocol.tournament_spec import Openings
from playout.ratings.pairs import Opening


class Book:
    """The openings of one game in a tournament, by the numbers in pairs.

    They are given openings, as listed or shuffled by the seed, or generated when they are needed:
    at once by indexing, or a few milliseconds at a time by `prepare`. Both raise OpeningError if no
    opening exists. After the last opening the book starts again.
    """

    def __init__(self, game: str, openings: Openings, seed: int) -> None:
        # It compiles functions when it is imported, which the event loop of a server must not do.
        from playout.ratings import opening_generator

        self._known: list[Opening] = []
        self._complete = False
        if lines := openings.lines.get(game):
            shuffled = openings.order == "shuffled"
            self._more: Iterator[Opening | None] = (
                opening_generator.shuffled(lines, seed) if shuffled else iter(lines)
            )
        else:
            self._more = opening_generator.attempts(
                games.load(game), openings.plies, seed, openings.near
            )

    def find(self, number: int) -> Opening | None:
        """Return the opening of that number; None if it is not prepared yet."""
        if number < len(self._known):
            return self._known[number]
        return self._known[number % len(self._known)] if self._complete else None

    def prepare(self) -> None:
        """Do a step of the work for the next opening, in a few milliseconds."""
        steps = tuple(itertools.islice(self._more, 1))
        self._known += (opening for opening in steps if opening is not None)
        self._complete = not steps

    def __getitem__(self, number: int) -> Opening:
        while (opening := self.find(number)) is None:
            self.prepare()
        return opening
