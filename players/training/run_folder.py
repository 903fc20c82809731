"""The folder of a run. Everything in it is complete or absent, so it can be copied and resumed.

| name | holds |
| --- | --- |
| `settings.toml` | the settings (`settings`) |
| `checkpoint.npz` | parameters, optimizer and counters after the last complete round |
| `nets/0012.onnx` | the net after round 12; 0000 is the random one of the start |
| `shards/0012-0.npz` | samples of round 12 (`samples`), as long as they are learned from |
| `metrics.jsonl` | a line for each round (`record`) |
| `evaluations.jsonl` | a line for each evaluation (`record`) |
| `tensorboard/` | the same numbers as an event file, made anew from the lines at each start |
| `workers.log` | what the worker processes wrote to standard error |
| `lock` | locked by the process that trains |

A round is complete when the checkpoint has it. The checkpoint holds the round's line of
`metrics.jsonl` too, so that a line that was not written is added at the next start.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.training import run_files
from playout.players.training import settings as settings_file
from playout.players.training.record import EvaluationRecord, RoundRecord
from playout.players.training.run_files import InTraining, TrainingError, clear_errors
from playout.players.training.samples import Shard, read_shard
from playout.players.training.settings import TrainingSettings

# Numbers over time as an event file, which TensorBoard shows.
#
# An event file is a sequence of records (TFRecord): the length, a masked CRC-32C of it, a protocol
# buffer `Event`, and a masked CRC-32C of that. Only the four fields of `Event` that scalars need
# are written, so neither TensorFlow nor protobuf is imported.


_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


def header(wall_time: float) -> bytes:
    """Return the first record of a file, which names the version of the format."""
    return _record(_double(1, wall_time) + _bytes(3, b"brain.Event:2"))


def scalars(wall_time: float, step: int, values: Mapping[str, float]) -> bytes:
    """Return a record with the values of a step; `wall_time` is in seconds since 1970."""
    summary = b"".join(
        _bytes(1, _bytes(1, tag.encode()) + _key(2, _FLOAT) + struct.pack("<f", value))
        for tag, value in values.items()
    )
    return _record(_double(1, wall_time) + _key(2, _VARINT) + _varint(step) + _bytes(5, summary))


def masked_crc(content: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of bytes as TFRecord masks it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_table_entry, range(256)))


def _record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    crcs = (struct.pack("<I", masked_crc(each)) for each in (length, content))
    return length + next(crcs) + content + next(crcs)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


T = TypeVar("T")

#: The form of a checkpoint; one of another form is refused.
_FORMAT = 2
#: The names of the net's parameters in the state of a trainer begin with this.
NET = "net/"
_RESTORE = "restore a copy, or begin a new run in another folder"
_EVENTS = "events.out.tfevents.playout"
_SHARD = re.compile(r"(\d+)-(\d+)\.npz")


class Checkpoint(NamedTuple):
    """The state of the trainer after a complete round, and the record of that round."""

    state: Mapping[str, NDArray[Any]]
    record: RoundRecord

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The parameters of the net, by name."""
        own = {each: value for each, value in self.state.items() if each.startswith(NET)}
        return {each.removeprefix(NET): value for each, value in own.items()}


class RunFolder:
    """The files of a run, by their meaning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.toml"
        self.log = path / "workers.log"
        self._metrics = path / "metrics.jsonl"
        self._evaluations = path / "evaluations.jsonl"
        self._checkpoint = path / "checkpoint.npz"
        self._lock = path / "lock"
        self._shards = path / "shards"
        self._nets = path / "nets"
        self._events = path / "tensorboard" / _EVENTS

    @classmethod
    def create(cls, path: Path, settings: TrainingSettings) -> RunFolder:
        """Make the folder of a new run. Raises TrainingError if there is something already."""
        folder = cls(path)
        with clear_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise TrainingError(f"{path}: is not empty; choose a new folder for a new run")
            for each in (folder._shards, folder._nets, folder._events.parent):
                each.mkdir()
        run_files.write(folder.settings_file, settings_file.text_of(settings).encode())
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return the folder of an existing run.

        Raises TrainingError if it is none, and with all faults of its settings.
        """
        folder = cls(path)
        if not folder.settings_file.is_file():
            raise TrainingError(
                f"{path}: has no settings.toml, so it is not the folder of a run; "
                "make one: playout-train new GAME DIR"
            )
        folder.settings()  # before anything is made in a folder of something else
        with clear_errors(path):
            for each in (folder._shards, folder._nets, folder._events.parent):
                each.mkdir(exist_ok=True)
        return folder

    def refuse_own(self, output: Path) -> None:
        """Raises TrainingError if a file that is to be written is one that the run needs."""
        files = (self.settings_file, self.log, self._metrics, self._evaluations, self._checkpoint)
        folders = (self._shards, self._nets, self._events.parent)
        real = output.resolve()
        own = {each.resolve() for each in (*files, *folders, self._lock)}
        if own & {real, real.parent}:
            raise TrainingError(f"{output}: belongs to the run; choose another name")

    def settings(self) -> TrainingSettings:
        """Read the settings. Raises TrainingError with all faults of the file."""
        return settings_file.read(self.settings_file)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within the block no other process trains here.

        Raises InTraining if one does, and TrainingError if that cannot be found out.
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

    def unfinished(self) -> list[Path]:
        """Return the files that killed processes were writing."""
        folders = (self.path, self._shards, self._nets, self._events.parent)
        return [each for folder in folders for each in run_files.unfinished(folder)]

    def remove_unfinished(self) -> None:
        """Remove the files that killed processes were writing."""
        for each in self.unfinished():
            each.unlink(missing_ok=True)

    def is_training(self) -> bool:
        """Return whether a process trains here at the moment. Raises TrainingError."""
        try:
            with self.locked():
                return False
        except InTraining:
            return True

    # Nets.

    def net(self, number: int) -> Path:
        """Return the path of the net after a round; 0 is that of the start."""
        return self._nets / f"{number:04}.onnx"

    def nets(self) -> dict[int, Path]:
        """Return the nets that are there, by the round after which they were written, in order."""
        found = {int(each.stem): each for each in self._nets.glob("*.onnx") if each.stem.isdigit()}
        return dict(sorted(found.items()))

    def forget_nets(self, last: int, keep_every: int) -> None:
        """Remove the nets before the last two, but the first and each `keep_every`-th."""
        for number, path in self.nets().items():
            if number < last - 1 and number % keep_every:
                path.unlink(missing_ok=True)

    # Shards.

    def shard(self, number: int, place: int) -> Path:
        """Return the path of a round's shard of that place, from 0."""
        return self._shards / f"{number:04}-{place}.npz"

    def shards(self, number: int) -> dict[int, Path]:
        """Return the complete shards of a round, by their places, in order."""
        return {place: path for (round_, place), path in self.all_shards() if round_ == number}

    def forget_shards(self, before: int) -> None:
        """Remove the shards of all rounds before one."""
        for (number, _), path in self.all_shards():
            if number < before:
                path.unlink(missing_ok=True)

    def read_round(self, number: int, game: Game) -> list[Shard]:
        """Read all shards of a round, in the order of their places. Raises TrainingError."""
        return [read_shard(path, game) for path in self.shards(number).values()]

    def all_shards(self) -> list[tuple[tuple[int, int], Path]]:
        """Return all complete shards with their rounds and places, in order."""
        found = ((_SHARD.fullmatch(each.name), each) for each in self._shards.iterdir())
        return sorted(((int(name[1]), int(name[2])), each) for name, each in found if name)

    # The checkpoint and the records.

    def write_checkpoint(self, checkpoint: Checkpoint, settings: TrainingSettings) -> None:
        """Store a complete round: afterwards it counts. Raises TrainingError."""
        about = {"format": _FORMAT, "record": asdict(checkpoint.record)} | _fixed(settings)
        run_files.write_arrays(self._checkpoint, checkpoint.state, about)

    def read_checkpoint(self, settings: TrainingSettings) -> Checkpoint | None:
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
        try:
            if about["format"] != _FORMAT:
                raise ValueError(f"format {about['format']}, expected {_FORMAT}")
            checkpoint = Checkpoint(state, msgspec.convert(about["record"], RoundRecord))
        except (KeyError, ValueError) as error:
            raise TrainingError(f"{self._checkpoint}: is of another version: {error}") from error
        for key, now in _fixed(settings).items():
            if about.get(key, now) != now:  # checkpoints of earlier snapshots do not have it
                raise TrainingError(
                    f"{self.settings_file}: {key} is {now}, but the run began with {about[key]}; "
                    "restore it, or begin a new run in another folder"
                )
        return checkpoint

    def records(self) -> list[RoundRecord]:
        """Return the records of all rounds; a line that was not written to its end is left out."""
        return _lines(self._metrics, RoundRecord)

    def restore_records(self, last: RoundRecord | None) -> list[RoundRecord]:
        """Write the records up to the last complete round anew, and the event file from them."""
        records = [each for each in self.records() if last and each.round < last.round]
        records += [last] if last else []
        run_files.write(self._metrics, b"".join(each.line() for each in records))
        start = records[0].time if records else 0.0
        events = [header(start), *map(_event, records)]
        run_files.write(self._events, b"".join(events))
        return records

    def append_record(self, record: RoundRecord) -> None:
        """Append a record to both files. Raises TrainingError."""
        for path, content in ((self._metrics, record.line()), (self._events, _event(record))):
            with clear_errors(path), path.open("ab") as file:
                file.write(content)

    def evaluations(self) -> list[EvaluationRecord]:
        """Return the evaluations; a line that was not written to its end is left out."""
        return _lines(self._evaluations, EvaluationRecord)

    def append_evaluation(self, record: EvaluationRecord) -> None:
        """Append the result of an evaluation. Raises TrainingError."""
        with clear_errors(self._evaluations), self._evaluations.open("ab") as file:
            file.write(record.line())


def _fixed(settings: TrainingSettings) -> dict[str, Any]:
    """The settings that a run keeps, besides the size of its net."""
    return {"game": str(settings.game), "seed": settings.seed}


def _lines(path: Path, kind: type[T]) -> list[T]:
    """The records of a file with one a line, without those that cannot be read."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                found.append(msgspec.json.decode(line, type=kind))
    return found


def _event(record: RoundRecord) -> bytes:
    return scalars(record.time, record.round, record.scalars())
