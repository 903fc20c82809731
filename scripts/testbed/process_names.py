"""Which program of Playout a process runs, by what Linux tells of it in /proc."""

from __future__ import annotations

import contextlib
from pathlib import Path

#: Linux keeps so many characters of a name.
_LENGTH = 15


def set_name(module: str) -> None:
    """Name this process, which is a copy of another and has its command line, by a module."""
    Path("/proc/self/comm").write_text(module[:_LENGTH])


def runs(process: int, module: str) -> bool:
    """Return whether a process, given by its number, runs the module."""
    folder = Path(f"/proc/{process}")
    with contextlib.suppress(OSError):
        name, _, state = (folder / "stat").read_text().partition("(")[2].rpartition(") ")
        if state[0] in "ZX":  # it has ended
            return False
        if name.startswith("python"):
            return module in (folder / "cmdline").read_text()
        return name == module[:_LENGTH]
    return False


def children(process: int) -> list[int]:
    """Return the processes that a process has started and has not waited for; [] if it is gone."""
    with contextlib.suppress(OSError):
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        listed = [Path(task, "children").read_text().split() for task in tasks]
        return [int(each) for line in listed for each in line]
    return []
