"""The state of processes, as Linux shows it, and a process that starts one."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from playout.commands.child import Program


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


def start_and_wait(words: Sequence[str], output: Connection) -> None:
    """Start a command as Playout does, with one end of a pipe as its output, and wait for ever."""
    with open(output.fileno(), "ab", closefd=False) as file:
        Program(words, os.environ).start(file)
    signal.pause()
