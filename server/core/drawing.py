"""A match as it is drawn for those who asked for views."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from server.core.match import Match
from server.core.view import board_of, legal_moves_of, position_view_of, with_thought
from server.model.messages import Analysis, Board, LegalMove, PositionView

T = TypeVar("T")


class MatchView:
    """Board, pictures and choices; None for each once the game has failed to say how it looks.

    A game of others may, and its match goes on: it is played by its states, not by pictures.
    """

    def __init__(self, match: Match) -> None:
        self._match = match
        self._works = True
        self._fault: str | None = None
        self._last: tuple[int, PositionView | None] | None = None

    def board(self) -> Board | None:
        """What is the same for all positions."""
        return self._drawn(lambda: board_of(self._match.game))

    def view(self, ply: int, info: Analysis | None = None) -> PositionView | None:
        """The position after `ply` moves; `info` is what the last of them was sent with."""
        match = self._match
        if self._last is None or self._last[0] != ply:
            plain = self._drawn(
                lambda: position_view_of(match.game, match.states, match.moves, ply)
            )
            self._last = ply, plain
        picture = self._last[1]
        if picture is None or info is None:
            return picture
        return self._drawn(lambda: with_thought(picture, match.game, match.states[ply - 1], info))

    def legal_moves(self, ply: int) -> tuple[LegalMove, ...] | None:
        """What the player to move could do after `ply` moves."""
        match = self._match
        return self._drawn(lambda: legal_moves_of(match.game, match.states[ply]))

    def take_fault(self) -> str | None:
        """What was wrong, the first time it is asked for."""
        fault, self._fault = self._fault, None
        return fault

    def _drawn(self, draw: Callable[[], T]) -> T | None:
        if not self._works:
            return None
        try:
            return draw()
        except Exception as error:
            self._works = False
            self._fault = f"{type(error).__name__}: {error}"
            return None
