"""The trainer: a net in JAX, what a step of learning minimizes, and the state of the optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray
from platformdirs import user_cache_path

from playout.games import Game
from playout.players.nets.contract import INPUT, POLICY, VALUE
from playout.players.nets.encoding import Encoding
from playout.players.nets.graph import Architecture, Layers, Parameters
from playout.players.training import TrainingError
from playout.players.training.run_folder import PARAMETERS
from playout.players.training.samples import Batch, ReplayBuffer
from playout.players.training.settings import LearningSettings

#: The parameters of a net, by name, as arrays of JAX.
Weights = Mapping[str, jax.Array]

#: The prefix of the trained parameters, before averaging, in the state.
_TRAINED = "trained/"
#: The logit of an illegal action: its share is zero, and a product with it is still a number.
_ILLEGAL = -1e9
#: Parts of a batch. XLA computes them in parallel, and the planes of a part stay in the cache; for
#: a whole batch, it uses little more than one core. On two cores, a step of 3 blocks of 32 filters
#: takes 0.62 times as long, for 8x8 cells and a batch of 256.
_PARTS = 4

# Compiled steps are kept between processes: compiling takes longer than the steps of a round.
jax.config.update("jax_compilation_cache_dir", str(user_cache_path("playout") / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


class Learned(NamedTuple):
    """The number of steps of a round, and means over all their batches; see `Losses`."""

    steps: int
    policy_loss: float
    value_loss: float
    policy_entropy: float
    target_entropy: float
    agreement: float


class Trainer:
    """Trains a net by AdamW; a step depends only on its number, the seed and the samples."""

    def __init__(self, game: Game, settings: LearningSettings, seed: int, start: Parameters):
        self.step = 0
        self._game = game
        self._layers = Architecture.of(start).layers(game)
        self._settings = settings
        self._seed = seed
        self._optimizer = optax.chain(
            optax.scale_by_adam(), optax.add_decayed_weights(settings.weight_decay)
        )
        self._parameters: Any = dict(start)
        self._average: Any = dict(start)
        self._moments = self._optimizer.init(self._parameters)
        self._update = jax.jit(self._updated)
        self._evaluate = jax.jit(partial(evaluate, self._layers))

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The parameters of the playing net, by name: moving averages of the trained ones."""
        return {name: np.asarray(value) for name, value in self._average.items()}

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The state for `restore`, except the number of steps, as named arrays."""
        moments = enumerate(jax.tree.leaves(self._moments))
        return {
            **{f"{PARAMETERS}{name}": value for name, value in self.parameters.items()},
            **{f"{_TRAINED}{name}": np.asarray(each) for name, each in self._parameters.items()},
            **{f"optimizer/{place}": np.asarray(leaf) for place, leaf in moments},
        }

    def restore(self, state: Mapping[str, NDArray[Any]], step: int) -> None:
        """Continue from a state. Raises TrainingError for that of a net of another size."""
        leaves, structure = jax.tree.flatten(self._moments)
        own = self.state
        if {name: each.shape for name, each in own.items()} != {
            name: each.shape for name, each in state.items()
        }:
            raise TrainingError(
                "the checkpoint has a net of another size than the settings: "
                "restore [net] in settings.toml, or begin a new run"
            )
        self.step = step
        self._average = {name: state[f"{PARAMETERS}{name}"] for name in self._parameters}
        self._parameters = {name: state[f"{_TRAINED}{name}"] for name in self._parameters}
        self._moments = structure.unflatten([state[f"optimizer/{i}"] for i in range(len(leaves))])

    def learn(
        self, replay: ReplayBuffer, steps: int, rate: float, tell: Callable[[int], None]
    ) -> Learned:
        """Take `steps` steps at a learning rate; `tell` gets the number of steps so far.

        Raises TrainingError if the loss is not finite.
        """
        sums = np.zeros(len(Losses._fields))
        for done in range(steps):
            batch = replay.draw(np.random.default_rng([self._seed, self.step]))
            self._parameters, self._average, self._moments, losses = self._update(
                self._parameters, self._average, self._moments, batch, rate, self._decay()
            )
            sums += np.array(losses)
            self.step += 1
            tell(done + 1)
        if not np.isfinite(sums).all():
            raise TrainingError(
                "the loss is no longer a number: choose a lower learning_rate, and begin a new run"
            )
        return Learned(steps, *(sums / max(1, steps)).tolist())

    def value_of_start(self) -> float:
        """Return the net's value of the first position for the player to move, from -1 to 1."""
        start = np.array([self._game.initial_state()], dtype=np.int64)
        planes = Encoding(self._game).encode(start, np.array([-1], dtype=np.int64))
        return float(self._evaluate(self._average, planes)[1][0])

    def _decay(self) -> float:
        """Return the decay of the moving average: lower at first, to forget the random start."""
        return min(self._settings.averaging, (1 + self.step) / (10 + self.step))

    def _updated(
        self, parameters: Any, average: Any, moments: Any, batch: Any, rate: Any, decay: Any
    ) -> Any:
        gradient, losses = gradients(self._layers, parameters, batch)
        updates, moments = self._optimizer.update(gradient, moments, parameters)
        changed = jax.tree.map(lambda value, update: value - rate * update, parameters, updates)
        average = jax.tree.map(lambda old, new: new + decay * (old - new), average, changed)
        return changed, average, moments, losses


def learning_rate(settings: LearningSettings, progress: float) -> float:
    """Return the learning rate at a share of the run, from 0 to 1."""
    if settings.schedule == "cosine":
        return settings.learning_rate * (1 + math.cos(math.pi * min(1.0, progress))) / 2
    return settings.learning_rate


class Losses(NamedTuple):
    """Means over a batch: both parts of the loss, and the entropies of policy and target in nats.

    `agreement` is the share of positions where the net's best action is the search's.
    """

    policy_loss: jax.Array
    value_loss: jax.Array
    policy_entropy: jax.Array
    target_entropy: jax.Array
    agreement: jax.Array


_ACTIVATIONS: Mapping[str, Callable[[jax.Array], jax.Array]] = {
    "Relu": jax.nn.relu,
    "Tanh": jnp.tanh,
    "": lambda x: x,
}


def evaluate(layers: Layers, parameters: Weights, planes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the logits [n, actions] and the values [n], from -1 to 1, of encoded positions."""
    results = {INPUT: planes}
    for layer in layers:
        x, weights, bias = results[layer.of], parameters[layer.weights], parameters[layer.bias]
        if layer.is_convolution:
            convolved = jax.lax.conv_general_dilated(
                x,
                weights,
                layer.shape[2:] if layer.apart else (1, 1),
                "VALID" if layer.apart else "SAME",
                dimension_numbers=("NCHW", "OIHW", "NCHW"),
            )
            y = convolved + bias[:, None, None]
        else:
            y = x.reshape(len(planes), -1) @ weights + bias
        if layer.plus:
            y = results[layer.plus] + y
        results[layer.output or layer.weights] = _ACTIVATIONS[layer.activation](y)
    return results[POLICY], results[VALUE][:, 0]


def loss(layers: Layers, parameters: Weights, batch: Batch) -> tuple[jax.Array, Losses]:
    """Return the loss: the policy's cross entropy plus the value's squared error.

    Illegal actions have no share in the policy.
    """
    logits, values = evaluate(layers, parameters, batch.planes)
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


def gradients(layers: Layers, parameters: Weights, batch: Batch) -> tuple[Weights, Losses]:
    """Return the gradients of the loss, and the losses."""
    parts = math.gcd(len(batch.value), _PARTS)
    gradient = jax.grad(partial(loss, layers), has_aux=True)
    pieces = zip(*(jnp.split(each, parts) for each in batch), strict=True)
    found = [gradient(parameters, Batch(*piece)) for piece in pieces]
    mean: tuple[Weights, Losses] = jax.tree.map(lambda *each: sum(each) / parts, *found)
    return mean
