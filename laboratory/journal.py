"""The journal of a laboratory: every test, whether it was stopped or not.

    journal.jsonl           a line for each change of a test; the last one of a number holds
    tests/000012/           the database and the reports of a test; `removed` in place of matches

The candidates against a base share the probability of error, so that none is forgotten: a test is
in the journal before its first match.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
import msgspec
from msgspec import structs

from playout.commands.durable_files import append, stored
from playout.server.tournament.report.values import Estimate
from playout.server.tournament.report.words import elo

#: The name of the database of a test, and of the file that stands for removed matches.
_MATCHES, _REMOVED = "matches.db", "removed"


class VersionTest(msgspec.Struct, frozen=True):
    """A test: `base` and `candidates` are versions, with `names` for people, the base first.

    `conditions` is a digest, `tried` the number of candidates against the base in earlier tests.
    `of` is the number of the test that a confirmation belongs to, otherwise 0. `state` is "open"
    until a verdict: "stronger" with the name of the `winner`, "not stronger", or "undecided" if it
    can go on. A confirmation is "confirmed". `players` has a text for each version: the player with
    its options, or "" for a bot. `elo` is the estimate for the winner, or else for the candidate
    with the most evidence; `elo_low` and `elo_high` are the ends of its interval.
    """

    number: int
    base: str
    candidates: tuple[str, ...]
    names: tuple[str, ...]
    players: tuple[str, ...]
    conditions: str
    tried: int
    at: float
    of: int = 0
    state: str = "open"
    winner: str = ""
    pairs: int = 0
    elo: float | None = None
    elo_error: float | None = None
    elo_low: float | None = None
    elo_high: float | None = None

    @property
    def kind(self) -> str:
        """Whether it is a test, or the confirmation of one."""
        return "confirmation" if self.of else "test"

    @property
    def claimed(self) -> str:
        """The Elo with its error, as text."""
        return elo(Estimate(self.elo, self.elo_error, self.elo_low, self.elo_high))

    @property
    def summary(self) -> str:
        """The state, with the winner and the Elo if they are known."""
        if self.kind == "confirmation":
            return f"confirms {self.of}: {self.claimed}" if self.state != "open" else "open"
        return f"{self.state}: {self.winner}, {self.claimed}" if self.winner else self.state


_decode = msgspec.json.Decoder(VersionTest).decode  # prepared before threads use it


class Journal:
    """The tests in the folder of a laboratory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "journal.jsonl"

    def __iter__(self) -> Iterator[VersionTest]:
        return iter(self._trials().values())

    def chosen(self, number: int | None) -> VersionTest:
        """Return the test of a number, or the last one. Raises UsageError."""
        known = self._trials()
        if not known:
            raise click.UsageError("there is no test yet: playout-lab test")
        if number is not None and number not in known:
            raise click.UsageError(f"there is no test {number}: see playout-lab list")
        return known[max(known) if number is None else number]

    def database(self, trial: VersionTest) -> str:
        """Return the URL of the database with the matches of a test."""
        return f"sqlite:///{(self.place(trial) / _MATCHES).absolute()}"

    def place(self, trial: VersionTest) -> Path:
        """Return the folder of a test."""
        return self._place(trial.number)

    def _place(self, number: int) -> Path:
        return self.folder / "tests" / f"{number:06}"

    def remove_matches(self, number: int) -> None:
        """Remove the matches of a test, which cannot go on then. Its verdict stays."""
        place = self._place(number)
        if (place / _MATCHES).exists():
            (place / _REMOVED).touch()  # first: no pair is played again
            shutil.rmtree((place / _MATCHES).with_suffix(".logs"), ignore_errors=True)
            for each in place.glob(f"{_MATCHES}*"):
                each.unlink(missing_ok=True)

    def lacks_matches(self, trial: VersionTest) -> bool:
        """Return whether the matches of a test were removed."""
        return (self.place(trial) / _REMOVED).exists()

    def begun(
        self,
        base: str,
        candidates: tuple[str, ...],
        names: tuple[str, ...],
        players: tuple[str, ...],
        conditions: str,
        *,
        confirms: int = 0,
    ) -> VersionTest:
        """Return the test of these versions in these conditions: the one before, or a new one.

        `confirms`: the number of the test that a confirmation belongs to.
        """
        with self._locked():
            known = self._trials()
            for each in known.values():
                same = (each.base, each.candidates, each.conditions, each.of)
                if same == (base, candidates, conditions, confirms):
                    return each
            before = [each for each in known.values() if each.base == base and each.kind == "test"]
            trial = VersionTest(
                max(known, default=0) + 1,
                base,
                candidates,
                names,
                players,
                conditions,
                sum(len(each.candidates) for each in before),
                time.time(),
                confirms,
            )
            self.place(trial).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._append(trial)
            return trial

    def put(self, trial: VersionTest, estimate: Estimate, **changes: object) -> VersionTest:
        """Note changes of a test and its Elo; return it."""
        for key, value in asdict(estimate).items():
            changes["elo" if key == "value" else f"elo_{key}"] = value
        trial = structs.replace(trial, **changes)
        with self._locked():
            self._append(trial)
        return trial

    @contextlib.contextmanager
    def in_use(self, trial: VersionTest) -> Iterator[bool]:
        """Yield whether no other process plays the test until the end of the block."""
        with (self.place(trial) / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def _trials(self) -> dict[int, VersionTest]:
        found: dict[int, VersionTest] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._file.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # a line that was not completed
                    trial = _decode(line)
                    found[trial.number] = trial
        return found

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / "journal.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _append(self, trial: VersionTest) -> None:
        """Add a line; it is stored when this returns."""
        with self._file.open("a+b") as file:
            stored(file, VersionTest)  # begins a new line after one that was not completed
            append(file, trial)
