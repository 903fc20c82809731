"""Cells as GTP and Gomocup write them."""

from __future__ import annotations

import pytest

from playout import games
from playout.games import BoardView, Position
from playout.players.engines.vertices import (
    GtpVertices,
    VertexError,
    action_at,
    cell_at,
    cell_of,
    coordinates,
    has_single_clicks,
)
from support.variants import COMPILED, WITHOUT_CHANCE


def view_of(spec: str, *moves: str) -> BoardView:
    """The view of a position, after moves in Playout's notation."""
    game = games.load(spec)
    state = Position.from_names(game, moves).state
    return game.view(state)


@pytest.mark.parametrize(
    ("rows", "columns", "cell", "name"),
    [
        (19, 19, 0, "A19"),
        (19, 19, 18, "T19"),  # the letters without I end one later
        (19, 19, 18 * 19, "A1"),
        (19, 19, 7, "H19"),
        (19, 19, 8, "J19"),
        (25, 25, 624, "Z1"),
        (6, 7, 0, "A6"),
        (6, 7, 41, "G1"),
        (1, 1, 0, "A1"),
    ],
)
def test_gtp_counts_rows_from_the_bottom_and_has_no_column_i(
    rows: int, columns: int, cell: int, name: str
) -> None:
    vertices = GtpVertices(rows, columns)
    assert vertices.name(cell) == name
    assert vertices.cell(name) == vertices.cell(name.lower()) == cell


def test_an_engine_may_count_rows_from_the_top() -> None:
    vertices = GtpVertices(8, 8, from_top=True)
    assert vertices.name(2 * 8 + 3) == "D3"
    assert vertices.cell("D3") == 2 * 8 + 3


@pytest.mark.parametrize("side", [1, 8, 9, 20, 25])
@pytest.mark.parametrize("from_top", [True, False])
def test_each_cell_has_a_vertex_of_its_own(side: int, from_top: bool) -> None:
    vertices = GtpVertices(side, side, from_top)
    names = [vertices.name(cell) for cell in range(side * side)]
    assert [vertices.cell(name) for name in names] == list(range(side * side))
    assert len(set(names)) == side * side


@pytest.mark.parametrize(
    "text", ["", "I5", "K1", "A0", "A10", "A01", "A-1", "A1 ", "5A", "AA1", "pass", "A\u0663", "é1"]
)
def test_a_text_that_is_no_vertex_of_the_board_is_refused(text: str) -> None:
    with pytest.raises(VertexError, match="expected A1 to J9"):
        GtpVertices(9, 9).cell(text)


def test_a_board_that_gtp_cannot_name_is_refused() -> None:
    with pytest.raises(VertexError, match="at most 25 rows and columns, not 1 rows and 26"):
        GtpVertices(1, 26)


def test_gomocup_writes_column_and_row_from_the_top_left() -> None:
    assert coordinates(2 * 20 + 5, columns=20) == "5,2"
    assert cell_at("5,2", 20, 20) == 2 * 20 + 5
    assert cell_at(" 0 , 14 ", 15, 10) == 140


@pytest.mark.parametrize(
    "text", ["", "5", "5,", "5 2", "-1,2", "10,0", "0,15", "1,2,3", "1,\u0663"]
)
def test_a_text_that_is_no_cell_in_gomocup_is_refused(text: str) -> None:
    with pytest.raises(VertexError, match="expected x,y from 0,0 to 9,14"):
        cell_at(text, 15, 10)


#: Games whose moves go from one cell to another.
OF_SEVERAL_CLICKS = {
    "ataxx",
    "breakthrough",
    "checkers",
    "chess",
    "chong",
    "clobber",
    "draughts",
    "lines_of_action",
    "pentago",
}


@pytest.mark.parametrize("name", [name for name in COMPILED if name in WITHOUT_CHANCE])
def test_every_other_game_is_played_by_single_clicks(name: str) -> None:
    view = view_of(name)
    assert has_single_clicks(view) == (name not in OF_SEVERAL_CLICKS)
    if name in OF_SEVERAL_CLICKS:
        return
    for action in view.clicks:
        assert action_at(view, cell_of(view, action)) == action


def test_moves_of_two_clicks_and_two_actions_of_one_click_are_no_single_clicks() -> None:
    assert not has_single_clicks(BoardView(1, 2, (1, 0), {0: (0, 1)}))
    assert not has_single_clicks(BoardView(1, 2, (1, 0), {0: (0,), 1: (0,)}))


def test_a_pass_has_no_cell() -> None:
    view = BoardView(1, 1, (0,), {5: ()})
    assert cell_of(view, 5) is None
    assert action_at(view, None) == 5
    assert action_at(view_of("othello"), None) is None


def test_any_cell_of_a_column_stands_for_a_falling_piece() -> None:
    view = view_of("connect_four", "4")
    assert cell_of(view, 3) == 4 * 7 + 3
    assert {action_at(view, row * 7 + 3) for row in range(6)} == {3}


def test_a_cell_without_an_action_has_none() -> None:
    assert action_at(view_of("tic_tac_toe", "b2"), 4) is None
