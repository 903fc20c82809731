"""Nets that are written compute what numpy computes from the same parameters."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from playout import games
from playout.players.nets.encoding import board_shape
from playout.players.nets.files import NetError
from playout.players.nets.graph import Architecture, Parameters, write
from playout.players.nets.net import load
from support.nets import METADATA, SMALL, random_planes, write_small_net

Floats = NDArray[np.float64]


def convolved(x: Floats, w: NDArray[np.float32], b: NDArray[np.float32]) -> Floats:
    """The relu of a convolution, by its definition."""
    border = w.shape[2] // 2
    padded = np.pad(x, ((0, 0), (0, 0), (border, border), (border, border)))
    windows = sliding_window_view(padded, w.shape[2:], axis=(2, 3))
    return np.einsum("nirchw,oihw->norc", windows, w) + b[:, None, None]


def first_layer(p: Parameters, planes: Floats) -> Floats:
    if "stem/w" in p:
        return convolved(planes, p["stem/w"], p["stem/b"])
    blocks = [  # the nine small boards, row by row
        np.einsum("nirc,oirc->no", planes[:, :, y : y + 3, x : x + 3], p["stem/block_w"])
        for y in (0, 3, 6)
        for x in (0, 3, 6)
    ]
    return (
        np.stack(blocks, axis=2).reshape(len(planes), -1, 3, 3) + p["stem/block_b"][:, None, None]
    )


def relu(x: Floats) -> Floats:
    return np.maximum(x, 0)


def reference(p: Parameters, planes: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """The policy logits and the values of the net with the parameters `p`."""
    n = len(planes)
    x = relu(first_layer(p, planes.astype(np.float64)))
    for i in range(Architecture.of(p).blocks):
        inner = relu(convolved(x, p[f"block{i}/w1"], p[f"block{i}/b1"]))
        x = relu(x + convolved(inner, p[f"block{i}/w2"], p[f"block{i}/b2"]))
    flat = relu(convolved(x, p["policy/w"], p["policy/b"])).reshape(n, -1)
    logits = flat @ p["policy/dense_w"] + p["policy/dense_b"]
    flat = relu(convolved(x, p["value/w"], p["value/b"])).reshape(n, -1)
    hidden = relu(flat @ p["value/dense1_w"] + p["value/dense1_b"])
    return logits, np.tanh(hidden @ p["value/dense2_w"] + p["value/dense2_b"])[:, 0]


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    "spec",
    ["connect_four", "othello(size=6)", "mnk(m=7,n=4,k=3)", "nim", "ultimate_tic_tac_toe"],
)
def test_a_net_computes_what_numpy_computes(tmp_path: Path, spec: str, backend: str) -> None:
    game = games.load(spec)
    rng = np.random.default_rng(3)
    shapes = Architecture(blocks=2, filters=8, head_planes=3, value_hidden=5).shapes(game)
    parameters = {
        name: rng.normal(0, 0.15, shape).astype(np.float32) for name, shape in shapes.items()
    }
    write(tmp_path / "net.onnx", game, parameters, METADATA)
    net = load(tmp_path / "net.onnx", game, backend, "f32")
    planes = random_planes(board_shape(game), 5)
    for computed, expected in zip(net.evaluate(planes), reference(parameters, planes), strict=True):
        assert computed.dtype == np.float32
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-5)


def test_a_net_in_half_the_size_computes_nearly_the_same(tmp_path: Path) -> None:
    game = games.load("mnk(m=6,n=6,k=4)")
    parameters = Architecture().initial(game, np.random.default_rng(1))
    planes = random_planes(board_shape(game), 4)
    results = []
    for half in (False, True):
        path = tmp_path / f"{half}.onnx"
        write(path, game, parameters, METADATA, half=half)
        results.append((path.stat().st_size, *load(path, game, "onnxruntime").evaluate(planes)))
    (whole, logits, values), (smaller, half_logits, half_values) = results
    assert smaller < 0.53 * whole
    np.testing.assert_allclose(half_logits, logits, atol=2e-3)
    np.testing.assert_allclose(half_values, values, atol=2e-3)


def test_the_metadata_are_in_the_file(tmp_path: Path) -> None:
    game = games.load("tic_tac_toe")
    net = load(write_small_net(tmp_path / "net.onnx", game), game, "onnxruntime")
    assert net.metadata == METADATA | {
        "playout.game": "tic_tac_toe",
        "playout.encoding": "cells",
        "playout.encoding_version": "1",
    }


def test_the_same_parameters_give_the_same_file(tmp_path: Path) -> None:
    game = games.load("tic_tac_toe")
    first, again = (write_small_net(tmp_path / name, game) for name in ("a.onnx", "b.onnx"))
    assert first.read_bytes() == again.read_bytes()


def test_wrong_parameters_are_refused(tmp_path: Path) -> None:
    game = games.load("tic_tac_toe")
    right = SMALL.initial(game, np.random.default_rng(1))
    missing = {name: array for name, array in right.items() if name != "policy/dense_b"}
    wrong = {
        "policy/dense_b is missing": missing,
        "lack 'stem/w'": {},
        r"stem/b has the shape \(5,\); expected \(4,\) for tic_tac_toe": right
        | {"stem/b": np.zeros(5, np.float32)},
        "unknown parameters extra": right | {"extra": np.zeros(1, np.float32)},
        "stem/b has NaN or infinity": right | {"stem/b": np.full(4, np.nan, np.float32)},
    }
    for text, parameters in wrong.items():
        with pytest.raises(NetError, match=text):
            write(tmp_path / "net.onnx", game, parameters, METADATA)
    with pytest.raises(NetError, match="no licence"):
        write(tmp_path / "net.onnx", game, right, METADATA | {"licence": " "})
    assert os.listdir(tmp_path) == []


def test_parameters_too_large_for_half_the_size_are_refused(tmp_path: Path) -> None:
    game = games.load("tic_tac_toe")
    parameters = SMALL.initial(game, np.random.default_rng(1))
    parameters["stem/b"][0] = 1e6
    with pytest.raises(NetError, match="stem/b/half has NaN or infinity"):
        write(tmp_path / "net.onnx", game, parameters, METADATA, half=True)


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NetError, match=r"net\.onnx cannot be written: No such file or directory"):
        write_small_net(tmp_path / "missing" / "net.onnx", games.load("tic_tac_toe"))
