"""The context of a benchmark: full or quick, progress on standard error, output of tables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import games
import players

T = TypeVar("T")


class Bench:
    """One run of one benchmark: its name and whether it is quick."""

    def __init__(self, name: str, quick: bool) -> None:
        self.name = name
        self.quick = quick

    def pick(self, full: T, quick: T) -> T:
        """Return `full`, or with --quick `quick`."""
        return quick if self.quick else full

    def can_play(self, player: str, game: str) -> bool:
        """Return whether a player with these options exists; if not, print the reason."""
        try:
            players.load(player, games.load(game)).close()
        except players.SpecError as error:
            click.echo(f"{self.name}: {player} at {game} is omitted: {error}", err=True)
            return False
        return True

    def track(self, things: Sequence[T]) -> Iterator[T]:
        """Yield each of `things`, and show on standard error which it is and how many are left."""
        if not sys.stderr.isatty():
            for thing in things:
                click.echo(f"{self.name}: {_label(thing)} ...", err=True)
                yield thing
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(self.name, total=len(things))
            for thing in things:
                progress.update(task, description=f"{self.name}: {_label(thing)}")
                yield thing
                progress.advance(task)


def output() -> Console:
    """Return a console for tables on standard output; wide rows wrap, so that no number is cut."""
    return Console(width=max(160, shutil.get_terminal_size().columns), highlight=False)


def in_writable_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Check an option before the run: the folder of the output file must be writable."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"cannot write in {path.parent}")
    return path


def _label(thing: object) -> str:
    return " ".join(str(part) for part in thing) if isinstance(thing, tuple) else str(thing)
