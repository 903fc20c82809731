"""Tunes the options of a player by pairs of matches in worker processes.

A tuning is a folder `tunings/DIGEST` of a laboratory. `steps.jsonl` there has a line for each
finished pair, in the order in which the values have learned from them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import click
import msgspec

from playout import players
from playout.commands import interrupts
from playout.commands.progress import doing
from playout.games import SpecError, load
from playout.games.core import spec
from playout.laboratory.lab_file import FILE, Conditions
from playout.players import Limit
from playout.players.comparison.pairs import PairTask, PlayedPair, play_task
from playout.players.comparison.workers import run_on_cores
from playout.protocol.tournament_spec import Openings
from playout.ratings.book import Book
from playout.ratings.pairs import OpeningError
from playout.ratings.spsa import Spsa, TunedParameter, Values


class LearnedPair(msgspec.Struct, frozen=True):
    """A finished pair: its step, and the points of the first side, 0 to 2."""

    step: int
    points: float


@dataclass(frozen=True)
class TuningStep:
    """A pair to play, with its number."""

    number: int
    task: PairTask


@dataclass(frozen=True)
class TuningTerms:
    """What a tuning depends on; pairs start with `plies` random moves."""

    player: str
    game: str
    limit: Limit
    pairs: int
    plies: int
    seed: int
    parameters: tuple[TunedParameter, ...]

    @classmethod
    def of(cls, player: str, conditions: Conditions, limit: Limit, pairs: int) -> TuningTerms:
        """Return the terms of conditions. Raises UsageError if they cannot be tuned."""
        if not conditions.parameters:
            raise click.UsageError(
                f"there is nothing to tune: {FILE} needs a table [parameters] with lines such as "
                "c = { range = [0.1, 2.0], start = 1.4 }"
            )
        if len(conditions.games) > 1 or conditions.openings.keys() - {"plies"}:
            raise click.UsageError("a tuning has one game, and openings of random moves (plies)")
        plies = conditions.openings.get("plies", Openings().plies)
        game, seed = conditions.games[0], conditions.seed
        terms = cls(player, game, limit, pairs, plies, seed, conditions.parameters)
        try:
            Book(terms.game, Openings(plies=plies), terms.seed)[0]
            for end in ("low", "start", "high"):
                values = {each.name: getattr(each, end) for each in terms.parameters}
                players.load(terms.named(values), load(terms.game)).close()
        except (SpecError, OpeningError) as error:
            raise click.UsageError(str(error)) from error
        return terms

    def named(self, values: Values) -> str:
        """Return the player with these values of its options. Raises SpecError."""
        wanted = spec.parse(self.player)
        shown = {each.name: each.shown(values[each.name]) for each in self.parameters}
        return str(spec.Spec(wanted.name, {**wanted.options, **shown}))

    @property
    def digest(self) -> str:
        """The name of the tuning's folder."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


class Tuning:
    """A tuning in the folder of a laboratory, which goes on where it was stopped."""

    def __init__(self, home: Path, terms: TuningTerms) -> None:
        self.path = home / "tunings" / terms.digest / "steps.jsonl"
        self._terms = terms
        self._spsa = Spsa(terms.parameters, terms.pairs, terms.seed)

    def play(self) -> tuple[str, str]:
        """Play the missing pairs; return the player with the first and with the tuned values.

        Exits with 130 if it is interrupted. Raises ClickException.
        """
        start = self._terms.named(self._spsa.values)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise click.ClickException("another playout-lab plays this tuning") from None
            missing = self._missing(file)
            if self._spsa.done:
                click.echo(f"{self._spsa.done} of {self._terms.pairs} pairs are known")
            try:
                with interrupts.as_exception():
                    self._go_on(file, missing)
            except KeyboardInterrupt:
                done = f"{self._spsa.done} of {self._terms.pairs} pairs"
                click.echo(f"Interrupted after {done}: the same command goes on", err=True)
                raise SystemExit(130) from None
        return start, self._terms.named(self._spsa.result)

    def _missing(self, file: IO[bytes]) -> list[int]:
        """Learn from the known pairs; return the steps that are still to be played."""
        file.seek(0)
        known: set[int] = set()
        text = file.read()
        for line in text.splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # a line that was not completed
                learned = msgspec.json.decode(line, type=LearnedPair)
                if learned.step not in known:
                    known.add(learned.step)
                    self._spsa.learn(learned.step, learned.points)
        if text and not text.endswith(b"\n"):
            file.write(b"\n")
        return [step for step in range(self._terms.pairs) if step not in known]

    def _go_on(self, file: IO[bytes], missing: Sequence[int]) -> None:
        if not missing:
            return
        found = run_on_cores(play_step, self._steps(missing))
        with contextlib.closing(found):
            while self._spsa.done < self._terms.pairs:
                now = self._terms.named(self._spsa.values)
                with doing(f"Playing pair {self._spsa.done + 1} of {self._terms.pairs}: {now}"):
                    step, pair = next(found)
                learned = LearnedPair(step.number, pair.score.total)
                file.write(msgspec.json.encode(learned) + b"\n")
                file.flush()
                os.fsync(file.fileno())
                self._spsa.learn(learned.step, learned.points)

    def _steps(self, missing: Sequence[int]) -> Iterator[TuningStep]:
        """Yield the steps to play, each with the values of the moment when it is taken."""
        terms = self._terms
        book = Book(terms.game, Openings(plies=terms.plies), terms.seed)
        for number in missing:
            plus, minus = map(terms.named, self._spsa.sides(number))
            yield TuningStep(number, PairTask(terms.game, (plus, minus), terms.limit, book[number]))


def play_step(step: TuningStep) -> PlayedPair:
    """Play the pair of a step."""
    return play_task(step.task)
