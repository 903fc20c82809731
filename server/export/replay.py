"""Replay of a stored match by the rules, and checks of its result."""

from __future__ import annotations

from dataclasses import dataclass

from playout import games
from playout.games import RETURNS, TIE, Game, IllegalAction, Position
from playout.protocol.messages import Reason, TimeControl
from playout.protocol.time_control import TimeControlError, parse_time_controls
from playout.server.model.records import MatchEnded, MovePlayed, StoredMatch

_WITHOUT_WINNER = {Reason.VOID, Reason.ADMINISTRATOR, Reason.ABORTED}
_LOST_BY_THE_PLAYER_TO_MOVE = {Reason.TIME, Reason.ILLEGAL_MOVES}


class Contradiction(ValueError):
    """A stored match contradicts the rules: the field, and the expected value."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field
        self.text = text


@dataclass(frozen=True)
class Replay:
    """The last position of a match with its moves, and the players' time controls."""

    position: Position
    time_controls: tuple[TimeControl, TimeControl] | None

    @property
    def game(self) -> Game:
        """The rules of the match."""
        return self.position.game


def replay(stored: StoredMatch) -> Replay:
    """Replay a match. Raises Contradiction for an illegal move, an unknown game or clock."""
    try:
        game = games.load(stored.started.game)
    except games.SpecError as error:
        raise Contradiction("game", str(error)) from error
    try:
        time_controls = parse_time_controls(stored.started.clock)
    except TimeControlError as error:
        raise Contradiction("clock", str(error)) from error
    position = Position(game)
    for move in stored.moves:
        position = _after(position, move)
    return Replay(position, time_controls)


def check_result(replayed: Replay, finished: MatchEnded) -> None:
    """Raise Contradiction for a result that the final position does not allow."""
    position = replayed.position
    winner, returns = position.winner, position.game.returns(position.state)
    reason = finished.reason
    if (reason is Reason.RULES) != bool(winner):
        text = "the rules end the match here" if winner else "by the rules, the match continues"
        raise Contradiction("finished.reason", f"{reason} is impossible: {text}")
    if not winner:
        winner = _winner(replayed, finished)
        returns = RETURNS[winner]
    if finished.winner != winner:
        text = f"expected {winner}, which follows from the moves and {reason}"
        raise Contradiction("finished.winner", f"{text}; not {finished.winner}")
    if finished.returns != returns:
        raise Contradiction("finished.returns", f"expected {list(returns)} for that winner")


def _after(position: Position, move: MovePlayed) -> Position:
    where = f"moves[{position.ply}]"
    if move.ply != position.ply:
        raise Contradiction(f"{where}.ply", f"expected {position.ply}: moves are in order, from 0")
    try:
        after = position.play(move.action)
    except IllegalAction as error:
        raise Contradiction(f"{where}.action", str(error)) from error
    if move.seat != position.to_move:
        raise Contradiction(f"{where}.seat", f"expected {position.to_move}, the player to move")
    return after


def _winner(replayed: Replay, finished: MatchEnded) -> int:
    """The winner of a match that did not end by the rules. Raises Contradiction."""
    if finished.reason in _WITHOUT_WINNER:
        return 0
    if finished.reason in _LOST_BY_THE_PLAYER_TO_MOVE:
        return 3 - replayed.position.to_move
    if finished.reason is Reason.AGREEMENT and replayed.game.komi is None:
        return TIE
    if finished.reason is Reason.AGREEMENT:  # on a score, which may be a tie
        return finished.winner or TIE
    if finished.reason is Reason.ADJUDICATION and finished.winner == TIE:
        return TIE
    if finished.winner not in (1, 2):
        raise Contradiction("finished.winner", f"expected 1 or 2 for {finished.reason}")
    return finished.winner
