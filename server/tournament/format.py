"""The base class of formats: the pairs of a tournament, given the results so far."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from playout.games.core.spec import SpecError
from playout.protocol.tournament_spec import TournamentSpec
from playout.ratings.pairs import CountRange, Key, Pair, PairScores


class Bye(NamedTuple):
    """An entrant without an opponent in a round; `matches` count as won."""

    round: int
    entrant: int
    matches: int


class Format(ABC):
    """The rules by which a tournament's pairs follow from its specification and its results.

    The same results give the same pairs, in any order of the results, so that a resumed tournament
    has the same schedule. A known pair does not change when results are added. When all pairs are
    complete, the tournament is over.

    `withdrawn` are the entrants that were withdrawn, in the order of their withdrawal. Their
    complete pairs stay; their other pairs are left out. In a Swiss and a knockout their opponents
    advance without playing; if both were withdrawn, the one that was withdrawn later advances.
    Later pairs depend on that: no entrant can return, and `withdrawn` is stored with the results.
    """

    #: Whether it is for two entrants only.
    only_two: ClassVar[bool] = False
    #: Whether it ends with the decision of a sequential test with the bounds `spec.sprt`.
    has_test: ClassVar[bool] = False
    #: Whether candidates race against entrant 0, on the terms `spec.betting`.
    has_race: ClassVar[bool] = False
    #: Whether all pairs are known before the first match, so that results add none.
    is_fixed: ClassVar[bool] = False
    #: Whether results decide the pairings; otherwise results can only make more pairs known.
    depends_on_results: ClassVar[bool] = True
    #: Whether its report lists the meetings of each round.
    shows_rounds: ClassVar[bool] = False
    #: Maximum number of pairs: the server's time for each result grows with it.
    most_pairs: ClassVar[int] = 20_000
    #: Minimum number of rounds; 0 means that the number has no limit.
    least_rounds: ClassVar[int] = 1
    #: Whether entrants may join later: what these play is in its class.
    takes_late_entrants: ClassVar[bool] = False
    #: Whether its table is sorted by ratings instead of points.
    ranks_by_rating: ClassVar[bool] = False
    #: Whether rounds may be added while it is played.
    takes_more_rounds: ClassVar[bool] = True
    #: The tie-breaks of its table, in this order; keys of `standings.TIEBREAKS`.
    tiebreaks: ClassVar[tuple[str, ...]] = ()

    def __init__(self, spec: TournamentSpec) -> None:
        self.games = spec.games
        self.entrants = len(spec.entrants)
        #: The round from which each entrant plays.
        self.since = tuple(each.since for each in spec.entrants)
        self.rounds = spec.rounds
        self.concurrency = spec.concurrency
        #: Complete pairs with the moves of earlier ones: they count as points, not as evidence.
        self.repeated: set[Key] = set()
        #: The luck of the first entrant of complete pairs, in both matches, where it is known.
        self.luck: dict[Key, float] = {}

    @classmethod
    def check_entrants(cls, name: str, count: int) -> None:
        """Raise SpecError if the format, called `name`, is not for `count` entrants."""
        if count < 2:
            raise SpecError(f"a tournament has two or more entrants, not {count}")
        if cls.only_two and count > 2:
            raise SpecError(f"the format {name!r} is for two entrants, not {count}")

    @classmethod
    def check_size(cls, name: str, entrants: int, games: int, rounds: int) -> None:
        """Raise SpecError if a tournament of this size would keep a server busy for too long."""
        count = cls.most_known(entrants, games, rounds)
        if count > cls.most_pairs:
            most = f"{cls.most_pairs:,}"
            raise SpecError(f"the format {name!r} allows at most {most} pairs, not {count:,}")

    @classmethod
    @abstractmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """Return the maximum number of pairs that are known at the same time."""

    def pairs(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Pair]:
        """Return all known pairs that were or will be played, in schedule order."""
        known = filter(None, self.schedule(results, withdrawn))
        return without_left_out(known, results, withdrawn)

    def knows_more(self, known: int, results: PairScores) -> bool:
        """Return whether `results` may add pairs to the `known` number of pairs."""
        return not self.is_fixed

    def more(self, known: int, results: PairScores) -> Iterable[Pair]:
        """Return the pairs after the `known` ones, of a format that does not depend on results."""
        return ()

    def pair_count(self) -> CountRange:
        """Return the number of pairs of the whole tournament if no entrant is withdrawn."""
        known = self.most_known(self.entrants, len(self.games), self.rounds)
        return CountRange(known, known)

    def total(self, known: int, withdrawn: Sequence[int]) -> int | None:
        """Return the number of all pairs, of which `known` are known; None if not yet decided."""
        return known if self.is_fixed else None

    def round_name(self, number: int) -> str:
        """Return the title of a round; the first is 1."""
        return f"Round {number}"

    def processes(self) -> list[int]:
        """Return how many processes of each entrant are started at first, all of them useful."""
        seats = 2 * self.concurrency
        return [min(self.concurrency, math.ceil(seats / self.entrants))] * self.entrants

    def head_to_heads(self) -> list[tuple[int, int]]:
        """Return the two entrants of each comparison that the report shows in detail."""
        return [(0, 1)] if self.entrants == 2 else []

    def byes(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Bye]:
        """Return the byes of the known rounds; by default none."""
        return []

    def winner(self, results: PairScores, withdrawn: Sequence[int] = ()) -> int | None:
        """Return the winner, if the format decides it, not the table of points."""
        return None

    def bracket(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[list[int | None]]:
        """Return the entrants of each round by their seats, if winners advance; by default none.

        Neighbours meet. None is an empty seat in the first round, and later an entrant that is not
        known yet. The last round is the winner.
        """
        return []

    def ranking(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[int] | None:
        """Return all entrants, best first, if the format decides it, not the table of points."""
        return None

    @abstractmethod
    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterable[Pair | None]:
        """Return all known pairs in schedule order, also those that can no longer be played.

        None stands for a millisecond of work, after which a server does other work.
        """


T = TypeVar("T")


def finished(steps: Generator[object, None, T]) -> T:
    """Return the value that a generator returns, and ignore what it yields."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def without_left_out(
    pairs: Iterable[Pair], results: PairScores, withdrawn: Sequence[int]
) -> list[Pair]:
    """Return the pairs that are not `left_out`."""
    gone = frozenset(withdrawn)
    if not gone:
        return list(pairs)
    return [pair for pair in pairs if gone.isdisjoint(pair.entrants) or pair.key in results]


def encounter(
    games: tuple[str, ...], place: tuple[int, int], entrants: tuple[int, int], opening: int
) -> list[Pair]:
    """Return a meeting of two entrants: one pair for each game, with the first move in turn.

    `place`: the round and the board.
    """
    return [
        Pair((*place, number), game, swapped(entrants, number - 1), opening)
        for number, game in enumerate(games, start=1)
    ]


def swapped(entrants: tuple[int, int], times: int) -> tuple[int, int]:
    """Return the two entrants, after exchanging their places that many times."""
    return entrants if times % 2 == 0 else (entrants[1], entrants[0])


def left_out(pair: Pair, results: PairScores, withdrawn: Sequence[int]) -> bool:
    """Return whether the pair cannot be completed, because an entrant of it was withdrawn."""
    return pair.key not in results and absent(pair.entrants, withdrawn) is not None


def absent(entrants: tuple[int, int], withdrawn: Sequence[int]) -> int | None:
    """Return which of the two forfeits unplayed matches: the first one withdrawn, or None."""
    return next((one for one in withdrawn if one in entrants), None)
