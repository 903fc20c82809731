"""A running tournament on the server: its ledger, the openings, and the matches that are due."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import TournamentSpec, public
from playout.ratings.book import Book
from playout.ratings.pairs import Opening, Pair
from playout.server.tournament.ledger import LEGS, Ledger, Leg, MatchSlot


class DueMatch(NamedTuple):
    """A match that can begin when both entrants are connected; the first has seat 1.

    It begins with the position `fen`, unless that is "", and then with the moves of `opening`.
    """

    slot: MatchSlot
    game: str
    entrants: tuple[int, int]
    opening: Opening
    fen: str = ""


class TournamentState(Ledger):
    """The ledger of a tournament whose matches the server starts."""

    def __init__(
        self, tournament: str, spec: TournamentSpec, withdrawn: Iterable[int] = ()
    ) -> None:
        """See `Ledger`. Raises SpecError, also for an unknown game.

        Without `prepare`, openings and pairs are made when they are needed.
        """
        super().__init__(tournament, spec, withdrawn)
        self._describe()
        self._books = {game: Book(game, spec.openings, spec.seed) for game in spec.games}
        #: The book that lacks the opening of the next match.
        self._incomplete: Book | None = None

    def change(self, spec: TournamentSpec) -> None:
        """See `Ledger`; the openings stay."""
        super().change(spec)
        self._describe()

    def _describe(self) -> None:
        spec = self.spec
        #: The public part of it, without given openings, which may be thousands: for messages.
        self.outline = public(replace(spec, openings=replace(spec.openings, lines={}, fens={})))
        self.entrants = {skeleton(e.name): place for place, e in enumerate(spec.entrants)}

    def prepare(self) -> Iterator[None]:
        """Make the first openings and pairs, in steps of a few milliseconds.

        Raises OpeningError for a game without openings.
        """
        for book in self._books.values():
            while book.find(0) is None:
                book.prepare()
                yield
        while self.needs_pairs:
            self.prepare_pairs()
            yield

    def due(self, free: Container[int]) -> Iterator[DueMatch]:
        """Yield the matches between `free` entrants that can begin, in schedule order.

        It stops at the first match whose opening is not prepared: see `needs_opening`.
        """
        self._incomplete = None
        if self.over:
            return
        for pair in itertools.islice(self.pairs, self.complete_pairs, None):
            first, second = pair.entrants
            if first in free and second in free and pair.key not in self.results:
                attempt = self.attempts.get(pair.key)
                for leg in LEGS:
                    is_open = attempt is None or leg not in attempt.legs
                    if is_open and first in free and second in free:
                        book = self._books[pair.game]
                        opening = book.find(pair.opening)
                        if opening is None:
                            self._incomplete = book
                            return
                        slot = MatchSlot(pair.key, leg, attempt.number if attempt else 1)
                        seated, fen = _seated(pair, leg), book.fen_of(pair.opening)
                        yield DueMatch(slot, pair.game, seated, opening, fen)

    @property
    def needs_opening(self) -> bool:
        """Whether a match waits for its opening: see `prepare_opening`."""
        return self._incomplete is not None

    def prepare_opening(self) -> None:
        """Do a step of the work for the opening that a match waits for. Raises OpeningError."""
        if self._incomplete:
            self._incomplete.prepare()


def _seated(pair: Pair, leg: Leg) -> tuple[int, int]:
    first, second = pair.entrants
    return (first, second) if leg == 1 else (second, first)
