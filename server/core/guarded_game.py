"""Calls a game whose author is somebody else: its faults end what depends on it, and nothing more.

A game of another package may raise any exception, or return values that are no positions. Calls
through `GuardedGame` or within `faults_of` raise `GameFault` instead.
"""

from __future__ import annotations

import math
import operator
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from playout.games import TIE, Game, IllegalAction, KernelGame, State

#: Numbers that every encoding of messages can hold.
_Numbers = tuple[Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)], ...]

#: What `winner` returns.
_OUTCOMES = (0, 1, 2, TIE)


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
    """A state, and what the rules say of it; `to_move` is 0 for nature, and after the end."""

    state: State
    to_move: int
    winner: int
    returns: tuple[float, float]


class GuardedGame:
    """The functions of a game by which a match is played. All of them raise GameFault."""

    def __init__(self, game: Game) -> None:
        self._game = game
        #: Makes tuples of ints from what the game returns.
        self._numbers = _unchanged if _returns_tuples(game) else _numbers

    def start(self) -> CheckedPosition:
        """The first position of a match."""
        with faults_of(self._game, "initial_state"):
            state = self._numbers(self._game.initial_state())
        return self._position(state)

    def next(self, state: State, action: int) -> CheckedPosition:
        """The position after an action. Raises IllegalAction."""
        try:
            after = self._numbers(self._game.next_state(state, action))
        except IllegalAction:
            raise
        except Exception as error:
            raise self._failure("next_state", error, state, action) from error
        return self._position(after)

    def step(self, state: State, action: int) -> tuple[CheckedPosition, tuple[int, ...]]:
        """The position after an action, and the legal actions in it. Raises IllegalAction."""
        try:
            after, legal = self._game.step(state, action)
            after, legal = self._numbers(after), self._numbers(legal)
        except IllegalAction:
            raise
        except Exception as error:
            raise self._failure("step", error, state, action) from error
        return self._position(after), legal

    def legal_actions(self, state: State) -> tuple[int, ...]:
        """The legal actions in a state."""
        with faults_of(self._game, "legal_actions", state):
            return self._numbers(self._game.legal_actions(state))

    def roll(self, state: State, below: Callable[[int], int]) -> tuple[int, CheckedPosition]:
        """An outcome where nature moves, drawn as by `Game.roll`, and the position after it."""
        with faults_of(self._game, "chances or next_state", state, but=(GameFault,)):
            outcome = operator.index(self._game.roll(state, below))
            return outcome, self.next(state, outcome)

    def lead_without(self, state: State, dead: Collection[int]) -> float:
        """By how many points player 1 is ahead without these pieces. Raises ValueError."""
        with faults_of(self._game, "lead_without", state, but=(ValueError,)):
            return float(self._game.lead_without(state, dead))

    def _failure(self, function: str, error: Exception, state: State, action: int) -> Exception:
        """GameFault for an error of a function, or IllegalAction if the action is not legal."""
        if action in self.legal_actions(state):
            return GameFault(str(self._game), function, error, state, action)
        return IllegalAction(f"action {action} is not legal here")

    def _position(self, state: State) -> CheckedPosition:
        game = self._game
        try:
            winner = operator.index(game.winner(state))
            to_move = 0 if winner else operator.index(game.current_player(state))
            first, second = game.returns(state)
            least = 0 if game.has_chance else 1
            if winner not in _OUTCOMES or not (winner or least <= to_move < 3):
                raise ValueError(f"winner returned {winner}, current_player {to_move}")
            if not math.isfinite(first + second):
                raise ValueError(f"returns gave {first} and {second}")
            returns = (float(first), float(second))
        except Exception as error:
            function = "winner, returns or current_player"
            raise GameFault(str(game), function, error, state) from error
        return CheckedPosition(state, to_move, winner, returns)


def _returns_tuples(game: Game) -> bool:
    """Whether states and actions come from kernels, by code of ours: they are tuples of ints."""
    ours = (
        "__getattribute__",
        "initial_state",
        "next_state",
        "step",
        "legal_actions",
        "state",
        "_legal",
        "_played",
    )
    return isinstance(game, KernelGame) and all(
        getattr(type(game), name) is getattr(KernelGame, name) for name in ours
    )


def _unchanged(values: tuple[int, ...]) -> tuple[int, ...]:
    return values


def _numbers(values: Iterable[int]) -> tuple[int, ...]:
    """The numbers as a tuple of ints. Raises TypeError or msgspec.ValidationError."""
    try:
        return msgspec.convert(values, _Numbers)
    except msgspec.ValidationError:  # such as those of numpy
        return msgspec.convert(tuple(map(operator.index, values)), _Numbers)
