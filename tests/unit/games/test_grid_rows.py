"""Lines of pieces, as views show them."""

from __future__ import annotations

from playout import games
from playout.games.core.grid import rows_of_pieces


def test_lines_have_at_least_and_at_most_so_many_pieces_of_one_player() -> None:
    cells = [1, 1, 1, 0, 2,
             1, 2, 2, 2, 0,
             1, 0, 2, 0, 0]  # fmt: skip
    assert rows_of_pieces(cells, 5, 1, 3) == (0, 1, 2, 5, 10)
    assert rows_of_pieces(cells, 5, 2, 3) == (4, 6, 7, 8, 12)
    assert rows_of_pieces(cells, 5, 1, 4) == ()
    assert rows_of_pieces([1, 1, 1, 1], 4, 1, 3) == (0, 1, 2, 3)
    assert rows_of_pieces([1, 1, 1, 1], 4, 1, 3, most=3) == ()


def test_a_line_does_not_go_on_at_the_other_edge() -> None:
    assert rows_of_pieces([0, 0, 1, 1, 1, 0], 3, 1, 3) == ()


def test_views_name_the_cells_by_which_a_player_won() -> None:
    game = games.load("connect_four")
    state = game.initial_state()
    for column in (0, 1, 0, 1, 0, 1):
        assert game.view(state).winning == ()
        state = game.next_state(state, column)
    view = game.view(game.next_state(state, 0))
    assert view.winning == (14, 21, 28, 35)
    assert view.note == "four in a row"


def test_a_match_of_hex_is_won_by_a_shortest_chain() -> None:
    game = games.load("hex(size=3)")
    state = game.initial_state()
    #   1 . 1      the second player's stones are beside the chain 2, 4, 6
    #    2 1 2
    #     1 2 .
    for cell in (2, 3, 0, 7, 4, 5, 6):
        assert game.view(state).winning == ()
        state = game.next_state(state, cell)
    assert game.view(state).winning == (2, 4, 6)
