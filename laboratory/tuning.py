"""Tunes the options of a player or of a bot by pairs of matches in worker processes.

A tuning is a folder `tunings/DIGEST` of a laboratory:

    steps.jsonl     a line for each finished pair, in the order in which the values were adjusted
    test.jsonl      a line for each finished pair of the test of the tuned values against the start
    tuning.html     a plot of each parameter
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import click
import msgspec
import tomli_w

from playout import players
from playout.bots.git_source import LAB_FILE
from playout.commands import interrupts
from playout.commands.durable_files import append, opened, stored
from playout.commands.html_page import page, section
from playout.commands.progress import doing
from playout.games import SpecError, load
from playout.games.core import spec
from playout.laboratory.lab_file import PASSED, Conditions
from playout.players import Limit
from playout.players.comparison.pairs import PairTask, PlayedPair, Score, play_task, score
from playout.players.comparison.workers import run_on_cores
from playout.players.evaluations import files
from playout.protocol.tournament_spec import Betting, Entrant, Openings, SandboxSettings
from playout.ratings import plot, quadratic
from playout.ratings.book import Book, shipped
from playout.ratings.evidence import GAMES
from playout.ratings.pairs import OpeningError, PairScore
from playout.ratings.quadratic import Quadratic
from playout.ratings.sequential_tests import EProcess
from playout.ratings.spsa import Spsa, TunedParameter, Values
from playout.server.organizer.supervisor import engine_table

#: The height of the plot of a parameter, in pixels.
_HEIGHT = 200


class LearnedPair(msgspec.Struct, frozen=True):
    """A finished pair: its step, the points of the first side to learn from, and the sides."""

    step: int
    points: float
    sides: tuple[dict[str, float], dict[str, float]] | None = None


class TestedPair(msgspec.Struct, frozen=True):
    """A finished pair of the tuned values against the start: the points of the tuned ones.

    `luck` is theirs in both matches, None without an evaluation that values rolls.
    """

    number: int
    points: tuple[float, float]
    luck: float | None = None


@dataclass(frozen=True)
class PlayedSides:
    """A pair to play: the task, and for each side the file of its engine, empty for a player."""

    number: int
    task: PairTask
    tables: tuple[str, str]
    sides: tuple[Values, Values]


@dataclass(frozen=True)
class TunedProgram:
    """A built bot whose parameters are tuned, and the sandbox in which it runs."""

    entrant: Entrant
    sandbox: SandboxSettings | None

    def table(self, parameters: Sequence[TunedParameter], values: Values) -> str:
        """Return the file of the engine with these values, called `program`."""
        shown = {passed: _passed(parameters, values, passed) for passed in PASSED}
        words = shlex.split(self.entrant.command or "")
        if shown["environment"]:
            given = (f"{name}={value}" for name, value in shown["environment"].items())
            words = ["/usr/bin/env", *given, *words]
        words += [text.replace("{}", value) for text, value in shown["argument"].items()]
        entrant = replace(self.entrant, command=shlex.join(words))
        text = engine_table(entrant, self.sandbox or SandboxSettings(), Path("/"))
        if shown["setoption"]:
            text += tomli_w.dumps({"program": {"options": shown["setoption"]}})
        return text


def _passed(parameters: Sequence[TunedParameter], values: Values, passed: str) -> Mapping[str, str]:
    return {p.target: p.shown(values[p.name]) for p in parameters if p.passed == passed}


@dataclass(frozen=True)
class TuningTerms:
    """What a tuning depends on: a `player`, or the `program` of a bot with that name.

    `evaluation` is a file, or "shipped": that of `PairTask`. `without_luck`: whether points count
    less luck.
    """

    player: str
    game: str
    limit: Limit
    pairs: int
    openings: Openings
    seed: int
    parameters: tuple[TunedParameter, ...]
    program: TunedProgram | None = None
    evaluation: str = field(default=files.SHIPPED, repr=False)
    without_luck: bool = field(default=False, repr=False)

    @classmethod
    def of(
        cls,
        player: str,
        conditions: Conditions,
        folder: Path,
        limit: Limit,
        pairs: int,
        program: TunedProgram | None = None,
    ) -> TuningTerms:
        """Return the terms of conditions, whose files are relative to the `folder`.

        Raises UsageError if they cannot be tuned.
        """
        if len(conditions.games) > 1 or "file" in conditions.openings:
            raise click.UsageError(
                "a tuning has one game, and openings that are shipped or random moves (plies)"
            )
        game, seed = conditions.games[0], conditions.seed
        lines = shipped(game) if conditions.openings.get("shipped") else ()
        plies = 0 if lines else conditions.openings.get("plies", 0)
        openings = Openings(plies=plies, lines={game: lines} if lines else {})
        parameters = conditions.parameters
        evaluation = conditions.evaluation
        if evaluation != files.SHIPPED:
            evaluation = str((folder / evaluation).absolute())
        terms = cls(
            player,
            game,
            limit,
            pairs,
            openings,
            seed,
            parameters,
            program,
            evaluation,
            conditions.without_luck,
        )
        try:
            if evaluation != files.SHIPPED:
                files.load_net(load(game), evaluation)
            Book(game, openings, seed)[0]
            for end in ("low", "start", "high"):
                terms._check({each.name: getattr(each, end) for each in parameters})
        except (SpecError, OpeningError, files.EvaluationError) as error:
            raise click.UsageError(str(error)) from error
        return terms

    def _check(self, values: Values) -> None:
        """Start the player or the program with these values. Raises SpecError."""
        with _files((self.table(values),)) as (file,):
            players.load(_engine(file) or self.named(values), load(self.game)).close()

    def named(self, values: Values) -> str:
        """Return the player with these values of its options. Raises SpecError."""
        shown = {each.name: each.shown(values[each.name]) for each in self.parameters}
        if self.program:
            return str(spec.Spec(self.player, shown))
        wanted = spec.parse(self.player)
        return str(spec.Spec(wanted.name, {**wanted.options, **shown}))

    def table(self, values: Values) -> str:
        """Return the file of the program with these values, empty for a player."""
        return self.program.table(self.parameters, values) if self.program else ""

    def step(self, number: int, sides: tuple[Values, Values], book: Book) -> PlayedSides:
        """Return the pair of that number between two sets of values."""
        names = (self.named(sides[0]), self.named(sides[1]))
        tables = (self.table(sides[0]), self.table(sides[1]))
        task = PairTask(self.game, names, self.limit, book[number], evaluation=self.evaluation)
        return PlayedSides(number, task, tables, sides)

    def points(self, pair: PlayedPair) -> float:
        """Return the points of the first side in a pair from which a tuning learns."""
        return pair.score.total - (pair.luck or 0.0 if self.without_luck else 0.0)

    @property
    def digest(self) -> str:
        """The name of the tuning's folder; that of earlier tunings, if luck counts as in them."""
        own = self.evaluation != files.SHIPPED
        read = Path(self.evaluation).read_bytes() if own else b""
        read += b" without luck" if self.without_luck else b""
        return hashlib.sha256(repr(self).encode() + read).hexdigest()[:12]


def require_parameters(conditions: Conditions, *, program: bool) -> None:
    """Raise UsageError unless there are parameters, and all are for a program or for a player."""
    if not conditions.parameters:
        raise click.UsageError(
            f"there is nothing to tune: {LAB_FILE} needs a table [parameters] with lines such as "
            "c = { range = [0.1, 2.0], start = 1.4 }"
        )
    for each in conditions.parameters:
        if program and each.passed == "option":
            raise click.UsageError(
                f'{each.name}: say how the bot gets its value, by argument = "--{each.name}={{}}", '
                'environment = "NAME" or setoption = "NAME"; or name a player to tune its options'
            )
        if not program and each.passed != "option":
            raise click.UsageError(
                f"{each.name}: a player gets its value as an option, without {each.passed}"
            )


@contextlib.contextmanager
def _files(tables: Sequence[str]) -> Iterator[list[str]]:
    """Yield the paths of files with the tables, empty for an empty one, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="playout-tune-") as folder:
        paths = []
        for place, table in enumerate(tables):
            path = Path(folder, f"{place}.toml")
            if table:
                path.write_text(table, encoding="utf-8")
            paths.append(str(path) if table else "")
        yield paths


def _engine(file: str) -> str:
    """Return the player for the engine in a file; empty without a file."""
    return f"engine(name=program,file={file})" if file else ""


def play_step(step: PlayedSides) -> PlayedPair:
    """Play a pair between two sets of values."""
    with _files(step.tables) as (first, second):
        one, other = step.task.players
        return play_task(
            replace(step.task, players=(_engine(first) or one, _engine(second) or other))
        )


class Tuning:
    """A tuning in the folder of a laboratory, which goes on where it was stopped."""

    def __init__(self, home: Path, terms: TuningTerms) -> None:
        self.folder = home / "tunings" / terms.digest
        self._terms = terms
        few = len(terms.parameters) <= quadratic.MOST_PARAMETERS
        method = Quadratic if few else Spsa
        self._method: Quadratic | Spsa = method(terms.parameters, terms.pairs, terms.seed)
        #: The values after each pair.
        self._history = [dict(self._method.values)]

    def play(self) -> tuple[Values, Values]:
        """Play the missing pairs; return the first and the tuned values.

        Exits with 130 if it is interrupted. Raises ClickException.
        """
        start = dict(self._method.values)
        with self._opened("steps.jsonl") as file:
            missing = self._missing(file)
            if self._method.done:
                click.echo(f"{self._method.done} of {self._terms.pairs} pairs are known")
            with self._interruptible(lambda: f"{self._method.done} of {self._terms.pairs} pairs"):
                self._go_on(file, missing)
        return start, self._method.result

    def test(
        self, start: Values, tuned: Values, pairs: int, terms: Betting
    ) -> tuple[Score, EProcess]:
        """Play fresh pairs of the tuned values against the start; return the score and evidence.

        Each given opening is used at most once. Exits with 130 if it is interrupted.
        """
        book = Book(self._terms.game, self._terms.openings, self._terms.seed + 1)
        lines = self._terms.openings.lines.get(self._terms.game)
        pairs = min(pairs, len(lines)) if lines else pairs
        with self._opened("test.jsonl") as file:
            known = {each.number: each for each in stored(file, TestedPair)}
            sides = (tuned, start)
            missing = (n for n in range(pairs) if n not in known)
            steps = (self._terms.step(number, sides, book) for number in missing)
            with self._interruptible(lambda: f"{len(known)} of {pairs} pairs of the test"):
                found = run_on_cores(play_step, steps)
                with contextlib.closing(found):
                    while len(known) < pairs:
                        with doing(f"Testing: pair {len(known) + 1} of {pairs}"):
                            step, pair = next(found)
                        points = (pair.score.first, pair.score.second)
                        known[step.number] = TestedPair(step.number, points, pair.luck)
                        append(file, known[step.number])
        scores = [PairScore(*known[number].points) for number in range(pairs)]
        process = EProcess(terms, terms.alpha)
        for number, each in enumerate(scores):
            luck = known[number].luck if terms.without_luck else None
            without = None if luck is None else each.share_without_luck(luck)
            process.add(each.total / GAMES, without_luck=without)
        return score(scores), process

    def draw(self) -> Path:
        """Write the plot of each parameter; return its path."""
        body = []
        pairs = len(self._history) - 1
        for each in self._terms.parameters:
            values = [step[each.name] for step in self._history]
            plane = plot.Plane((0, max(1, pairs)), (each.low, each.high), _HEIGHT)
            shapes = [*plane.level_grid(), *plane.upright_grid()]
            shapes += plane.level("bound", each.start, f"start {each.shown(each.start)}")
            shapes.append(plane.curve("curve", list(enumerate(values))))
            last = each.shown(self._method.result[each.name])
            title = f"{each.name} after each pair; tuned: {last}"
            body.append(section(title, plot.svg(title, _HEIGHT, shapes)))
        path = self.folder / "tuning.html"
        name = f"Tuning of {self._terms.player} in {self._terms.game}"
        path.write_text(page(name, body), encoding="utf-8")
        return path

    def _opened(self, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        return opened(self.folder / name, "another playout-lab plays this tuning")

    @contextlib.contextmanager
    def _interruptible(self, done: Callable[[], str]) -> Iterator[None]:
        try:
            with interrupts.as_exception():
                yield
        except KeyboardInterrupt:
            click.echo(f"Interrupted after {done()}: the same command goes on", err=True)
            raise SystemExit(130) from None

    def _missing(self, file: IO[bytes]) -> list[int]:
        """Learn from the known pairs; return the steps that are still to be played."""
        known: set[int] = set()
        for learned in stored(file, LearnedPair):
            if learned.step not in known:
                known.add(learned.step)
                self._learn(learned)
        return [step for step in range(self._terms.pairs) if step not in known]

    def _learn(self, learned: LearnedPair) -> None:
        sides = learned.sides or self._method.sides(learned.step)
        self._method.learn(learned.step, learned.points, sides)
        self._history.append(dict(self._method.values))

    def _go_on(self, file: IO[bytes], missing: Sequence[int]) -> None:
        if not missing:
            return
        found = run_on_cores(play_step, self._steps(missing))
        with contextlib.closing(found):
            while self._method.done < self._terms.pairs:
                now = self._terms.named(self._method.values)
                with doing(f"Playing pair {self._method.done + 1} of {self._terms.pairs}: {now}"):
                    step, pair = next(found)
                sides = (dict(step.sides[0]), dict(step.sides[1]))
                learned = LearnedPair(step.number, self._terms.points(pair), sides)
                append(file, learned)
                self._learn(learned)

    def _steps(self, missing: Sequence[int]) -> Iterator[PlayedSides]:
        """Yield the steps to play, each with the values of the moment when it is taken."""
        book = Book(self._terms.game, self._terms.openings, self._terms.seed)
        for number in missing:
            yield self._terms.step(number, self._method.sides(number), book)
