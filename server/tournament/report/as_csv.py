"""The report's tables as CSV (RFC 4180, but lines end with a line feed)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from playout.commands.text import plain
from playout.server.tournament.report.tables import in_order
from playout.server.tournament.report.values import CrosstableCell, Estimate, Report

_Field = str | int | float | None
#: The first characters with which spreadsheets take a text for a formula.
_FORMULA = ("=", "+", "-", "@", "'")


def write(report: Report) -> str:
    """The standings, with empty fields for unknown numbers; texts are made `safe`."""
    head = ["place", "name", "version", "points", *report.tiebreaks, "matches"]
    head += ["won", "tied", "lost", "elo", "elo_error"]
    rows: list[list[_Field]] = []
    for each in report.standings:
        entrant, counts = report.entrants[each.entrant], each.counts
        rating = report.ratings[each.entrant] if report.ratings else Estimate()
        rows.append(
            [
                *(each.place, safe(entrant.name), safe(entrant.version)),
                *(each.points, *each.tiebreaks),
                *(counts.matches, counts.won, counts.tied, counts.lost, rating.value, rating.error),
            ]
        )
    return _written([head, *rows])


def write_crosstable(report: Report) -> str:
    """The points of each entrant against each, by standing; empty if the two never met."""
    order = in_order(report) if report.crosstable else []
    head: list[_Field] = ["name", *(safe(report.entrants[one].name) for one in order)]
    rows: list[list[_Field]] = [
        [
            safe(report.entrants[one].name),
            *(_points(report.crosstable[one][other]) for other in order),
        ]
        for one in order
    ]
    return _written([head, *rows])


def _points(cell: CrosstableCell) -> float | None:
    return cell.points if cell.matches else None


def safe(text: str) -> str:
    """The text on one line, with an apostrophe before a text that a spreadsheet would compute.

    After OWASP, "CSV Injection". An apostrophe at the start is doubled, so that the original text
    can be recovered.
    """
    text = plain(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _written(rows: Iterable[Iterable[_Field]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()
