"""Common functions of Playout's processes: command lines, environments, the end of the parent.

`child` starts and ends processes. This module imports little, as each of them imports it first.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import gc
import math
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import TypeVar

import msgspec

T = TypeVar("T")

#: The niceness of players. With it, a move waits two thirds of a millisecond less for the server
#: while other players search.
PLAYER_NICENESS = 10
#: The niceness of work that may take only idle processor time.
LOWEST_NICENESS = 19
#: Without it, the library of numpy starts one idle thread for each core.
FEW_THREADS = {"OMP_NUM_THREADS": "1"}

#: The longest message in bytes, and the fault of a longer one.
LONGEST_LINE = 2**20
TOO_LONG = f"a line has more than {LONGEST_LINE} bytes"
#: Maximum number of bytes of a line that an error shows.
_SHOWN = 100
_CHUNK = 65536
_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def begin(parent: int, death: int, niceness: int) -> None:
    """Prepare a new process: set its niceness and, on Linux, end it with its parent."""
    with contextlib.suppress(PermissionError):  # a service manager may forbid it
        os.nice(niceness)
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, death, 0, 0, 0)
    if os.getppid() != parent:  # the parent exited before the call
        os.kill(os.getpid(), signal.SIGKILL)


def own(call: str, *arguments: str, first: str = "") -> list[str]:
    """Return the words of a command of Playout, `module:function` with arguments.

    With `own_environment` it runs the code of this process. `first` are statements before it.
    """
    module, _, function = call.partition(":")
    code = (
        f"import sys; {first}from playout.commands.subprocesses import importing\n"
        f"with importing(): from {module} import {function}\nsys.exit({function}())"
    )
    return [sys.executable, "-P", "-c", code, *arguments]


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import in the block without garbage collection, and exempt what was imported from later ones.

    Collections take a fifth of the time of a command's imports, and find nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def own_environment() -> dict[str, str]:
    """Return the environment for a command of Playout, without this process's own variables."""
    return others_environment() | {"PYTHONPATH": python_path()}


def script_fault(path: str | Path) -> str:
    """Return why Linux cannot run a script that was saved on Windows; "" for any other file."""
    first = b""
    with contextlib.suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                first = file.readline(_SHOWN)
    mark = codecs.BOM_UTF8
    if first.startswith(mark + b"#!"):
        return "begins with a byte order mark: save it as UTF-8 without one"
    if first.startswith(b"#!") and first.endswith(b"\r\n"):
        return "has the ends of lines of Windows: save it with those of Linux (LF)"
    return ""


def python_path() -> str:
    """Return the PYTHONPATH with which a process imports the same code as this one.

    It is the folder from which this process imports Playout, then the PYTHONPATH of this process.
    """
    root = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


def others_environment() -> dict[str, str]:
    """Return the environment for any other command, without tokens.

    It has the registered games, because the command may start a player.
    """
    from playout.games.core import plugins  # with numba: `prepared` uses this module before

    other = {key: value for key, value in os.environ.items() if not key.startswith("PLAYOUT_")}
    return other | plugins.environment()


class JsonLines:
    """Sends and receives messages over a socket, each a line of JSON.

    One thread receives; messages may be sent in any thread.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        #: The bytes that were received after the last complete line.
        self._received = b""

    def say(self, message: object) -> None:
        """Send a message. Raises OSError if the other process has exited."""
        self.connection.sendall(msgspec.json.encode(message) + b"\n")

    def receive(self, kind: type[T] | UnionType, seconds: float = math.inf) -> T | None:
        """Wait for a message, of type `kind`; return None if there is none within some seconds.

        Raises EOFError if the other process has exited, ValueError for anything else than a
        message.
        """
        until = time.monotonic() + seconds
        while not (end := self._received.find(b"\n") + 1):
            if not is_ready(self.connection.fileno(), until - time.monotonic()):
                return None
            more = b""
            with contextlib.suppress(ConnectionError):
                more = self.connection.recv(_CHUNK)
            if not more:
                raise EOFError
            self._received += more
            if len(self._received) > LONGEST_LINE:
                raise ValueError(TOO_LONG)
        line, self._received = self._received[:end], self._received[end:]
        return decoded(line, kind)

    def close(self) -> None:
        """Close the socket: nothing more is sent or received."""
        self.connection.close()


class Parent(JsonLines):
    """The parent process of a child that `talks`; the socket is the standard input."""

    def __init__(self) -> None:
        super().__init__(socket.socket(fileno=sys.stdin.fileno()))

    def order(self, kind: type[T], seconds: float = math.inf) -> T | None:
        """Like `receive`, but exit if the parent has exited: there is nobody to tell."""
        try:
            return self.receive(kind, seconds)
        except EOFError:
            sys.exit(0)


def only_order(kind: type[T]) -> T:
    """Return the line on the standard input of a child that does not talk; see `Program.secret`.

    It exits if the parent exited before it had sent all of the line.
    """
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        sys.exit(0)
    return decoded(line, kind)


def decoded(line: bytes, kind: type[T] | UnionType) -> T:
    """Return the message of a line. Raises ValueError, with the line in the text."""
    try:
        message: T = msgspec.json.decode(line, type=kind)
    except (ValueError, RecursionError) as error:
        text = line[:_SHOWN].decode(errors="replace").rstrip()
        raise ValueError(f"a line is no message ({error}): {text!r}") from error
    return message


def is_ready(descriptor: int, seconds: float = math.inf) -> bool:
    """Wait until a descriptor can be read; return whether it can be within some seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds == math.inf else max(0, math.ceil(1000 * seconds))))
