"""Names, shapes and first values of the parameters of a residual net."""

from __future__ import annotations

import numpy as np
import pytest

from playout import games
from playout.players.nets.graph import Architecture


def test_the_shapes_are_those_of_the_board_and_the_actions() -> None:
    shapes = Architecture(blocks=2, filters=16, head_planes=4, value_hidden=10).shapes(
        games.load("connect_four")
    )
    assert shapes == {
        "stem/w": (16, 6, 3, 3),
        "stem/b": (16,),
        "block0/w1": (16, 16, 3, 3),
        "block0/b1": (16,),
        "block0/w2": (16, 16, 3, 3),
        "block0/b2": (16,),
        "block1/w1": (16, 16, 3, 3),
        "block1/b1": (16,),
        "block1/w2": (16, 16, 3, 3),
        "block1/b2": (16,),
        "policy/w": (4, 16, 1, 1),
        "policy/b": (4,),
        "policy/dense_w": (4 * 42, 7),
        "policy/dense_b": (7,),
        "value/w": (4, 16, 1, 1),
        "value/b": (4,),
        "value/dense1_w": (4 * 42, 10),
        "value/dense1_b": (10,),
        "value/dense2_w": (10, 1),
        "value/dense2_b": (1,),
    }


def test_blocks_with_winners_are_the_cells_after_the_first_convolution() -> None:
    shapes = Architecture(filters=16, head_planes=4).shapes(games.load("ultimate_tic_tac_toe"))
    assert "stem/w" not in shapes
    assert shapes["stem/block_w"] == (16, 8, 3, 3)
    assert shapes["stem/block_b"] == (16,)
    assert shapes["policy/dense_w"] == (4 * 9, 81)
    assert shapes["value/dense1_w"] == (4 * 9, 64)


@pytest.mark.parametrize("spec", ["tic_tac_toe", "ultimate_tic_tac_toe"])
@pytest.mark.parametrize("blocks", [0, 1, 12])
def test_the_size_of_a_net_is_found_from_its_parameters(spec: str, blocks: int) -> None:
    architecture = Architecture(blocks=blocks, filters=3, head_planes=2, value_hidden=5)
    game = games.load(spec)
    parameters = architecture.initial(game, np.random.default_rng(1))
    assert {name: array.shape for name, array in parameters.items()} == architecture.shapes(game)
    assert Architecture.of(parameters) == architecture


def test_first_values_depend_on_the_seed_alone() -> None:
    game = games.load("tic_tac_toe")
    first, again, other = (
        Architecture().initial(game, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert all((first[name] == again[name]).all() for name in first)
    assert not (first["stem/w"] == other["stem/w"]).any()
    assert all(array.dtype == np.float32 for array in first.values())


@pytest.mark.parametrize("spec", ["mnk(m=3,n=4,k=3)", "othello", "breakthrough(rows=6)"])
def test_the_policy_starts_with_the_cells_of_each_action(spec: str) -> None:
    game = games.load(spec)
    view = game.view(game.initial_state())
    dense = Architecture().initial(game, np.random.default_rng(1))["policy/dense_w"]
    planes = dense.reshape(8, view.rows * view.columns, game.num_actions)
    for action, cells in view.clicks.items():
        for place, cell in enumerate(cells):
            assert planes[2 * place, cell, action] > 0.9
            assert planes[2 * place + 1, cell, action] < -0.9
        assert (np.abs(planes[:, :, action]) > 0.9).sum() == 2 * len(cells)
