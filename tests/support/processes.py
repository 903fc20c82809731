"""The state of processes, as Linux shows it."""

from __future__ import annotations

import contextlib
from pathlib import Path


def children_of(parent: int) -> list[int]:
    """Return the running children of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            state, its_parent = path.read_text().rpartition(")")[2].split()[:2]
            if its_parent == str(parent) and state != "Z":
                found.append(int(path.parent.name))
    return found


def is_gone(process: int) -> bool:
    """Return whether a process has ended, also if its parent has not waited for it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
