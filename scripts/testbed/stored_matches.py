"""What is in a database, read with plain SQL, and whether it is what clients were told."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

import games
from testbed.crowd import Notes

SQLITE = "sqlite:///"


class MoveRow(NamedTuple):
    """A row of `moves`."""

    ply: int
    seat: int
    action: int


class StoredRow(NamedTuple):
    """A row of `matches` with its moves; without result, its `reason` is None."""

    game: str
    players: tuple[str, str]
    winner: int | None
    returns: tuple[float | None, float | None]
    reason: str | None
    moves: list[MoveRow]


def stored(url: str) -> dict[str, StoredRow]:
    """All matches in the database that SQLAlchemy calls so."""
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


def violations(found: Mapping[str, StoredRow], told: Sequence[Notes]) -> list[str]:
    """What is wrong in the database, and what clients were told otherwise: a line each."""
    lines = [f"match {key}: {text}" for key, match in found.items() for text in _faults(match)]
    for key in found:
        clients = [notes.client for notes in told if notes.match == key]
        if len(clients) != 2:
            lines.append(f"match {key}: those who were told of it are {clients}")
    for notes in told:
        about = f"match {notes.match}, as {notes.client} was told"
        lines += [f"{about}: {text}" for text in _contradictions(notes, found.get(notes.match))]
    return lines


def _faults(match: StoredRow) -> Iterator[str]:
    """Are all moves there, and do they lead to the result?"""
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


def _contradictions(notes: Notes, match: StoredRow | None) -> Iterator[str]:
    if match is None:
        yield "it is not in the database"
        return
    if (match.game, match.players) != (notes.game, notes.players):
        yield f"it was {notes.game} between {notes.players}, and is {match}"
    actions = [move.action for move in match.moves]
    if actions[: len(notes.moves)] != notes.moves:
        yield f"the moves were {notes.moves}, and are {actions}"
    if notes.ended is None:
        yield "it has not ended"
        return
    end = notes.ended["reason"], notes.ended["winner"], tuple(notes.ended["returns"])
    if end != (match.reason, match.winner, match.returns):
        yield f"it ended with {end}, and is {match}"
