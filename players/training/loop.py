"""The rounds of a run: self-play, learning, the checkpoint, the next net.

A round counts when its checkpoint is written. If this process ends before that, the next one uses
the complete shards of the unfinished round and plays the rest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from playout.players.training import run_folder
from playout.players.training.display import TrainingDisplay
from playout.players.training.jobs import Job, ShardPlayers
from playout.players.training.run_folder import Checkpoint, NetRound, RunFolder
from playout.players.training.samples import Played, ReplayBuffer, Shard, ShardName, joined, window
from playout.players.training.settings import TrainingSettings, text_of
from playout.players.training.trainer import Learned, Trainer, learning_rate

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
