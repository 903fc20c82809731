"""Lists: their rows, in pages, and the filters and queries for lists of matches.

A list of matches is made of branches: conditions of which each match meets at most one, and for
each of which an index has all columns of the condition, the order and the filter. So the number of
matches, and the keys of a page far back, are found without reading the rows of other matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar

import sqlalchemy as sa
from msgspec import Struct

from playout.protocol.messages import Reason
from playout.server.model.records import Account, MatchEnded, MatchStarted, converted
from playout.server.storage.schema import IMPORTED, matches, moves

T = TypeVar("T")
_M = matches.c
_DAY_S = 86_400.0


class ResultPage(Struct, Generic[T], frozen=True):
    """A part of a list: `page` of `pages`, counted from 1, of `total` items in all."""

    items: tuple[T, ...] = ()
    page: int = 1
    pages: int = 1
    total: int = 0


class MatchRow(Struct, frozen=True, kw_only=True):
    """A match in a list. `linked`: whether each player has a page, unlike guests.

    `ended_at`, `winner`, `reason` and `text` are None while it is being played. `reported`: whether
    an account has reported it, and it was played elsewhere.
    """

    match: str
    game: str
    players: tuple[str, str]
    linked: tuple[bool, bool]
    clock: str
    rated: bool
    plies: int
    started_at: float
    ended_at: float | None = None
    winner: int | None = None
    reason: Reason | None = None
    text: str | None = None
    tournament: str | None = None
    reported: bool = False


class PuzzleRow(Struct, frozen=True, kw_only=True):
    """A puzzle in a list, with its rating by the attempts so far."""

    puzzle: str
    turns: int
    rating: float
    attempts: int


class PuzzleRatings(Struct, frozen=True, kw_only=True):
    """The puzzles of a game; by the skeleton of a solver's name the rating and tried puzzles."""

    puzzles: tuple[PuzzleRow, ...] = ()
    solvers: Mapping[str, float] = {}
    tried: Mapping[str, frozenset[str]] = {}


class PlayerTotals(Struct, frozen=True, kw_only=True):
    """The numbers of a player's matches by their results, and the time when the last one ended."""

    matches: int = 0
    won: int = 0
    tied: int = 0
    lost: int = 0
    last_at: float | None = None


class PlayerRow(Struct, frozen=True, kw_only=True):
    """A player with an account in a list, and the totals of its matches in all games."""

    name: str
    created_at: float
    totals: PlayerTotals


class PlayerGames(Struct, frozen=True, kw_only=True):
    """A player with the totals of its matches by game.

    `created_at` is None without an account, that is, if all its matches were imported.
    """

    name: str
    created_at: float | None
    games: dict[str, PlayerTotals]


class TournamentRow(Struct, frozen=True, kw_only=True):
    """A tournament in a list; `matches`: the number of its matches that have ended.

    `starts_at`: when its first match begins, which is `started_at` or planned for later.
    If its specification cannot be read, `format` is "", and `games` and `entrants` are empty.
    `reporter` is the account that has reported it, None for a tournament of this server.
    """

    tournament: str
    name: str
    format: str
    games: tuple[str, ...]
    entrants: tuple[str, ...]
    matches: int
    started_at: float
    starts_at: float
    ended_at: float | None
    reporter: str | None = None


#: The results that a filter may select: won or lost by the player (without a player, by either of
#: the two), tied, or ended without a result.
RESULTS = ("won", "lost", "tied", "none")


class MatchFilter(NamedTuple):
    """Selects the matches that meet all conditions that are not None.

    `player` is the name of an account, or a name that looks alike, or the exact name of a player
    without account. `opponent` is an exact name. `result` is one of RESULTS. The match has ended on
    a day from `since` to `until`, in UTC, such as 2026-11-22.
    """

    game: str | None = None
    player: str | None = None
    opponent: str | None = None
    result: str | None = None
    since: str | None = None
    until: str | None = None
    tournament: str | None = None

    @property
    def is_about_the_end(self) -> bool:
        """Whether only ended matches can meet all conditions."""
        return bool(self.result or self.since or self.until)


ALL = MatchFilter()


def page_of(items: Sequence[T], page: int, per_page: int) -> ResultPage[T]:
    """Return one page of all items."""
    first = per_page * (page - 1)
    return result_page(items[first : first + per_page], page, per_page, len(items))


def result_page(items: Sequence[T], page: int, per_page: int, total: int) -> ResultPage[T]:
    """Return a page with these items, of `total` items in all."""
    return ResultPage(tuple(items), page, max(1, -(-total // per_page)), total)


def linked(ids: tuple[str | None, str | None], rated: bool) -> tuple[bool, bool]:
    """Return whether each player has a page: all but guests, who play no rated matches."""
    first, second = (rated or each is not None for each in ids)
    return first, second


def match_row(started: MatchStarted, plies: int, ended: MatchEnded | None = None) -> MatchRow:
    """Return the row of a match, which is being played if it has not `ended`."""
    return converted(
        MatchRow,
        started,
        linked=linked(started.accounts, started.rated),
        plies=plies,
        started_at=started.at,
        ended_at=ended and ended.at,
        winner=ended and ended.winner,
        reason=ended and ended.reason,
        text=ended and ended.text,
        reported=started.reporter is not None,
    )


# Queries for matches that have ended, the latest first.


class _Side(NamedTuple):
    """A condition on one seat, and the column with the opponent's name; seat 0 is either seat."""

    condition: sa.ColumnElement[bool]
    seat: int
    other: sa.Column[Any] | None


def match_branches(chosen: MatchFilter, account: Account | None) -> list[sa.ColumnElement[bool]]:
    """Return the branches of a list; `account` is that of the player in the filter, or None."""
    sides = _sides(chosen, account)
    found = [sa.and_(each.condition, *_conditions(chosen, each)) for each in sides]
    # An index of the tournament has far fewer matches than that of a player.
    return [sa.or_(*found)] if chosen.tournament else found


def match_count(branch: sa.ColumnElement[bool]) -> sa.Select[int]:
    """Select the number of matches of a branch."""
    return sa.select(sa.func.count()).select_from(matches).where(branch)


def match_page(
    branches: Sequence[sa.ColumnElement[bool]], first: int, most: int
) -> sa.Select[tuple[Any, ...]]:
    """Select at most `most` matches from number `first` of the list on, with their plies."""
    keys = [sa.select(_M.ended_at, _M.id).where(each) for each in branches]
    listed: Any = keys[0] if len(keys) == 1 else sa.union_all(*keys)
    latest_first = listed.order_by(sa.desc("ended_at"), sa.desc("id"))
    chosen = latest_first.offset(first).limit(most).subquery()
    plies = sa.select(sa.func.count()).where(moves.c.match == _M.id).scalar_subquery()
    rows = sa.select(matches, plies.label("plies")).join(chosen, chosen.c.id == _M.id)
    return rows.order_by(_M.ended_at.desc(), _M.id.desc())


def _sides(chosen: MatchFilter, account: Account | None) -> list[_Side]:
    """Return the seats that the players of the filter may have.

    Imported matches have names without accounts; in a rated match, the name is not a guest's.
    """
    if account:
        return [
            _Side(_M.first_account == account.id, 1, _M.second),
            _Side(_M.second_account == account.id, 2, _M.first),
            _Side(sa.and_(_M.first == account.name, IMPORTED), 1, _M.second),
            _Side(sa.and_(_M.second == account.name, IMPORTED), 2, _M.first),
        ]
    if name := chosen.player:
        return [_Side(_M.first == name, 1, _M.second), _Side(_M.second == name, 2, _M.first)]
    if name := chosen.opponent:
        return [_Side(_M.first == name, 0, None), _Side(_M.second == name, 0, None)]
    return [_Side(sa.true(), 0, None)]


def _conditions(chosen: MatchFilter, side: _Side) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = [_M.ended_at.is_not(None)]
    if chosen.game is not None:
        conditions.append(_M.game == chosen.game)
    if chosen.opponent is not None and side.other is not None:
        conditions.append(side.other == chosen.opponent)
    if chosen.result is not None:
        conditions.append(_M.winner.in_(_winners(chosen.result, side.seat)))
    if chosen.since is not None:
        conditions.append(_M.ended_at >= _day(chosen.since).timestamp())
    if chosen.until is not None:
        conditions.append(_M.ended_at < _day(chosen.until).timestamp() + _DAY_S)
    if chosen.tournament is not None:
        conditions.append(_M.tournament == chosen.tournament)
    return conditions


def _winners(result: str, seat: int) -> tuple[int, ...]:
    """Return the winners of matches with that result for a seat; seat 0 is either."""
    if result in ("won", "lost"):
        return (1, 2) if seat == 0 else (seat if result == "won" else 3 - seat,)
    return (-1,) if result == "tied" else (0,)


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
