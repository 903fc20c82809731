"""Moves that somebody tries from a position of a match: the positions, and what can follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from twisted.web import http

import games
from server.core.view import legal_moves_of, position_view_of
from server.model.messages import LegalMove, Seat
from server.web.http import HttpError
from server.web.match_data import MatchData, PositionData

#: The most moves that can be tried after a position of a match.
MAX_MOVES = 400


class Continuation(Struct, frozen=True, kw_only=True):
    """The positions after each of the tried moves, and the legal moves in the last one.

    `actions` has all moves since the start of the match. `to_move` is 0 when the game is over.
    """

    positions: tuple[PositionData, ...]
    actions: tuple[int, ...]
    to_move: int
    legal_moves: tuple[LegalMove, ...]


def continuation(match: MatchData, ply: int, moves: Sequence[int]) -> Continuation:
    """Try moves after the first `ply` moves of a match. Raises HttpError for an illegal one."""
    game = games.load(match.game)
    played = match.positions[1 : ply + 1]
    actions = [each.action for each in played if each.action is not None]
    states = [game.initial_state()]
    for action in actions:
        states.append(game.next_state(states[-1], action))
    positions = []
    for action in moves:
        mover = cast(Seat, game.current_player(states[-1]))
        if game.winner(states[-1]) or action not in game.legal_actions(states[-1]):
            text = f"move {len(actions) + 1}, action {action}, is not legal"
            raise HttpError(http.BAD_REQUEST, text)
        states.append(game.next_state(states[-1], action))
        actions.append(action)
        view = position_view_of(game, states, actions, len(actions))
        positions.append(PositionData(ply=len(actions), view=view, action=action, player=mover))
    over = bool(game.winner(states[-1]))
    return Continuation(
        positions=tuple(positions),
        actions=tuple(actions),
        to_move=0 if over else game.current_player(states[-1]),
        legal_moves=() if over else legal_moves_of(game, states[-1]),
    )
