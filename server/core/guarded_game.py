"""Calls a game whose author is somebody else: its faults end what depends on it, and nothing more.

A game of another package may raise any exception, or return values that are no positions. Calls
through `GuardedGame` or within `faults_of` raise `GameFault` instead.
"""

from __future__ import annotations

import math
import operator
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from playout.games import TIE, Game, IllegalAction, State

#: Numbers that every encoding of messages can hold.
_Numbers = tuple[Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)], ...]


class GameFault(Exception):
    """A function of a game has failed; the message is for clients.

    `details` is for the operator: the game, the function, the state and the action if they are
    known, the error, and the line of code that raised it.
    """

    def __init__(
        self,
        game: str,
        function: str,
        error: Exception,
        state: State | None = None,
        action: int | None = None,
    ) -> None:
        super().__init__(f"the rules of {game} have failed; the log of the server says why")
        raised = traceback.extract_tb(error.__traceback__)[-1:]
        place = "".join(f", line {each.lineno} of {each.filename}" for each in raised)
        given = "" if state is None else f" in state {state}"
        given += "" if action is None else f" with action {action}"
        self.details = f"{game}: {function}{given}: {type(error).__name__}: {error}{place}"


@contextmanager
def faults_of(
    game: Game | str,
    function: str,
    state: State | None = None,
    action: int | None = None,
    *,
    but: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Raise GameFault for an exception in the block, which calls that function of a game.

    Exceptions of the types `but` are passed on.
    """
    try:
        yield
    except but:
        raise
    except Exception as error:
        raise GameFault(str(game), function, error, state, action) from error


class CheckedPosition(NamedTuple):
    """A state, and what the rules say of it; `to_move` is 0 when the game is over."""

    state: State
    to_move: int
    winner: int
    returns: tuple[float, float]


class GuardedGame:
    """The functions of a game by which a match is played. All of them raise GameFault."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def start(self) -> CheckedPosition:
        """The first position of a match."""
        with faults_of(self._game, "initial_state"):
            state = _numbers(self._game.initial_state())
        return self._position(state)

    def next(self, state: State, action: int) -> CheckedPosition:
        """The position after an action. Raises IllegalAction."""
        with self._playing("next_state", state, action):
            after = _numbers(self._game.next_state(state, action))
        return self._position(after)

    def step(self, state: State, action: int) -> tuple[CheckedPosition, tuple[int, ...]]:
        """The position after an action, and the legal actions in it. Raises IllegalAction."""
        with self._playing("step", state, action):
            after, legal = self._game.step(state, action)
            after, legal = _numbers(after), _numbers(legal)
        return self._position(after), legal

    def legal_actions(self, state: State) -> tuple[int, ...]:
        """The legal actions in a state."""
        with faults_of(self._game, "legal_actions", state):
            return _numbers(self._game.legal_actions(state))

    @contextmanager
    def _playing(self, function: str, state: State, action: int) -> Iterator[None]:
        """Raise GameFault for an exception in the block, unless the action is not legal."""
        try:
            with faults_of(self._game, function, state, action, but=(IllegalAction,)):
                yield
        except GameFault as fault:
            if action in self.legal_actions(state):
                raise
            raise IllegalAction(f"action {action} is not legal here") from fault

    def _position(self, state: State) -> CheckedPosition:
        with faults_of(self._game, "winner, returns or current_player", state):
            winner = int(operator.index(self._game.winner(state)))
            first, second = map(float, self._game.returns(state))
            to_move = 0 if winner else int(operator.index(self._game.current_player(state)))
            _require(winner in (0, 1, 2, TIE), f"winner returned {winner}")
            _require(bool(winner) or to_move in (1, 2), f"current_player returned {to_move}")
            _require(math.isfinite(first + second), f"returns gave {first} and {second}")
            return CheckedPosition(state, to_move, winner, (first, second))


def _numbers(values: Iterable[int]) -> tuple[int, ...]:
    """The numbers as a tuple of ints. Raises TypeError or msgspec.ValidationError."""
    try:
        return msgspec.convert(values, _Numbers)
    except msgspec.ValidationError:  # such as those of numpy
        return msgspec.convert(tuple(map(operator.index, values)), _Numbers)


def _require(valid: bool, text: str) -> None:
    if not valid:
        raise ValueError(text)
