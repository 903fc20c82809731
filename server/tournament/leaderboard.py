"""Leaderboard of a game: ratings of all players of a server, from all rated matches of the game.

A player that took part in tournaments or was on a ladder with several versions has a rating for
each version, and so has a bot of the server that was offered with several player specifications.
The model, its error bars and its prior are those of `server.tournament.ratings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from games import TIE
from server.tournament import ratings
from server.tournament.ratings import Outcomes

#: The rating of the anchor, the player with the most matches.
ANCHOR = 1500.0
#: The most points of a history.
POINTS = 30

#: A player and its version.
PlayerVersion = tuple[str, str]

WON, LOST = 1, 2


class RatedMatch(NamedTuple):
    """A rated match with a result; the players' names in it (`then`) and their present names.

    `versions` are those of the players on a ladder, and the player specifications of the server's
    bots; otherwise empty.
    """

    match: str
    then: tuple[str, str]
    now: tuple[str, str]
    winner: int
    at: float
    tournament: str | None
    versions: tuple[str, str] = ("", "")


class TournamentVerdict(NamedTuple):
    """The matches of a tournament that count, and the versions of its entrants."""

    counted: set[str]
    versions: Mapping[str, str]


class RatedGame(NamedTuple):
    """A match that counts; the first of `players` had the first move. Winner: 1, 2 or -1."""

    players: tuple[PlayerVersion, PlayerVersion]
    winner: int
    at: float


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


class Leaderboard(Struct, frozen=True, kw_only=True):
    """The rated players of a game, the best first.

    Ratings are Elo: near equality, d points more mean a score of 1 / (1 + 10^(-d/400)). The anchor,
    the player with the most matches, has 1500 by definition. `first_move` is the value of the first
    move. Without rated players, unknown values are None.
    """

    game: str
    matches: int = 0
    entries: tuple[LeaderboardEntry, ...] = ()
    anchor: PlayerVersion | None = None
    first_move: float | None = None
    first_move_error: float | None = None


class RatingPoint(Struct, frozen=True):
    """A rating from the matches up to a time, relative to the present anchor."""

    at: float
    rating: float
    error: float
    matches: int


def rated_games(
    rated: Iterable[RatedMatch], verdicts: Mapping[str, TournamentVerdict]
) -> list[RatedGame]:
    """The matches that count, in the same order.

    Of a tournament in `verdicts`, only matches of complete pairs that repeat no others count.
    """
    found = []
    for each in rated:
        verdict = verdicts.get(each.tournament or "")
        if verdict is None:
            first, second = zip(each.now, each.versions, strict=True)
        elif each.match in verdict.counted:
            versions = (verdict.versions.get(name, "") for name in each.then)
            first, second = zip(each.now, versions, strict=True)
        else:
            continue
        found.append(RatedGame((first, second), each.winner, each.at))
    return found


def leaderboard_of(game: str, played: Sequence[RatedGame]) -> Leaderboard:
    """The leaderboard of a game after these matches."""
    if not played:
        return Leaderboard(game=game)
    scores = _Scores(played)
    scores.add(played)
    found = scores.rate()
    last = {player: each.at for each in played for player in each.players}
    entries = [
        LeaderboardEntry(
            name=player[0],
            version=player[1],
            rating=_tenths(ANCHOR + found.elo[place]),
            error=_tenths(found.error[place]),
            matches=scores.results[place].total(),
            won=scores.results[place][WON],
            tied=scores.results[place][TIE],
            lost=scores.results[place][LOST],
            last_at=last[player],
        )
        for player, place in scores.places.items()
    ]
    return Leaderboard(
        game=game,
        matches=len(played),
        entries=tuple(sorted(entries, key=lambda each: (-each.rating, each.name, each.version))),
        anchor=scores.anchor,
        first_move=_tenths(found.first_move),
        first_move_error=_tenths(found.first_move_error),
    )


def histories(played: Sequence[RatedGame], name: str) -> dict[str, tuple[RatingPoint, ...]]:
    """The rating of each version of a player over time; the last point is the present one.

    There is a point after each of at most POINTS equal shares of the player's matches.
    """
    own = [
        place for place, each in enumerate(played) if name in (player[0] for player in each.players)
    ]
    if not own:
        return {}
    scores = _Scores(played)
    versions = {player[1]: place for player, place in scores.places.items() if player[0] == name}
    found: dict[str, list[RatingPoint]] = {version: [] for version in versions}
    begin = 0
    for end in _ends(own, len(played)):
        before = {version: scores.results[place].total() for version, place in versions.items()}
        scores.add(played[begin:end])
        begin = end
        known = scores.rate()
        for version, place in versions.items():
            matches = scores.results[place].total()
            if matches > before[version] or end == len(played):
                rating, error = _tenths(ANCHOR + known.elo[place]), _tenths(known.error[place])
                found[version].append(RatingPoint(played[end - 1].at, rating, error, matches))
    return {version: tuple(points) for version, points in found.items()}


def _ends(own: Sequence[int], matches: int) -> list[int]:
    """The numbers of matches after which there is a point; `own` are the player's matches."""
    shares = min(POINTS, len(own))
    ends = [own[len(own) * share // shares - 1] + 1 for share in range(1, shares)]
    return [*ends, matches]


class _Scores:
    """The players, and their results against each other so far."""

    def __init__(self, played: Iterable[RatedGame]) -> None:
        """`played`: all matches that will be added."""
        count = Counter(player for each in played for player in each.players)
        self.places = {player: place for place, player in enumerate(count)}
        #: The player with the most matches; of several, the first.
        self.anchor = max(count, key=lambda player: count[player])
        #: The results of each player.
        self.results: list[Counter[int]] = [Counter() for _ in count]
        self._outcomes: Counter[tuple[int, int, int]] = Counter()

    def add(self, played: Iterable[RatedGame]) -> None:
        """Adds the results of the next matches."""
        for ((one, other), winner), count in Counter(each[:2] for each in played).items():
            first, second = self.places[one], self.places[other]
            self.results[first][winner] += count
            self.results[second][winner if winner == TIE else 3 - winner] += count
            self._outcomes[first, second, winner] += count

    def rate(self) -> ratings.Ratings:
        """The ratings from all matches that were added."""
        counts = self._outcomes
        outcomes = {
            movers: Outcomes(*(counts[*movers, winner] for winner in (WON, TIE, LOST)))
            for movers in {(first, second) for first, second, _ in counts}
        }
        return ratings.rate(len(self.places), outcomes, self.places[self.anchor])


def _tenths(elo: float) -> float:
    return round(elo, 1)
