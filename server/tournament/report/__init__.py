"""Reports of tournaments, for people and for programs.

`values` has the numbers, `tables` arranges them, `charts` draws them, and each other module writes
one format.
"""

from __future__ import annotations

from collections.abc import Callable

from playout.server.tournament.report import as_csv, as_json, html, markdown, text
from playout.server.tournament.report.values import (
    BracketRound,
    CrosstableCell,
    Estimate,
    HeadToHead,
    MatchCounts,
    Meeting,
    PairCounts,
    Report,
    ReportEntrant,
    ReportRound,
    ReportSetting,
    SequentialTest,
    Standing,
)

__all__ = [
    "FORMATS",
    "BracketRound",
    "CrosstableCell",
    "Estimate",
    "HeadToHead",
    "MatchCounts",
    "Meeting",
    "PairCounts",
    "Report",
    "ReportEntrant",
    "ReportRound",
    "ReportSetting",
    "SequentialTest",
    "Standing",
    "writer",
]

_WRITERS: dict[str, Callable[[Report], str]] = {
    "text": text.write,
    "json": as_json.write,
    "csv": as_csv.write,
    "crosstable": as_csv.write_crosstable,
    "markdown": markdown.write,
    "html": html.write,
}

FORMATS = tuple(_WRITERS)


def writer(format_: str) -> Callable[[Report], str]:
    """The writer of one of FORMATS; "crosstable" is the crosstable alone, as CSV."""
    return _WRITERS[format_]
