"""The report as plain text, Markdown, CSV and JSON."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from rich.cells import cell_len

from playout.commands.text import csv_text, plain
from playout.server.tournament.report.tables import TextTable, in_order, summary, tables
from playout.server.tournament.report.values import CrosstableCell, Estimate, Report
from playout.server.tournament.report.words import headline

#: The version of the report as JSON, which grows when fields change.
JSON_VERSION = 1
_MARKS = re.compile(r"[\\`*_{}\[\]<>#|~&]")
_Field = str | int | float | None


# Plain text, in aligned columns.


def as_text(report: Report) -> str:
    """Return the whole report; lines are as long as the widest table."""
    lines = [report.name, *filter(None, [headline(report)]), *summary(report)]
    parts = ["\n".join(map(plain, lines))]
    parts += ["\n".join([plain(table.title), *_aligned(table)]) for table in tables(report)]
    return "\n\n".join(parts) + "\n"


def _aligned(table: TextTable) -> list[str]:
    head = [table.head] if any(table.head) else []
    rows = [[plain(cell) for cell in row] for row in (*head, *table.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _filled(cell, width, to_the_left=place < table.names)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _filled(cell: str, width: int, *, to_the_left: bool) -> str:
    """Return the cell padded to a width in terminal columns; some letters take two columns."""
    blanks = " " * (width - cell_len(cell))
    return cell + blanks if to_the_left else blanks + cell


# Markdown with tables, as on GitHub.


def as_markdown(report: Report) -> str:
    """Return the whole report as Markdown."""
    parts = [f"# {_escaped(report.name)}"]
    if answer := headline(report):
        parts.append(_escaped(answer))
    parts.append("\n".join(f"* {_escaped(line)}" for line in summary(report)))
    for table in tables(report):
        parts += [f"## {_escaped(table.title)}", _markdown_table(table)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: TextTable) -> str:
    sides = ["---" if place < table.names else "--:" for place, _ in enumerate(table.head)]
    rows = [map(_escaped, table.head), sides, *(map(_escaped, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _escaped(text: str) -> str:
    """Return the text on one line with escaped marks, for the cell of a table."""
    return _MARKS.sub(lambda mark: "\\" + mark[0], plain(text))


# CSV.


def as_csv(report: Report) -> str:
    """Return the standings, with empty fields for unknown numbers; texts are made safe."""
    head = ["place", "name", "version", "points", *report.tiebreaks, "matches"]
    head += ["won", "tied", "lost", "elo", "elo_error"]
    rows: list[list[_Field]] = []
    for each in report.standings:
        entrant, counts = report.entrants[each.entrant], each.counts
        rating = report.ratings[each.entrant] if report.ratings else Estimate()
        rows.append(
            [
                *(each.place, entrant.name, entrant.version),
                *(each.points, *each.tiebreaks),
                *(counts.matches, counts.won, counts.tied, counts.lost, rating.value, rating.error),
            ]
        )
    return csv_text([head, *rows])


def crosstable_as_csv(report: Report) -> str:
    """Return the points of each entrant against each, by standing; empty if they never met."""
    order = in_order(report) if report.crosstable else []
    head: list[_Field] = ["name", *(report.entrants[one].name for one in order)]
    rows: list[list[_Field]] = [
        [
            report.entrants[one].name,
            *(_points(report.crosstable[one][other]) for other in order),
        ]
        for one in order
    ]
    return csv_text([head, *rows])


def _points(cell: CrosstableCell) -> float | None:
    return cell.points if cell.matches else None


# JSON.


def as_json(report: Report) -> str:
    """Return the whole report by the names of its fields, with `version`; unknown is null."""
    fields: dict[str, Any] = msgspec.to_builtins(report)
    whole = msgspec.json.encode({"version": JSON_VERSION, **fields})
    return msgspec.json.format(whole, indent=2).decode() + "\n"
