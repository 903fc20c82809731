"""`playout-tournament openings`: writes a book of openings after which neither side is ahead.

The openings are random moves, the shortest ones first. A player searches the positions after four
times as many as are wanted, and the most even ones are kept. Of positions that are rotations or
reflections of each other, one is searched. Each win rate is stored in `FILE.partial` when it is
known, so that an interrupted command goes on; the book depends neither on interruptions nor on the
number of cores.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

import click
import msgspec

from playout import games, players
from playout.commands import interrupts
from playout.commands.durable_files import why_not_written, write_atomically
from playout.commands.options import add_current_folder, registered
from playout.commands.progress import doing
from playout.commands.text import as_file_name
from playout.games import Game, IllegalAction, Position, SpecError, State
from playout.games.core.random import seeded
from playout.players import Limit
from playout.players.comparison.workers import run_on_cores
from playout.ratings import opening_generator
from playout.ratings.pairs import Opening

EPILOG = """
\b
Examples:
  playout-tournament openings "mnk(m=8,n=8,k=5)"
  playout-tournament openings othello --number 200 --simulations 50000 --output othello.txt
  playout-tournament openings connect_four --beyond 0.15 --within 0.3    unbalanced ones

The file is a list for `openings = { file = "..." }`. The same command continues one that was
interrupted. The games with their default parameters have a book already: openings = { shipped =
true }.
"""

#: The number of openings that are searched for each one that is wanted.
SEARCHED_FOR_EACH = 4


@dataclass(frozen=True)
class BookTerms:
    """What a book depends on.

    The openings have `shortest` to `longest` moves; the win rate of the first player, by a search
    of `player` with that many `simulations`, differs from 0.5 by `beyond` to `within`. `number` is
    the maximum number of openings.
    """

    game: str
    player: str = "best"
    simulations: int = 5000
    number: int = 500
    shortest: int = 2
    longest: int = 8
    beyond: float = 0.0
    within: float = 0.15
    seed: int = 0

    def accepts(self, value: float) -> bool:
        """Return whether a win rate of the first player is in the band."""
        return self.beyond <= abs(value - 0.5) <= self.within

    def distance(self, value: float) -> float:
        """Return the distance of a win rate from 0.5, or from the middle of an unbalanced band."""
        middle = (self.beyond + self.within) / 2 if self.beyond else 0.0
        return abs(abs(value - 0.5) - middle)


class SearchedOpening(msgspec.Struct, frozen=True):
    """The win rate of the first player after the opening of that number."""

    number: int
    value: float


_decode_opening = msgspec.json.Decoder(SearchedOpening).decode


@dataclass(frozen=True)
class SearchTask:
    """An opening to search, with its number."""

    number: int
    opening: Opening
    terms: BookTerms

    def __str__(self) -> str:
        return f"opening {self.number}, searched by {self.terms.player}"


def candidates(game: Game, terms: BookTerms) -> Iterator[Opening]:
    """Yield openings to search; no two positions after them are images of each other."""
    seen: set[State] = set()
    for plies in range(terms.shortest, min(terms.longest, game.max_plies - 1) + 1):
        for line in opening_generator.lines(game, plies, 0, seeded(terms.seed)):
            if line and not game.winner(line[1]):
                image = first_image(game, line[0])
                if image not in seen:
                    seen.add(image)
                    yield line[0]


def first_image(game: Game, opening: Opening) -> State:
    """Return the least image of the position after an opening, by the symmetries of the game."""
    images = []
    for symmetry in game.symmetries:
        with contextlib.suppress(IllegalAction):  # the first position has no such symmetry
            images.append(Position(game, [symmetry.actions[each] for each in opening]).state)
    return min(images)


def search(task: SearchTask) -> float | None:
    """Return the win rate of the first player after an opening, by a new player's search.

    None if the player reports no win rate.
    """
    game = games.load(task.terms.game)
    position = Position(game, task.opening)
    with contextlib.closing(players.load(task.terms.player, game)) as player:
        info = player.choose(position, Limit(simulations=task.terms.simulations)).info
    if info is None:
        return None
    value = info.win_rate if info.proven is None else (1 + info.proven) / 2
    return value if position.to_move == 1 else 1 - value


class BookSearch:
    """The search for the openings of a book, which continues where it was interrupted."""

    def __init__(self, game: Game, terms: BookTerms) -> None:
        self._terms = terms
        self._values: dict[int, float] = {}
        with doing(f"Drawing openings of {game}"):
            most = SEARCHED_FOR_EACH * terms.number
            self.openings = list(itertools.islice(candidates(game, terms), most))

    def fill(self, partial: Path) -> list[Opening]:
        """Return the openings of the book; `partial` keeps the known win rates.

        Raises ClickException, KeyboardInterrupt, OSError.
        """
        with partial.open("a+b") as file:
            self._read(file)
            tasks = (
                SearchTask(number, opening, self._terms)
                for number, opening in enumerate(self.openings)
                if number not in self._values
            )
            found = run_on_cores(search, tasks)
            with contextlib.closing(found), interrupts.as_exception():
                while (done := self._next(found)) is not None:
                    task, value = done
                    if value is None:
                        text = f"{self._terms.player} reports no win rate: choose another --player"
                        raise click.UsageError(text)
                    known = SearchedOpening(task.number, value)
                    file.write(msgspec.json.encode(known) + b"\n")
                    file.flush()
                    self._values[known.number] = known.value
        kept = [number for number, value in self._values.items() if self._terms.accepts(value)]
        kept.sort(key=lambda number: (self._terms.distance(self._values[number]), number))
        return [self.openings[number] for number in sorted(kept[: self._terms.number])]

    def _next(
        self, found: Iterator[tuple[SearchTask, float | None]]
    ) -> tuple[SearchTask, float | None] | None:
        accepted = sum(map(self._terms.accepts, self._values.values()))
        text = f"Searched {len(self._values)} of {len(self.openings)} openings"
        with doing(f"{text}, {accepted} could be used"):
            return next(found, None)

    def _read(self, file: IO[bytes]) -> None:
        """Note the win rates of a file, or write its first line."""
        file.seek(0)
        terms = msgspec.json.encode(asdict(self._terms))
        text = file.read()
        if not text:
            file.write(terms + b"\n")
            return
        first, *rest = text.splitlines()
        if first != terms:
            raise click.ClickException(
                f"{file.name} belongs to a book with other options: repeat these, or remove it"
            )
        for line in rest:
            with contextlib.suppress(msgspec.DecodeError):  # a line that was not completed
                known = _decode_opening(line)
                self._values[known.number] = known.value
        if not text.endswith(b"\n"):
            file.write(b"\n")


def book_text(terms: BookTerms, openings: list[Opening], searched: int) -> str:
    """Return the file of a book."""
    lengths = sorted({len(each) for each in openings})
    plies = f"{lengths[0]} to {lengths[-1]}" if lengths[1:] else f"{lengths[0]}"
    band = f"{terms.beyond:g} to {terms.within:g}" if terms.beyond else f"at most {terms.within:g}"
    lines = [
        f"# {terms.game}: {len(openings)} openings of {plies} moves, of {searched}; the win rate",
        f"# differs from 0.5 by {band} ({terms.player}, {terms.simulations} simulations).",
    ]
    lines += (str(list(each)).replace(" ", "") for each in openings)
    return "\n".join(lines) + "\n"


_DEFAULT = BookTerms("")


@click.command("openings", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("game")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.  [default: the name of the game with -openings.txt]",
)
@click.option(
    "--number",
    type=click.IntRange(1, 10_000),
    default=_DEFAULT.number,
    show_default=True,
    help="Maximum number of openings.",
)
@click.option(
    "--shortest",
    type=click.IntRange(0, 100),
    default=_DEFAULT.shortest,
    show_default=True,
    help="Moves of the shortest openings, which are tried first.",
)
@click.option(
    "--longest",
    type=click.IntRange(0, 100),
    default=_DEFAULT.longest,
    show_default=True,
    help="Moves of the longest openings.",
)
@click.option(
    "--within",
    type=click.FloatRange(0, 0.5),
    default=_DEFAULT.within,
    show_default=True,
    help="Maximum distance of the first player's win rate from 0.5.",
)
@click.option(
    "--beyond",
    type=click.FloatRange(0, 0.5),
    default=_DEFAULT.beyond,
    show_default=True,
    help="Minimum distance, for unbalanced openings.",
)
@click.option(
    "--player",
    default=_DEFAULT.player,
    show_default=True,
    help="The player whose search gives the win rates.",
)
@click.option(
    "--simulations",
    type=click.IntRange(1),
    default=_DEFAULT.simulations,
    show_default=True,
    help="Simulations or nodes for each opening.",
)
@click.option("--seed", default=_DEFAULT.seed, show_default=True, help="Seed of the random moves.")
def main(game: str, output: Path | None, **values: int | float | str) -> None:
    """Write a book of openings of GAME after which neither side is ahead.

    Tournaments and tests use the file as `openings.file`.
    """
    loaded, terms = _checked(game, values)
    output = output or Path(f"{as_file_name(str(loaded))}-openings.txt")
    partial = output.with_name(f"{output.name}.partial")
    if output.exists():
        raise click.UsageError(f"{output} exists: remove it, or choose another --output")
    work = BookSearch(loaded, terms)
    searched = len(work.openings)
    try:
        found = work.fill(partial)
        if not found:
            partial.unlink()
            raise click.ClickException(
                f"{searched} openings of {terms.game} were searched, and none has a win rate that "
                f"differs from 0.5 by {terms.beyond:g} to {terms.within:g}: use a larger --within "
                "or --longest"
            )
        write_atomically(output, book_text(terms, found, searched).encode())
        partial.unlink()
    except KeyboardInterrupt:
        click.echo("Interrupted: the same command goes on", err=True)
        raise SystemExit(130) from None
    except OSError as error:
        text = f"{output} cannot be written: {why_not_written(error)}"
        raise click.ClickException(text) from error
    click.echo(f"Wrote {output}: {len(found)} openings of {searched} searched ones")


def _checked(game: str, values: Mapping[str, int | float | str]) -> tuple[Game, BookTerms]:
    """Return the game and the terms. Raises UsageError."""
    terms = BookTerms(game, **values)  # type: ignore[arg-type]
    if terms.beyond > terms.within:
        raise click.UsageError("--beyond is larger than --within: lower it, or raise --within")
    if terms.shortest > terms.longest:
        raise click.UsageError("--shortest is larger than --longest: lower it, or raise --longest")
    add_current_folder(terms.player)
    try:
        loaded = games.load(registered(game))
        loaded.require_no_chance("there are no books of openings of")
        players.load(terms.player, loaded).close()
    except SpecError as error:
        raise click.UsageError(str(error)) from error
    return loaded, replace(terms, game=str(loaded))
