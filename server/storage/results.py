"""What the queries return: rows of lists, a page at a time, and filters for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from playout.protocol.messages import Reason

T = TypeVar("T")


class ResultPage(Struct, Generic[T], frozen=True):
    """A part of a list: `page` of `pages`, counted from 1, of `total` items in all."""

    items: tuple[T, ...] = ()
    page: int = 1
    pages: int = 1
    total: int = 0


class MatchRow(Struct, frozen=True, kw_only=True):
    """A match in a list. `linked`: whether each player has a page; guests have none.

    `ended_at`, `winner`, `reason` and `text` are None while it is being played.
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


class PlayerTotals(Struct, frozen=True, kw_only=True):
    """The number of a player's matches that have a result, and when the last one ended."""

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

    If its specification cannot be read, `format` is "", and `games` and `entrants` are empty.
    """

    tournament: str
    name: str
    format: str
    games: tuple[str, ...]
    entrants: tuple[str, ...]
    matches: int
    started_at: float
    ended_at: float | None


#: The results that a filter may ask for: won or lost by the player, or without a player by one of
#: the two; tied; or ended without a result.
RESULTS = ("won", "lost", "tied", "none")


class MatchFilter(NamedTuple):
    """Selects the matches that meet all conditions that are not None.

    `player` is the name of an account, or one that looks like it; without account, and for
    `opponent`, it is the exact name that the player had in the match. `result` is one of RESULTS.
    `since` and `until` are days in UTC, such as 2026-11-22, on which or between which it ended.
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
        """Whether only matches that have ended meet it."""
        return bool(self.result or self.since or self.until)


ALL = MatchFilter()


def page_of(items: Sequence[T], page: int, per_page: int) -> ResultPage[T]:
    """Return one page of all items."""
    first = per_page * (page - 1)
    return result_page(items[first : first + per_page], page, per_page, len(items))


def result_page(items: Sequence[T], page: int, per_page: int, total: int) -> ResultPage[T]:
    """Return a page that has these items, of `total` in all."""
    return ResultPage(tuple(items), page, max(1, -(-total // per_page)), total)


def linked(ids: tuple[str | None, str | None], rated: bool) -> tuple[bool, bool]:
    """Return whether each player has a page: guests have none, and play no rated matches."""
    first, second = (rated or each is not None for each in ids)
    return first, second
