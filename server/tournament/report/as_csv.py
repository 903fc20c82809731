"""The report's tables as CSV (RFC 4180, but with lines that end as elsewhere on the system)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from server.export.text import plain
from server.tournament.report.tables import in_order
from server.tournament.report.values import CrosstableCell, Estimate, Report

_Field = str | int | float | None
#: What makes spreadsheets take a text for a formula.
_FORMULA = ("=", "+", "-", "@", "'")


def write(report: Report) -> str:
    """The standings, with empty fields for what is not known. Texts are as `safe` has them."""
    head = ["place", "name", "version", "points", *report.tiebreaks, "matches"]
    head += ["won", "tied", "lost", "elo", "elo_error"]
    rows: list[list[_Field]] = []
    for each in report.standings:
        entrant, tally = report.entrants[each.entrant], each.counts
        rating = report.ratings[each.entrant] if report.ratings else Estimate()
        rows.append(
            [
                *(each.place, safe(entrant.name), safe(entrant.version)),
                *(each.points, *each.tiebreaks),
                *(tally.matches, tally.won, tally.tied, tally.lost, rating.value, rating.error),
            ]
        )
    return _written([head, *rows])


def write_crosstable(report: Report) -> str:
    """The points of each against each, in the order of the standings; empty if they never met."""
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
    """On one line, and with an apostrophe before what a spreadsheet would compute.

    After OWASP, "CSV Injection". An apostrophe at the start is doubled, so that it can be undone.
    """
    text = plain(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _written(rows: Iterable[Iterable[_Field]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()
