"""Processes of Playout that do their imports before their arguments are known.

The imports of a command take a second of a core. A command that will start another one prepares it
before its own imports, so that both are done at the same time on two cores. `Program.start` takes
such a process instead of a new one. It exits when this process does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from playout.commands.subprocesses import begin, own, python_path

#: The server, and a player.
SERVER = "playout.server.server_command:main"
PLAYER = "playout.players.client.player_command:main"

#: The prepared processes, each with the socket that is its standard input; by the id of this
#: process, as a copy of it has none, and the words of their command without arguments.
_waiting: dict[tuple[object, ...], list[tuple[subprocess.Popen[bytes], socket.socket]]]
_waiting = defaultdict(list)


def prepare(call: str, number: int = 1) -> None:
    """Start processes that import a command of `own`, `module:function`, and then wait."""
    module, _, function = call.partition(":")
    # The error of an import is for the log, which it has only after it has waited.
    code = (
        "import sys\nfrom playout.commands.prepared import wait\n"
        "from playout.commands.subprocesses import importing\n"
        "try:\n"
        f" with importing(): from {module} import {function}\n"
        f"finally: wait()\nsys.exit({function}())"
    )
    shared = {key: each for key, each in os.environ.items() if not key.startswith("PLAYOUT_")}
    for _ in range(number):
        ours, its = socket.socketpair()
        with its:
            process = subprocess.Popen(
                [*own(call)[:-1], code],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=shared | {"PYTHONPATH": python_path()},
                process_group=0,
                preexec_fn=partial(begin, os.getpid(), signal.SIGKILL, 0),  # noqa: PLW1509
            )
        _waiting[os.getpid(), *own(call)].append((process, ours))


def taken(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None,
    log: int,
    death: signal.Signals,
    niceness: int,
) -> tuple[subprocess.Popen[bytes], socket.socket] | None:
    """Let a prepared process begin as the command with these words; None without one.

    Returns it with the socket that is its standard input. `log` is the descriptor for its output.
    """
    length = len(own(PLAYER))
    waiting = _waiting.get((os.getpid(), *words[:length]))
    while waiting:
        process, connection = waiting.pop()
        order = {
            "arguments": list(words[length:]),
            "environment": dict(environment),
            "folder": str(folder or Path.cwd()),
            "begin": (os.getpid(), death, niceness),
        }
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(order).encode())
            file.seek(0)
            try:
                socket.send_fds(connection, [b"."], [log, file.fileno()])
            except OSError:  # it was killed
                connection.close()
                process.wait()
                continue
        return process, connection
    return None


def wait() -> None:
    """Wait in a prepared process until it is told to begin; exit if it is not needed."""
    connection = socket.socket(fileno=sys.stdin.fileno())
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
    connection.detach()
    if not descriptors:  # the other process has exited
        os._exit(0)
    log, file = descriptors
    for standard in (1, 2):
        os.dup2(log, standard)
    os.close(log)
    with open(file, "rb") as text:
        order = json.load(text)
    begin(*order["begin"])
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv[1:] = order["arguments"]
