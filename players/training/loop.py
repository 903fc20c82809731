"""The rounds of a run: self-play, learning, the checkpoint, the next net.

A round counts when its checkpoint is written. If this process ends before that, the next one uses
the complete shards of the unfinished round and plays the rest.

The trainer learns a net in JAX: what a step of learning minimizes, and the state of the optimizer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
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
from playout.players.training import TrainingError, run_folder
from playout.players.training.display import TrainingDisplay
from playout.players.training.jobs import Job, ShardPlayers
from playout.players.training.run_folder import PARAMETERS, Checkpoint, NetRound, RunFolder
from playout.players.training.samples import (
    Batch,
    Played,
    ReplayBuffer,
    Shard,
    ShardName,
    joined,
    window,
)
from playout.players.training.settings import LearningSettings, TrainingSettings, text_of

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


#: Seconds between two polls of the processes or workers that play.
_POLL_S = 0.1


class _Times(NamedTuple):
    """The durations of a round, its self-play and its learning; those of two rounds may overlap."""

    round_s: float
    self_play_s: float
    learning_s: float


class TrainingLoop:
    """Runs the rounds of a folder, from a checkpoint to the limits."""

    def __init__(
        self,
        folder: RunFolder,
        settings: TrainingSettings,
        checkpoint: Checkpoint | None,
        display: TrainingDisplay,
    ) -> None:
        """Restore the trainer, and read the shards from which it learns.

        `settings` may differ from those of the folder in limits and processes. Raises TrainingError
        and NetError.
        """
        self._folder = folder
        self._settings = settings
        self._text = text_of(settings)
        self._display = display
        game, seed = settings.game, settings.seed
        start = settings.net.initial(game, np.random.default_rng(seed))
        self._trainer = Trainer(game, settings.learning, seed, start)
        self._replay = ReplayBuffer(game, settings.learning)
        self._last: NetRound | None = None
        if checkpoint and isinstance(checkpoint.record, NetRound):
            self._last = checkpoint.record
            self._trainer.restore(checkpoint.state, checkpoint.record.steps)
        folder.start(self._trainer.parameters, self._last)
        for number in range(self._first_needed(self._done), self._done + 1):
            self._add_samples(number, folder.read_round(number).values())

    @property
    def _done(self) -> int:
        """The number of complete rounds."""
        return self._last.round if self._last else 0

    @property
    def _progress(self) -> float:
        """The complete share of the run, from 0 to 1."""
        used = self._last.used if self._last else run_folder.Used()
        return run_folder.progress(self._settings.limits, used)

    def run(self, workers: ShardPlayers) -> None:
        """Play and learn until a limit is reached. Raises TrainingError and NetError."""
        while not run_folder.is_over(self._settings.limits, self._last):
            self._round(workers)

    def _round(self, workers: ShardPlayers) -> None:
        number, began = self._done + 1, time.monotonic()
        if workers.is_idle:  # otherwise the round was started during the last one's learning
            self._start(workers, number, net=number - 1)
        self._wait(workers, number)
        shards = self._folder.read_round(number)
        played = sum((each.played for each in shards.values()), Played())
        self._add_samples(number, shards.values())
        played_at = time.monotonic()
        if self._settings.processes.overlap:
            self._start(workers, number + 1, net=number - 1)
        learned, rate = self._learn(number, played.positions)
        learned_at = time.monotonic()
        # With `overlap`, self-play began before the round did.
        self_play_s = max(1e-3, played_at - began, played.seconds / workers.count)
        times = _Times(learned_at - began, self_play_s, learned_at - played_at)
        self._last = self._record(number, shards, played, learned, rate, times)
        checkpoint = Checkpoint(self._trainer.state, self._last)
        self._folder.complete_round(checkpoint, self._first_needed(number))
        self._display.round(self._last, run_folder.remaining_s(self._settings.limits, self._last))

    def _start(self, workers: ShardPlayers, number: int, net: int) -> None:
        """Hand out the missing samples of a round, one shard for each worker."""
        self._store(workers, 0.0)  # workers may have joined or left while the net learned
        there = self._folder.read_round(number)
        wanted = self._settings.learning.positions_per_round
        missing = wanted - sum(each.played.positions for each in there.values())
        count = min(workers.count, max(0, missing))
        first = max((each.place for each in there), default=-1) + 1
        workers.start(
            Job(
                settings=self._text,
                shard=ShardName(number, place),
                positions=math.ceil(missing / count),
                seed=_seed(self._settings.seed, number, place),
                net=self._folder.kept.place(net),
                net_round=net,
            )
            for place in range(first, first + count)
        )

    def _wait(self, workers: ShardPlayers, number: int) -> None:
        """Wait for the jobs of a round, and show their progress."""
        began = time.monotonic()
        before = f", {self._last.games_per_s:,.1f} games/s in the last round" if self._last else ""
        while not workers.is_idle:
            rate = workers.evaluations / max(1e-3, time.monotonic() - began)
            by = f" by {workers.description}{before}" if workers.description else ""
            self._display.phase(
                f"round {number}, self-play: {workers.evaluations:,} evaluations, {rate:,.0f}/s{by}"
            )
            self._store(workers, _POLL_S)

    def _store(self, workers: ShardPlayers, timeout_s: float) -> None:
        """Store the shards that were completed, which count from now on."""
        for shard in workers.poll(timeout_s):
            self._folder.write_shard(shard.name, shard.content)

    def _learn(self, number: int, positions: int) -> tuple[Learned, float]:
        """Take the steps for new samples; return their losses, and the learning rate."""
        learning = self._settings.learning
        before = self._last.positions if self._last else 0
        # The difference of two counts, so that a changed setting holds from now on.
        each = learning.positions_per_step
        due = (before + positions) // each - before // each
        rate = learning_rate(learning, self._progress)

        def tell(done: int) -> None:
            self._display.phase(f"round {number}, learning: step {done} of {due}")

        self._display.phase(f"round {number}, learning: preparing {due} steps")
        return self._trainer.learn(self._replay, due, rate, tell), rate

    def _record(
        self,
        number: int,
        shards: Mapping[ShardName, Shard],
        played: Played,
        learned: Learned,
        rate: float,
        times: _Times,
    ) -> NetRound:
        before = self._last
        return NetRound(
            round=number,
            time=time.time(),
            seconds=times.round_s + (before.seconds if before else 0.0),
            games=played.games + (before.games if before else 0),
            positions=played.positions + (before.positions if before else 0),
            evaluations=played.evaluations + (before.evaluations if before else 0),
            steps=self._trainer.step,
            evaluations_per_s=played.evaluations / times.self_play_s,
            games_per_s=played.games / times.self_play_s,
            net_share=played.net_seconds / max(1e-9, played.seconds),
            learning_share=times.learning_s / max(1e-3, times.round_s),
            first_player_wins=played.first_player_wins / played.games,
            ties=played.ties / played.games,
            plies=played.plies / played.games,
            policy_loss=learned.policy_loss,
            value_loss=learned.value_loss,
            policy_entropy=learned.policy_entropy,
            target_entropy=learned.target_entropy,
            agreement=learned.agreement,
            learning_rate=rate,
            value_of_start=self._trainer.value_of_start(),
            window=self._replay.positions,
            shards=tuple(each.file for each in shards),
            stale=sum(each.net is not None and each.net < number - 1 for each in shards.values()),
        )

    def _add_samples(self, number: int, shards: Collection[Shard]) -> None:
        """Add the shards of a round, if any, to the samples from which the net learns."""
        if shards:
            self._replay.add_round(number, joined(each.samples for each in shards))

    def _first_needed(self, number: int) -> int:
        """Return the first round whose samples are needed after round `number`."""
        return max(1, number + 2 - window(self._settings.learning, number + 1))


def _seed(*numbers: int) -> int:
    """Mix the seed of a run, a round and a place into the seed of a job."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
