"""A net as a list of layers, and the residual net that `playout-train` trains.

From the list follow the shapes of the arrays and the ONNX file here, and what JAX computes in
`playout.players.training.loop`. `Architecture.layers` is the list of the residual net:

    stem            3x3 convolution from the planes to `filters`; in a game whose board has blocks
                    with winners, a convolution that makes one cell of each block
    block0, ...     relu(x + w2 * relu(w1 * x + b1) + b2), both 3x3 convolutions
    policy          1x1 convolution to `head_planes`, dense layer to one logit an action
    value           1x1 convolution to `head_planes`, dense layers to `value_hidden` and to 1, tanh

There is no batch norm: it would couple the samples of a batch, and needs other code in training
than in play.

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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.commands.durable_files import why_not_written, write_atomically
from playout.games import Game
from playout.players.core.cells import clicks_of
from playout.players.nets import contract
from playout.players.nets.contract import INPUT, POLICY, VALUE
from playout.players.nets.encoding import block_side, board_shape
from playout.players.nets.files import NetError, require

if TYPE_CHECKING:
    import onnx


Parameters = Mapping[str, NDArray[np.float32]]

#: Factor for the last layer of each block and each head, so that a new net is close to an even
#: policy and to the value 0, however many blocks it has.
_QUIET = 0.1

#: The weights of the first convolution, which reads the neighbours of each cell, or each block.
STEM, BLOCK_STEM = "stem/w", "stem/block_w"


class Layer(NamedTuple):
    """A layer of a net: activation(weights * x + bias), where x is the result of the layer `of`.

    `weights` is the name of its weights, which is that of the layer, too. A `shape` of four numbers
    is a convolution's, [out, in, height, width], with zeros around the board; with `apart`, it
    reads rectangles side by side, and its result has a cell for each. A `shape` of two numbers,
    [in, out], is a dense layer's: x @ weights + bias, over the flattened planes. The result of the
    layer `plus` is added before the `activation`, an operator of ONNX or "". `output` names the
    output of the net that the result is. All arrays are float32.
    """

    weights: str
    shape: tuple[int, ...]
    of: str
    activation: Literal["Relu", "Tanh", ""] = "Relu"
    plus: str = ""
    apart: bool = False
    output: str = ""

    @property
    def bias(self) -> str:
        """The name of the bias: `stem/b` for `stem/w`."""
        group, _, name = self.weights.partition("/")
        return f"{group}/{name.replace('w', 'b')}"

    @property
    def is_convolution(self) -> bool:
        """Whether it reads planes, and not flattened numbers."""
        return len(self.shape) == 4

    @property
    def size(self) -> int:
        """The number of results for a cell or a position, and of biases."""
        return self.shape[0] if self.is_convolution else self.shape[1]


Layers = tuple[Layer, ...]


@dataclass(frozen=True)
class Architecture:
    """The size of a residual net, for any game."""

    blocks: int = 3
    filters: int = 32
    head_planes: int = 8
    value_hidden: int = 64

    def layers(self, game: Game) -> Layers:
        """Return the layers of the net for a game, in the order in which they are applied."""
        planes, rows, columns = board_shape(game)
        wide, head, hidden = self.filters, self.head_planes, self.value_hidden
        side = block_side(game)
        flat = head * (rows // side) * (columns // side)
        if side > 1:
            layers = [Layer(BLOCK_STEM, (wide, planes, side, side), of=INPUT, apart=True)]
        else:
            layers = [Layer(STEM, (wide, planes, 3, 3), of=INPUT)]
        for block in range(self.blocks):
            first, second, x = f"block{block}/w1", f"block{block}/w2", layers[-1].weights
            layers.append(Layer(first, (wide, wide, 3, 3), of=x))
            layers.append(Layer(second, (wide, wide, 3, 3), of=first, plus=x))
        x = layers[-1].weights
        policy, value, dense = "policy/w", "value/w", "value/dense1_w"
        return (
            *layers,
            Layer(policy, (head, wide, 1, 1), of=x),
            Layer("policy/dense_w", (flat, game.num_actions), policy, "", output=POLICY),
            Layer(value, (head, wide, 1, 1), of=x),
            Layer(dense, (flat, hidden), of=value),
            Layer("value/dense2_w", (hidden, 1), dense, "Tanh", output=VALUE),
        )

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array by its name, in the order in which they are applied."""
        return {
            name: shape
            for layer in self.layers(game)
            for name, shape in ((layer.weights, layer.shape), (layer.bias, (layer.size,)))
        }

    def initial(self, game: Game, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """Return random arrays by name: He's initialisation (He et al. 2015, eq. 10), biases 0."""
        arrays = {}
        for layer in self.layers(game):
            inputs = int(np.prod(layer.shape)) // layer.size
            scale = np.sqrt(2 / inputs) * (_QUIET if layer.plus or layer.output else 1)
            numbers = rng.standard_normal(layer.shape) * scale
            arrays[layer.weights] = numbers.astype(np.float32)
            arrays[layer.bias] = np.zeros(layer.size, np.float32)
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
            filters=parameters[BLOCK_STEM if BLOCK_STEM in parameters else STEM].shape[0],
            head_planes=parameters["policy/w"].shape[0],
            value_hidden=parameters["value/dense1_w"].shape[1],
        )


#: Operators and format of ONNX 1.12 (2022), so that older runtimes read the files, too.
OPSET = 17
IR_VERSION = 8


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
    layers = _architecture(path, game, parameters).layers(game)
    write_layers(path, game, layers, parameters, metadata, half)


def write_layers(
    path: Path,
    game: Game,
    layers: Layers,
    parameters: Parameters,
    metadata: Mapping[str, str],
    half: bool = False,
) -> None:
    """Write a net of these layers as an ONNX file of the contract, which is complete or absent.

    Raises NetError if the net or the metadata do not fulfil the contract, if the file cannot be
    written, and if the package onnx is missing.
    """
    graph = _Graph(half)
    convolutions = {each.weights for each in layers if each.is_convolution}
    for layer in layers:
        graph.add_layer(layer, parameters, flatten=layer.of in convolutions)
    model = graph.model(game, contract.complete(metadata, game))
    contract.check(model, path, game)
    try:
        write_atomically(path, model.SerializeToString(deterministic=True))
    except OSError as error:
        raise NetError(f"{path} cannot be written: {why_not_written(error)}") from error


class _Graph:
    """The operators and the arrays of an ONNX file.

    With `half`, arrays are stored as float16, which halves the file, and are converted to float32
    when the net is loaded. Raises NetError if the package onnx is missing.
    """

    def __init__(self, half: bool) -> None:
        self._onnx = require("onnx", "nets")
        self._half = half
        self._nodes: list[onnx.NodeProto] = []
        self._arrays: list[onnx.TensorProto] = []
        #: The name of the result of each layer.
        self._results = {INPUT: INPUT}

    def add_layer(self, layer: Layer, parameters: Parameters, flatten: bool) -> None:
        """Add a layer; with `flatten`, the planes that a dense layer reads are flattened before."""
        x = self._results[layer.of]
        if not layer.is_convolution and flatten:
            x = self._add("Flatten", x, axis=1)
        weights = self._array(layer.weights, parameters[layer.weights])
        bias = self._array(layer.bias, parameters[layer.bias])
        if not layer.is_convolution:
            output = "" if layer.activation else layer.output
            x = self._add("Gemm", x, weights, bias, to_name=output)
        elif layer.apart:
            x = self._add("Conv", x, weights, bias, strides=layer.shape[2:])
        else:
            padding = [size // 2 for size in layer.shape[2:]] * 2
            x = self._add("Conv", x, weights, bias, pads=padding)
        if layer.plus:
            x = self._add("Add", self._results[layer.plus], x)
        if layer.activation:
            x = self._add(layer.activation, x, to_name=layer.output)
        self._results[layer.weights] = x

    def model(self, game: Game, metadata: Mapping[str, str]) -> onnx.ModelProto:
        """Return the model with these metadata and the input and the outputs of the contract."""
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        values = {
            name: helper.make_tensor_value_info(name, kind, ["N", *shape])
            for name, shape in contract.expected_shapes(game).items()
        }
        outputs = [values[name] for name in contract.OUTPUTS]
        graph = helper.make_graph(self._nodes, "net", [values[INPUT]], outputs, self._arrays)
        opsets = [helper.make_operatorsetid("", OPSET)]
        model = helper.make_model(
            graph, producer_name="playout", opset_imports=opsets, ir_version=IR_VERSION
        )
        helper.set_model_props(model, metadata)
        return model

    def _add(self, operator: str, *inputs: str, to_name: str = "", **attributes: Any) -> str:
        """Add an operator, and return the name of its result: `to_name`, or a numbered one."""
        name = to_name or f"{operator.lower()}{len(self._nodes)}"
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), [name], name=name, **attributes))
        return name

    def _array(self, name: str, array: NDArray[np.float32]) -> str:
        stored = f"{name}/half" if self._half else name
        kind = np.float16 if self._half else np.float32
        with np.errstate(over="ignore"):  # infinity is refused when the net is saved
            numbers = array.astype(kind, order="C")
        self._arrays.append(self._onnx.numpy_helper.from_array(numbers, stored))
        if self._half:
            self._add("Cast", stored, to_name=name, to=self._onnx.TensorProto.FLOAT)
        return name


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
