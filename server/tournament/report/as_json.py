"""The report as JSON: `values.Report` with its field names, null for unknown numbers."""

from __future__ import annotations

from typing import Any

import msgspec

from playout.server.tournament.report.values import Report

VERSION = 1


def write(report: Report) -> str:
    """The whole report. `version` counts the changes of this format."""
    fields: dict[str, Any] = msgspec.to_builtins(report)
    whole = msgspec.json.encode({"version": VERSION, **fields})
    return msgspec.json.format(whole, indent=2).decode() + "\n"
