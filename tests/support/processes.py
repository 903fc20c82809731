"""The state of processes, as Linux shows it."""

from __future__ import annotations

from pathlib import Path


def is_gone(process: int) -> bool:
    """Return whether a process has ended, also if its parent has not waited for it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
