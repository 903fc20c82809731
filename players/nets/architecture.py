"""The residual net that `playout-train` trains: its size, and the names and shapes of its arrays.

    stem            3x3 convolution from the planes to `filters`; for a game whose board has blocks
                    with winners, one that reads each block as a whole: a cell of what follows
    block0, ...     relu(x + w2 * relu(w1 * x + b1) + b2), both 3x3 convolutions
    policy          1x1 convolution to `head_planes`, dense layer to one logit an action
    value           1x1 convolution to `head_planes`, dense layers to `value_hidden` and to 1, tanh

Each convolution and the first dense layer of the value are followed by a relu. Arrays are float32;
convolutions are [out, in, height, width] with zeros around the board, dense layers are `x @ w + b`
over the planes flattened one after the other. There is no batch norm: it would couple the samples
of a batch, and needs other code in training than in play.

The policy's dense layer starts with the logit of an action equal to the difference of two planes at
the cell of that action: what the convolutions learn about one cell holds for all from the first
step. On the same 63,000 samples of five in a row on 8x8, the cross entropy with samples of later
games was 1.30 instead of 1.42 after 500 steps, and 1.19 instead of 1.25 after 1,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets.encoding import board_shape
from playout.players.nets.planes import block_side, layout_of

Parameters = Mapping[str, NDArray[np.float32]]

#: Factor for the last layer of each block and each head, so that a new net is close to an even
#: policy and to the value 0, however many blocks it has.
_QUIET = 0.1

#: The weights of the first convolution, which reads the neighbours of each cell, or each block.
STEM, BLOCK_STEM = "stem/w", "stem/block_w"


@dataclass(frozen=True)
class Architecture:
    """The size of a residual net, for any game."""

    blocks: int = 3
    filters: int = 32
    head_planes: int = 8
    value_hidden: int = 64

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array by its name, in the order in which they are applied."""
        planes, rows, columns = board_shape(game)
        wide, head, hidden = self.filters, self.head_planes, self.value_hidden
        side = block_side(game)
        flat = head * (rows // side) * (columns // side)
        weights: dict[str, tuple[int, ...]] = {}
        if side > 1:
            weights[BLOCK_STEM] = (wide, planes, side, side)
        else:
            weights[STEM] = (wide, planes, 3, 3)
        for block in range(self.blocks):
            weights[f"block{block}/w1"] = (wide, wide, 3, 3)
            weights[f"block{block}/w2"] = (wide, wide, 3, 3)
        weights["policy/w"] = (head, wide, 1, 1)
        weights["policy/dense_w"] = (flat, game.num_actions)
        weights["value/w"] = (head, wide, 1, 1)
        weights["value/dense1_w"] = (flat, hidden)
        weights["value/dense2_w"] = (hidden, 1)
        shapes = {}
        for name, shape in weights.items():
            shapes[name] = shape
            shapes[bias_of(name)] = (outputs(shape),)
        return shapes

    def initial(self, game: Game, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """Return random arrays by name: He's initialisation (He et al. 2015, eq. 10), biases 0."""
        arrays = {}
        for name, shape in self.shapes(game).items():
            if len(shape) == 1:
                arrays[name] = np.zeros(shape, np.float32)
                continue
            inputs = int(np.prod(shape)) // outputs(shape)
            scale = np.sqrt(2 / inputs) * (_QUIET if _ends_a_sum(name) else 1)
            arrays[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
        self._join_cells_to_actions(arrays["policy/w"], arrays["policy/dense_w"], game)
        return arrays

    def _join_cells_to_actions(
        self, head: NDArray[np.float32], dense: NDArray[np.float32], game: Game
    ) -> None:
        """Add two planes' difference at the first cell of each action, of two more at the next.

        Those planes start small, so that the policy is still close to an even one.
        """
        _, rows, columns = board_shape(game)
        clicks = layout_of(game).clicks
        if clicks is None or block_side(game) > 1:
            return
        planes = dense.reshape(self.head_planes, rows * columns, game.num_actions)
        for place in range(min(clicks.shape[1], self.head_planes // 2)):
            actions = np.flatnonzero(clicks[:, place] >= 0)
            cells = clicks[actions, place]
            planes[2 * place, cells, actions] += 1
            planes[2 * place + 1, cells, actions] -= 1
            head[2 * place : 2 * place + 2] *= _QUIET

    @classmethod
    def of(cls, parameters: Parameters) -> Architecture:
        """Return the size of the net that has these arrays. Raises KeyError if one is missing."""
        blocks = sum(name.startswith("block") and name.endswith("/w1") for name in parameters)
        return cls(
            blocks=blocks,
            filters=parameters[stem_of(parameters)].shape[0],
            head_planes=parameters["policy/w"].shape[0],
            value_hidden=parameters["value/dense1_w"].shape[1],
        )


def stem_of(parameters: Mapping[str, object]) -> str:
    """Return the name of the first convolution's weights: `BLOCK_STEM` if it reads blocks."""
    return BLOCK_STEM if BLOCK_STEM in parameters else STEM


def outputs(shape: tuple[int, ...]) -> int:
    """Return how many numbers a layer computes for each cell or sample, from its weights' shape."""
    return shape[0] if len(shape) == 4 else shape[1]


def bias_of(weights: str) -> str:
    """Return the name of the bias of some weights: `stem/b` for `stem/w`."""
    group, _, name = weights.partition("/")
    return f"{group}/{name.replace('w', 'b')}"


def _ends_a_sum(name: str) -> bool:
    return name.endswith(("/w2", "policy/dense_w", "value/dense2_w"))
