"""Planes of known positions; the compiled encoding equals the one through views."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from playout import games
from playout.games import BoardView, Game, State
from playout.games.ultimate_tic_tac_toe import UltimateTicTacToe
from playout.players.nets.encoding import Encoding
from playout.players.nets.files import NetError
from support.images import match_and_image
from support.plain import Plain
from support.scale import repetitions
from support.variants import COMPILED, VARIANTS

every_compiled_game = pytest.mark.parametrize(
    "spec", [spec for spec in COMPILED + VARIANTS if not games.load(spec).has_chance]
)
OWN, OTHER, LAST, ONES, FIRST, LEGAL, OWN_BLOCKS, OTHER_BLOCKS = range(8)
#: Games whose states have the cells of their views, so that their encoding is compiled.
FROM_STATES = {
    "amazons",
    "ataxx",
    "breakthrough",
    "clobber",
    "connect_four",
    "go",
    "gomoku",
    "havannah",
    "hex",
    "lines_of_action",
    "mnk",
    "othello",
    "pentago",
    "tic_tac_toe",
    "ultimate_tic_tac_toe",
    "y",
}
#: Games whose states do not have them.
THROUGH_VIEWS = {
    "checkers",
    "chess",
    "chong",
    "dots_and_boxes",
    "draughts",
    "kalah",
    "nim",
    "oware",
}


def planes_after(spec: str, moves: str) -> list[list[str]]:
    """Returns the planes of a position as lines of text, `1` and `.`."""
    game = games.load(spec)
    state, last = game.initial_state(), -1
    for name in moves.split():
        last = game.parse_action(state, name)
        state = game.next_state(state, last)
    planes = Encoding(game).encode(np.array([state]), np.array([last]))[0]
    assert set(np.unique(planes)) <= {0.0, 1.0}
    return [["".join("1" if cell else "." for cell in row) for row in plane] for plane in planes]


def random_positions(game: Game, matches: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the states of random matches, and the action that led to each."""
    states: list[State] = []
    last: list[int] = []
    draw = random.Random(5)
    for _ in range(matches):
        state, action = game.initial_state(), -1
        states.append(state)
        last.append(action)
        while actions := game.legal_actions(state):
            action = draw.choice(actions)
            state = game.next_state(state, action)
            states.append(state)
            last.append(action)
    return np.array(states), np.array(last)


def test_connect_four_marks_the_discs_and_the_cells_where_one_would_land() -> None:
    planes = planes_after("connect_four", "4 4 1 4 4 4 4")  # the fourth column is full
    empty = "......."
    own = [empty, "...1...", empty, "...1...", "...1...", empty]
    assert planes[OWN] == own
    assert planes[OTHER] == ["...1...", empty, "...1...", empty, empty, "1..1..."]
    assert planes[LAST] == ["...1...", empty, empty, empty, empty, empty]
    assert planes[ONES] == ["1111111"] * 6
    assert planes[FIRST] == [empty] * 6
    assert planes[LEGAL] == [empty, empty, empty, empty, "1......", ".11.111"]


def test_mnk_marks_stones_and_empty_cells() -> None:
    planes = planes_after("mnk(m=4,n=3,k=3)", "a1 d3")
    assert planes[OWN] == ["1...", "....", "...."]
    assert planes[OTHER] == planes[LAST] == ["....", "....", "...1"]
    assert planes[FIRST] == planes[ONES] == ["1111"] * 3
    assert planes[LEGAL] == [".111", "1111", "111."]


def test_the_first_position_has_no_last_action() -> None:
    planes = planes_after("othello(size=4)", "")
    empty = ["...."] * 4
    assert planes[OWN] == ["....", "..1.", ".1..", "...."]
    assert planes[OTHER] == ["....", ".1..", "..1.", "...."]
    assert planes[LAST] == empty
    assert planes[LEGAL] == [".1..", "1...", "...1", "..1."]


def test_a_position_that_is_over_has_no_legal_cells() -> None:
    planes = planes_after("tic_tac_toe", "a1 a2 b1 b2 c1")
    assert planes[OTHER] == ["111", "...", "..."]
    assert planes[LEGAL] == ["..."] * 3


def test_a_pass_has_no_cells() -> None:
    game = games.load("othello(size=4)")
    states, last = random_positions(game, 30)
    legal = [game.legal_actions(tuple(state)) for state in states.tolist()]
    to_pass = np.array([actions == (16,) for actions in legal])
    planes = Encoding(game).encode(states, last)
    assert to_pass.any()
    assert not planes[to_pass, LEGAL].any()
    assert planes[[bool(actions) for actions in legal] & ~to_pass, LEGAL].any(axis=(1, 2)).all()
    assert (last == 16).any()
    assert not planes[last == 16, LAST].any()


def test_ultimate_tic_tac_toe_marks_the_board_to_play_on() -> None:
    planes = planes_after("ultimate_tic_tac_toe", "f6 h7")
    empty = "........."
    assert planes[OWN] == [*[empty] * 5, ".....1...", *[empty] * 3]
    assert planes[OTHER] == planes[LAST] == [*[empty] * 6, ".......1.", empty, empty]
    assert planes[LEGAL] == [*["...111..."] * 3, *[empty] * 6]


def test_ultimate_tic_tac_toe_marks_the_small_boards_that_are_won() -> None:
    planes = planes_after("ultimate_tic_tac_toe", "i3 i7 g3 c7 h3")
    empty = "........."
    assert planes[OWN_BLOCKS] == [empty] * 9
    assert planes[OTHER_BLOCKS] == [*["......111"] * 3, *[empty] * 6]


@every_compiled_game
def test_compiled_and_plain_encodings_are_equal(spec: str) -> None:
    game = games.load(spec)
    states, last = random_positions(game, repetitions(10, short=1))
    fast, plain = Encoding(game), Encoding(Plain(game))
    assert fast.shape == plain.shape
    assert not plain.compiled
    if (name := spec.partition("(")[0]) in FROM_STATES | THROUGH_VIEWS:
        # The states of Go with the stage of counting have marks beside the stones.
        assert fast.compiled == (name in FROM_STATES and not getattr(game, "counting", False))
    assert np.array_equal(fast.encode(states, last), plain.encode(states, last))


@pytest.mark.parametrize(
    "spec", ["tic_tac_toe", "connect_four", "mnk(m=5,n=4,k=3)", "othello", "ultimate_tic_tac_toe"]
)
def test_the_encoding_commutes_with_symmetries(spec: str) -> None:
    game = games.load(spec)
    encoding = Encoding(game)
    for symmetry in game.symmetries:
        plies = zip(*match_and_image(game, symmetry, 3), strict=True)
        states, images, last, last_images = map(np.array, plies)
        planes = encoding.encode(states, last).reshape(len(states), encoding.shape[0], -1)
        moved = np.empty_like(planes)
        moved[:, :, symmetry.cells] = planes
        assert np.array_equal(encoding.encode(images, last_images).reshape(moved.shape), moved)


@pytest.mark.parametrize("spec", ["connect_four", "othello", "nim"])
def test_actions_outside_the_game_mark_no_cell(spec: str) -> None:
    game = games.load(spec)
    states = np.array([game.initial_state()] * 4)
    last = np.array([-1, -7, game.num_actions, 2**40])
    assert not Encoding(game).encode(states, last)[:, LAST].any()


def test_wrong_arrays_are_refused() -> None:
    encoding = Encoding(games.load("tic_tac_toe"))
    states, last = np.array([encoding.game.initial_state()]), np.array([-1])
    out = np.empty((1, 6, 3, 3), dtype=np.float32)
    with pytest.raises(ValueError, match=r"states of tic_tac_toe must have the shape \(1, 11\)"):
        encoding.encode(states[:, 1:], last)
    with pytest.raises(ValueError, match="last"):
        encoding.encode(states, np.array([-1, -1]))
    with pytest.raises(ValueError, match="out"):
        encoding.encode_into(states, last, out[:, :5])
    with pytest.raises(ValueError, match="contiguous"):
        encoding.encode_into(states, last, out.transpose(0, 1, 3, 2))
    with pytest.raises(ValueError, match="1 or 2"):
        encoding.encode(np.zeros_like(states), last)


@pytest.mark.parametrize("side", [0, 2, 9])
def test_blocks_that_do_not_cover_the_board_are_refused(side: int) -> None:
    class Uneven(UltimateTicTacToe):
        def view(self, state: State) -> BoardView:
            return replace(super().view(state), block=side)

    with pytest.raises(NetError, match=f"9 blocks of {side} x {side} cells, which do not cover 9"):
        Encoding(Uneven())


@every_compiled_game
def test_known_legal_actions_give_the_same_planes(spec: str) -> None:
    game = games.load(spec)
    encoding = Encoding(game)
    states, last = random_positions(game, 2)
    legal = np.zeros((len(states), game.num_actions), dtype=np.int64)
    numbers = np.zeros(len(states), dtype=np.int64)
    for row, state in enumerate(states.tolist()):
        actions = game.legal_actions(tuple(state))
        legal[row, : len(actions)] = actions
        numbers[row] = len(actions)
    planes = np.full((len(states), *encoding.shape), np.nan, dtype=np.float32)
    encoding.encode_into(states, last, planes, (legal, numbers))
    assert np.array_equal(planes, encoding.encode(states, last))
