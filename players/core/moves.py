"""The moves between the positions of a match."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from games import Game, State


def action_between(game: Game, before: State, after: State) -> int:
    """Return the legal action that leads from one state to the next; -1 if there is none."""
    legal = game.legal_actions(before)
    return next((each for each in legal if game.next_state(before, each) == after), -1)


def actions_between(game: Game, states: Sequence[State]) -> tuple[int, ...]:
    """Return the actions that lead from each state to the next one; -1 where there is none."""
    return tuple(action_between(game, before, after) for before, after in pairwise(states))
