"""Queries for lists of matches that have ended, the latest first.

A list is made of branches: conditions of which each match meets at most one, and for each of which
an index has all columns that the condition, the order and the filter need. So neither the number of
matches nor the keys of a page far back need the rows of the matches before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from playout.server.model.records import Account
from playout.server.storage.results import MatchFilter
from playout.server.storage.schema import IMPORTED, matches, moves

_M = matches.c
_DAY_S = 86_400.0


class _Side(NamedTuple):
    """A condition on one seat, and the column with the name in the other; seat 0 is either."""

    condition: sa.ColumnElement[bool]
    seat: int
    other: sa.Column[Any] | None


def branches(chosen: MatchFilter, account: Account | None) -> list[sa.ColumnElement[bool]]:
    """Return the branches of a list; `account` is that of the player in the filter, if any."""
    sides = _sides(chosen, account)
    found = [sa.and_(each.condition, *_conditions(chosen, each)) for each in sides]
    # An index of the tournament has far fewer matches than that of a player.
    return [sa.or_(*found)] if chosen.tournament else found


def count(branch: sa.ColumnElement[bool]) -> sa.Select[int]:
    """Select the number of matches of a branch."""
    return sa.select(sa.func.count()).select_from(matches).where(branch)


def part(
    branches: Sequence[sa.ColumnElement[bool]], first: int, most: int
) -> sa.Select[tuple[Any, ...]]:
    """Select at most `most` matches, from number `first` of the list on, with their plies."""
    keys = [sa.select(_M.ended_at, _M.id).where(each) for each in branches]
    listed: Any = keys[0] if len(keys) == 1 else sa.union_all(*keys)
    latest_first = listed.order_by(sa.desc("ended_at"), sa.desc("id"))
    chosen = latest_first.offset(first).limit(most).subquery()
    plies = sa.select(sa.func.count()).where(moves.c.match == _M.id).scalar_subquery()
    rows = sa.select(matches, plies.label("plies")).join(chosen, chosen.c.id == _M.id)
    return rows.order_by(_M.ended_at.desc(), _M.id.desc())


def _sides(chosen: MatchFilter, account: Account | None) -> list[_Side]:
    """Return the seats that the players of the filter may have.

    Imported matches have the name without an account; if they are rated, it is not a guest's.
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
    """Return the winners with which a match had that result for a seat, 0 for either."""
    if result in ("won", "lost"):
        return (1, 2) if seat == 0 else (seat if result == "won" else 3 - seat,)
    return (-1,) if result == "tied" else (0,)


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
