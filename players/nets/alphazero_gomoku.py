"""Imports nets of AlphaZero_Gomoku (github.com/junxiaosong/AlphaZero_Gomoku) as ONNX files.

Its file is a pickled list of 16 arrays: weights and biases of the convolutions 4-32-64-128 (3x3)
and, for the policy, 1x1 to 4 planes and a dense layer; for the value, 1x1 to 2 planes and dense
layers to 64 and to 1. Differences to ours, all of which are put into the arrays here:

* Its kernels are Theano's, which are turned by 180 degrees against a convolution in ONNX.
* Its planes are ours without the fourth and the last: own stones, the other's, the last move, ones
  if the first player is to move. Other planes get weights of 0.
* It counts the rows of moves from the bottom, and we from the top. The planes of both have the top
  row first, so that only the columns of the policy's dense layer are put into our order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from playout import games
from playout.games import Game
from playout.players.nets.architecture import outputs
from playout.players.nets.contract import INPUT, POLICY, VALUE
from playout.players.nets.encoding import board_shape
from playout.players.nets.files import NetError
from playout.players.nets.graph import GraphBuilder, Layer
from playout.players.nets.pickles import read_arrays

#: For each plane of theirs, the number of ours.
_PLANES = (0, 1, 2, 4)

_FILE_NAME = re.compile(r"_(\d{1,2})_(\d{1,2})_(\d{1,2})(?!\d)")


def game_of(path: Path) -> Game:
    """Return the game that the name of a file tells: `best_policy_8_8_5.model` is 8x8, 5 in a row.

    Raises NetError if it does not tell.
    """
    found = _FILE_NAME.search(path.name)
    try:
        if found:
            m, n, k = found.groups()
            return games.load(f"mnk(m={m},n={n},k={k})")
    except games.SpecError:
        pass
    wanted = "a name such as best_policy_8_8_5.model"
    raise NetError(f"the name of {path} does not tell its game; expected {wanted}, or the game")


def convert(source: Path, target: Path, game: Game, metadata: Mapping[str, str]) -> None:
    """Write the net in the file `source` as an ONNX file for `game`, an mnk game.

    `metadata` has at least `author`, `licence` and `trained`. Raises NetError if it is no net for a
    board of this size, and if it cannot be read or written.
    """
    *common, policy, policy_dense, value, value_dense1, value_dense2 = _layers(source, game)
    graph = GraphBuilder()
    x = INPUT
    for number, layer in enumerate(common, start=1):
        x = graph.relu(graph.convolve(x, f"conv{number}/w", layer))
    head = graph.flat(graph.relu(graph.convolve(x, "policy/conv_w", policy)))
    graph.dense(head, "policy/dense_w", policy_dense, to_name=POLICY)
    head = graph.flat(graph.relu(graph.convolve(x, "value/conv_w", value)))
    hidden = graph.relu(graph.dense(head, "value/dense1_w", value_dense1))
    graph.add("Tanh", graph.dense(hidden, "value/dense2_w", value_dense2), to_name=VALUE)
    graph.save(target, game, metadata)


def _layers(path: Path, game: Game) -> list[Layer]:
    """Return the 8 layers of a file, changed for our planes, actions and convolutions."""
    planes, rows, columns = board_shape(game)
    if rows != columns or game.num_actions != rows * columns:
        raise NetError(f"{path} cannot be a net for {game}; expected an mnk game on a square board")
    arrays = read_arrays(path)
    if [array.shape for array in arrays] != _shapes(rows * columns):
        wrong = f"{path} is not a net of AlphaZero_Gomoku for {game}"
        raise NetError(f"{wrong}; expected its 16 arrays for a board of {rows}x{columns}")
    if not all(np.isfinite(each).all() for each in arrays):
        raise NetError(f"{path} has NaN or infinity among its weights; expected finite numbers")
    arrays = [each[:, :, ::-1, ::-1] if each.ndim == 4 else each for each in arrays]
    first, policy = arrays[0], arrays[8:10]
    arrays[0] = np.zeros((len(first), planes, 3, 3), np.float32)
    arrays[0][:, _PLANES] = first
    theirs = np.arange(rows * columns).reshape(rows, columns)[::-1].ravel()  # for each of ours
    arrays[8:10] = [each[..., theirs] for each in policy]
    return list(zip(arrays[::2], arrays[1::2], strict=True))


def _shapes(cells: int) -> list[tuple[int, ...]]:
    """Return the shapes of the 16 arrays for a board of that many cells."""
    weights: list[tuple[int, ...]] = [
        (32, 4, 3, 3),
        (64, 32, 3, 3),
        (128, 64, 3, 3),
        (4, 128, 1, 1),
        (4 * cells, cells),
        (2, 128, 1, 1),
        (2 * cells, 64),
        (64, 1),
    ]
    return [shape for each in weights for shape in (each, (outputs(each),))]
