"""The context of a benchmark: full or quick, progress on standard error, output of tables."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

import click
import rich.table
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from playout import games, players
from playout.ratings.evidence import Share
from testbed.measure import Sample

# A table of results with targets, as text for terminals, as Markdown and as JSON.


Cell = str | int | float | Sample | Share | None

NOTHING = "-"


@dataclass(frozen=True)
class Column:
    """A column: `key` in JSON, `title` for people, `form` the format of its numbers."""

    key: str
    title: str
    form: str = ",.0f"

    def show(self, cell: Cell) -> str:
        """Return a cell as text; of several rounds, the median."""
        if cell is None:
            return NOTHING
        if isinstance(cell, str | Share):
            return str(cell)
        return format(_number(cell), self.form)


@dataclass(frozen=True)
class Target:
    """A least or a greatest value for the number in a column."""

    column: str
    at_least: float | None = None
    at_most: float | None = None

    def met(self, cell: Cell) -> bool:
        """Return whether a cell meets the target."""
        value = _number(cell)
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )


@dataclass
class ResultRow:
    """A row: the cells by key, and the target of one of them, if any."""

    cells: dict[str, Cell]
    target: Target | None

    @property
    def met(self) -> bool:
        """Whether the row meets its target; true without a target."""
        return self.target is None or self.target.met(self.cells[self.target.column])

    @property
    def slack(self) -> float:
        """How many times better than its target the row is; below 1 if it misses the target."""
        if self.target is None:
            return math.inf
        value = _number(self.cells[self.target.column])
        if self.target.at_most is not None:
            return self.target.at_most / value if value > 0 else math.inf
        return value / self.target.at_least if self.target.at_least else math.inf


@dataclass
class ResultTable:
    """Rows under columns; the first column is the label of a row."""

    title: str
    columns: Sequence[Column]
    rows: list[ResultRow] = field(default_factory=list)

    def add(self, target: Target | None = None, /, **cells: Cell) -> None:
        """Add a row; omitted columns stay empty."""
        self.rows.append(ResultRow({c.key: cells.get(c.key) for c in self.columns}, target))

    def missed(self) -> list[str]:
        """Return a line for each row that misses its target."""
        return [
            f"{self._shown(row)[0]}: {self._column(row.target).title} is "
            f"{self._column(row.target).show(row.cells[row.target.column])}, "
            f"and should be {self._wanted(row.target)}"
            for row in self.rows
            if row.target and not row.met
        ]

    def as_rich(self) -> rich.table.Table:
        """Return the table for a terminal; rows that miss their target are red."""
        table = rich.table.Table(title=self.title, title_justify="left", box=box.SIMPLE_HEAD)
        for index, heading in enumerate(self._headings()):
            text = index in self._texts()
            side: Literal["left", "right"] = "left" if text else "right"
            # Long texts wrap, so that the numbers keep their place.
            table.add_column(heading, justify=side, no_wrap=not text, overflow="fold")
        for row in self.rows:
            style = None if row.met else "red"
            table.add_row(*self._shown(row), style=style)
        return table

    def as_markdown(self) -> str:
        """Return the table as Markdown."""
        headings = self._headings()
        rules = ["---" if i in self._texts() else "--:" for i in range(len(headings))]
        lines = [headings, rules, *(self._shown(row) for row in self.rows)]
        return "\n".join(
            [f"{self.title}:", "", *("| " + " | ".join(line) + " |" for line in lines)]
        )

    def as_json(self) -> dict[str, Any]:
        """Return the table for JSON, with unrounded numbers and every round."""
        return {
            "title": self.title,
            "columns": [asdict(column) for column in self.columns],
            "rows": [_row_as_json(row) for row in self.rows],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> ResultTable:
        """Return the table of which `as_json` returned the document."""
        table = cls(document["title"], [Column(**each) for each in document["columns"]])
        for row in document["rows"]:
            target = {**row.pop("target", {})}
            target.pop("met", None)
            cells = {key: _cell_from_json(cell) for key, cell in row.items()}
            table.add(Target(**target) if target else None, **cells)
        return table

    def nearest(self, most: int) -> list[tuple[str, str, str]]:
        """Return at most `most` rows: those nearest to their targets, or the first ones.

        Each is its label, its numbers with their titles, and its target.
        """
        rows = sorted(self.rows, key=lambda row: row.slack)[:most]
        return [self._described(row) for row in rows]

    def _described(self, row: ResultRow) -> tuple[str, str, str]:
        cells = [row.cells[column.key] for column in self.columns]
        texts = [i for i, cell in enumerate(cells) if i == 0 or isinstance(cell, str)]
        shown = self._shown(row)
        numbers = [
            f"{column.title} {shown[i]}"
            for i, column in enumerate(self.columns)
            if i not in texts and cells[i] is not None
        ]
        target = shown[-1] if row.target else NOTHING
        return ", ".join(shown[i] for i in texts), "; ".join(numbers), target

    def _headings(self) -> list[str]:
        titles = [column.title for column in self.columns]
        return [*titles, "target"] if self._has_targets() else titles

    def _shown(self, row: ResultRow) -> list[str]:
        cells = [column.show(row.cells[column.key]) for column in self.columns]
        if not self._has_targets():
            return cells
        if row.target is None:
            return [*cells, NOTHING]
        return [*cells, f"{self._wanted(row.target)} {'met' if row.met else 'missed'}"]

    def _has_targets(self) -> bool:
        return any(row.target for row in self.rows)

    def _texts(self) -> set[int]:
        return {
            index
            for index, column in enumerate(self.columns)
            if any(isinstance(row.cells[column.key], str) for row in self.rows)
        }

    def _wanted(self, target: Target) -> str:
        if target.at_least is not None:
            return f"≥ {target.at_least:,.10g}"
        return f"≤ {target.at_most:,.10g}"

    def _column(self, target: Target) -> Column:
        return next(column for column in self.columns if column.key == target.column)


def _number(cell: Cell) -> float:
    if isinstance(cell, Sample):
        return cell.median
    assert isinstance(cell, int | float), cell
    return cell


def _row_as_json(row: ResultRow) -> dict[str, Any]:
    cells = {key: _cell_as_json(cell) for key, cell in row.cells.items()}
    if row.target:
        limits = {"at_least": row.target.at_least, "at_most": row.target.at_most}
        given = {key: value for key, value in limits.items() if value is not None}
        cells["target"] = {"column": row.target.column, **given, "met": row.met}
    return cells


def _cell_as_json(cell: Cell) -> Any:
    if isinstance(cell, Sample):
        return {"median": cell.median, "rounds": list(cell)}
    if isinstance(cell, Share):
        return {"share": cell.value, "interval": cell.interval, "trials": cell.trials}
    return cell


def _cell_from_json(cell: Any) -> Cell:
    if not isinstance(cell, dict):
        return cell  # type: ignore[no-any-return]
    if "rounds" in cell:
        return Sample(cell["rounds"])
    return Share(round(cell["share"] * cell["trials"]), cell["trials"])


T = TypeVar("T")


@dataclass(frozen=True)
class Selected:
    """What a benchmark measures, if it can be selected; nothing means its own choice."""

    games: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    seconds: float | None = None


class Bench:
    """One run of one benchmark: its name, whether it is quick, and what was selected."""

    def __init__(self, name: str, quick: bool, selected: Selected | None = None) -> None:
        self.name = name
        self.quick = quick
        self.selected = selected or Selected()

    def pick(self, full: T, quick: T) -> T:
        """Return `full`, or with --quick `quick`."""
        return quick if self.quick else full

    def tables(self, **parts: Callable[[Bench], ResultTable]) -> list[ResultTable]:
        """Return the tables of the parts of a benchmark, which are functions by name."""
        return [parts[name](self) for name in self.track(list(parts))]

    def can_play(self, player: str, game: str) -> bool:
        """Return whether a player with these options exists; if not, print the reason."""
        try:
            players.load(player, games.load(game)).close()
        except players.SpecError as error:
            click.echo(f"{self.name}: {player} at {game} is omitted: {error}", err=True)
            return False
        return True

    def track(self, things: Sequence[T], label: Callable[[T], object] | None = None) -> Iterator[T]:
        """Yield each of `things`; show its label and the number left on standard error."""
        label = label or _label
        if not sys.stderr.isatty():
            for thing in things:
                click.echo(f"{self.name}: {label(thing)} ...", err=True)
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
                progress.update(task, description=f"{self.name}: {label(thing)}")
                yield thing
                progress.advance(task)


def output() -> Console:
    """Return a console for tables on standard output; wide rows wrap, so that no number is cut."""
    return Console(width=max(160, shutil.get_terminal_size().columns), highlight=False)


def _label(thing: object) -> str:
    return " ".join(str(part) for part in thing) if isinstance(thing, tuple) else str(thing)
