"""The pages of puzzles, without a server."""

from __future__ import annotations

import pytest

from playout import games
from playout.protocol.analyst import Puzzle, WinningMove
from playout.server.web.http import HttpError
from playout.server.web.pages.puzzles import puzzle_drawing, puzzle_state

PUZZLE = Puzzle(
    id="p1",
    game="tic_tac_toe",
    actions=(8, 0, 6, 7),
    turns=2,
    solution=(WinningMove(2, (4,), (WinningMove(5),)),),
)
"""
o . .
. . .
x o x
"""


def test_a_puzzle_of_a_game_that_cannot_be_loaded_has_no_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, drawing = puzzle_drawing(PUZZLE)
    assert "X O X" in text.upper()
    assert drawing is not None

    def not_ready(_: str) -> None:
        raise games.NotReady("tic_tac_toe", lambda: "it is being compiled")

    monkeypatch.setattr(games, "load", not_ready)
    assert puzzle_drawing(PUZZLE) == ("", None)


def test_the_solution_follows_the_moves_so_far() -> None:
    def names(moves: list[int], *, with_solution: bool = False) -> list[str | None]:
        state = puzzle_state(PUZZLE, moves, with_solution=with_solution)
        return [each.view.name for each in state.positions[1:]]

    assert names([]) == []
    assert names([2]) == ["c1", "b2"]
    assert names([2], with_solution=True) == names([], with_solution=True) == ["c1", "b2", "c2"]
    wrong = puzzle_state(PUZZLE, [4], with_solution=True)
    assert (wrong.state, len(wrong.positions)) == ("wrong", 2)
    with pytest.raises(HttpError, match="action 8 is not legal"):
        puzzle_state(PUZZLE, [8])
