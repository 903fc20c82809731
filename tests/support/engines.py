"""Tiny engines for tests, and whether their processes have ended."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from support.waiting import wait_until

_FOLDER = Path(__file__).parent
#: The program and its first arguments; the others are the fault and the file of process ids.
_PROGRAMS = {"json": ("tiny_client.py", "{game}", "{host}", "{port}")}


class TinyEngine:
    """An `engines.toml` in a folder, with an engine `tiny` that has one fault."""

    def __init__(self, where: Path, protocol: str = "gtp", fault: str = "none", **keys: str):
        """`keys` are further keys of its table, as TOML."""
        self.file = where / "engines.toml"
        self._pids = where / "pids"
        program, *first = _PROGRAMS.get(protocol, ("tiny_engine.py", protocol))
        words = [sys.executable, "-I", "-S", str(_FOLDER / program), *first, fault, str(self._pids)]
        command = " ".join(f"'{word}'" for word in words)
        table = {"command": f'"{command}"', "protocol": f'"{protocol}"', **keys}
        lines = [f"{key} = {value}" for key, value in table.items()]
        self.file.write_text("\n".join(["[tiny]", *lines, ""]))

    @property
    def pids(self) -> list[int]:
        """The processes that were started, and their children."""
        return list(map(int, self._pids.read_text().split())) if self._pids.exists() else []

    @property
    def said(self) -> list[str]:
        """The messages to a client of the original system, and `left` or `spins` at its end."""
        file = self._pids.with_name("pids.said")
        return file.read_text().splitlines() if file.exists() else []

    @property
    def read(self) -> list[str]:
        """The lines that the engine has read."""
        file = self._pids.with_name("pids.read")
        return file.read_text().splitlines() if file.exists() else []

    def require_gone(self) -> None:
        """Wait until all its processes have ended."""
        require_gone(self.pids)


def require_gone(pids: Iterable[int]) -> None:
    """Wait until these processes have ended."""
    for pid in pids:
        wait_until(partial(_has_ended, pid), f"the end of process {pid}")


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def scripted(
    where: Path, protocol: str, *rules: tuple[str, list[str]], **keys: str
) -> dict[str, str]:
    """Return the options of the player `engine` for one that answers by the rules of a script.

    See `scripted_engine.py`; `keys` are further keys of its table, as TOML.
    """
    program = _FOLDER / "scripted_engine.py"
    words = [sys.executable, "-I", "-S", str(program), protocol, json.dumps(rules)]
    table = {"command": json.dumps(shlex.join(words)), "protocol": f'"{protocol}"', **keys}
    lines = [f"{key} = {value}" for key, value in table.items()]
    file = where / "engines.toml"
    file.write_text("\n".join(["[scripted]", *lines, ""]))
    return {"name": "scripted", "file": str(file)}
