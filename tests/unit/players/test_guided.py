from __future__ import annotations

import numpy as np
import pytest

from playout.players.mcts.guided import add_noise

LEGAL = np.array([0, 2, 3])


def _noisy(logits: list[float], weight: float) -> np.ndarray:
    changed = np.array(logits, dtype=np.float32)
    add_noise(changed, LEGAL, weight, 10.0, np.random.default_rng(1))
    return changed


def test_no_noise_leaves_the_policy_as_it_was() -> None:
    policy = np.exp(_noisy([1.0, 9.0, 3.0, 2.0], weight=0.0)[LEGAL])
    expected = np.exp([1.0, 3.0, 2.0]) / np.exp([1.0, 3.0, 2.0]).sum()
    assert policy == pytest.approx(expected, rel=1e-5)


def test_noise_is_mixed_with_the_policy_by_its_weight_and_illegal_actions_stay() -> None:
    noisy = _noisy([50.0, 9.0, 0.0, 0.0], weight=0.25)
    policy = np.exp(noisy[LEGAL])
    noise = np.random.default_rng(1).dirichlet(np.full(3, 10 / 3))
    assert policy == pytest.approx(0.75 * np.array([1, 0, 0]) + 0.25 * noise, rel=1e-4)
    assert policy.sum() == pytest.approx(1, rel=1e-5)
    assert noisy[1] == 9
