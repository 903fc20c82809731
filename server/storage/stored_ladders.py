"""Reads the results of ladders, at the start of a server."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import sqlalchemy as sa

from playout.server.ladder.state import (
    LadderPlayer,
    OwedMatch,
    StoredAbsence,
    StoredLadder,
    StoredLuck,
    StoredResult,
)
from playout.server.model.records import total_luck
from playout.server.storage.database import Database
from playout.server.storage.schema import matches, moves

_M = matches.c
#: Ended matches of ladders. Imported matches have no accounts, and are on no ladder.
_ENDED = (
    _M.ladder_pair.is_not(None),
    _M.ended_at.is_not(None),
    _M.first_account.is_not(None),
    _M.second_account.is_not(None),
)
#: Those with a result.
_COUNTED = (*_ENDED, _M.winner != 0)
_MEASURED = (*_COUNTED, _M.luck.is_not(None))
_PLAYERS = (_M.game, _M.first_account, _M.first_version, _M.second_account, _M.second_version)


def stored_ladders(database: Database, owed_since: float) -> list[StoredLadder]:
    """Return all ladders with matches, and the second matches of pairs that are to be played.

    These are owed if the first match of their pair ended at `owed_since` or later. Raises
    SQLAlchemyError.
    """
    results: dict[str, list[StoredResult]] = defaultdict(list)
    owed: dict[str, list[OwedMatch]] = defaultdict(list)
    absences: dict[str, list[StoredAbsence]] = defaultdict(list)
    lucks: dict[str, list[StoredLuck]] = defaultdict(list)
    with database.connect() as connection:
        for row in connection.execute(_results()):
            result = StoredResult(_players(row), row.winner, row.matches, row.first_at, row.last_at)
            results[row.game].append(result)
        for row in connection.execute(sa.select(*_PLAYERS, _M.winner, _M.luck).where(*_MEASURED)):
            if (luck := total_luck(row.luck)) is not None:
                lucks[row.game].append(StoredLuck(_players(row), row.winner, luck))
        for row in connection.execute(_first_matches(owed_since)).all():
            first, second = _players(row)
            opening = tuple(connection.scalars(_opening(row)))
            owed[row.game].append(OwedMatch(row.id, (second, first), opening))
        for row in (row for seat in (1, 2) for row in connection.execute(_absences(seat))):
            player = LadderPlayer(row.account, row.version)
            absence = StoredAbsence(player, row.matches, row.void, row.first_at)
            absences[row.game].append(absence)
    return [
        StoredLadder(game, results[game], owed[game], absences[game], lucks[game])
        for game in sorted(results.keys() | absences.keys())
    ]


def _results() -> sa.Select[Any]:
    """Select the number of matches for each two players and each result."""
    return (
        sa.select(
            *_PLAYERS,
            _M.winner,
            sa.func.count().label("matches"),
            sa.func.min(_M.started_at).label("first_at"),
            sa.func.max(_M.ended_at).label("last_at"),
        )
        .where(*_COUNTED)
        .group_by(*_PLAYERS, _M.winner)
    )


def _absences(seat: int) -> sa.Select[Any]:
    """Select the number of matches in which each player in a seat never made a first move."""
    account, version = (
        (_M.first_account, _M.first_version)
        if seat == 1
        else (_M.second_account, _M.second_version)
    )
    return (
        sa.select(
            _M.game,
            account.label("account"),
            version.label("version"),
            sa.func.count().label("matches"),
            sa.func.sum(sa.case((_M.winner == 0, 1), else_=0)).label("void"),
            sa.func.min(_M.started_at).label("first_at"),
        )
        .where(*_ENDED, _M.missing == seat)
        .group_by(_M.game, account, version)
    )


def _first_matches(since: float) -> sa.Select[Any]:
    """Select the first matches of pairs whose second match neither runs nor has a result."""
    second = matches.alias()
    begun = sa.exists().where(
        second.c.ladder_pair == _M.id,
        second.c.id != _M.id,
        sa.or_(second.c.ended_at.is_(None), second.c.winner != 0),
    )
    return (
        sa.select(_M.id, _M.opening, *_PLAYERS)
        .where(*_COUNTED, _M.ended_at >= since, _M.ladder_pair == _M.id, ~begun)
        .order_by(_M.id)
    )


def _opening(row: sa.Row[Any]) -> sa.Select[Any]:
    """Select the actions of the opening of a match."""
    chosen = sa.select(moves.c.action).where(moves.c.match == row.id, moves.c.ply < row.opening)
    return chosen.order_by(moves.c.ply)


def _players(row: sa.Row[Any]) -> tuple[LadderPlayer, LadderPlayer]:
    return (
        LadderPlayer(row.first_account, row.first_version),
        LadderPlayer(row.second_account, row.second_version),
    )
