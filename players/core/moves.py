"""The moves between the positions of a match."""

from __future__ import annotations

from games import Game, State


def action_between(game: Game, before: State, after: State) -> int:
    """Return the legal action that leads from one state to the next; -1 if there is none."""
    legal = game.legal_actions(before)
    return next((each for each in legal if game.next_state(before, each) == after), -1)
