"""Describes the machine on which a tournament is played, for its report."""

from __future__ import annotations

import contextlib
import platform
import re
from importlib.metadata import version
from pathlib import Path

from games.core.cores import usable_cores
from server.export.text import plain
from server.tournament.report import words
from server.tournament.spec_validation import LONGEST_MACHINE

_MODEL = re.compile(r"^model name\s*: (.+)$", re.MULTILINE)


def description() -> str:
    """The processor, the cores, the system, and the versions of Python and Playout."""
    parts = (
        _processor(),
        words.counted(usable_cores(), "core"),
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        f"Playout {version('playout')}",
    )
    return plain(", ".join(filter(None, parts)))[:LONGEST_MACHINE]


def _processor() -> str:
    """The name of the processor, or at least its kind."""
    with contextlib.suppress(OSError):
        if found := _MODEL.search(Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return " ".join(found[1].split())
    return platform.processor() or platform.machine()
