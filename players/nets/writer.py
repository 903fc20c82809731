"""Writes the residual net of `players.nets.architecture` as an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from games import Game
from players.nets.architecture import BLOCK_STEM, Architecture, Parameters, bias_of, stem_of
from players.nets.contract import INPUT, POLICY, VALUE
from players.nets.errors import NetError
from players.nets.graph import GraphBuilder, Layer


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
