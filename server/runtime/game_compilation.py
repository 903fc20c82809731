"""Compiles all games at their first use on a machine, in one process for each core."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import platformdirs

from playout import games
from playout.commands.subprocesses import usable_cores
from playout.games.core.compilation_cache import announce_compilation

#: The most processes that compile at once; each takes about 300 MB.
MAX_PROCESSES = 8


def compile_games(announce: Callable[[str], None]) -> None:
    """Compile all games, unless that was done before on this machine.

    `announce` is called with a line for each compiled module. Games that cannot be loaded are
    skipped.
    """
    done = _record()
    if done.exists() or numba.config.DISABLE_JIT:
        return
    with contextlib.suppress(OSError):  # without a cache folder, each process compiles for itself
        done.parent.mkdir(parents=True, exist_ok=True)
        if _compile(games.names(), announce):
            done.mkdir(exist_ok=True)


def _compile(names: Sequence[str], announce: Callable[[str], None]) -> bool:
    """Compile games in processes, and return whether all have succeeded."""
    command = [sys.executable, "-m", __name__, *names]
    processes: list[subprocess.Popen[bytes]] = []
    to_compile, to_take = os.pipe()
    reader, writer = os.pipe()
    try:
        with open(to_take, "wb") as places:
            places.write(bytes(range(len(names))))
        with open(reader, encoding="utf-8") as lines:
            with open(writer, "wb") as output, open(to_compile, "rb") as places:
                for _ in range(min(usable_cores(), MAX_PROCESSES)):
                    processes.append(subprocess.Popen(command, stdin=places, stdout=output))
            for line in lines:
                announce(line.rstrip())
        return all(process.wait() == 0 for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _record() -> Path:
    """Return the folder that exists when the present games are compiled for this processor.

    It is empty, and is removed when it is old, as are the compiled functions beside it.
    """
    given = [numba.__version__, np.__version__, llvm.get_host_cpu_name()]
    for file in sorted(Path(games.__file__).parent.rglob("*.py")):
        status = file.stat()
        given.append(f"{file} {status.st_size} {status.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(given).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("playout") / "compiled" / f"all-{digest}"


def _main() -> None:
    """Compile the games of the arguments whose indices the standard input has, a byte each.

    All processes read from the same pipe, so that each takes a game when it is free.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    names = sys.argv[1:]
    while place := os.read(sys.stdin.fileno(), 1):
        name = names[place[0]]
        # The number of the game and of all games, to estimate the remaining time.
        announce_compilation(partial(print, f"[{place[0] + 1}/{len(names)}]", flush=True))
        with contextlib.suppress(games.SpecError):
            if games.describe(name).example == name:  # others are games of libraries
                games.load(name)


if __name__ == "__main__":
    _main()
