"""Rows that win, against a slow rule written for this test; exactly k in a row; large boards."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playout import games
from playout.games import TIE, Game, Position, State

Cell = tuple[int, int]


def run_through(stones: set[Cell], cell: Cell, step: Cell) -> int:
    """The length of the row through a stone in one direction and its opposite."""
    length = 1
    for sign in (1, -1):
        row, column = cell
        while (row := row + sign * step[0], column := column + sign * step[1]) in stones:
            length += 1
    return length


def wins(stones: set[Cell], cell: Cell, k: int, exact: bool) -> bool:
    """Whether the last stone, at `cell`, made a row that wins."""
    runs = [run_through(stones, cell, step) for step in ((0, 1), (1, 0), (1, 1), (1, -1))]
    return any(run == k if exact else run >= k for run in runs)


@st.composite
def boards(draw: st.DrawFn) -> tuple[int, int, int]:
    m, n = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    return m, n, draw(st.integers(1, min(max(m, n), 6)) | st.integers(1, max(m, n)))


@given(boards(), st.booleans(), st.integers(0, 2**32))
@example((20, 20, 5), True, 1)
@example((20, 20, 5), False, 2)
@example((20, 1, 19), True, 3)
def test_a_row_wins_as_a_slow_rule_says(
    board: tuple[int, int, int], exact: bool, seed: int
) -> None:
    m, n, k = board
    game = games.load(f"mnk(m={m},n={n},k={k},exact={str(exact).lower()})")
    choose = random.Random(seed)
    state = game.initial_state()
    stones: dict[int, set[Cell]] = {1: set(), 2: set()}
    empty, last = list(range(m * n)), 0
    # Rows are rare where all cells are as likely: often a cell beside the last stone is taken.
    while empty and game.winner(state) == 0:
        near = [each for each in empty if _distance(each, last, m) == 1]
        action = choose.choice(near if near and choose.random() < 0.6 else empty)
        empty.remove(action)
        mover, last = game.current_player(state), action
        state = game.next_state(state, action)
        stones[mover].add(divmod(action, m))
        won = wins(stones[mover], divmod(action, m), k, exact)
        assert game.winner(state) == (mover if won else 0 if empty else TIE)


def _distance(one: int, other: int, m: int) -> int:
    (row, column), (other_row, other_column) = divmod(one, m), divmod(other, m)
    return max(abs(row - other_row), abs(column - other_column))


def after(game: Game, *moves: str) -> State:
    state = Position.from_names(game, moves).state
    return state


def test_six_in_a_row_win_unless_the_rule_is_exact() -> None:
    moves = ("a1", "a3", "b1", "c3", "c1", "e3", "e1", "g3", "f1", "i3", "d1")
    assert games.load("gomoku").winner(after(games.load("gomoku"), *moves)) == 1
    exact = games.load("gomoku(exact=true)")
    assert exact.winner(after(exact, *moves)) == 0


def test_exactly_five_win_beside_a_row_of_six() -> None:
    """The last stone completes six in its row and five in its column."""
    game = games.load("gomoku(size=20,exact=true)")
    six = ("o20", "p20", "q20", "s20", "t20")
    five = ("r16", "r17", "r18", "r19")
    moves: list[str] = []
    for own, other in zip((*six, *five), "acegikmoq", strict=True):
        moves += [own, f"{other}1"]
    state = after(game, *moves)
    assert game.winner(state) == 0
    assert game.winner(game.next_state(state, game.parse_action(state, "r20"))) == 1


def test_a_row_of_more_than_k_stays_without_a_winner_when_it_grows() -> None:
    game = games.load("mnk(m=8,n=2,k=3,exact=true)")
    state = after(game, "a1", "a2", "b1", "c2", "d1", "e2", "c1", "g2", "e1")
    assert game.winner(state) == 0


@pytest.mark.parametrize("spec", ["gomoku(exact=true)", "mnk(m=20,n=20,exact=true)"])
def test_the_exact_rule_is_part_of_the_name_of_the_game(spec: str) -> None:
    assert str(games.load(spec)) == spec
    assert "exact" not in str(games.load(spec.replace("true", "false")))


def test_the_last_cell_of_the_largest_board_has_a_name() -> None:
    game = games.load("gomoku(size=20)")
    state = game.next_state(game.initial_state(), 399)
    assert game.action_name(game.initial_state(), 399) == "t20"
    assert game.show(state).splitlines()[-1].split() == ["20", *["."] * 19, "X"]
