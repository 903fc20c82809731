"""What a format is: which pairs there are, given the results so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from server.model.tournament_spec import TournamentSpec
from server.tournament.pairs import Pair, Results


class Bye(NamedTuple):
    """Somebody had no opponent in a round, and is given `matches` as won."""

    round: int
    entrant: int
    matches: int


class Format(ABC):
    """The rules by which a tournament's pairs follow from its specification and its results.

    It keeps nothing: the same results give the same pairs, whatever order they came in, so a
    tournament that is resumed has the schedule it had. A pair once there stays as it was while
    results are added. When all pairs are complete, the tournament is over.

    `out` are the entrants that are suspended, in the order in which they were. What they have
    completed stays; no other pair of theirs is among the pairs. In a Swiss and a knockout their
    opponents go on without playing, of two that are suspended the opponent of who was first. What
    follows depends on it: nobody may come back, and `out` has to be kept with the results.
    """

    #: Is it for two entrants, and not for more?
    only_two: ClassVar[bool] = False

    def __init__(self, spec: TournamentSpec) -> None:
        self.games = spec.games
        self.entrants = len(spec.entrants)
        self.rounds = spec.rounds
        self.concurrency = spec.concurrency

    def pairs(self, results: Results, out: Sequence[int] = ()) -> list[Pair]:
        """All that are known so far and have been or are to be played, in schedule order."""
        known = self._schedule(results, out)
        return [pair for pair in known if not left_out(pair, results, out)]

    def knows_more(self, known: int, results: Results) -> bool:
        """Do results say more of the pairs, of which so many were known, than fewer results did?"""
        return True

    @abstractmethod
    def _schedule(self, results: Results, out: Sequence[int]) -> list[Pair]:
        """The same, with those that cannot be played."""

    def byes(self, results: Results, out: Sequence[int] = ()) -> list[Bye]:
        """Who had no opponent; by default nobody."""
        return []

    def winner(self, results: Results, out: Sequence[int] = ()) -> int | None:
        """Who has won, where that is not for the table of points to say."""
        return None

    def ranking(self, results: Results, out: Sequence[int] = ()) -> list[int] | None:
        """All entrants, the best first, where that is not for the table of points to say."""
        return None


def encounter(
    games: tuple[str, ...], place: tuple[int, int], entrants: tuple[int, int], opening: int
) -> list[Pair]:
    """Two entrants meet: a pair for each game, and who begins alternates.

    `place`: the round and the board.
    """
    return [
        Pair((*place, number), game, swapped(entrants, number - 1), opening)
        for number, game in enumerate(games, start=1)
    ]


def swapped(entrants: tuple[int, int], times: int) -> tuple[int, int]:
    """The two, changed over so many times."""
    return entrants if times % 2 == 0 else (entrants[1], entrants[0])


def left_out(pair: Pair, results: Results, out: Sequence[int]) -> bool:
    """Is it not complete and cannot be, since one of the two is suspended?"""
    return pair.key not in results and absent(pair.entrants, out) is not None


def absent(entrants: tuple[int, int], out: Sequence[int]) -> int | None:
    """Who of the two is to blame for what they have not played."""
    return next((one for one in out if one in entrants), None)
