"""The state of a ladder: the versions of accounts on it, their results, and the match that is due.

It follows from the stored matches (`StoredResult`, `OwedMatch`), so that a restart neither loses
nor repeats one: each match that has ended counts once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from playout.games import RETURNS, TIE
from playout.ratings.bradley_terry import (
    Outcomes,
    PointsWithoutLuck,
    RatingProblem,
    Ratings,
)
from playout.ratings.pairing import Contender, Meeting, meeting, next_pair

#: The factor by which the matches of a player grow between two points of its history.
_GROWTH = 1.05

#: The most second matches of pairs that are kept for absent players.
_OWED = 1000


class LadderPlayer(NamedTuple):
    """A version of an account; each version has its own rating."""

    account: str
    version: str


class StoredResult(NamedTuple):
    """The number of matches of two players with the same first mover and the same result.

    `winner`: 1, 2 or -1 for a tie; `last_at`: when the last one ended, in seconds since 1970.
    `first_at`: when the first one began.
    """

    players: tuple[LadderPlayer, LadderPlayer]
    winner: int
    matches: int
    first_at: float
    last_at: float


class StoredAbsence(NamedTuple):
    """The number of matches in which a player never made a first move.

    `void` of them have no result, the others are lost. `first_at`: when the first one began.
    """

    player: LadderPlayer
    matches: int
    void: int
    first_at: float


class StoredLuck(NamedTuple):
    """The luck of the first player in all rolls of a match with a result, in points."""

    players: tuple[LadderPlayer, LadderPlayer]
    winner: int
    luck: float


class OwedMatch(NamedTuple):
    """The second match of a pair, to be played. `players` are in the order of their moves."""

    pair: str
    players: tuple[LadderPlayer, LadderPlayer]
    opening: tuple[int, ...]


class StoredLadder(NamedTuple):
    """The stored state of a ladder."""

    game: str
    results: Sequence[StoredResult] = ()
    owed: Sequence[OwedMatch] = ()
    absences: Sequence[StoredAbsence] = ()
    luck: Sequence[StoredLuck] = ()


@dataclass(eq=False)
class LadderEntry:
    """A player on the ladder, its results so far, and its rating relative to the average.

    `previous` is the index of the account's previous version. `since` is the number of the ladder's
    match after which it was free. Without rated matches, `error` is None. `noted` is the number of
    its matches at the last point of its history. It never made a first move in `unplayed` matches,
    of which `void` have no result, and the others are lost. `without_luck` are its rating and error
    from points without luck, None if they are not known.
    """

    player: LadderPlayer
    previous: int | None
    since: int = 0
    won: int = 0
    tied: int = 0
    lost: int = 0
    last_at: float | None = None
    rating: float = 0.0
    error: float | None = None
    noted: int = 0
    unplayed: int = 0
    void: int = 0
    without_luck: tuple[float, float] | None = None

    @property
    def matches(self) -> int:
        """The number of matches with a result."""
        return self.won + self.tied + self.lost

    @property
    def unplayed_share(self) -> float:
        """The share of its matches in which it never made a first move."""
        return self.unplayed / max(1, self.matches + self.void)


@dataclass(frozen=True)
class _Rated:
    """The ratings of the players at some indices, in that order, and the number of matches."""

    indices: tuple[int, ...]
    ratings: Ratings
    matches: int


class LadderState:
    """The ladder of one game; a player is known by its index in `entries`."""

    def __init__(self, game: str) -> None:
        self.game = game
        self.entries: list[LadderEntry] = []
        #: The number of matches with a result.
        self.matches = 0
        self._indices: dict[LadderPlayer, int] = {}
        self._latest: dict[str, int] = {}
        #: The entries of each account.
        self._of_account: dict[str, list[LadderEntry]] = {}
        self._counts: dict[tuple[int, int], Outcomes] = {}
        #: The points of the first mover less its luck, for each two players.
        self._measured: dict[tuple[int, int], PointsWithoutLuck] = {}
        self._met: dict[Meeting, int] = {}
        self._owed: deque[OwedMatch] = deque(maxlen=_OWED)
        self._rated: _Rated | None = None
        #: The indices of the players in the last problem, and its number of matches.
        self._asked: tuple[tuple[int, ...], int] = (), 0
        #: Whether results or luck were counted since then.
        self._is_changed = False

    def index_of(self, player: LadderPlayer) -> int:
        """Return the index of a player, which is added as its account's latest if it is new."""
        if player not in self._indices:
            before = self._latest.get(player.account)
            entry = LadderEntry(player, before, since=self.matches)
            if before is not None:
                entry.rating = self.entries[before].rating
            self._indices[player] = self._latest[player.account] = len(self.entries)
            self.entries.append(entry)
            self._of_account.setdefault(player.account, []).append(entry)
        return self._indices[player]

    def enter(self, player: LadderPlayer) -> int:
        """Return the index of a player that is its account's latest version from now on."""
        index = self.index_of(player)
        self._latest[player.account] = index
        return index

    def without_result(self, player: LadderPlayer) -> int:
        """Return the number of other versions of a new player's account without a result.

        It is 0 for a player that has entered before.
        """
        if player in self._indices:
            return 0
        return sum(not each.matches for each in self._of_account.get(player.account, ()))

    def knows(self, player: LadderPlayer) -> bool:
        """Return whether a player has entered before."""
        return player in self._indices

    def is_retired(self, index: int) -> bool:
        """Return whether the account has entered with another version since."""
        return self._latest[self.entries[index].player.account] != index

    # Results.

    def count(
        self,
        players: tuple[LadderPlayer, LadderPlayer],
        winner: int,
        at: float,
        matches: int = 1,
    ) -> None:
        """Count matches with the same result; the first player had the first move."""
        first, second = self.index_of(players[0]), self.index_of(players[1])
        self.matches += matches
        self._is_changed = True
        before = self._counts.get((first, second), Outcomes())
        won, tied, lost = (matches * (winner == each) for each in (1, TIE, 2))
        self._counts[first, second] = Outcomes(
            before.first + won, before.ties + tied, before.second + lost
        )
        self._met[meeting(first, second)] = self.matches
        for index, own, others in ((first, won, lost), (second, lost, won)):
            entry = self.entries[index]
            entry.won += own
            entry.tied += tied
            entry.lost += others
            entry.since, entry.last_at = self.matches, at

    def count_luck(self, stored: StoredLuck) -> None:
        """Count the luck of a match whose result was counted before."""
        movers = self.index_of(stored.players[0]), self.index_of(stored.players[1])
        before = self._measured.get(movers, PointsWithoutLuck())
        self._measured[movers] = before.add(RETURNS[stored.winner][0] - stored.luck)
        self._is_changed = True

    def count_unplayed(self, player: LadderPlayer, *, void: int, matches: int = 1) -> None:
        """Count matches in which a player never made a first move, `void` of them without result.

        Those that are lost are counted by `count`, too.
        """
        entry = self.entries[self.index_of(player)]
        entry.unplayed += matches
        entry.void += void

    def is_excused(self, account: str) -> bool:
        """Return whether an account has made its first move in all of its matches."""
        return not any(each.unplayed for each in self._of_account.get(account, ()))

    @property
    def has_matches(self) -> bool:
        """Whether matches were counted, with a result or unplayed."""
        return bool(self.matches) or any(each.unplayed for each in self.entries)

    def owe(self, owed: OwedMatch) -> None:
        """Note the second match of a pair, to be played as soon as both players are free."""
        self._owed.append(owed)

    @property
    def met(self) -> Collection[Meeting]:
        """The indices of each two that have met, the smaller first."""
        return self._met.keys()

    def counts(self, one: int, other: int) -> Outcomes:
        """Return the results of two players in which `one` had the first move."""
        return self._counts.get((one, other), Outcomes())

    # What is due.

    def due_owed(self, free: Collection[int]) -> OwedMatch | None:
        """Remove and return the second match of a pair whose players are both free, if any."""
        for owed in self._owed:
            if all(self._indices.get(each) in free for each in owed.players):
                self._owed.remove(owed)
                return owed
        return None

    def due_pair(
        self, present: Iterable[int], free: Iterable[int], running: frozenset[Meeting]
    ) -> tuple[int, int] | None:
        """Return two free players that should begin a pair now; the first moves first.

        Of the two, the one that had the first move less often has it.
        """
        contenders = {index: self._contender(index) for index in present}
        found = next_pair(
            list(contenders.values()),
            [contenders[index] for index in free],
            self._met,
            running,
        )
        if found is None:
            return None
        one, other = found
        more_often = sum(self.counts(one, other)) > sum(self.counts(other, one))
        return (other, one) if more_often else (one, other)

    def _contender(self, index: int) -> Contender:
        entry = self.entries[index]
        return Contender(index, entry.player.account, entry.rating, entry.since)

    # Ratings.

    def problem(self) -> RatingProblem | None:
        """Return the rating problem; None if nothing was counted since the last call."""
        if not self._is_changed:
            return None
        self._is_changed = False
        indices = tuple(index for index, each in enumerate(self.entries) if each.matches)
        number = {index: position for position, index in enumerate(indices)}
        self._asked = indices, self.matches
        return RatingProblem(
            len(indices),
            {(number[a], number[b]): each for (a, b), each in self._counts.items()},
            tuple(
                (number[index], number[before])
                for index in indices
                if (before := self.played_before(index)) is not None
            ),
            {(number[a], number[b]): each for (a, b), each in self._measured.items()},
        )

    def rated(self, ratings: Ratings) -> None:
        """Use the solution of the last problem."""
        indices, matches = self._asked
        self._rated = _Rated(indices, ratings, matches)
        measured, known = ratings.without_luck, {each for both in self._measured for each in both}
        for position, index in enumerate(indices):
            entry = self.entries[index]
            entry.rating, entry.error = ratings.elo[position], ratings.error[position]
            if measured and index in known:
                entry.without_luck = measured.elo[position], measured.error[position]

    def take_points(self) -> list[LadderEntry]:
        """Return the entries whose rating is a new point of their history.

        After ten thousand matches a history has about 150 points.
        """
        due = [
            each
            for each in self.entries
            if each.error is not None and each.matches > each.noted * _GROWTH
        ]
        for each in due:
            each.noted = each.matches
        return due

    @property
    def ratings(self) -> Ratings | None:
        """The last ratings, for the advantage of the first move; None before the first match."""
        return self._rated.ratings if self._rated else None

    @property
    def rated_matches(self) -> int:
        """The number of matches in the last ratings."""
        return self._rated.matches if self._rated else 0

    def superiority(self, one: int, other: int) -> float | None:
        """Return the probability that a player is stronger than another; None if unknown."""
        rated = self._rated
        if rated is None or one not in rated.indices or other not in rated.indices:
            return None
        return rated.ratings.los[rated.indices.index(one)][rated.indices.index(other)]

    def played_before(self, index: int) -> int | None:
        """Return the latest earlier version of the account that has played."""
        before = self.entries[index].previous
        while before is not None and not self.entries[before].matches:
            before = self.entries[before].previous
        return before


def restore_ladder(stored: StoredLadder) -> LadderState:
    """Return the ladder that follows from the stored matches, not rated yet."""
    ladder = LadderState(stored.game)
    # The versions of an account follow each other in the order of their first matches.
    begun = [(each.first_at, player) for each in stored.results for player in each.players]
    begun += ((each.first_at, each.player) for each in stored.absences)
    for _, player in sorted(begun):
        ladder.index_of(player)
    for each in sorted(stored.results, key=lambda result: result.last_at):
        ladder.count(each.players, each.winner, each.last_at, each.matches)
    for measured in stored.luck:
        ladder.count_luck(measured)
    for absence in stored.absences:
        ladder.count_unplayed(absence.player, void=absence.void, matches=absence.matches)
    for owed in stored.owed:
        ladder.owe(owed)
    for entry in ladder.entries:
        entry.noted = entry.matches
    return ladder
