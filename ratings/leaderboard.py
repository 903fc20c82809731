"""The leaderboards of a game: ratings of all players of a server, from all its rated matches.

A leaderboard has a scale: all matches of the server (`ALL_CLOCKS`), the matches of a class of
clocks, or the matches that an account has reported, which were played elsewhere and count on no
other scale.

A player that took part in tournaments or was on a ladder with several versions has a rating for
each version, and so has a bot of the server that was offered with several player specifications.
A `RatingBook` is updated as matches end; its leaderboards of all matches give the points of
histories.
The model, its error bars and its prior are those of `playout.ratings.bradley_terry`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from playout.games import TIE
from playout.protocol.time_control import CLOCK_CLASSES
from playout.ratings import bradley_terry
from playout.ratings.bradley_terry import AVERAGE, Outcomes

#: The rating of the anchor, the player with the most matches.
ANCHOR = 1500.0
#: Maximum number of points of a history.
POINTS = 30
#: The factor by which the matches of a player grow between two points of its history.
_GROWTH = 1.05

#: The scale of all matches of a server.
ALL_CLOCKS = "all"
#: What the scale of reported matches begins with; the id of the account follows.
_REPORTED = "reported by "

#: A player and its version.
PlayerVersion = tuple[str, str]

WON, LOST = 1, 2
#: The place of a winner in `Outcomes`.
_OUTCOMES = {WON: 0, TIE: 1, LOST: 2}


class RatedMatch(NamedTuple):
    """A rated match with a result; the players' names in it (`then`) and at present (`now`).

    `versions` are those of the players on a ladder, and the player specifications of the server's
    bots; otherwise empty. `scale`: see `RatedGame`.
    """

    match: str
    then: tuple[str, str]
    now: tuple[str, str]
    winner: int
    at: float
    tournament: str | None
    versions: tuple[str, str] = ("", "")
    scale: str = "slow"


class TournamentVerdict(NamedTuple):
    """The matches of a tournament that count, and the versions of its entrants."""

    counted: set[str]
    versions: Mapping[str, str]


class RatedGame(NamedTuple):
    """A match that counts; the first of `players` had the first move. Winner: 1, 2 or -1.

    `scale` is a class of clocks, or `reported_by` an account.
    """

    players: tuple[PlayerVersion, PlayerVersion]
    winner: int
    at: float
    scale: str = "slow"


class LeaderboardEntry(Struct, frozen=True, kw_only=True):
    """A player in one version; `error` is the 95 % half-width, relative to the anchor."""

    name: str
    version: str
    rating: float
    error: float
    matches: int
    won: int
    tied: int
    lost: int
    last_at: float


class PlayerMeeting(Struct, frozen=True, kw_only=True):
    """The matches of two players, by their indices in the list of all players, from 0.

    `won`, `tied` and `lost` are those of `one`.
    """

    one: int
    other: int
    won: int
    tied: int
    lost: int


class Leaderboard(Struct, frozen=True, kw_only=True):
    """The rated players of a game on a scale, the best first.

    Ratings are Elo: near equality, d points more mean a score of 1 / (1 + 10^(-d/400)). The anchor,
    the player with the most matches, has `anchor_rating` by definition: 1500, or in a class of
    clocks its rating from all matches. `first_move` is the value of the first move. Without rated
    players, unknown values are None.
    """

    game: str
    scale: str = ALL_CLOCKS
    matches: int = 0
    entries: tuple[LeaderboardEntry, ...] = ()
    anchor: PlayerVersion | None = None
    anchor_rating: float | None = None
    first_move: float | None = None
    first_move_error: float | None = None
    meetings: tuple[PlayerMeeting, ...] = ()

    def ratings(self) -> dict[PlayerVersion, LeaderboardEntry]:
        """Return the entries by player and version."""
        return {(each.name, each.version): each for each in self.entries}


class RatingPoint(Struct, frozen=True):
    """A rating from the matches up to a time, relative to the current anchor."""

    at: float
    rating: float
    error: float
    matches: int


class NotedRating(NamedTuple):
    """A point of a history as it was stored: its rating is relative to the anchor of that time."""

    point: RatingPoint
    anchor: PlayerVersion


class OverallEntry(Struct, frozen=True, kw_only=True):
    """A player over several games: the mean of the ratings of its latest version in each.

    `error` is half of the 95 % interval of the mean, against the anchors of these games.
    """

    name: str
    games: int
    rating: float
    error: float
    matches: int


def over_games(boards: Iterable[Leaderboard]) -> list[OverallEntry]:
    """Return the players of some games, sorted by number of games and then by rating.

    Means over other games are not comparable, as each game has a scale of its own.
    """
    found: dict[str, list[LeaderboardEntry]] = {}
    for board in boards:
        latest: dict[str, LeaderboardEntry] = {}
        for each in board.entries:
            if each.name not in latest or each.last_at > latest[each.name].last_at:
                latest[each.name] = each
        for each in latest.values():
            found.setdefault(each.name, []).append(each)
    entries = [
        OverallEntry(
            name=name,
            games=len(some),
            rating=_tenths(math.fsum(each.rating for each in some) / len(some)),
            error=_tenths(math.hypot(*(each.error for each in some)) / len(some)),
            matches=sum(each.matches for each in some),
        )
        for name, some in found.items()
    ]
    return sorted(entries, key=lambda each: (-each.games, -each.rating, each.name))


def reported_by(account: str) -> str:
    """Return the scale of the matches that an account, given by its id, has reported."""
    return _REPORTED + account


def reporter_of(scale: str) -> str | None:
    """Return the id of the account whose reported matches have this scale, None for others."""
    return scale.removeprefix(_REPORTED) if scale.startswith(_REPORTED) else None


def counted_game(rated: RatedMatch, verdict: TournamentVerdict | None) -> RatedGame | None:
    """Return the match as the leaderboard counts it; None if it is not counted.

    `verdict` is that of its tournament, if this is known. Of a tournament, only the matches of
    complete pairs count, and only if they do not repeat other matches.
    """
    if verdict is None:
        first, second = zip(rated.now, rated.versions, strict=True)
    elif rated.match in verdict.counted:
        versions = (verdict.versions.get(name, "") for name in rated.then)
        first, second = zip(rated.now, versions, strict=True)
    else:
        return None
    return RatedGame((first, second), rated.winner, rated.at, rated.scale)


class RatingBook:
    """The matches of a game that count, added up as they end.

    The order in which the matches were added does not change its leaderboard.
    """

    def __init__(self, game: str) -> None:
        self.game = game
        #: The scales of all matches that were ever added, besides ALL_CLOCKS.
        self._scales: set[str] = set()
        self._results = _ResultCounts()
        #: The matches of tournaments by id: which of them count changes until the tournament ends.
        self._tournaments: dict[str, _ResultCounts] = {}

    def add(self, played: Iterable[RatedGame], tournament: str | None = None) -> None:
        """Add matches of a tournament, or matches outside tournaments."""
        played = list(played)
        self._scales.update(each.scale for each in played)
        if tournament is None:
            self._results.add(played)
        else:
            self._tournaments.setdefault(tournament, _ResultCounts()).add(played)

    def replace(self, tournament: str, played: Iterable[RatedGame]) -> None:
        """Replace the matches of a tournament."""
        self._tournaments[tournament] = _ResultCounts()
        self.add(played, tournament)

    def leaderboard(self) -> Leaderboard:
        """Return the leaderboard of all matches so far."""
        return self._known.leaderboard(self.game, ALL_CLOCKS, CLOCK_CLASSES)

    def leaderboards(self) -> Iterator[Leaderboard]:
        """Yield the leaderboard of all matches, then of each other scale that has matches."""
        known = self._known
        yield (all_ := known.leaderboard(self.game, ALL_CLOCKS, CLOCK_CLASSES))
        for scale in sorted(self._scales):
            if reporter_of(scale) is not None:
                yield known.leaderboard(self.game, scale, (scale,))
            elif known.matches((scale,)) == all_.matches:  # all matches are of this class
                yield structs.replace(all_, scale=scale)
            else:
                yield known.leaderboard(self.game, scale, (scale,), all_.ratings())

    @property
    def _known(self) -> _ResultCounts:
        known = _ResultCounts()
        for each in (self._results, *self._tournaments.values()):
            known.merge(each)
        return known


class _ResultCounts:
    """How often each result of each two players occurred, and when each played last, by scale."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[PlayerVersion, PlayerVersion, int, str]] = Counter()
        self._last: dict[tuple[PlayerVersion, str], float] = {}

    def add(self, played: Iterable[RatedGame]) -> None:
        for players, winner, at, scale in played:
            self._counts[*players, winner, scale] += 1
            for player in players:
                self._note((player, scale), at)

    def merge(self, other: _ResultCounts) -> None:
        self._counts.update(other._counts)
        for player, at in other._last.items():
            self._note(player, at)

    def _note(self, player: tuple[PlayerVersion, str], at: float) -> None:
        if at > self._last.get(player, -math.inf):
            self._last[player] = at

    def matches(self, scales: Sequence[str]) -> int:
        """Return the number of matches on these scales."""
        return sum(count for key, count in self._counts.items() if key[3] in scales)

    def leaderboard(
        self,
        game: str,
        scale: str,
        scales: Sequence[str],
        known: Mapping[PlayerVersion, LeaderboardEntry] | None = None,
    ) -> Leaderboard:
        """Return the leaderboard of the matches on `scales`.

        Its anchor has the rating that is `known`, otherwise 1500.
        """
        last: dict[PlayerVersion, float] = {}
        for (player, its), at in self._last.items():
            if its in scales:
                last[player] = max(at, last.get(player, -math.inf))
        if not last:
            return Leaderboard(game=game, scale=scale)
        # Sorted, so that the order in which matches were added does not change the last digits.
        players = sorted(last)
        places = {player: place for place, player in enumerate(players)}
        results: list[Counter[int]] = [Counter() for _ in players]
        outcomes: dict[tuple[int, int], list[int]] = {}
        for (one, other, winner, its), count in self._counts.items():
            if its not in scales:
                continue
            first, second = places[one], places[other]
            results[first][winner] += count
            results[second][winner if winner == TIE else 3 - winner] += count
            outcomes.setdefault((first, second), [0, 0, 0])[_OUTCOMES[winner]] += count
        totals = [each.total() for each in results]
        anchor = totals.index(max(totals))
        found = bradley_terry.rate(
            len(players), {key: Outcomes(*outcomes[key]) for key in sorted(outcomes)}, anchor
        )
        anchor_rating = known[players[anchor]].rating if known else ANCHOR
        entries = [
            LeaderboardEntry(
                name=name,
                version=version,
                rating=_tenths(anchor_rating + found.elo[place]),
                error=_tenths(found.error[place]),
                matches=totals[place],
                won=results[place][WON],
                tied=results[place][TIE],
                lost=results[place][LOST],
                last_at=last[name, version],
            )
            for place, (name, version) in enumerate(players)
        ]
        entries.sort(key=lambda each: (-each.rating, each.name, each.version))
        order = {places[each.name, each.version]: index for index, each in enumerate(entries)}
        return Leaderboard(
            game=game,
            scale=scale,
            matches=sum(totals) // 2,
            entries=tuple(entries),
            anchor=players[anchor],
            anchor_rating=anchor_rating,
            first_move=_tenths(found.first_move),
            first_move_error=_tenths(found.first_move_error),
            meetings=tuple(_meetings(outcomes, order)),
        )


def _meetings(
    outcomes: Mapping[tuple[int, int], Sequence[int]], order: Mapping[int, int]
) -> Iterator[PlayerMeeting]:
    """Yield the meetings of players at their indices in an order, the better one first."""
    sums: dict[tuple[int, int], list[int]] = {}
    for (first, second), counts in outcomes.items():
        one, other = order[first], order[second]
        key = (one, other) if one < other else (other, one)
        its = sums.setdefault(key, [0, 0, 0])
        for place, count in enumerate(counts if one < other else reversed(counts)):
            its[place] += count
    for (one, other), (won, tied, lost) in sorted(sums.items()):
        yield PlayerMeeting(one=one, other=other, won=won, tied=tied, lost=lost)


def due_entries(board: Leaderboard, noted: Mapping[PlayerVersion, int]) -> list[LeaderboardEntry]:
    """Return the entries whose rating is to be added to their history now.

    `noted` is the number of matches at the last point of each history. A history has a point for
    each of the first 20 matches, if ratings are computed as often, and about 150 points after ten
    thousand matches.
    """
    return [
        each
        for each in board.entries
        if each.matches > _GROWTH * noted.get((each.name, each.version), 0)
    ]


def history(
    board: Leaderboard, entry: LeaderboardEntry, noted: Iterable[NotedRating]
) -> tuple[RatingPoint, ...]:
    """Return the ratings of a player over time, at most POINTS; the last point is now."""
    now = {(each.name, each.version): each.rating for each in board.entries}
    points = [
        RatingPoint(
            at=each.point.at,
            rating=_tenths(each.point.rating + now.get(each.anchor, ANCHOR) - ANCHOR),
            error=each.point.error,
            matches=each.point.matches,
        )
        for each in noted
        if each.point.matches < entry.matches
    ]
    shares = min(POINTS - 1, len(points))
    some = [points[len(points) * share // shares - 1] for share in range(1, shares + 1)]
    return (*some, RatingPoint(entry.last_at, entry.rating, entry.error, entry.matches))


def _tenths(elo: float) -> float:
    return round(elo, 1)


class EloRatings:
    """Elo ratings that change with each result, such as those of puzzles and of their solvers.

    Before the first result, a rating is AVERAGE. The first result changes it by at most
    `first_change` Elo; the maximum falls with each result, to `change`.
    """

    def __init__(self, first_change: float = 64.0, change: float = 16.0) -> None:
        self._first_change, self._change = first_change, change
        self._ratings: dict[Hashable, float] = {}
        self._results: dict[Hashable, int] = {}

    def rating(self, one: Hashable) -> float:
        """Return the rating after all results so far."""
        return self._ratings.get(one, AVERAGE)

    def results(self, one: Hashable) -> int:
        """Return the number of results so far."""
        return self._results.get(one, 0)

    def add(self, one: Hashable, other: Hashable, score: float) -> None:
        """Add a result: 1 if `one` has won, 0 if it has lost, 0.5 for a tie."""
        difference = self.rating(one) - self.rating(other)
        beyond = score - 1 / (1 + 10 ** (-difference / 400))
        for each, gained in ((one, beyond), (other, -beyond)):
            change = max(self._change, self._first_change / (1 + self.results(each)))
            self._ratings[each] = self.rating(each) + change * gained
            self._results[each] = self.results(each) + 1
