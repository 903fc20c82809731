"""Builds the graph of a net from layers, and completes it to an ONNX file with its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets import contract
from playout.players.nets.architecture import BLOCK_STEM, Architecture, Parameters, bias_of, stem_of
from playout.players.nets.contract import INPUT, POLICY, VALUE
from playout.players.nets.files import NetError, require, why_not_written, write_atomically

if TYPE_CHECKING:
    import onnx

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
        """Add an operator whose result is called `to_name`, by default by a number."""
        name = to_name or f"{operator.lower()}{len(self._nodes)}"
        make = self._onnx.helper.make_node
        self._nodes.append(make(operator, list(inputs), [name], name=name, **attributes))
        return name

    def convolve(self, x: str, name: str, layer: Layer, apart: bool = False) -> str:
        """Add a convolution whose result has as many rows and columns as `x`.

        `name` is that of its weights, such as `stem/w`. With `apart` it reads rectangles of its
        size that lie side by side, and the result has one cell for each.
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
        """Add a reshaping to one row a position, plane after plane."""
        return self.add("Flatten", x, axis=1)

    def save(self, path: Path, game: Game, metadata: Mapping[str, str]) -> None:
        """Write the net as an ONNX file of the contract; it is complete or absent.

        Raises NetError if the metadata are not those of the contract, or if it cannot be written.
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
    `half`, the file has half the size: the parameters are rounded to float16. Raises NetError for
    parameters of other names or shapes, for NaN and infinity, and if it cannot be written.
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
