"""Reports of tournaments, for people and for programs.

`values` has the numbers, `words` and `tables` make text of them, `charts` draws them. `writers`
writes the formats.
"""

from __future__ import annotations

from collections.abc import Callable

from playout.server.tournament.report import writers
from playout.server.tournament.report.values import Report

__all__ = ["FORMATS", "Report", "writer"]

_WRITERS: dict[str, Callable[[Report], str]] = {
    "text": writers.as_text,
    "json": writers.as_json,
    "csv": writers.as_csv,
    "crosstable": writers.crosstable_as_csv,
    "markdown": writers.as_markdown,
    "html": writers.as_html,
}

FORMATS = tuple(_WRITERS)


def writer(format_: str) -> Callable[[Report], str]:
    """Return the writer of one of FORMATS; "crosstable" is the crosstable alone, as CSV."""
    return _WRITERS[format_]
