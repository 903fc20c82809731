"""The base class of formats: which pairs there are, given the results so far."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from playout.games.core.spec import SpecError
from playout.protocol.tournament_spec import TournamentSpec
from playout.ratings.pairs import CountRange, Pair, PairScores


class Bye(NamedTuple):
    """An entrant without an opponent in a round, which is given `matches` as won."""

    round: int
    entrant: int
    matches: int


class Format(ABC):
    """The rules by which a tournament's pairs follow from its specification and its results.

    A format has no state: the same results give the same pairs, in whatever order they came in, so
    that a tournament that is resumed has the same schedule. A pair, once known, stays as it is
    while results are added. When all pairs are complete, the tournament is over.

    `withdrawn` are the entrants that were withdrawn, in the order of their withdrawal. Their
    complete pairs stay; no other pair of theirs is among the pairs. In a Swiss and a knockout their
    opponents advance without playing; if both withdrew, the opponent of the first to withdraw
    advances. Later pairs depend on that: no entrant can return, and `withdrawn` has to be stored
    with the results.
    """

    #: Whether it takes two entrants only.
    only_two: ClassVar[bool] = False
    #: Whether it ends with the decision of a sequential test, whose bounds are `spec.sprt`.
    has_test: ClassVar[bool] = False
    #: Whether all pairs are known before the first match, so that results add none.
    is_fixed: ClassVar[bool] = False
    #: Whether results decide who meets whom; otherwise they only make more pairs known, at most.
    depends_on_results: ClassVar[bool] = True
    #: Whether its report lists who met whom in each round.
    shows_rounds: ClassVar[bool] = False
    #: The most pairs of a tournament: the time that a server takes for each result grows with them.
    most_pairs: ClassVar[int] = 20_000
    #: The lowest number of rounds; 0 stands for no limit.
    least_rounds: ClassVar[int] = 1
    #: The tie-breaks that mean something in its table, in this order; keys of
    #: `standings.TIEBREAKS`.
    tiebreaks: ClassVar[tuple[str, ...]] = ()

    def __init__(self, spec: TournamentSpec) -> None:
        self.games = spec.games
        self.entrants = len(spec.entrants)
        self.rounds = spec.rounds
        self.concurrency = spec.concurrency

    @classmethod
    def check_entrants(cls, name: str, count: int) -> None:
        """Raises SpecError if the format, called `name`, does not take `count` entrants."""
        if count < 2:
            raise SpecError(f"a tournament has two or more entrants, not {count}")
        if cls.only_two and count > 2:
            raise SpecError(f"the format {name!r} is for two entrants, not {count}")

    @classmethod
    def check_size(cls, name: str, entrants: int, games: int, rounds: int) -> None:
        """Raises SpecError if a tournament of this size would keep a server busy for too long."""
        count = cls.most_known(entrants, games, rounds)
        if count > cls.most_pairs:
            most = f"{cls.most_pairs:,}"
            raise SpecError(f"the format {name!r} allows at most {most} pairs, not {count:,}")

    @classmethod
    @abstractmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """The largest number of pairs that such a tournament has, or knows at a time."""

    def pairs(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Pair]:
        """All known pairs that have been or will be played, in schedule order."""
        known = filter(None, self.schedule(results, withdrawn))
        return without_left_out(known, results, withdrawn)

    def knows_more(self, known: int, results: PairScores) -> bool:
        """Whether `results` may add pairs to the `known` ones of fewer results."""
        return not self.is_fixed

    def more(self, known: int, results: PairScores) -> Iterable[Pair]:
        """The pairs after the `known` ones that results have made known, whatever these were."""
        return ()

    def pair_count(self) -> CountRange:
        """How many pairs the whole tournament has if no entrant is withdrawn."""
        known = self.most_known(self.entrants, len(self.games), self.rounds)
        return CountRange(known, known)

    def total(self, known: int, withdrawn: Sequence[int]) -> int | None:
        """The number of pairs of the whole tournament, `known` so far; None if not yet decided."""
        return known if self.is_fixed else None

    def round_name(self, number: int) -> str:
        """The title of a round, from 1."""
        return f"Round {number}"

    def processes(self) -> list[int]:
        """How many processes of each entrant are started at first: as many as are surely useful."""
        seats = 2 * self.concurrency
        return [min(self.concurrency, math.ceil(seats / self.entrants))] * self.entrants

    def head_to_heads(self) -> list[tuple[int, int]]:
        """The two entrants of each comparison that the report shows in detail."""
        return [(0, 1)] if self.entrants == 2 else []

    def byes(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Bye]:
        """The byes of the rounds that are known; by default none."""
        return []

    def winner(self, results: PairScores, withdrawn: Sequence[int] = ()) -> int | None:
        """The winner, if the format decides that rather than the table of points."""
        return None

    def bracket(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[list[int | None]]:
        """The entrants of each round by their seats, if winners advance; by default none.

        In the first round None is an empty seat, later one whose entrant is not known yet. The last
        round is the winner.
        """
        return []

    def ranking(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[int] | None:
        """All entrants, best first, if the format decides that rather than the table of points."""
        return None

    @abstractmethod
    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterable[Pair | None]:
        """All known pairs in schedule order, with those that cannot be played any more.

        None stands for a millisecond of work. A server does something else in between.
        """


T = TypeVar("T")


def finished(steps: Generator[object, None, T]) -> T:
    """What a generator returns at its end; what it yields is passed over."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def without_left_out(
    pairs: Iterable[Pair], results: PairScores, withdrawn: Sequence[int]
) -> list[Pair]:
    """The pairs that are not `left_out`."""
    gone = frozenset(withdrawn)
    if not gone:
        return list(pairs)
    return [pair for pair in pairs if gone.isdisjoint(pair.entrants) or pair.key in results]


def encounter(
    games: tuple[str, ...], place: tuple[int, int], entrants: tuple[int, int], opening: int
) -> list[Pair]:
    """A meeting of two entrants: one pair for each game, with the first move in turn.

    `place`: the round and the board.
    """
    return [
        Pair((*place, number), game, swapped(entrants, number - 1), opening)
        for number, game in enumerate(games, start=1)
    ]


def swapped(entrants: tuple[int, int], times: int) -> tuple[int, int]:
    """The two entrants, after exchanging their places that many times."""
    return entrants if times % 2 == 0 else (entrants[1], entrants[0])


def left_out(pair: Pair, results: PairScores, withdrawn: Sequence[int]) -> bool:
    """Whether the pair is not complete and cannot be, because an entrant of it was withdrawn."""
    return pair.key not in results and absent(pair.entrants, withdrawn) is not None


def absent(entrants: tuple[int, int], withdrawn: Sequence[int]) -> int | None:
    """Which of the two forfeits the matches not played: the first to be withdrawn, or None."""
    return next((one for one in withdrawn if one in entrants), None)
