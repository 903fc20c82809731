"""playout.bridges.mcp.agent_session: the board and the moves that an agent reads."""

from __future__ import annotations

from typing import Any

import pytest

from playout.bridges.mcp.agent_session import AgentMatch
from playout.protocol.messages import Board, LegalMove, PositionView, Started


def board(side: int, columns: str = "", rows: str = "") -> Board:
    """A square board with its labels."""
    return Board(side, side, "grid", "mark", 0, tuple(columns), tuple(rows))


def view(**fields: Any) -> PositionView:
    """A position of which only the given fields matter."""
    return PositionView(
        **{"cells": (), "last": (), "note": "", "pv": (), "candidates": (), **fields}
    )


def match(*names: str, cells: Board | None = None, shown: PositionView | None = None) -> AgentMatch:
    """A match in which player 1, the agent, has the moves with these names."""
    return AgentMatch.of(
        Started(
            match="m",
            game="g",
            players=("Ada", "uct"),
            seat=1,
            clock="",
            moves=(),
            state=(0, 1),
            to_move=1,
            legal_actions=tuple(range(len(names))),
            board=cells,
            view=shown,
            legal_moves=tuple(LegalMove(n, name, ()) for n, name in enumerate(names)),
        )
    )


def test_a_game_with_a_text_instead_of_cells_shows_its_lines() -> None:
    described = match("a", shown=view(text="xo.\n...\n", note="x to move")).described()
    assert described["board"] == ["xo.", "..."]
    assert described["note"] == "x to move"
    assert "pieces" not in described


def test_a_board_is_shown_with_its_labels() -> None:
    described = match("a1", cells=board(2, "ab", "21"), shown=view(cells=(0, 1, 2, 0))).described()
    assert described["board"] == ["  a b", "2 . X", "1 O ."]


def test_kinds_of_pieces_and_the_names_of_cells_are_shown() -> None:
    squares = Board(
        1, 4, "grid", "disc", 0, ("",) * 4, ("",), "checkered", cell_labels=("1", "", "2", "3")
    )
    position = view(cells=(0, 0, 1, 2), kinds=("", "", "king", "man"))
    described = match("1", cells=squares, shown=position).described()
    assert described["board"] == ["1   X o"]
    assert described["pieces"] == (
        "X is a king of player 1, x is a man of player 1, "
        "O is a king of player 2, o is a man of player 2"
    )


def test_pieces_of_nobody_block_their_cells() -> None:
    cells = Board(1, 3, "grid", "figure", 0, ("a", "b", "c"), ("1",), "checkered")
    position = view(cells=(1, 3, 2), kinds=("queen", "arrow", "queen"))
    described = match("a1", cells=cells, shown=position).described()
    assert described["pieces"] == (
        "Q is a queen of player 1, q is a queen of player 2, # stands for: arrow"
    )


def test_rows_of_hexagons_are_sheared_between_their_edges() -> None:
    hexagons = Board(2, 2, "hex", "stone", 0, ("a", "b"), ("1", "2"), edges=(1, 2, 1, 2))
    described = match("a1", cells=hexagons, shown=view(cells=(0, 1, 2, 0))).described()
    assert described["board"] == ["    a b", "   x x x", "1 o . X o", " 2 o O . o", "    x x x"]


def test_hexagons_that_are_not_used_are_left_out() -> None:
    labels = ("a1", "b1", "a2", "")
    hexagons = Board(2, 2, "hex", "stone", 0, ("a", "b"), ("1", "2"), cell_labels=labels)
    described = match("a1", cells=hexagons, shown=view(cells=(0, 1, 2, 0))).described()
    assert described["board"] == ["    a b", "1   . X", " 2   O"]


def test_pits_show_their_names_and_seeds() -> None:
    labels = ("store", "a", "", "", "A", "store")
    pits = Board(2, 3, "pits", "seeds", 0, ("",) * 3, ("", ""), cell_labels=labels)
    position = view(cells=(2, 2, 0, 0, 0, 1), counts=(1, 12, 0, 0, 0, 3))
    described = match("A", cells=pits, shown=position).described()
    assert described["board"] == ["store:1  a:12", "          A:0  store:3"]
    assert "capital letters are player 1" in described["pieces"]


def test_a_game_without_a_view_shows_its_state() -> None:
    assert match("a").described()["state"] == [0, 1]


@pytest.mark.parametrize(
    ("move", "action"),
    [
        ("Bxc3", 0),
        ("bxc3", 1),
        ("BXC3", None),  # which of the two is meant cannot be known
        (" nf3 ", 2),
        ("NF3", 2),
        ("", None),
    ],
)
def test_upper_and_lower_case_matter_only_where_two_names_differ_in_nothing_else(
    move: str, action: int | None
) -> None:
    assert match("Bxc3", "bxc3", "Nf3").action(move) == action
