"""Openings of the pairs on a ladder, without end: random moves after which nothing is decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from server.model.tournament_spec import Openings
from server.tournament.openings import Book, Opening, OpeningError

#: The number of random moves. A game with no usable positions after as many has fewer.
PLIES: Final = 4
#: The number of openings after which others are made: a book keeps all that it has made.
BOOK_SIZE: Final = 200


class LadderOpenings:
    """The openings of a ladder, made when they are needed, a few milliseconds at a time."""

    def __init__(self, game: str, new_seed: Callable[[], int]) -> None:
        """`new_seed` returns another seed each time."""
        self._game = game
        self._new_seed = new_seed
        self._plies = PLIES
        self._renew()

    def find(self) -> Opening | None:
        """Return the next opening; None if it is not prepared yet."""
        return self._book.find(self._number)

    def used(self) -> None:
        """Note that a pair has begun with the opening that `find` returns."""
        self._number += 1
        if self._number == BOOK_SIZE:
            self._renew()

    def prepare(self) -> None:
        """Do a step of the work for the next opening, a few milliseconds long."""
        try:
            self._book.prepare()
        except OpeningError:  # each position after so many moves is decided
            self._plies //= 2
            self._renew()

    def _renew(self) -> None:
        self._book = Book(self._game, Openings(plies=self._plies), self._new_seed())
        self._number = 0
