"""What a tournament has shown, for people and for programs.

`values` is what is said, `tables` arranges it, and each other module is one way to write it.
"""

from __future__ import annotations

from collections.abc import Callable

from server.tournament.report import as_csv, as_json, html, markdown, text
from server.tournament.report.values import (
    CrosstableCell,
    Estimate,
    HeadToHead,
    MatchCounts,
    PairCounts,
    Report,
    ReportEntrant,
    SequentialTest,
    Standing,
)

__all__ = [
    "FORMATS",
    "CrosstableCell",
    "Estimate",
    "HeadToHead",
    "MatchCounts",
    "PairCounts",
    "Report",
    "ReportEntrant",
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
    """The function for one of FORMATS; "crosstable" is that alone, as CSV."""
    return _WRITERS[format_]
