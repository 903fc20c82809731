"""Compiles all games at their first use on a machine, in one process for each core."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numba
import platformdirs

from playout import games
from playout.commands import progress
from playout.commands.subprocesses import LOWEST_NICENESS, usable_cores
from playout.games.core import compilation_cache
from playout.games.core.description import Description

#: The most processes that compile at once; each takes about 300 MB.
MAX_PROCESSES = 8


@functools.cache
def all_descriptions() -> list[Description]:
    """Return the descriptions of all games that can be loaded; to be called in a thread.

    If they are not compiled yet, that is done first, in processes of the lowest priority: the
    server may be playing other games.
    """
    compile_games(progress.say, LOWEST_NICENESS)
    found = []
    for name in games.names():
        with contextlib.suppress(games.SpecError):
            found.append(games.describe(name))
    return found


def compile_games(announce: Callable[[str], object], niceness: int = 0) -> None:
    """Compile all games, unless that was done before on this machine.

    `announce` is called with a text for each module that is compiled. Games that cannot be loaded
    are left out.
    """
    done = _record()
    if done.exists() or numba.config.DISABLE_JIT:
        return
    with contextlib.suppress(OSError):  # without a cache folder, each process compiles for itself
        done.parent.mkdir(parents=True, exist_ok=True)
        if _compile(games.names(), announce, niceness):
            done.mkdir(exist_ok=True)


def _compile(names: Sequence[str], announce: Callable[[str], object], niceness: int) -> bool:
    """Compile games in processes, and return whether all of these have succeeded."""
    command = [sys.executable, "-m", __name__, str(niceness), *names]
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
    digest = hashlib.sha256(compilation_cache.platform().encode())
    folder = Path(games.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    name = f"all-{digest.hexdigest()[:16]}"
    return platformdirs.user_cache_path("playout") / "compiled" / name


def _main() -> None:
    """Compile the games of the arguments whose indices the standard input has, a byte each.

    All processes read from the same pipe, so that each takes a game when it is free.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    niceness, *names = sys.argv[1:]
    os.nice(int(niceness))
    printed: set[str] = set()

    @contextlib.contextmanager
    def announced(text: str) -> Iterator[None]:
        """Print it once, with the number of the game, which shows how many are left."""
        if text not in printed:
            printed.add(text)
            print(f"[{place[0] + 1}/{len(names)}] {text} ...", flush=True)
        yield

    compilation_cache.announce_compilation(announced)
    while place := os.read(sys.stdin.fileno(), 1):
        name = names[place[0]]
        with contextlib.suppress(games.SpecError):
            if games.describe(name).example == name:  # others are games of libraries
                games.load(name)


if __name__ == "__main__":
    _main()
