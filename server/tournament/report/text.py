"""The report as plain text, in aligned columns."""

from __future__ import annotations

from rich.cells import cell_len

from playout.commands.text import plain
from playout.server.tournament.report.headline import headline
from playout.server.tournament.report.tables import TextTable, summary, tables
from playout.server.tournament.report.values import Report


def write(report: Report) -> str:
    """The whole report; lines are as long as the widest table."""
    lines = [report.name, *filter(None, [headline(report)]), *summary(report)]
    parts = ["\n".join(map(plain, lines))]
    parts += ["\n".join([plain(table.title), *_lines(table)]) for table in tables(report)]
    return "\n\n".join(parts) + "\n"


def _lines(table: TextTable) -> list[str]:
    rows = [[plain(cell) for cell in row] for row in _shown(table)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _filled(cell, width, to_the_left=place < table.names)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _shown(table: TextTable) -> list[tuple[str, ...]]:
    return [table.head, *table.rows] if any(table.head) else table.rows


def _filled(cell: str, width: int, *, to_the_left: bool) -> str:
    """The cell padded to a width in terminal columns; some letters take two, accents none."""
    blanks = " " * (width - cell_len(cell))
    return cell + blanks if to_the_left else blanks + cell
