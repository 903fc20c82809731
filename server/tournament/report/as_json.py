"""The report as JSON: `values.Report` with its names, null for what is not known."""

from __future__ import annotations

from typing import Any

import msgspec

from server.tournament.report.values import Report

VERSION = 1


def write(report: Report) -> str:
    """All of it. `version` is that of this form, which a change of it raises."""
    fields: dict[str, Any] = msgspec.to_builtins(report)
    whole = msgspec.json.encode({"version": VERSION, **fields})
    return msgspec.json.format(whole, indent=2).decode() + "\n"
