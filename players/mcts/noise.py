"""Noise in the policy of a root, so that self-play tries actions that the net thinks little of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
    policy = np.exp(logits[legal] - logits[legal].max())
    policy /= policy.sum()
    noise = rng.dirichlet(np.full(len(legal), concentration / len(legal)))
    logits[legal] = np.log((1 - weight) * policy + weight * noise + 1e-9)
