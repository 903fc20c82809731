"""Moves of draughts: a capture of several pieces is one move of people, and several actions here.

The names of such moves are those of Portable Draughts Notation (PDN 3.0): the first and the last
square, as in `30x10`; all squares, as in `30x19x10`, only where that names two different moves.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from playout.games.core.game import IllegalAction, State
from playout.games.core.grid import GridGame

#: The most captures of a position that are compared; kings can go round in thousands of ways.
_MOST = 5000
_BETWEEN = re.compile(r"[-x:*\u00d7\u2013]")
_SIGNS = "!?+#()"


class Jump(NamedTuple):
    """A complete move: the names of its squares, its actions, and the state after it."""

    squares: tuple[str, ...]
    actions: tuple[int, ...]
    state: State


class JumpingGame(GridGame):
    """A game in which a player who captures makes one action for each jump."""

    def turns(self, state: State) -> list[Jump]:
        """Return the complete moves from a state, in which a capture may have begun."""
        return list(itertools.islice(self._jumps(state), _MOST))

    def _jumps(self, state: State, before: tuple[int, ...] = ()) -> Iterator[Jump]:
        for action in self.legal_actions(state):
            after, actions = self.next_state(state, action), (*before, action)
            if self.current_player(after) == self.current_player(state) and not self.winner(after):
                yield from self._jumps(after, actions)
            else:
                yield Jump(self._squares(actions), actions, after)

    def _squares(self, actions: tuple[int, ...]) -> tuple[str, ...]:
        cells = [self.action_cells[action] for action in actions]
        return tuple(map(self.square_number, (cells[0][0], *(end for _, end in cells))))

    def square_number(self, cell: int) -> str:
        """Return the number of a dark square, as draughts players use them."""
        raise NotImplementedError

    def parse_turn(self, state: State, text: str) -> tuple[int, ...]:
        wanted = [each.strip().lstrip("0") for each in _BETWEEN.split(text.strip(_SIGNS))]
        same = [each for each in self.turns(state) if _is_named(each, wanted)]
        exact = [each for each in same if [*each.squares] == wanted and len(wanted) > 2]
        found = exact or same
        if len({each.state for each in found}) == 1:
            return found[0].actions
        if not same:
            return (self.parse_action(state, text),)  # one of several jumps
        names = ", ".join("x".join(each.squares) for each in same[:4])
        raise IllegalAction(f"{text[:50]!r} names several captures: write all squares, as {names}")

    def turn_name(self, state: State, actions: tuple[int, ...]) -> str:
        squares = self._squares(actions)
        name = self.action_name(state, actions[0])
        if "x" not in name:
            return name
        ends = squares[0], squares[-1]
        alike = [each for each in self.turns(state) if (each.squares[0], each.squares[-1]) == ends]
        return "x".join(squares if len({each.state for each in alike}) > 1 else ends)


def _is_named(jump: Jump, wanted: list[str]) -> bool:
    """Return whether the first and the last square are wanted, and all between in this order."""
    if len(wanted) < 2 or (jump.squares[0], jump.squares[-1]) != (wanted[0], wanted[-1]):
        return False
    rest = iter(jump.squares[1:-1])
    return all(each in rest for each in wanted[1:-1])
