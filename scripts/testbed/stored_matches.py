"""The matches in a database, read with plain SQL, and compared with what clients received."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from playout import games
from testbed.scripted_clients import ReceivedMatch

SQLITE = "sqlite:///"


class MoveRow(NamedTuple):
    """A row of the database table `moves`."""

    ply: int
    seat: int
    action: int


class StoredRow(NamedTuple):
    """A row of the database table `matches` with its moves; `reason` is None before its end."""

    game: str
    players: tuple[str, str]
    winner: int | None
    returns: tuple[float | None, float | None]
    reason: str | None
    moves: list[MoveRow]


def stored(url: str) -> dict[str, StoredRow]:
    """Return all matches in a database, given by its SQLAlchemy URL, by id."""
    if url.startswith(SQLITE):
        connection: Any = sqlite3.connect(url.removeprefix(SQLITE))
    else:
        connection = psycopg.connect(url.replace("+psycopg", ""))
    with contextlib.closing(connection):
        found = {
            row[0]: StoredRow(row[1], row[2:4], row[4], row[5:7], row[7], [])
            for row in connection.execute(
                'SELECT id, game, "first", "second", winner, first_return, second_return, reason'
                " FROM matches"
            )
        }
        query = 'SELECT "match", ply, seat, action FROM moves ORDER BY "match", ply'
        for match, *move in connection.execute(query):
            found[match].moves.append(MoveRow(*move))
    return found


def violations(found: Mapping[str, StoredRow], records: Sequence[ReceivedMatch]) -> list[str]:
    """Return a line for each error in the database and each contradiction to a client's record."""
    lines = [f"match {key}: {text}" for key, match in found.items() for text in _faults(match)]
    for key in found:
        clients = [record.client for record in records if record.match == key]
        if len(clients) != 2:
            lines.append(f"match {key}: expected two clients with a record of it, not {clients}")
    for record in records:
        about = f"match {record.match}, as {record.client} received it"
        lines += [f"{about}: {text}" for text in _contradictions(record, found.get(record.match))]
    return lines


def _faults(match: StoredRow) -> Iterator[str]:
    """Yield the errors of a stored match: missing plies, illegal moves, a wrong result."""
    plies = [move.ply for move in match.moves]
    if plies != list(range(len(plies))):
        yield f"its plies are {plies}"
        return
    game = games.load(match.game)
    state = game.initial_state()
    for move in match.moves:
        if game.current_player(state) != move.seat:
            yield f"{move} is not by the player to move"
        try:
            state = game.next_state(state, move.action)
        except games.IllegalAction as error:
            yield f"{move} is illegal: {error}"
            return
    result = "rules", game.winner(state), game.returns(state)
    if (match.reason, match.winner, match.returns) != result or not game.winner(state):
        yield f"its result is {match}, and by the rules it is {result}"


def _contradictions(record: ReceivedMatch, match: StoredRow | None) -> Iterator[str]:
    if match is None:
        yield "it is not in the database"
        return
    if (match.game, match.players) != (record.game, record.players):
        yield f"it was {record.game} between {record.players}, and is {match}"
    actions = [move.action for move in match.moves]
    if actions[: len(record.moves)] != record.moves:
        yield f"the moves were {record.moves}, and are {actions}"
    if record.ended is None:
        yield "it has not ended"
        return
    end = record.ended["reason"], record.ended["winner"], tuple(record.ended["returns"])
    if end != (match.reason, match.winner, match.returns):
        yield f"it ended with {end}, and is {match}"
