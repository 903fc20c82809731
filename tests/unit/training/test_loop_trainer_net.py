from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from playout import games
from playout.players.nets import graph, net
from playout.players.nets.encoding import Encoding, board_shape
from playout.players.nets.graph import Architecture
from support.nets import random_planes
from support.requirements import need_packages

need_packages("jax", "onnx")

METADATA = {"author": "a", "licence": "MIT", "trained": "not at all"}


@pytest.mark.parametrize(
    "game", ["mnk(m=3,n=4,k=3)", "connect_four", "nim", "othello(size=4)", "ultimate_tic_tac_toe"]
)
def test_the_net_in_training_computes_what_its_onnx_file_does(tmp_path: Path, game: str) -> None:
    from playout.players.training import loop  # imports jax

    rules = games.load(game)
    random = np.random.default_rng(1)
    parameters = {
        name: array + random.standard_normal(array.shape).astype(np.float32) / 10
        for name, array in Architecture(blocks=2, filters=8).initial(rules, random).items()
    }
    graph.write(tmp_path / "net.onnx", rules, parameters, METADATA)
    loaded = net.load(tmp_path / "net.onnx", rules, backend="onnxruntime")
    start = np.array([rules.initial_state()] * 3, np.int64)
    planes = Encoding(rules).encode(start, np.full(3, -1, np.int64))
    layers = Architecture.of(parameters).layers(rules)
    logits, values = loop.evaluate(layers, parameters, planes)
    expected_logits, expected_values = loaded.evaluate(planes)
    np.testing.assert_allclose(logits, expected_logits, atol=1e-4)
    np.testing.assert_allclose(values, expected_values, atol=1e-4)


@pytest.mark.parametrize(
    "game", ["mnk(m=6,n=6,k=4)", "connect_four", "othello", "ultimate_tic_tac_toe"]
)
def test_a_new_net_is_close_to_an_even_policy_and_the_value_0(game: str) -> None:
    from playout.players.training import loop

    rules = games.load(game)
    parameters = Architecture().initial(rules, np.random.default_rng(1))
    planes = random_planes(board_shape(rules), 8)
    logits, values = loop.evaluate(Architecture().layers(rules), parameters, planes)
    assert np.ptp(logits, axis=1).max() < 1
    assert np.abs(values).max() < 0.4


def test_the_gradients_of_the_parts_of_a_batch_are_those_of_the_batch() -> None:
    import jax

    from playout.players.training import loop
    from playout.players.training.samples import Batch

    size = 6  # two parts
    rules, random = games.load("mnk(m=3,n=4,k=3)"), np.random.default_rng(1)
    architecture = Architecture(blocks=1, filters=4)
    layers, parameters = architecture.layers(rules), architecture.initial(rules, random)
    batch = Batch(
        random.random((size, *Encoding(rules).shape), np.float32),
        random.random((size, rules.num_actions)) < 0.7,
        random.dirichlet(np.ones(rules.num_actions), size).astype(np.float32),
        random.uniform(-1, 1, size).astype(np.float32),
    )
    gradient = jax.grad(partial(loop.loss, layers), has_aux=True)
    whole, losses = jax.jit(gradient)(parameters, batch)
    found, found_losses = jax.jit(partial(loop.gradients, layers))(parameters, batch)
    for name, expected in whole.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found_losses, losses, rtol=1e-4)
