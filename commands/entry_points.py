"""The entry points of the installed commands.

They handle Ctrl-C, and say what they do, before they import the commands, which takes two to four
seconds, and much longer where functions have to be compiled.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from functools import partial

from playout.commands import interrupts
from playout.commands.prepared import SERVER, prepare
from playout.commands.progress import doing
from playout.commands.subprocesses import importing

#: The variable with the number of threads of NumPy's linear algebra, which NumPy reads when it is
#: imported. With a thread for each core, ratings of 200 players took 1.2 s instead of 0.1 s while
#: other work kept the cores busy: threads that wait for each other spin.
_ALGEBRA_THREADS = "OPENBLAS_NUM_THREADS"
#: A part of the error of numba if it can write compiled functions to no folder.
_NO_CACHE = "cannot cache function"


def server() -> None:
    """Run the command `playout-server` from its first import on.

    Its standard error is often a log, whose lines may be JSON: it says on terminals only that it
    is loading.
    """
    os.environ.setdefault(_ALGEBRA_THREADS, "1")
    run("playout.server.server_command", says_loading=sys.stderr.isatty())


def player() -> None:
    """Run the command `playout-player` from its first import on."""
    run("playout.players.client.player_command")


def tournament() -> None:
    """Run the command `playout-tournament` from its first import on."""
    needs = sys.argv[1:2] == ["run"] and not any(each.startswith("--server") for each in sys.argv)
    run("playout.server.organizer.tournament_command", needs_server=needs)


def training() -> None:
    """Run the command `playout-train` from its first import on."""
    run("playout.players.training.training_command")


def engine() -> None:
    """Run the command `playout-engine` from its first import on."""
    run("playout.players.engines.engine_command")


def competition() -> None:
    """Run the command `playout-competition` from its first import on."""
    run("playout.competition.competition_command")


def submit() -> None:
    """Run the command `playout-submit` from its first import on."""
    run("playout.competition.submit_command")


def laboratory() -> None:
    """Run the command `playout-lab` from its first import on."""
    needs = sys.argv[1:2] in (["test"], ["confirm"])
    run("playout.laboratory.laboratory_command", needs_server=needs, prog_name="playout-lab")


def agents() -> None:
    """Run the command `playout-agents` from its first import on."""
    run("playout.agents.agents_command")


def bridge() -> None:
    """Run the command `playout-bridge` from its first import on."""
    run("playout.bridges.bridge_command")


def run(
    module: str, *, says_loading: bool = True, needs_server: bool = False, **options: str
) -> None:
    """Import a module and call its `main`, with the arguments of this process, and `options`.

    With `says_loading`, lines on standard error say that it is loading. If the command will start
    a server, which `needs_server` tells, that is imported at the same time.
    """
    interrupts.install()
    if needs_server and "--help" not in sys.argv:
        prepare(SERVER)
    name = options.get("prog_name") or os.path.basename(sys.argv[0])
    loading = partial(doing, f"Loading {name}") if says_loading else contextlib.nullcontext
    with loading(), importing():
        cache = importlib.import_module("playout.games.core.compilation_cache")
    try:
        with loading(), importing():
            cache.announce_compilation(partial(doing, at_once=True))
            command = importlib.import_module(module)
        command.main(**options)
    except RuntimeError as error:
        if _NO_CACHE not in str(error):
            raise
        sys.exit(
            f"{name}: compiled functions cannot be kept in {cache.caches()}: make this folder "
            "writable, or name another one with the variable XDG_CACHE_HOME"
        )
