"""The rounds of a run that learns an evaluation: games in threads, the checkpoint, the file.

The threads change the same weights without locks: two games seldom change the same weight at the
same time, and a lost change does little harm (Recht et al. 2011, *Hogwild*). With one thread and a
limit of games alone, the result is the same each time for a seed, also after interruptions: the
checkpoint has all that the next game depends on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.commands.cores import usable_cores
from playout.games import SpecError
from playout.players.evaluations import files
from playout.players.evaluations.lines import new_line, set_first, sum_at
from playout.players.evaluations.tables import Tables, new_tables
from playout.players.training import TrainingError, record
from playout.players.training.display import TrainingDisplay
from playout.players.training.record import EvaluationRound, RoundRecord, Used
from playout.players.training.run_folder import Checkpoint, RunFolder, clear_errors
from playout.players.training.settings import TrainingSettings
from playout.players.training.temporal_differences import EvaluationLearner

#: Seconds between two looks at the threads.
_POLL_S = 0.1
#: Prefixes in the state of a checkpoint.
_TABLES, _RANDOM = "tables/", "random/"


class _Counts(NamedTuple):
    """Games, positions and results of all threads since the start of the process."""

    games: int
    positions: int
    won: int
    tied: int


class EvaluationLoop:
    """Runs the rounds of a folder, from a checkpoint to the limits."""

    def __init__(
        self,
        folder: RunFolder,
        settings: TrainingSettings,
        checkpoint: Checkpoint | None,
        display: TrainingDisplay,
    ) -> None:
        """Restore the learners, or begin with the game's values of its pieces.

        `settings` may differ from those of the folder in limits and processes. Raises TrainingError
        for a game whose evaluation cannot be learned.
        """
        self._folder = folder
        self._settings = settings
        self._display = display
        self._last: RoundRecord | None = checkpoint.record if checkpoint else None
        state = checkpoint.state if checkpoint else {}
        try:
            tables = _tables_of(state) if state else new_tables(settings.game)
            self._learners = self._new_learners(tables)
        except SpecError as error:
            raise TrainingError(str(error)) from error
        self._tables = tables
        if state:
            self._restore(state)
        folder.restore_records(self._last)
        number = self._last.round if self._last else 0
        _write(folder.kept.place(number), tables, _card(settings, self._last))

    def _new_learners(self, tables: Tables) -> list[EvaluationLearner]:
        game, seed = self._settings.game, self._settings.seed
        first = EvaluationLearner(game, tables, seed)
        count = self._settings.processes.workers or usable_cores()
        others = range(1, count)
        return [first, *(EvaluationLearner(game, tables, seed + each, first) for each in others)]

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue with the step sizes and the random numbers of a checkpoint.

        A thread that is new has a seed that depends on the games so far.
        """
        memory = self._learners[0].memory
        memory.errors[:], memory.sizes[:] = state["errors"], state["sizes"]
        games = self._last.games if self._last else 0
        for number, learner in enumerate(self._learners):
            fresh = learner.rng + np.uint64(games)
            learner.rng[:] = state.get(f"{_RANDOM}{number}", fresh)

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        """The state for `_restore`, and the tables."""
        memory = self._learners[0].memory
        return {
            **{f"{_TABLES}{name}": each for name, each in self._tables._asdict().items()},
            **{f"{_RANDOM}{number}": each.rng for number, each in enumerate(self._learners)},
            "errors": memory.errors,
            "sizes": memory.sizes,
        }

    def run(self) -> None:
        """Play and learn until a limit is reached. Raises TrainingError."""
        with ThreadPoolExecutor(len(self._learners)) as pool:
            while not record.is_over(self._settings.limits, self._last):
                self._round(pool)

    def _round(self, pool: ThreadPoolExecutor) -> None:
        used, before, began = self._used, self._counts, time.monotonic()
        number = used.rounds + 1
        try:
            playing = [
                pool.submit(self._play, each, began, before, used) for each in self._learners
            ]
        except RuntimeError as error:
            raise TrainingError(f"the threads cannot be started: {error}") from error
        while wait(playing, _POLL_S).not_done:
            games = self._counts.games - before.games
            rate = games / (time.monotonic() - began)
            self._display.phase(f"round {number}, learning: {games:,} games, {rate:,.0f}/s")
        for each in playing:
            each.result()  # raises what the thread raised
        self._last = self._record(number, time.monotonic() - began, before)
        card = _card(self._settings, self._last)
        _write(self._folder.kept.place(number), self._tables, card)
        self._folder.store_round(Checkpoint(self._state, self._last))
        self._display.round(self._last, record.remaining_s(self._settings.limits, self._last))

    def _play(self, learner: EvaluationLearner, began: float, before: _Counts, used: Used) -> None:
        """Play games until the end of the round or of the run."""
        limits, seconds = self._settings.limits, self._settings.processes.seconds_per_round
        elapsed_s = 0.0
        while elapsed_s < seconds:
            games = used.games + sum(each.games for each in self._learners) - before.games
            minutes = used.minutes + elapsed_s / 60
            done = record.progress(limits, used._replace(games=games, minutes=minutes))
            if done >= 1:
                return
            learner.play(done)
            elapsed_s = time.monotonic() - began

    @property
    def _used(self) -> Used:
        return self._last.used if self._last else Used()

    @property
    def _counts(self) -> _Counts:
        each = [(one.games, one.positions, one.won, one.tied) for one in self._learners]
        return _Counts(*map(sum, zip(*each, strict=True)))

    def _record(self, number: int, seconds: float, before: _Counts) -> EvaluationRound:
        last, new = self._last, _Counts(*np.subtract(self._counts, before).tolist())
        memory = self._learners[0].memory
        met = memory.sizes > 0
        steps = np.abs(memory.errors[met]) / memory.sizes[met]
        return EvaluationRound(
            round=number,
            time=time.time(),
            seconds=seconds + (last.seconds if last else 0.0),
            games=new.games + (last.games if last else 0),
            positions=new.positions + (last.positions if last else 0),
            games_per_s=new.games / seconds,
            positions_per_s=new.positions / seconds,
            first_player_wins=new.won / max(1, new.games),
            ties=new.tied / max(1, new.games),
            value_of_start=self._value_of_start(),
            weights_met=float(met.mean()),
            step_size=float(steps.mean()) if steps.size else 1.0,
        )

    def _value_of_start(self) -> float:
        """Return the evaluation of the first position for the player to move, from -1 to 1."""
        game = self._settings.game
        state = game.initial_state()
        line = new_line(self._tables, game.observed_words, plies=1)
        line.states[0] = game.observed(state)
        set_first(self._tables, line, 0)
        value = math.tanh(sum_at(line, 0))
        return value if game.current_player(state) == 1 else -value


def size(settings: TrainingSettings) -> str:
    """Return the size of an evaluation in words. Raises TrainingError if none can be learned."""
    try:
        tables = new_tables(settings.game)
        EvaluationLearner(settings.game, tables)
    except SpecError as error:
        raise TrainingError(str(error)) from error
    return f"an evaluation of {len(tables.weights):,} weights in {len(tables.groups):,} groups"


def export(folder: RunFolder, output: Path, author: str | None, licence: str | None) -> RoundRecord:
    """Write the newest evaluation to another file; return the last round that it learned from.

    Raises TrainingError, also if no round is complete.
    """
    folder.refuse_own(output)
    checkpoint = folder.complete_checkpoint()
    card = _card(folder.settings, checkpoint.record, author, licence)
    _write(output, _tables_of(checkpoint.state), card)
    return checkpoint.record


def _tables_of(state: Mapping[str, NDArray[Any]]) -> Tables:
    """Return copies of the tables in a checkpoint."""
    return Tables(**{name: state[f"{_TABLES}{name}"].copy() for name in Tables._fields})


def _card(
    settings: TrainingSettings,
    last: RoundRecord | None,
    author: str | None = None,
    licence: str | None = None,
) -> files.Card:
    """Return the card of the evaluation after a round; author and licence as in the settings."""
    games, workers = last.games if last else 0, settings.processes.workers
    return files.Card(
        game=str(settings.game),
        author=author or settings.author,
        licence=licence or settings.licence,
        command=f'playout-train new "{settings.game}" DIR --evaluation --seed {settings.seed}'
        f" --set processes.workers={workers}; playout-train run DIR --games {games}",
        games=games,
        positions=last.positions if last else 0,
        seconds=round(last.seconds, 1) if last else 0.0,
    )


def _write(path: Path, tables: Tables, card: files.Card) -> None:
    """Write an evaluation, complete or not at all. Raises TrainingError."""
    try:
        with clear_errors(path):
            files.write(path, tables, card)
    except files.EvaluationError as error:
        raise TrainingError(str(error)) from error
