"""A stored match, played through again: what the rules say of it."""

from __future__ import annotations

from dataclasses import dataclass

import games
from games import RETURNS, TIE, Game, IllegalAction, State
from server.model.messages import Reason, TimeControl
from server.model.records import MatchEnded, MovePlayed, StoredMatch
from server.model.time_control import TimeControlError, parse_time_control

_WITHOUT_WINNER = {Reason.VOID, Reason.ADMINISTRATOR, Reason.ABORTED}
_LOST_BY_THE_PLAYER_TO_MOVE = {Reason.TIME, Reason.ILLEGAL_MOVES}


class Contradiction(ValueError):
    """Something in a match cannot be so: in which field, and what was expected there."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field
        self.text = text


@dataclass(frozen=True)
class Replay:
    """The game, its clock, and the positions: the first one, and that after each move."""

    game: Game
    time_control: TimeControl | None
    states: tuple[State, ...]


def replay(kept: StoredMatch) -> Replay:
    """Play a match through. Raises Contradiction where the rules do not agree."""
    try:
        game = games.load(kept.started.game)
    except games.SpecError as error:
        raise Contradiction("game", str(error)) from error
    try:
        control = parse_time_control(kept.started.clock)
    except TimeControlError as error:
        raise Contradiction("clock", str(error)) from error
    states = [game.initial_state()]
    for ply, move in enumerate(kept.moves):
        states.append(_after(game, states[-1], move, ply))
    return Replay(game, control, tuple(states))


def check_result(replayed: Replay, finished: MatchEnded) -> None:
    """Raises Contradiction for a result that the final position does not allow."""
    game, state = replayed.game, replayed.states[-1]
    winner, returns = game.winner(state), game.returns(state)
    reason = finished.reason
    if (reason is Reason.RULES) != bool(winner):
        told = "the rules end the match here" if winner else "by the rules, the match goes on"
        raise Contradiction("finished.reason", f"{reason} cannot be: {told}")
    if not winner:
        winner = _winner(replayed, finished)
        returns = RETURNS[winner]
    if finished.winner != winner:
        text = f"expected {winner}, which follows from the moves and {reason}"
        raise Contradiction("finished.winner", f"{text}; not {finished.winner}")
    if finished.returns != returns:
        raise Contradiction("finished.returns", f"expected {list(returns)} for that winner")


def _after(game: Game, state: State, move: MovePlayed, ply: int) -> State:
    where = f"moves[{ply}]"
    if move.ply != ply:
        raise Contradiction(f"{where}.ply", f"expected {ply}, for moves are in order, from 0")
    try:
        after = game.next_state(state, move.action)
    except IllegalAction as error:
        raise Contradiction(f"{where}.action", str(error)) from error
    if move.seat != game.current_player(state):
        raise Contradiction(f"{where}.seat", f"it is the turn of {game.current_player(state)}")
    return after


def _winner(replayed: Replay, finished: MatchEnded) -> int:
    """Who must have won a match that ended otherwise than by the rules."""
    if finished.reason in _WITHOUT_WINNER:
        return 0
    if finished.reason in _LOST_BY_THE_PLAYER_TO_MOVE:
        return 3 - replayed.game.current_player(replayed.states[-1])
    if finished.reason is Reason.ADJUDICATION and finished.winner == TIE:
        return TIE
    if finished.winner not in (1, 2):
        raise Contradiction("finished.winner", f"expected 1 or 2, for {finished.reason}")
    return finished.winner
