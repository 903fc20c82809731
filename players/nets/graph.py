"""The residual net that `playout-train` trains: size, names and shapes of arrays, ONNX file.

    stem            3x3 convolution from the planes to `filters`; in a game whose board has blocks
                    with winners, a convolution that makes one cell of each block
    block0, ...     relu(x + w2 * relu(w1 * x + b1) + b2), both 3x3 convolutions
    policy          1x1 convolution to `head_planes`, dense layer to one logit an action
    value           1x1 convolution to `head_planes`, dense layers to `value_hidden` and to 1, tanh

Each convolution and the first dense layer of the value are followed by a relu. Arrays are float32;
convolutions are [out, in, height, width] with zeros around the board, dense layers are `x @ w + b`
over the flattened planes. There is no batch norm: it would couple the samples of a batch, and needs
other code in training than in play.

At the start, the policy's dense layer sets the logit of an action to the difference of two planes
at the cell of that action, so that whatever the convolutions learn about one cell holds for all
from the first step. On the same 63,000 samples of five in a row on 8x8, the cross entropy with
samples of later games was 1.30 instead of 1.42 after 500 steps, and 1.19 instead of 1.25 after
1,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.core.cells import clicks_of
from playout.players.nets import contract
from playout.players.nets.contract import INPUT, POLICY, VALUE
from playout.players.nets.encoding import block_side, board_shape
from playout.players.nets.files import NetError, require, why_not_written, write_atomically

if TYPE_CHECKING:
    import onnx


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
        """Add the difference of two planes at the first cell of each action, two more for the next.

        These planes start small, so that the policy is close to an even one.
        """
        _, rows, columns = board_shape(game)
        clicks = clicks_of(game).table
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
        """Return the size of the net with these arrays. Raises KeyError if one is missing."""
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
    """Return the numbers that a layer computes for a cell or a sample, from the weights' shape."""
    return shape[0] if len(shape) == 4 else shape[1]


def bias_of(weights: str) -> str:
    """Return the name of the bias of some weights: `stem/b` for `stem/w`."""
    group, _, name = weights.partition("/")
    return f"{group}/{name.replace('w', 'b')}"


def _ends_a_sum(name: str) -> bool:
    return name.endswith(("/w2", "policy/dense_w", "value/dense2_w"))


#: Operators and format of ONNX 1.12 (2022), so that older runtimes read the files, too.
OPSET = 17
IR_VERSION = 8

#: The weights and the bias of a layer.
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


class GraphBuilder:
    """Collects the operators and the arrays of a net; each method returns the name of its result.

    With `half`, arrays are stored as float16, which halves the file, and are converted to float32
    when the net is loaded. Raises NetError if the package onnx is missing.
    """

    def __init__(self, half: bool = False) -> None:
        self._onnx = require("onnx", "nets")
        self._half = half
        self._nodes: list[onnx.NodeProto] = []
        self._arrays: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, to_name: str = "", **attributes: Any) -> str:
        """Add an operator whose result is called `to_name`, by default its type and a number."""
        name = to_name or f"{operator.lower()}{len(self._nodes)}"
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), [name], name=name, **attributes))
        return name

    def convolve(self, x: str, name: str, layer: Layer, apart: bool = False) -> str:
        """Add a convolution whose result has as many rows and columns as `x`.

        `name` is that of its weights, such as `stem/w`. With `apart`, it reads rectangles of its
        size side by side, and the result has one cell for each.
        """
        if apart:
            return self.add("Conv", x, *self._layer(name, layer), strides=layer[0].shape[2:])
        padding = [size // 2 for size in layer[0].shape[2:]] * 2
        return self.add("Conv", x, *self._layer(name, layer), pads=padding)

    def dense(self, x: str, name: str, layer: Layer, to_name: str = "") -> str:
        """Add `x @ w + b`, with the weights w and the bias b."""
        return self.add("Gemm", x, *self._layer(name, layer), to_name=to_name)

    def relu(self, x: str) -> str:
        """Add the larger of 0 and each number."""
        return self.add("Relu", x)

    def flat(self, x: str) -> str:
        """Add a reshaping to one row per position, plane after plane."""
        return self.add("Flatten", x, axis=1)

    def save(self, path: Path, game: Game, metadata: Mapping[str, str]) -> None:
        """Write the net as an ONNX file of the contract, which is complete or absent.

        Raises NetError if the metadata do not fulfil the contract, or if it cannot be written.
        """
        helper = self._onnx.helper
        shapes = contract.expected_shapes(game)
        values = {
            name: helper.make_tensor_value_info(name, self._onnx.TensorProto.FLOAT, ["N", *shape])
            for name, shape in shapes.items()
        }
        graph = helper.make_graph(
            self._nodes,
            "net",
            [values[contract.INPUT]],
            [values[name] for name in contract.OUTPUTS],
            self._arrays,
        )
        opsets = [helper.make_operatorsetid("", OPSET)]
        model = helper.make_model(
            graph, producer_name="playout", opset_imports=opsets, ir_version=IR_VERSION
        )
        helper.set_model_props(model, contract.complete(metadata, game))
        contract.check(model, path, game)
        try:
            write_atomically(path, model.SerializeToString(deterministic=True))
        except OSError as error:
            raise NetError(f"{path} cannot be written: {why_not_written(error)}") from error

    def _layer(self, name: str, layer: Layer) -> tuple[str, str]:
        weights, bias = layer
        return self._array(name, weights), self._array(bias_of(name), bias)

    def _array(self, name: str, array: NDArray[np.float32]) -> str:
        stored = f"{name}/half" if self._half else name
        kind = np.float16 if self._half else np.float32
        with np.errstate(over="ignore"):  # infinity is refused when the net is saved
            numbers = array.astype(kind, order="C")
        self._arrays.append(self._onnx.numpy_helper.from_array(numbers, stored))
        if self._half:
            self.add("Cast", stored, to_name=name, to=self._onnx.TensorProto.FLOAT)
        return name


def write(
    path: str | Path,
    game: Game,
    parameters: Parameters,
    metadata: Mapping[str, str],
    half: bool = False,
) -> None:
    """Write a net for `game`; the file is complete or absent.

    `metadata` has at least `author`, `licence` and `trained`; game and encoding are added. With
    `half`, the parameters are rounded to float16, and the file has half the size. Raises NetError
    for other names or shapes of parameters, for NaN and infinity, and if it cannot be written.
    """
    path = Path(path)
    architecture = _architecture(path, game, parameters)
    graph = GraphBuilder(half)

    def layer(weights: str) -> Layer:
        return parameters[weights], parameters[bias_of(weights)]

    def convolve(x: str, name: str) -> str:
        return graph.convolve(x, name, layer(name))

    def dense(x: str, name: str, to_name: str = "") -> str:
        return graph.dense(x, name, layer(name), to_name)

    stem = stem_of(parameters)
    x = graph.relu(graph.convolve(INPUT, stem, layer(stem), apart=stem == BLOCK_STEM))
    for i in range(architecture.blocks):
        inner = graph.relu(convolve(x, f"block{i}/w1"))
        x = graph.relu(graph.add("Add", x, convolve(inner, f"block{i}/w2")))
    dense(graph.flat(graph.relu(convolve(x, "policy/w"))), "policy/dense_w", to_name=POLICY)
    hidden = dense(graph.flat(graph.relu(convolve(x, "value/w"))), "value/dense1_w")
    graph.add("Tanh", dense(graph.relu(hidden), "value/dense2_w"), to_name=VALUE)
    graph.save(path, game, metadata)


def _architecture(path: Path, game: Game, parameters: Parameters) -> Architecture:
    """Return the size of the net. Raises NetError if an array is missing or has another shape."""
    try:
        architecture = Architecture.of(parameters)
    except KeyError as error:
        raise NetError(f"{path} cannot be written: the parameters lack {error}") from error
    found = {name: array.shape for name, array in parameters.items()}
    for name, shape in architecture.shapes(game).items():
        if found.pop(name, None) != shape:
            has = f"has the shape {parameters[name].shape}" if name in parameters else "is missing"
            raise NetError(f"{path} cannot be written: {name} {has}; expected {shape} for {game}")
    if found:
        raise NetError(f"{path} cannot be written: unknown parameters {', '.join(found)}")
    return architecture
