"""The line about this machine in the report of a tournament."""

from __future__ import annotations

import contextlib
import platform
import re
from importlib.metadata import version
from pathlib import Path

from playout.commands.cores import usable_cores
from playout.commands.text import counted, plain
from playout.server.tournament.spec_validation import LONGEST_MACHINE

_MODEL = re.compile(r"^model name\s*: (.+)$", re.MULTILINE)


def description() -> str:
    """Return the processor, the cores, the system, and the versions of Python and Playout."""
    parts = (
        processor(),
        counted(usable_cores(), "core"),
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        f"Playout {version('playout')}",
    )
    return plain(", ".join(filter(None, parts)))[:LONGEST_MACHINE]


def processor() -> str:
    """Return the name of the processor, or its architecture."""
    with contextlib.suppress(OSError):
        if found := _MODEL.search(Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return " ".join(found[1].split())
    return platform.processor() or platform.machine()
