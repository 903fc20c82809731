"""The report as Markdown with tables, as on GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable

from playout.commands.text import plain
from playout.server.tournament.report.headline import headline
from playout.server.tournament.report.tables import TextTable, summary, tables
from playout.server.tournament.report.values import Report

_MARKS = re.compile(r"[\\`*_{}\[\]<>#|~&]")


def write(report: Report) -> str:
    """The whole report as Markdown."""
    parts = [f"# {escaped(report.name)}"]
    if answer := headline(report):
        parts.append(escaped(answer))
    parts.append("\n".join(f"* {escaped(s)}" for s in summary(report)))
    for table in tables(report):
        parts += [f"## {escaped(table.title)}", _table(table)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """The text with escaped marks, on one line, as it can stand in a table's cell."""
    return _MARKS.sub(lambda mark: "\\" + mark[0], plain(text))


def _table(table: TextTable) -> str:
    sides = ["---" if place < table.names else "--:" for place, _ in enumerate(table.head)]
    rows = [map(escaped, table.head), sides, *(map(escaped, row) for row in table.rows)]
    return "\n".join(map(_row, rows))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
