"""Noise in the policy of a root, so that self-play tries actions that the net thinks little of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def policy_of(logits: NDArray[np.float32], legal: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the probabilities of the legal actions, in their order; `logits` is [action]."""
    weights = np.exp(logits[legal] - logits[legal].max())
    return weights / weights.sum()


def add_noise(
    logits: NDArray[np.float32],
    legal: NDArray[np.int64],
    weight: float,
    concentration: float,
    rng: np.random.Generator,
) -> None:
    """Mix Dirichlet noise into the policy of the legal actions (Silver et al. 2017).

    `logits` [action] are changed in place; `weight` is the share of the noise, from 0 to 1. Each of
    n legal actions has the parameter alpha = concentration / n.
    """
    policy = policy_of(logits, legal)
    noise = rng.dirichlet(np.full(len(legal), concentration / len(legal)))
    logits[legal] = np.log((1 - weight) * policy + weight * noise + 1e-9)
