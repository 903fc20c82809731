"""What a benchmark is given: how thorough to be, and ways to show how far it is and what came."""

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
    """One run of one benchmark."""

    def __init__(self, name: str, quick: bool) -> None:
        self.name = name
        self.quick = quick

    def pick(self, full: T, quick: T) -> T:
        """`full`, or with --quick the other."""
        return quick if self.quick else full

    def can_play(self, player: str, game: str) -> bool:
        """Is there such a player with such options? If not, standard error shows why."""
        try:
            players.load(player, games.load(game)).close()
        except players.SpecError as error:
            click.echo(f"{self.name}: {player} at {game} is left out: {error}", err=True)
            return False
        return True

    def track(self, things: Sequence[T]) -> Iterator[T]:
        """Each of `things`; meanwhile, standard error shows which, and how many are left."""
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
    """Standard output for tables: a terminal wraps what is too wide for it, no number is cut."""
    return Console(width=max(160, shutil.get_terminal_size().columns), highlight=False)


def in_writable_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """For an option: a file that can be written when all is done, said before it begins."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"cannot write in {path.parent}")
    return path


def _label(thing: object) -> str:
    return " ".join(str(part) for part in thing) if isinstance(thing, tuple) else str(thing)
