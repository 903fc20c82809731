"""The entry points of the installed commands.

They handle Ctrl-C before they import the commands, which takes two to four seconds.
"""

from __future__ import annotations

import importlib

from server.runtime import interrupts


def server() -> None:
    """Run the command `playout-server` from its first import on."""
    run("server.main")


def player() -> None:
    """Run the command `playout-player` from its first import on."""
    run("players.client.main")


def tournament() -> None:
    """Run the command `playout-tournament` from its first import on."""
    run("server.organizer.main")


def training() -> None:
    """Run the command `playout-train` from its first import on."""
    run("players.training.main")


def engine() -> None:
    """Run the command `playout-engine` from its first import on."""
    run("bridges.engine.main")


def bridge() -> None:
    """Run the command `playout-bridge` from its first import on."""
    run("bridges.main")


def run(module: str, **options: str) -> None:
    """Import a module and call its `main`, with the arguments of this process, and `options`."""
    interrupts.install()
    importlib.import_module(module).main(**options)
