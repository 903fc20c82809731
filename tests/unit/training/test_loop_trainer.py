"""The trainer: learning, its state, and the learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from playout import games
from playout.players.nets.graph import Architecture
from playout.players.training import TrainingError
from playout.players.training.samples import ReplayBuffer, Samples
from playout.players.training.settings import LearningSettings
from support.requirements import need_packages

need_packages("jax", "optax")

if TYPE_CHECKING:  # it imports jax, which takes a second in each process of the tests
    from playout.players.training.loop import Trainer

GAME = games.load("mnk(m=3,n=3,k=3)")
SMALL = Architecture(blocks=1, filters=4, head_planes=2, value_hidden=4)
SETTINGS = LearningSettings(batch=16, learning_rate=0.02)


def new_trainer(seed: int = 1, architecture: Architecture = SMALL) -> Trainer:
    from playout.players.training.loop import Trainer

    return Trainer(GAME, SETTINGS, seed, architecture.initial(GAME, np.random.default_rng(seed)))


def replay() -> ReplayBuffer:
    """The first position, in which the middle is best and wins."""
    found = ReplayBuffer(GAME, SETTINGS)
    policy = np.zeros((8, 9), np.float32)
    policy[:, 4] = 1
    ones = np.ones(8, np.float32)
    states = np.array([GAME.initial_state()] * 8, np.int64)
    found.add_round(1, Samples(states, np.full(8, -1, np.int16), policy, ones, ones))
    return found


def test_it_learns_policy_and_value() -> None:
    trainer = new_trainer()
    first = trainer.learn(replay(), 1, 0.02, lambda done: None)
    told: list[int] = []
    trainer.learn(replay(), 60, 0.02, told.append)
    last = trainer.learn(replay(), 1, 0.02, lambda done: None)
    assert told == list(range(1, 61))
    assert trainer.step == 62
    assert last.policy_loss < 0.1 < first.policy_loss
    assert last.value_loss < 0.05 < first.value_loss
    assert last.policy_entropy < first.policy_entropy
    assert last.agreement == 1
    assert last.target_entropy == 0
    assert trainer.value_of_start() > 0.8


def test_a_restored_trainer_continues_exactly() -> None:
    whole = new_trainer()
    whole.learn(replay(), 5, 0.01, lambda done: None)
    first = new_trainer()
    first.learn(replay(), 3, 0.01, lambda done: None)
    second = new_trainer(seed=1)
    second.restore(first.state, step=3)
    second.learn(replay(), 2, 0.01, lambda done: None)
    for name, value in whole.state.items():
        np.testing.assert_array_equal(second.state[name], value)


def test_the_checkpoint_of_a_net_of_another_size_is_refused() -> None:
    other = Architecture(blocks=2, filters=4, head_planes=2, value_hidden=4)
    larger = new_trainer(architecture=other)
    with pytest.raises(TrainingError, match=r"net of another size.*\[net\]"):
        new_trainer().restore(larger.state, step=1)


def test_a_loss_that_is_not_a_number_is_a_clear_error() -> None:
    with pytest.raises(TrainingError, match="choose a lower learning_rate"):
        new_trainer().learn(replay(), 3, 1e30, lambda done: None)


def test_the_learning_rate_is_constant_or_falls_as_a_cosine() -> None:
    from playout.players.training.loop import learning_rate

    constant = LearningSettings(learning_rate=0.5, schedule="constant")
    assert learning_rate(constant, 0.7) == 0.5
    falling = LearningSettings(learning_rate=0.5, schedule="cosine")
    assert [learning_rate(falling, share) for share in (0, 1)] == [0.5, 0.0]
    assert learning_rate(falling, 0.5) == pytest.approx(0.25)
