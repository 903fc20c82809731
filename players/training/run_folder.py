"""The folder of a run: reads and writes all its files.

| name | holds |
| --- | --- |
| `settings.toml` | the settings (`settings`) |
| `checkpoint.npz` | parameters, optimizer and counters after the last complete round |
| `nets/0012.onnx` | the net after round 12; 0000 is the random net of the start (`kept_files`) |
| `evaluations/0012.npz` | the evaluation after round 12, in the folder of a run that learns one |
| `shards/0012-0.npz` | samples of round 12 (`samples`), while the net learns from them |
| `games/0012-0.npz` | on a worker of a cluster: games that have not ended |
| `metrics.jsonl` | a line for each round (`record`) |
| `evaluations.jsonl` | a line for each score against another player (`record`) |
| `tensorboard/` | the same numbers as an event file, rewritten from the lines at each start |
| `workers.log` | the standard error of the worker processes |
| `lock` | locked by the process that trains |

A round is complete when it is in the checkpoint. The checkpoint also holds the round's line of
`metrics.jsonl`, so that a line that was not written is added at the next start.

Every file but the logs is complete or absent, whenever a process is killed (`run_files`). So a
folder can be copied and resumed at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from playout.players.nets import graph
from playout.players.nets import net as onnx_nets
from playout.players.nets.graph import Parameters
from playout.players.training import TrainingError, record, run_files
from playout.players.training.kept_files import KeptFiles
from playout.players.training.record import (
    ROUNDS,
    EvaluationRecord,
    EvaluationRound,
    NetRound,
    RoundRecord,
)
from playout.players.training.run_files import clear_errors
from playout.players.training.samples import Shard, ShardName
from playout.players.training.self_play import Unfinished
from playout.players.training.settings import NET, TrainingSettings, parse, text_of

#: The format of checkpoints; others are refused.
_FORMAT = 2
#: The prefix of the net's parameters in the state of a trainer.
PARAMETERS = "net/"
_RESTORE = "restore a copy, or begin a new run in another folder"
_EVENTS = "events.out.tfevents.playout"
#: The lines at the end of the log that an error shows.
_LOG_LINES = 6
#: A worker of a cluster keeps the net of a job and the nets of this many rounds before it.
_NETS_BEFORE = 2


class InTraining(TrainingError):
    """Another process trains in the folder of a run."""


class Checkpoint(NamedTuple):
    """The state of the trainer after a complete round, and the record of that round."""

    state: Mapping[str, NDArray[Any]]
    record: RoundRecord

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The parameters of the net, by name."""
        own = {each: value for each, value in self.state.items() if each.startswith(PARAMETERS)}
        return {each.removeprefix(PARAMETERS): value for each, value in own.items()}


class RunFolder:
    """The files of a run, by their meaning.

    Each method that reads or writes a file raises TrainingError if it cannot; those of nets raise
    NetError, too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.toml"
        self._log = path / "workers.log"
        self._metrics = path / "metrics.jsonl"
        self._evaluations = path / "evaluations.jsonl"
        self._checkpoint = path / "checkpoint.npz"
        self._lock = path / "lock"
        self._shards = path / "shards"
        self._games = path / "games"
        self._events = path / "tensorboard" / _EVENTS

    @classmethod
    def create(cls, path: Path, settings: TrainingSettings) -> RunFolder:
        """Make the folder of a new run. Raises TrainingError if the folder is not empty."""
        with clear_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise TrainingError(f"{path}: is not empty; choose a new folder for a new run")
        return cls.copy(path, text_of(settings))

    @classmethod
    def copy(cls, path: Path, settings: str) -> RunFolder:
        """Make a folder for a run of another machine; `settings` is the text of its settings."""
        folder = cls(path)
        with clear_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        run_files.write(folder.settings_file, settings.encode())
        folder._make_folders()
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return the folder of an existing run.

        Raises TrainingError for other folders, and with all faults of the settings.
        """
        folder = cls(path)
        if not folder.exists:
            raise TrainingError(
                f"{path}: has no settings.toml, so it is not the folder of a run; "
                "make one: playout-train new GAME DIR"
            )
        folder.settings  # noqa: B018  # is read before anything is made in another folder
        folder._make_folders()
        return folder

    @property
    def exists(self) -> bool:
        """Whether it is the folder of a run."""
        return self.settings_file.is_file()

    @cached_property
    def kept(self) -> KeptFiles:
        """The nets or evaluations of the run."""
        return KeptFiles(self.path, self.settings.kind)

    @property
    def _folders(self) -> list[Path]:
        """The folders in which files are written."""
        shards = [self._shards] if self.settings.kind == NET else []
        return [self.kept.folder, self._events.parent, *shards]

    def _make_folders(self) -> None:
        with clear_errors(self.path):
            for each in self._folders:
                each.mkdir(parents=True, exist_ok=True)

    @cached_property
    def settings(self) -> TrainingSettings:
        """The settings, read once. Raises TrainingError with all faults of the file."""
        try:
            text = run_files.read(self.settings_file).decode()
        except UnicodeDecodeError as error:
            raise TrainingError(f"{self.settings_file}: is not encoded in UTF-8") from error
        return parse(text, str(self.settings_file))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for the block, so that no other process trains here.

        Raises InTraining if one does, and TrainingError if the lock cannot be opened.
        """
        with clear_errors(self._lock):
            descriptor = os.open(self._lock, os.O_RDONLY | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InTraining(f"{self.path}: another process trains here") from error
            yield
        finally:
            os.close(descriptor)

    def is_training(self) -> bool:
        """Return whether a process trains here at the moment."""
        try:
            with self.locked():
                return False
        except InTraining:
            return True

    def unfinished(self) -> list[Path]:
        """Return the files that killed processes were writing."""
        folders = (self.path, *self._folders)
        return [each for folder in folders for each in run_files.unfinished(folder)]

    def remove_unfinished(self) -> None:
        """Remove the files that killed processes were writing."""
        for each in self.unfinished():
            each.unlink(missing_ok=True)

    def write_beside(self, output: Path, content: bytes) -> None:
        """Write a file that does not belong to the run. Raises TrainingError if it does."""
        self.refuse_own(output)
        run_files.write(output, content)

    def refuse_own(self, output: Path) -> None:
        """Raise TrainingError if a file belongs to the run."""
        files = (self.settings_file, self._log, self._metrics, self._evaluations, self._checkpoint)
        real = output.resolve()
        own = {each.resolve() for each in (*files, *self._folders, self._lock)}
        if own & {real, real.parent}:
            raise TrainingError(f"{output}: belongs to the run; choose another name")

    def open_log(self) -> BinaryIO:
        """Open the log of the worker processes, to append to it."""
        with clear_errors(self._log):
            return self._log.open("ab")

    def end_of_log(self) -> str:
        """Return the name of the log, and its last lines."""
        lines = self._log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return f"{self._log} has:" + "".join(f"\n  {line}" for line in lines)

    # Nets.

    def load_net(self, number: int, backend: str) -> onnx_nets.Net:
        """Return the net after a round, ready for self-play with a runtime."""
        return onnx_nets.load(
            self.kept.place(number),
            self.settings.game,
            backend=backend,
            precision=self.settings.processes.precision,
            batch=self.settings.self_play.games,
        )

    def net_content(self, number: int) -> bytes:
        """Return the content of the net after a round, for another machine."""
        return run_files.read(self.kept.place(number))

    def put_net(self, number: int, content: bytes) -> None:
        """Store a net of another machine, unless it is stored; remove older nets."""
        if number not in self.kept.paths():
            run_files.write(self.kept.place(number), content)
            self.kept.forget(before=number - _NETS_BEFORE)

    def export_net(
        self, output: Path, author: str | None, licence: str | None, half: bool
    ) -> NetRound:
        """Write the newest net to another file; return the last round from which it has learned.

        Author and licence are by default those of the settings. Raises TrainingError if no round is
        complete.
        """
        self.refuse_own(output)
        checkpoint = self.complete_checkpoint()
        assert isinstance(checkpoint.record, NetRound)
        metadata = self._metadata(checkpoint.record)
        metadata |= {"author": author or metadata["author"]}
        metadata |= {"licence": licence or metadata["licence"]}
        graph.write(output, self.settings.game, checkpoint.parameters, metadata, half)
        return checkpoint.record

    def _write_net(self, parameters: Parameters, last: NetRound | None) -> None:
        """Write the net after the round `last`."""
        path = self.kept.place(last.round if last else 0)
        graph.write(path, self.settings.game, parameters, self._metadata(last))

    def _metadata(self, last: NetRound | None) -> dict[str, str]:
        settings = self.settings
        trained = f"not at all: random numbers of the seed {settings.seed}"
        if last:
            trained = f"by playout-train in {record.duration(last.seconds)}: seed {settings.seed}, "
            trained += (
                f"{last.round} rounds, {last.games:,} games, {last.evaluations:,} evaluations"
            )
        return {"author": settings.author, "licence": settings.licence, "trained": trained}

    # Shards.

    def shards(self) -> list[ShardName]:
        """Return the names of all complete shards, in order."""
        files = self._shards.glob("*.npz")  # none in the folder of an evaluation
        found = (re.fullmatch(r"(\d+)-(\d+)\.npz", each.name) for each in files)
        return sorted(ShardName(int(name[1]), int(name[2])) for name in found if name)

    def read_round(self, number: int) -> dict[ShardName, Shard]:
        """Read all complete shards of a round, in the order of their numbers."""
        return {each: self.read_shard(each) for each in self.shards() if each.round == number}

    def read_shard(self, name: ShardName) -> Shard:
        """Read a shard, and check that it fits the game."""
        path = self._shard_file(name)
        arrays, about = run_files.read_arrays(path, "delete it or restore a copy")
        try:
            return Shard.of(arrays, about, self.settings.game)
        except ValueError as error:
            raise TrainingError(f"{path}: {error}") from error

    def write_shard(self, name: ShardName, shard: Shard) -> None:
        """Write a shard, which counts from now on."""
        about = shard.about(self.settings.game)
        run_files.write(self._shard_file(name), run_files.packed(shard.samples._asdict(), about))

    def put_shard(self, name: ShardName, content: bytes) -> None:
        """Store a shard of another machine, which counts from now on."""
        run_files.write(self._shard_file(name), content)

    def read_games(self, name: ShardName) -> Unfinished | None:
        """Return the games with which a shard begins; None if they are new games."""
        path = self._games_file(name)
        return Unfinished(**run_files.read_arrays(path, "delete it")[0]) if path.exists() else None

    def write_games(self, name: ShardName, games: Unfinished) -> None:
        """Write the games that have not ended when a shard is complete, for the next one."""
        self.put_games(name, run_files.packed(games._asdict(), {}))

    def put_games(self, name: ShardName, content: bytes) -> None:
        """Store the games with which a shard begins, written on another machine."""
        self._games.mkdir(exist_ok=True)
        run_files.write(self._games_file(name), content)

    def read_played(self, name: ShardName) -> tuple[bytes, bytes]:
        """Return the contents of a shard and of its games that have not ended."""
        return run_files.read(self._shard_file(name)), run_files.read(self._games_file(name))

    def forget_shard(self, name: ShardName) -> None:
        """Remove a shard and its games, if they are there."""
        self._shard_file(name).unlink(missing_ok=True)
        self._games_file(name).unlink(missing_ok=True)

    def _shard_file(self, name: ShardName) -> Path:
        return self._shards / name.file

    def _games_file(self, name: ShardName) -> Path:
        return self._games / name.file

    # The checkpoint and the records.

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the last complete round, None before the first.

        Raises TrainingError, also if it is of another game or seed than the settings.
        """
        if not self._checkpoint.exists():
            if records := self.records():
                rounds = "1 round" if len(records) == 1 else f"{len(records)} rounds"
                text = f"is gone, but {self._metrics.name} has {rounds}; {_RESTORE}"
                raise TrainingError(f"{self._checkpoint}: {text}")
            return None
        state, about = run_files.read_arrays(self._checkpoint, _RESTORE)
        for key, now in self._fixed().items():
            if about.get(key, now) != now:  # checkpoints of earlier snapshots do not have it
                raise TrainingError(
                    f"{self.settings_file}: {key} is {now}, but the run began with {about[key]}; "
                    "restore it, or begin a new run in another folder"
                )
        try:
            if about["format"] != _FORMAT:
                raise ValueError(f"format {about['format']}, expected {_FORMAT}")
            return Checkpoint(state, msgspec.convert(about["record"], self._record_class))
        except (KeyError, ValueError) as error:
            raise TrainingError(f"{self._checkpoint}: is of another version: {error}") from error

    def complete_checkpoint(self) -> Checkpoint:
        """Return the last complete round. Raises TrainingError, also if there is none."""
        if (checkpoint := self.read_checkpoint()) is None:
            text = f"no round is complete, so there is no {self.settings.kind} that has learned"
            raise TrainingError(f"{self.path}: {text}")
        return checkpoint

    @property
    def _record_class(self) -> type[NetRound] | type[EvaluationRound]:
        return ROUNDS[self.settings.kind]

    def restore_records(self, last: RoundRecord | None) -> None:
        """Rewrite the records up to the last complete round."""
        records = [each for each in self.records() if last and each.round < last.round]
        records += [last] if last else []
        run_files.write(self._metrics, b"".join(each.line() for each in records))
        events = [record.event_header(records[0].time if records else 0.0)]
        run_files.write(self._events, b"".join([*events, *(each.event() for each in records)]))

    def start(self, parameters: Parameters, last: NetRound | None) -> None:
        """Rewrite the net and the records of the last complete round."""
        self.restore_records(last)
        self._write_net(parameters, last)

    def complete_round(self, checkpoint: Checkpoint, first_needed: int) -> None:
        """Store a complete round and its net; remove the shards before the round `first_needed`."""
        assert isinstance(checkpoint.record, NetRound)
        self._write_net(checkpoint.parameters, checkpoint.record)
        self.store_round(checkpoint)
        for name in self.shards():
            if name.round < first_needed:
                self.forget_shard(name)

    def store_round(self, checkpoint: Checkpoint) -> None:
        """Store a complete round, whose net or evaluation is written; remove older ones of them."""
        last = checkpoint.record
        self.write_checkpoint(checkpoint)
        self.append_record(last)
        self.kept.forget(last.round - 1, self.settings.processes.keep_every)

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store a complete round, which counts from now on."""
        about = {"format": _FORMAT, "record": asdict(checkpoint.record)} | self._fixed()
        run_files.write(self._checkpoint, run_files.packed(checkpoint.state, about))

    def _fixed(self) -> dict[str, Any]:
        """Return the settings that must not change during a run, besides the size of the net."""
        settings = self.settings
        return {"game": str(settings.game), "kind": settings.kind, "seed": settings.seed}

    def records(self) -> Sequence[RoundRecord]:
        """Return the records of all rounds, without a line that is incomplete."""
        return run_files.lines(self._metrics, self._record_class)

    def append_record(self, last: RoundRecord) -> None:
        """Append a record to the lines, and to the event file."""
        run_files.append(self._metrics, last.line())
        run_files.append(self._events, last.event())

    def evaluations(self) -> list[EvaluationRecord]:
        """Return the evaluations, without a line that is incomplete."""
        return run_files.lines(self._evaluations, EvaluationRecord)

    def append_evaluation(self, evaluation: EvaluationRecord) -> None:
        """Append the result of an evaluation."""
        run_files.append(self._evaluations, evaluation.line())
