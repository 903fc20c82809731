"""Starts a server on a machine on which no game was compiled before."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.commands import installed

#: Beside other work, a process of low priority takes minutes.
CHANGES = """
from playout import games
from playout.server.runtime import game_compilation
games.names = lambda: {names}
game_compilation.LOWEST_NICENESS = 0
"""


@contextmanager
def first_start(
    folder: Path, names: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """Start a server of some games that compiles into `folder`; yield it, its port and its page."""
    *python, code = installed("playout-server")
    options = ["--port", "0", "--http", "127.0.0.1:0", "--database", "none"]
    server = subprocess.Popen(
        [*python, CHANGES.format(names=list(names)) + code, *options],
        env=os.environ | {"XDG_CACHE_HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout
        line = next(each for each in server.stdout if "listening on" in each)
        page = next(each for each in server.stdout if "http://" in each)
        yield server, int(line.rpartition(":")[2]), page.split()[-1]
    finally:
        server.kill()
        server.communicate()
