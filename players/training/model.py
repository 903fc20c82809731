"""The residual net of `players.nets.architecture` in JAX, and what a training step minimizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp

from playout.players.nets.architecture import BLOCK_STEM, bias_of, stem_of
from playout.players.training.replay import Batch

Parameters = Mapping[str, jax.Array]

#: The logit of an illegal action: its share is zero, and a product with it is still a number.
_ILLEGAL = -1e9
#: Parts of a batch: XLA computes them in parallel, where it uses little more than one core for a
#: whole batch, and the planes of a part stay in the cache. On two cores a step of 3 blocks of 32
#: filters takes 0.62 times as long, for 8x8 cells and a batch of 256.
_PARTS = 4


class Losses(NamedTuple):
    """Means over a batch: both parts of the loss, and the entropies of policy and target in nats.

    `agreement` is the share of positions where the net's best action is the search's.
    """

    policy_loss: jax.Array
    value_loss: jax.Array
    policy_entropy: jax.Array
    target_entropy: jax.Array
    agreement: jax.Array


def evaluate(parameters: Parameters, planes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the logits [n, actions] and the values [n], from -1 to 1, of encoded positions."""
    stem = stem_of(parameters)
    apart = stem == BLOCK_STEM
    x = jax.nn.relu(_convolution(planes, parameters, stem, bias_of(stem), apart))
    for block in range(sum(name.endswith("/w1") for name in parameters)):
        y = jax.nn.relu(_convolution(x, parameters, f"block{block}/w1", f"block{block}/b1"))
        x = jax.nn.relu(x + _convolution(y, parameters, f"block{block}/w2", f"block{block}/b2"))
    policy, value = (
        jax.nn.relu(_convolution(x, parameters, f"{head}/w", f"{head}/b")).reshape(len(planes), -1)
        for head in ("policy", "value")
    )
    logits = _dense(policy, parameters, "policy/dense")
    hidden = jax.nn.relu(_dense(value, parameters, "value/dense1"))
    return logits, jnp.tanh(_dense(hidden, parameters, "value/dense2"))[:, 0]


def loss(parameters: Parameters, batch: Batch) -> tuple[jax.Array, Losses]:
    """Return what is minimized: the policy's cross entropy plus the value's squared error.

    Illegal actions have no share in the policy.
    """
    logits, values = evaluate(parameters, batch.planes)
    shares = jax.nn.log_softmax(jnp.where(batch.legal, logits, _ILLEGAL))
    policy_loss = -(batch.policy * shares).sum(axis=1).mean()
    value_loss = jnp.square(values - batch.value).mean()
    target = jnp.where(batch.policy > 0, batch.policy, 1.0)
    losses = Losses(
        policy_loss,
        value_loss,
        -(jnp.exp(shares) * jnp.where(batch.legal, shares, 0.0)).sum(axis=1).mean(),
        -(target * jnp.log(target)).sum(axis=1).mean(),
        (shares.argmax(axis=1) == batch.policy.argmax(axis=1)).mean(),
    )
    return policy_loss + value_loss, losses


def gradients(parameters: Parameters, batch: Batch) -> tuple[Parameters, Losses]:
    """Return the gradients of the loss, and the losses."""
    parts = math.gcd(len(batch.value), _PARTS)
    gradient = jax.grad(loss, has_aux=True)
    pieces = zip(*(jnp.split(each, parts) for each in batch), strict=True)
    found = [gradient(parameters, Batch(*piece)) for piece in pieces]
    mean: tuple[Parameters, Losses] = jax.tree.map(lambda *each: sum(each) / parts, *found)
    return mean


def _convolution(
    x: jax.Array, parameters: Parameters, weights: str, biases: str, apart: bool = False
) -> jax.Array:
    """A convolution over planes in rows and columns that keeps the size of the board.

    With `apart` it reads blocks that lie side by side, and the result has one cell for each.
    """
    kernel = parameters[weights]
    convolved = jax.lax.conv_general_dilated(
        x,
        kernel,
        kernel.shape[2:] if apart else (1, 1),
        "VALID" if apart else "SAME",
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    )
    return convolved + parameters[biases][:, None, None]


def _dense(x: jax.Array, parameters: Parameters, name: str) -> jax.Array:
    return x @ parameters[f"{name}_w"] + parameters[f"{name}_b"]
