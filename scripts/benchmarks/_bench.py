"""What a benchmark is given: how thorough to be, and a way to show how far it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")


class Bench:
    """One run of one benchmark."""

    def __init__(self, name: str, quick: bool) -> None:
        self.name = name
        self.quick = quick

    def pick(self, full: T, quick: T) -> T:
        """`full`, or with --quick the other."""
        return quick if self.quick else full

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


def _label(thing: object) -> str:
    return " ".join(str(part) for part in thing) if isinstance(thing, tuple) else str(thing)
