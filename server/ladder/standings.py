"""The table of a ladder: its versions in order, their meetings, and comparisons of versions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

from msgspec import Struct

from playout.ratings.bradley_terry import (
    AVERAGE,
    VersionComparison,
    difference_error,
    error_of_its_own,
    matches_needed,
)
from playout.ratings.leaderboard import PlayerMeeting
from playout.server.ladder.state import LadderState

#: A rating with a larger error, in Elo, is provisional: for about 25 matches.
PROVISIONAL: Final = 150.0


class LadderStanding(Struct, frozen=True, kw_only=True):
    """A version on a ladder; `error` is half of the 95 % interval, None before its first match.

    `provisional`: the error of the rating is large. `present`: it is connected or plays. `retired`:
    the account has entered with another version since. `unplayed`: the matches in which it never
    made a first move, with or without result, and `unplayed_share` their share of its matches.
    `without_luck` and `without_luck_error` are the rating and its error from points without luck,
    in games with rolls; None until the luck of a match is known.
    """

    name: str
    version: str
    rating: float
    error: float | None
    provisional: bool
    present: bool
    retired: bool
    matches: int
    won: int
    tied: int
    lost: int
    unplayed: int
    unplayed_share: float
    last_at: float | None
    without_luck: float | None = None
    without_luck_error: float | None = None


class LadderTable(Struct, frozen=True, kw_only=True):
    """A ladder at present; the average rating is 1500.

    `standings` are ordered by the lower ends of the error bars. `hours` are those in which matches
    are paired, empty for always; `opens_at` is when they are paired again, in seconds since 1970,
    None while they are. `playing` is the number of running matches, `first_move` the value of the
    first move in Elo.
    """

    game: str
    clock: str
    hours: str
    opens_at: float | None
    matches: int
    playing: int
    first_move: float | None
    first_move_error: float | None
    standings: tuple[LadderStanding, ...]
    meetings: tuple[PlayerMeeting, ...]
    comparisons: tuple[VersionComparison, ...]


def ladder_table(
    ladder: LadderState,
    name_of: Callable[[str], str],
    present: Collection[int],
    *,
    clock: str,
    hours: str = "",
    opens_at: float | None = None,
    playing: int = 0,
) -> LadderTable:
    """Return the table of a ladder; `name_of` gives the current name of an account.

    `present`: the indices of the versions that are connected or play. The others are as in
    `LadderTable`.
    """
    order = sorted(range(len(ladder.entries)), key=lambda index: _order(ladder, index))
    ratings = ladder.ratings
    return LadderTable(
        game=ladder.game,
        clock=clock,
        hours=hours,
        opens_at=opens_at,
        matches=ladder.matches,
        playing=playing,
        first_move=round(ratings.first_move, 1) if ratings else None,
        first_move_error=round(ratings.first_move_error, 1) if ratings else None,
        standings=tuple(_standing(ladder, index, name_of, index in present) for index in order),
        meetings=tuple(_meetings(ladder, order)),
        comparisons=tuple(
            each for index in order if (each := _comparison(ladder, index, name_of)) is not None
        ),
    )


def _order(ladder: LadderState, index: int) -> tuple[bool, float, int]:
    entry = ladder.entries[index]
    return entry.error is None, -(entry.rating - (entry.error or 0.0)), index


def _standing(
    ladder: LadderState, index: int, name_of: Callable[[str], str], present: bool
) -> LadderStanding:
    entry = ladder.entries[index]
    without_luck = entry.without_luck
    return LadderStanding(
        name=name_of(entry.player.account),
        version=entry.player.version,
        rating=round(AVERAGE + entry.rating, 1),
        error=None if entry.error is None else round(entry.error, 1),
        provisional=entry.error is None or entry.error > PROVISIONAL,
        present=present,
        retired=ladder.is_retired(index),
        matches=entry.matches,
        won=entry.won,
        tied=entry.tied,
        lost=entry.lost,
        unplayed=entry.unplayed,
        unplayed_share=round(entry.unplayed_share, 4),
        last_at=entry.last_at,
        without_luck=round(AVERAGE + without_luck[0], 1) if without_luck else None,
        without_luck_error=round(without_luck[1], 1) if without_luck else None,
    )


def _meetings(ladder: LadderState, order: list[int]) -> Iterator[PlayerMeeting]:
    number = {index: row for row, index in enumerate(order)}
    for low, high in ladder.met:
        one, other = sorted((low, high), key=number.__getitem__)
        first, second = ladder.counts(one, other), ladder.counts(other, one)
        yield PlayerMeeting(
            one=number[one],
            other=number[other],
            won=first.first + second.second,
            tied=first.ties + second.ties,
            lost=first.second + second.first,
        )


def _comparison(
    ladder: LadderState, index: int, name_of: Callable[[str], str]
) -> VersionComparison | None:
    """The comparison of an account's present version with the one before; None without one."""
    new, before = ladder.entries[index], ladder.played_before(index)
    if before is None or ladder.is_retired(index) or new.error is None:
        return None
    old, superiority = ladder.entries[before], ladder.superiority(index, before)
    if superiority is None or old.error is None or ladder.ratings is None:
        return None
    difference, versions = new.rating - old.rating, len(ladder.ratings.elo)
    own = error_of_its_own(new.error, versions)
    errors = own, error_of_its_own(old.error, versions)
    error = difference_error(difference, superiority, errors)
    needed = matches_needed(difference, error, own, ladder.ratings.tie_share)
    return VersionComparison(
        name=name_of(new.player.account),
        version=new.player.version,
        before=old.player.version,
        difference=round(difference, 1),
        error=round(error, 1),
        superiority=superiority,
        needed=needed,
    )
