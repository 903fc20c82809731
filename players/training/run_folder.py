"""The folder of a run: reads and writes all its files.

| name | holds |
| --- | --- |
| `settings.toml` | the settings (`settings`) |
| `checkpoint.npz` | parameters, optimizer and counters after the last complete round |
| `nets/0012.onnx` | the net after round 12; 0000 is the random net of the start |
| `evaluations/0012.npz` | the evaluation after round 12, in the folder of a run that learns one |
| `shards/0012-0.npz` | samples of round 12 (`samples`), while the net learns from them |
| `metrics.jsonl` | a line for each round, and for each score against another player (`NetRound`) |
| `workers.log` | the standard error of the processes that play |
| `lock` | locked by the process that trains |

A round is complete when it is in the checkpoint. The checkpoint also holds the round's line of
`metrics.jsonl`, so that a line that was not written is added at the next start.

Every file but the logs is complete or absent, whenever a process is killed: the content is written
to a hidden file in the same folder, which is forced to disk and then renamed
(`playout.commands.durable_files`). So a folder can be copied and resumed at any time. Arrays are
stored as `.npz`, whose members have checksums (CRC-32) that are verified by reading.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.lib.format import read_array
from numpy.typing import NDArray

from playout.commands.durable_files import is_unfinished, why_not_written, write_atomically
from playout.games import Game
from playout.players.comparison.pairs import Score
from playout.players.nets import graph
from playout.players.nets.graph import Parameters
from playout.players.training import TrainingError
from playout.players.training.samples import Shard, ShardName
from playout.players.training.settings import (
    EVALUATION,
    NET,
    Limits,
    TrainingSettings,
    parse,
    text_of,
)
from playout.protocol.text_files import TextFileError, decoded


class Used(NamedTuple):
    """The consumption of a run since its start; each number has a limit."""

    rounds: int = 0
    evaluations: int = 0
    games: int = 0
    minutes: float = 0.0


class RoundRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A round of self-play and learning, of a net or of an evaluation.

    `time` is in seconds since 1970. `seconds`, `games` and `positions` are totals since the start
    of the run, the others are of this round; shares are from 0 to 1. `value_of_start` is the value
    of the first position after the round, from -1 to 1, for the player to move.
    """

    round: int
    time: float
    seconds: float
    games: int
    positions: int
    games_per_s: float
    first_player_wins: float
    ties: float
    value_of_start: float

    @property
    def used(self) -> Used:
        """The consumption of the run until the end of the round."""
        return Used(rounds=self.round, games=self.games, minutes=self.seconds / 60)


class NetRound(RoundRecord, frozen=True, kw_only=True, tag=NET):
    """A round of the training of a net.

    `evaluations` and `steps` are totals since the start of the run. `plies` is the mean length of a
    game, losses and entropies (in nats) are means over the steps, and `net_share` is the share of
    self-play inside the net. `shards` are the files of the round, of which `stale` were played with
    an older net than the newest one at the start of the round.
    """

    evaluations: int
    steps: int
    evaluations_per_s: float
    net_share: float
    learning_share: float
    plies: float
    policy_loss: float
    value_loss: float
    policy_entropy: float
    target_entropy: float
    agreement: float
    learning_rate: float
    window: int
    shards: tuple[str, ...]
    stale: int = 0

    @property
    def used(self) -> Used:
        """The consumption of the run until the end of the round."""
        minutes = self.seconds / 60
        return Used(self.round, self.evaluations, self.games, minutes)


class EvaluationRound(RoundRecord, frozen=True, kw_only=True, tag=EVALUATION):
    """A round of the learning of an evaluation.

    `positions` is the number of positions that it has learned from. `weights_met` is the share of
    the weights that have changed since the start of the run, and `step_size` the mean of their step
    sizes, from 0 to 1.
    """

    positions_per_s: float
    weights_met: float
    step_size: float


class ScoreRecord(msgspec.Struct, frozen=True, tag="score"):
    """The score of a net or an evaluation after a round, against an opponent.

    `terms` describes the limit of a move and the options of the players.
    """

    round: int
    opponent: str
    terms: str
    score: Score


#: A line of `metrics.jsonl`.
MetricsLine = NetRound | EvaluationRound | ScoreRecord

_decode_metrics = msgspec.json.Decoder(MetricsLine).decode


#: The index of the evaluations among the shares of the limits.
_EVALUATIONS = 1


def progress(limits: Limits, used: Used) -> float:
    """Return the complete share of the run, from 0 to 1; 0 without limits."""
    return min(1.0, max(_shares(limits, used)))


def is_over(limits: Limits, last: RoundRecord | None) -> bool:
    """Return whether a limit has been reached."""
    return last is not None and progress(limits, last.used) >= 1.0


def remaining_s(limits: Limits, last: RoundRecord) -> float | None:
    """Return the estimated seconds until the first limit, None if unknown.

    For the limit of evaluations, the rate of all rounds or of the last round counts, whichever is
    higher: in the first rounds, playouts may evaluate instead of the net.
    """
    shares = _shares(limits, last.used)
    rates = [share / last.seconds if last.seconds else 0.0 for share in shares]
    if limits.evaluations and isinstance(last, NetRound):
        in_last_round = last.evaluations_per_s * (1 - last.learning_share) / limits.evaluations
        rates[_EVALUATIONS] = max(rates[_EVALUATIONS], in_last_round)
    known = [(share, rate) for share, rate in zip(shares, rates, strict=True) if rate]
    return min(((1 - min(1.0, share)) / rate for share, rate in known), default=None)


def _shares(limits: Limits, used: Used) -> list[float]:
    """Return the used share of each limit; 0 for no limit."""
    allowed = (limits.rounds, limits.evaluations, limits.games, limits.minutes)
    return [used_ / limit if limit else 0.0 for used_, limit in zip(used, allowed, strict=True)]


def duration(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds: 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


#: The format of checkpoints; others are refused.
_FORMAT = 3
#: The prefix of the net's parameters in the state of a trainer.
PARAMETERS = "net/"
_RESTORE = "restore a copy, or begin a new run in another folder"
#: The name of the JSON object among the arrays of a file.
_ABOUT = "about"
#: The folder and the suffix of the nets or evaluations, by what a run learns.
_PLACES = {NET: ("nets", ".onnx"), EVALUATION: ("evaluations", ".npz")}


class InTraining(TrainingError):
    """Another process trains in the folder of a run."""


class Checkpoint(NamedTuple):
    """The state of the trainer after a complete round, and the record of that round."""

    state: Mapping[str, NDArray[Any]]
    record: NetRound | EvaluationRound

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The parameters of the net, by name."""
        own = {each: value for each, value in self.state.items() if each.startswith(PARAMETERS)}
        return {each.removeprefix(PARAMETERS): value for each, value in own.items()}


def read(path: Path) -> bytes:
    """Return the content of a file. Raises TrainingError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read: {error.strerror or error}") from error


def write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all. Raises TrainingError if the disk refuses it."""
    with clear_errors(path):
        write_atomically(path, content)


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn an error of the file system in the block into a TrainingError that names the file."""
    try:
        yield
    except OSError as error:
        raise TrainingError(f"{path}: cannot be written: {why_not_written(error)}") from error


def unfinished(folder: Path) -> list[Path]:
    """Return the files that killed processes were writing in a folder."""
    return [each for each in folder.iterdir() if is_unfinished(each.name) and each.is_file()]


def packed(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """Return the content of a file with named arrays and a JSON object about them."""
    content = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez_compressed(content, **{_ABOUT: text}, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def packed_shard(shard: Shard, game: Game) -> bytes:
    """Return the content of the file of a shard."""
    return packed(shard.samples._asdict(), shard.about(game))


def unpacked(
    content: bytes, where: object, remedy: str
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays in the content of a file, and the object about them.

    Raises TrainingError if the file is torn, was changed, or is another one. `where` names it, and
    `remedy` is advice for that case.
    """
    try:
        # Each member is read whole, as only then its checksum is verified; numpy's `load` reads as
        # much as the header of the array says.
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            contents = {name.removesuffix(".npy"): archive.read(name) for name in names}
        arrays = {
            name: read_array(io.BytesIO(member), allow_pickle=False)
            for name, member in contents.items()
        }
        return arrays, json.loads(arrays.pop(_ABOUT).tobytes())
    except Exception as error:  # numpy, zipfile and zlib have many kinds of exceptions
        text = f"{where}: is damaged or was not written by playout-train; {remedy}"
        raise TrainingError(text) from error


class KeptFiles:
    """The nets or evaluations of a run, by the rounds after which they were written; 0: the start.

    There is a file for each kept round, such as `nets/0012.onnx`.
    """

    def __init__(self, run: Path, kind: str) -> None:
        """`kind` is what the run in the folder `run` learns."""
        name, self.suffix = _PLACES[kind]
        self.folder = run / name
        self._run = run
        self.kind = kind

    def paths(self) -> dict[int, Path]:
        """Return the files by their rounds, in order."""
        found = self.folder.glob(f"*{self.suffix}")
        return dict(sorted((int(each.stem), each) for each in found if each.stem.isdigit()))

    def place(self, number: int) -> Path:
        """Return the path of the file of a round, which may be absent."""
        return self.folder / f"{number:04}{self.suffix}"

    def path(self, number: int) -> Path:
        """Return the file of a round. Raises TrainingError if it was not kept."""
        kept = self.paths()
        if number in kept:
            return kept[number]
        if not kept:
            text = f"there is no {self.kind} yet; `playout-train run` makes one"
        else:
            rounds = ", ".join(map(str, kept))
            text = f"there is no {self.kind} of round {number}; kept are: {rounds}"
        raise TrainingError(f"{self._run}: {text}")

    def forget(self, before: int, keep_every: int) -> None:
        """Remove files of rounds below `before`, except every `keep_every`-th, such as round 0."""
        for number, path in self.paths().items():
            if number < before and number % keep_every:
                path.unlink(missing_ok=True)


class RunFolder:
    """The files of a run, by their meaning.

    Each method that reads or writes a file raises TrainingError if it cannot; those of nets raise
    NetError, too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.toml"
        self.log = path / "workers.log"
        self._metrics = path / "metrics.jsonl"
        self._checkpoint = path / "checkpoint.npz"
        self._lock = path / "lock"
        self._shards = path / "shards"

    @classmethod
    def create(cls, path: Path, settings: TrainingSettings) -> RunFolder:
        """Make the folder of a new run. Raises TrainingError if the folder is not empty."""
        with clear_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise TrainingError(f"{path}: is not empty; choose a new folder for a new run")
        folder = cls(path)
        write(folder.settings_file, text_of(settings).encode())
        folder._make_folders()
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return the folder of an existing run.

        Raises TrainingError for other folders, and with all faults of the settings.
        """
        folder = cls(path)
        if not folder.settings_file.is_file():
            raise TrainingError(
                f"{path}: has no settings.toml, so it is not the folder of a run; "
                "make one: playout-train new GAME DIR"
            )
        folder.settings  # noqa: B018  # is read before anything is made in another folder
        folder._make_folders()
        return folder

    @cached_property
    def kept(self) -> KeptFiles:
        """The nets or evaluations of the run."""
        return KeptFiles(self.path, self.settings.kind)

    @property
    def _folders(self) -> list[Path]:
        """The folders in which files are written."""
        return [self.kept.folder, *([self._shards] if self.settings.kind == NET else [])]

    def _make_folders(self) -> None:
        with clear_errors(self.path):
            for each in self._folders:
                each.mkdir(parents=True, exist_ok=True)

    @cached_property
    def settings(self) -> TrainingSettings:
        """The settings, read once. Raises TrainingError with all faults of the file."""
        try:
            text = decoded(read(self.settings_file))
        except TextFileError as error:
            raise TrainingError(f"{self.settings_file}: {error}") from error
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
        return [each for folder in (self.path, *self._folders) for each in unfinished(folder)]

    def remove_unfinished(self) -> None:
        """Remove the files that killed processes were writing."""
        for each in self.unfinished():
            each.unlink(missing_ok=True)

    def write_beside(self, output: Path, content: bytes) -> None:
        """Write a file that does not belong to the run. Raises TrainingError if it does."""
        self.refuse_own(output)
        write(output, content)

    def refuse_own(self, output: Path) -> None:
        """Raise TrainingError if a file belongs to the run."""
        files = (self.settings_file, self.log, self._metrics, self._checkpoint, self._lock)
        real = output.resolve()
        own = {each.resolve() for each in (*files, *self._folders)}
        if own & {real, real.parent}:
            raise TrainingError(f"{output}: belongs to the run; choose another name")

    # Nets.

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
            trained = f"by playout-train in {duration(last.seconds)}: seed {settings.seed}, "
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
        path = self._shards / name.file
        arrays, about = unpacked(read(path), path, "delete it or restore a copy")
        try:
            return Shard.of(arrays, about, self.settings.game)
        except ValueError as error:
            raise TrainingError(f"{path}: {error}") from error

    def write_shard(self, name: ShardName, content: bytes) -> None:
        """Store the content of a shard (`packed_shard`), which counts from now on."""
        write(self._shards / name.file, content)

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
        state, about = unpacked(read(self._checkpoint), self._checkpoint, _RESTORE)
        for key, now in self._fixed().items():
            if about.get(key, now) != now:  # a checkpoint of another format may lack it
                raise TrainingError(
                    f"{self.settings_file}: {key} is {now}, but the run began with {about[key]}; "
                    "restore it, or begin a new run in another folder"
                )
        try:
            if about["format"] != _FORMAT:
                raise ValueError(f"format {about['format']}, expected {_FORMAT}")
            return Checkpoint(state, msgspec.convert(about["record"], NetRound | EvaluationRound))
        except (KeyError, ValueError) as error:
            raise TrainingError(f"{self._checkpoint}: is of another version: {error}") from error

    def complete_checkpoint(self) -> Checkpoint:
        """Return the last complete round. Raises TrainingError, also if there is none."""
        if (checkpoint := self.read_checkpoint()) is None:
            text = f"no round is complete, so there is no {self.settings.kind} that has learned"
            raise TrainingError(f"{self.path}: {text}")
        return checkpoint

    def restore_records(self, last: RoundRecord | None) -> None:
        """Rewrite the records up to the last complete round."""
        done = last.round - 1 if last else 0
        lines = [_line(each) for each in self._lines() if not _is_after(each, done)]
        lines += [_line(last)] if last else []
        write(self._metrics, b"".join(lines))

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
                (self._shards / name.file).unlink(missing_ok=True)

    def store_round(self, checkpoint: Checkpoint) -> None:
        """Store a complete round, whose net or evaluation is written; remove older ones of them."""
        last = checkpoint.record
        self.write_checkpoint(checkpoint)
        self.append_record(last)
        self.kept.forget(last.round - 1, self.settings.processes.keep_every)

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store a complete round, which counts from now on."""
        record = msgspec.to_builtins(checkpoint.record)
        about = {"format": _FORMAT, "record": record} | self._fixed()
        write(self._checkpoint, packed(checkpoint.state, about))

    def _fixed(self) -> dict[str, Any]:
        """Return the settings that must not change during a run, besides the size of the net."""
        settings = self.settings
        return {"game": str(settings.game), "kind": settings.kind, "seed": settings.seed}

    def records(self) -> Sequence[RoundRecord]:
        """Return the records of all rounds, without a line that is incomplete."""
        return [each for each in self._lines() if isinstance(each, RoundRecord)]

    def scores(self) -> list[ScoreRecord]:
        """Return the scores against other players, without a line that is incomplete."""
        return [each for each in self._lines() if isinstance(each, ScoreRecord)]

    def append_record(self, record: RoundRecord | ScoreRecord) -> None:
        """Append a record to the lines."""
        with clear_errors(self._metrics), self._metrics.open("ab") as file:
            file.write(_line(record))

    def _lines(self) -> list[MetricsLine]:
        found: list[MetricsLine] = []
        with contextlib.suppress(FileNotFoundError):
            for line in self._metrics.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):
                    found.append(_decode_metrics(line))
        return found


def _is_after(line: MetricsLine, done: int) -> bool:
    """Return whether a line is the record of a round after the round `done`."""
    return isinstance(line, RoundRecord) and line.round > done


def _line(record: RoundRecord | ScoreRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"
