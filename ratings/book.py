"""Openings of tournaments and ladders: random moves that leave both sides a chance, or of a file.

The folder `books` has near-even openings of each game with its default parameters, written by
`playout-tournament openings`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator
from importlib.resources import files

from playout import games
from playout.protocol.tournament_spec import Openings
from playout.ratings.pairs import Opening, OpeningError

#: Of a ladder: the number of random moves, halved for a game without usable positions after them.
_PLIES = 4
#: The number of openings after which a new book is made, as a book keeps all its openings.
_BOOK_SIZE = 200


@functools.cache
def shipped(game: str) -> tuple[Opening, ...]:
    """Return the openings of the shipped book of a game; () if it has none."""
    file = files("playout.ratings") / "books" / f"{game}.txt"
    if not game.isidentifier() or not file.is_file():
        return ()
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(tuple(json.loads(line)) for line in lines if line.startswith("["))


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
        #: For each known opening, the `fen` of its first position.
        self._fens: list[str] = []
        self._complete = False
        if lines := openings.lines.get(game):
            fens = openings.fens.get(game) or itertools.repeat("")
            given = list(zip(lines, fens, strict=False))
            is_shuffled = openings.order == "shuffled"
            self._more: Iterator[tuple[Opening, str] | None] = (
                opening_generator.shuffled(given, seed) if is_shuffled else iter(given)
            )
        else:
            attempts = opening_generator.attempts(
                games.load(game), openings.plies, seed, openings.near
            )
            self._more = (found if found is None else (found, "") for found in attempts)

    def find(self, number: int) -> Opening | None:
        """Return the opening of that number; None if it is not prepared yet."""
        if number < len(self._known):
            return self._known[number]
        return self._known[number % len(self._known)] if self._complete else None

    def fen_of(self, number: int) -> str:
        """Return the first position of a known opening; "" for the usual one."""
        return self._fens[number % len(self._fens)]

    def prepare(self) -> None:
        """Do a step of the work for the next opening, in a few milliseconds."""
        steps = tuple(itertools.islice(self._more, 1))
        for opening, fen in filter(None, steps):
            self._known.append(opening)
            self._fens.append(fen)
        self._complete = not steps

    def __getitem__(self, number: int) -> Opening:
        while (opening := self.find(number)) is None:
            self.prepare()
        return opening


class LadderOpenings:
    """The openings of a ladder, random and without an end.

    They are made when they are needed, a few milliseconds at a time.
    """

    def __init__(self, game: str, new_seed: Callable[[], int]) -> None:
        """`new_seed` returns another seed each time."""
        self._game = game
        self._new_seed = new_seed
        self._plies = _PLIES
        self._renew()

    def find(self) -> Opening | None:
        """Return the next opening; None if it is not prepared yet."""
        return self._book.find(self._number)

    def used(self) -> None:
        """Note that a pair has begun with the opening that `find` returns."""
        self._number += 1
        if self._number == _BOOK_SIZE:
            self._renew()

    def prepare(self) -> None:
        """Do a step of the work for the next opening, a few milliseconds long."""
        try:
            self._book.prepare()
        except OpeningError:  # all positions after this number of moves are decided
            self._plies //= 2
            self._renew()

    def _renew(self) -> None:
        self._book = Book(self._game, Openings(plies=self._plies), self._new_seed())
        self._number = 0
