"""Ratings of all who have played a game here, from all its rated matches together.

Who took part in tournaments with several versions has a rating for each. The model, its error bars
and what is known beforehand are those of `server.tournament.ratings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from games import TIE
from server.tournament import ratings
from server.tournament.ratings import Outcomes

#: The rating of the anchor, who has played most.
ANCHOR = 1500.0
#: Points of a history, at most.
POINTS = 30

#: A player and its version.
PlayerVersion = tuple[str, str]

WON, LOST = 1, 2


class RatedMatch(NamedTuple):
    """A rated match with a result: what the two were called `then`, in it, and are called now."""

    match: str
    then: tuple[str, str]
    now: tuple[str, str]
    winner: int
    at: float
    tournament: str | None


class TournamentVerdict(NamedTuple):
    """What a tournament says of its matches: which count, and what versions its entrants had."""

    counted: set[str]
    versions: Mapping[str, str]


class RatedGame(NamedTuple):
    """A match that counts; the first of `players` had the first move. Winner 1, 2, or -1."""

    players: tuple[PlayerVersion, PlayerVersion]
    winner: int
    at: float


class LeaderboardEntry(Struct, frozen=True, kw_only=True):
    """A player in one version. `error` is the 95 % half-width, relative to the anchor."""

    name: str
    version: str
    rating: float
    error: float
    matches: int
    won: int
    tied: int
    lost: int
    last_at: float


class Leaderboard(Struct, frozen=True, kw_only=True):
    """All who are rated in a game, the best first.

    Ratings are Elo: near equality, d points more mean a score of 1 / (1 + 10^(-d/400)). The anchor,
    who has played most, has 1500 by definition. `first_move` is what having it is worth. What is
    not known, because nobody is rated, is None.
    """

    game: str
    matches: int = 0
    entries: tuple[LeaderboardEntry, ...] = ()
    anchor: PlayerVersion | None = None
    first_move: float | None = None
    first_move_error: float | None = None


class RatingPoint(Struct, frozen=True):
    """The rating from the matches up to a time, relative to today's anchor."""

    at: float
    rating: float
    error: float
    matches: int


def rated_games(
    rated: Iterable[RatedMatch], verdicts: Mapping[str, TournamentVerdict]
) -> list[RatedGame]:
    """The matches that count, in the same order.

    Of a tournament that is known, those of complete pairs which are no repetition of others.
    """
    found = []
    for each in rated:
        verdict = verdicts.get(each.tournament or "")
        if verdict is None:
            first, second = ((name, "") for name in each.now)
        elif each.match in verdict.counted:
            versions = (verdict.versions.get(name, "") for name in each.then)
            first, second = zip(each.now, versions, strict=True)
        else:
            continue
        found.append(RatedGame((first, second), each.winner, each.at))
    return found


def leaderboard_of(game: str, played: Sequence[RatedGame]) -> Leaderboard:
    """The ratings after these matches."""
    if not played:
        return Leaderboard(game=game)
    table = _Table(played)
    table.add(played)
    found = table.rate()
    last = {who: each.at for each in played for who in each.players}
    entries = [
        LeaderboardEntry(
            name=who[0],
            version=who[1],
            rating=_tenths(ANCHOR + found.elo[place]),
            error=_tenths(found.error[place]),
            matches=table.got[place].total(),
            won=table.got[place][WON],
            tied=table.got[place][TIE],
            lost=table.got[place][LOST],
            last_at=last[who],
        )
        for who, place in table.places.items()
    ]
    return Leaderboard(
        game=game,
        matches=len(played),
        entries=tuple(sorted(entries, key=lambda each: (-each.rating, each.name, each.version))),
        anchor=table.anchor,
        first_move=_tenths(found.first_move),
        first_move_error=_tenths(found.first_move_error),
    )


def histories(played: Sequence[RatedGame], name: str) -> dict[str, tuple[RatingPoint, ...]]:
    """How the rating of each version of a player has come to be; the last point is that of now.

    There is one after each of so many equal shares of the player's matches.
    """
    own = [place for place, each in enumerate(played) if name in (who[0] for who in each.players)]
    if not own:
        return {}
    table = _Table(played)
    versions = {who[1]: place for who, place in table.places.items() if who[0] == name}
    found: dict[str, list[RatingPoint]] = {version: [] for version in versions}
    begin = 0
    for end in _ends(own, len(played)):
        before = {version: table.got[place].total() for version, place in versions.items()}
        table.add(played[begin:end])
        begin = end
        known = table.rate()
        for version, place in versions.items():
            matches = table.got[place].total()
            if matches > before[version] or end == len(played):
                rating, error = _tenths(ANCHOR + known.elo[place]), _tenths(known.error[place])
                found[version].append(RatingPoint(played[end - 1].at, rating, error, matches))
    return {version: tuple(points) for version, points in found.items()}


def _ends(own: Sequence[int], matches: int) -> list[int]:
    """After how many of all matches there is a point, where a player's have these places."""
    shares = min(POINTS, len(own))
    ends = [own[len(own) * share // shares - 1] + 1 for share in range(1, shares)]
    return [*ends, matches]


class _Table:
    """Who is there, and what they have got against each other so far."""

    def __init__(self, played: Iterable[RatedGame]) -> None:
        """`played`: all that will be added."""
        count = Counter(who for each in played for who in each.players)
        self.places = {who: place for place, who in enumerate(count)}
        #: Who plays most; of several, who came first.
        self.anchor = max(count, key=lambda who: count[who])
        #: By what each has got.
        self.got: list[Counter[int]] = [Counter() for _ in count]
        self._results: Counter[tuple[int, int, int]] = Counter()

    def add(self, played: Iterable[RatedGame]) -> None:
        """These come next."""
        for ((one, other), winner), count in Counter(each[:2] for each in played).items():
            first, second = self.places[one], self.places[other]
            self.got[first][winner] += count
            self.got[second][winner if winner == TIE else 3 - winner] += count
            self._results[first, second, winner] += count

    def rate(self) -> ratings.Ratings:
        """From what has been added."""
        counts = self._results
        tally = {
            movers: Outcomes(*(counts[*movers, winner] for winner in (WON, TIE, LOST)))
            for movers in {(first, second) for first, second, _ in counts}
        }
        return ratings.rate(len(self.places), tally, self.places[self.anchor])


def _tenths(elo: float) -> float:
    return round(elo, 1)
