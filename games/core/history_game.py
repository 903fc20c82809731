"""Games whose positions are objects of another library: a state is the moves that led there."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from typing import Any, Generic, TypeVar

from playout.games.core.game import TIE, Game, IllegalAction, State

#: Maximum number of cached positions of all games. A search revisits the latest ones. Some
#: take kilobytes, and any client may choose many games.
KEPT = 2048
#: A match that is not over after this many plies is a tie. This bounds its memory: it keeps every
#: state, and a state has a number for each ply before it.
MOST_PLIES = 4000

Position = TypeVar("Position")

#: Positions by game and moves, the most recently used ones at the end.
_kept: OrderedDict[tuple[Game, State], Any] = OrderedDict()
_lock = threading.Lock()  # searches use one game in several threads


class HistoryGame(Game, Generic[Position]):
    """A game whose positions are objects; a state is (player, outcome, *actions so far).

    A subclass defines the methods below, over positions that are never changed: `position_after`
    returns another object. It calls `__init__`, and gives the bounds of actions and plies.
    """

    def __init__(self, *, actions: int, plies: int) -> None:
        self.num_actions = actions
        self.max_plies = min(plies, MOST_PLIES)

    @abstractmethod
    def first_position(self) -> Position:
        """Return the position before the first move."""

    @abstractmethod
    def position_after(self, position: Position, action: int) -> Position:
        """Return a new position, after a legal action."""

    @abstractmethod
    def actions_in(self, position: Position) -> tuple[int, ...]:
        """Return the legal actions in ascending order; () when the game is over."""

    @abstractmethod
    def mover_in(self, position: Position) -> int:
        """Return the player to move, 1 or 2; while the game goes on."""

    @abstractmethod
    def outcome_in(self, position: Position) -> int:
        """Return 1 or 2 for the winner, -1 for a tie, 0 while the game goes on."""

    def position(self, state: State) -> Position:
        """Return the position of a state. Raises ValueError if its moves are not legal."""
        moves = state[2:]
        found = self._recall(moves)
        if found is None:
            found = self._replayed(moves)
            self._keep(moves, found)
        return found

    def initial_state(self) -> State:
        return self._state((), self.position((1, 0)), 2)

    def legal_actions(self, state: State) -> tuple[int, ...]:
        position = self.position(state)  # in any case, as it checks the state
        return () if state[1] else self.actions_in(position)

    def next_state(self, state: State, action: int) -> State:
        position = self.position(state)
        if state[1] or action not in self.actions_in(position):
            raise IllegalAction(self._explain(state, f"action {action}"))
        after, moves = self.position_after(position, action), (*state[2:], action)
        self._keep(moves, after)
        return self._state(moves, after, state[0])

    def _state(self, moves: State, position: Position, mover: int) -> State:
        """Return the state of a position; `mover` made the last move."""
        outcome = self.outcome_in(position)
        if not outcome and len(moves) >= self.max_plies:
            outcome = TIE
        return (3 - mover if outcome else self.mover_in(position), outcome, *moves)

    def _replayed(self, moves: State) -> Position:
        parent = self._recall(moves[:-1]) if moves else None
        if parent is not None:
            return self._checked(parent, moves[-1], moves)
        position = self.first_position()
        for action in moves:
            position = self._checked(position, action, moves)
        return position

    def _checked(self, position: Position, action: int, moves: State) -> Position:
        if action not in self.actions_in(position):
            text = f"a state of {self} is the player to move, the outcome and the moves so far"
            raise ValueError(f"{text}, all legal: {action} is not legal in its place")
        return self.position_after(position, action)

    def _recall(self, moves: State) -> Position | None:
        key = self, moves
        with _lock:
            if key not in _kept:
                return None
            _kept.move_to_end(key)
            found: Position = _kept[key]
            return found

    def _keep(self, moves: State, position: Position) -> None:
        with _lock:
            _kept[self, moves] = position
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
