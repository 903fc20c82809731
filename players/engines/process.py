"""The process of an engine: sends and reads lines with deadlines, and ends it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from msgspec import Struct
from platformdirs import user_log_path

from playout.commands.subprocesses import others_environment
from playout.commands.text import beginning
from playout.players.core.player import Cancelled, PlayerError
from playout.players.engines import guard
from playout.players.engines.config import EngineConfig, search_path

#: Digits in an answer that are no number of a protocol, and what is read instead: Python converts
#: at most 4,300 digits, and messages hold 64 bits.
_LONG_NUMBER, _LARGEST = re.compile(r"(?<![0-9.])[0-9]{19,}"), "9" * 18
#: Seconds in which an engine must read a command, and answer a command other than a move.
PING_S = 10.0
#: Seconds that an engine may take to exit after it was told to.
QUIT_S = 2.0
#: Seconds to wait for the exit of an engine that has closed a pipe, for the reason in the error.
EXIT_S = 2.0
#: Maximum number of bytes of an answer to one command, and of a log.
MAX_ANSWER = 16 * 2**20
MAX_LOG = 2**20
#: Longest time until a cancellation is noticed.
_NOTICE_S = 0.02
_CHUNK = 65536
_TAIL = 2000
#: The beginning of a line in the log about output that was not used, and the most such lines.
_UNUSED, _MOST_UNUSED = "[not used] ", 1000
#: Maximum number of characters of an engine's line in an error, and in the log.
_MOST_QUOTED = 200
#: The most frequent reason why a program that has answered is not heard.
_BUFFERED = (
    "; if it has answered, its output is kept in a buffer: write each line at once, in C with "
    "fflush(stdout)"
)
#: Maximum number of characters of a command in an error.
_MOST_SHOWN = 400
#: The address for engines that connect instead of using standard input and output.
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class EngineUsage:
    """Seconds of processor time of an engine, and the peak memory of its largest process in MiB."""

    cpu_s: float = 0.0
    memory_mb: int = 0

    def __add__(self, other: EngineUsage) -> EngineUsage:
        """Return the usage of two engines, one after the other."""
        return EngineUsage(self.cpu_s + other.cpu_s, max(self.memory_mb, other.memory_mb))


#: The usual end of a program that is started for a match.
MATCH_OVER = "the end of the match"


class MatchUse(Struct, frozen=True):
    """The resource usage of a program in a match, as in `EngineUsage`, and its seat.

    `end` is the reason of its end.
    """

    match: str
    seat: int
    cpu_s: float
    memory_mb: int
    end: str


class EngineError(PlayerError):
    """An engine can no longer be used, for the reason in the message; it must be started again.

    `what` is the reason without the name of the engine and its last command.
    """

    def __init__(self, text: str, what: str = "") -> None:
        super().__init__(text)
        self.what = what or text


class EngineProcess:
    """A started engine, which runs until `close`.

    All methods are called in one thread at a time. Lines are without their end.
    """

    def __init__(self, config: EngineConfig, cancelled: threading.Event) -> None:
        """Start the engine. While `cancelled` is set, `line` raises Cancelled.

        Raises EngineError if the engine cannot be started.
        """
        self._name = config.name
        self._cancelled = cancelled
        self._command = ""
        self._pending = bytearray()
        self._answered = 0
        #: The last line since the last command, and how many lines were not used.
        self._said, self._unused = "", 0
        #: What it has used, after its end.
        self.usage = EngineUsage()
        self._log, self._log_path = _open_log(config.name)
        self._control, control = socket.socketpair()
        words = [sys.executable, "-I", "-S", guard.__file__]
        numbers = map(str, (control.fileno(), self._log.fileno(), MAX_LOG))
        try:
            self._process = subprocess.Popen(
                [*words, *numbers, *config.words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                cwd=config.folder,
                env=others_environment() | {"PATH": search_path()},
                process_group=0,
                pass_fds=(control.fileno(), self._log.fileno()),
                bufsize=0,
            )
        except OSError as error:
            self._control.close()
            raise EngineError(f"the engine {self._name} cannot be started: {error}") from error
        finally:
            control.close()
        assert self._process.stdin
        assert self._process.stdout
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)

    @contextlib.contextmanager
    def not_cancelled(self) -> Iterator[None]:
        """Within the block `line` waits although `cancelled` is set."""
        cancelled, self._cancelled = self._cancelled, threading.Event()
        try:
            yield
        finally:
            self._cancelled = cancelled

    def send(self, line: str) -> None:
        """Write a command. Raises EngineError if the engine does not read it."""
        self._command, self._answered, self._said = line, 0, ""
        left, deadline = f"{line}\n".encode(), time.monotonic() + PING_S
        while left:
            try:
                left = left[os.write(self._input, left) :]
            except BlockingIOError:
                if not _ready(self._input, select.POLLOUT, deadline - time.monotonic()):
                    raise self.fault(f"does not read its input for {PING_S:g} seconds") from None
            except ConnectionError:
                raise self._death("has closed its input") from None

    def line(self, deadline: float) -> str:
        """Return the next line, before `deadline` as of `time.monotonic`.

        Raises EngineError, and Cancelled.
        """
        searched = 0
        while (end := self._pending.find(b"\n", searched)) < 0:
            searched = len(self._pending)
            self._pending += self._read(deadline)
        return self._taken(end)

    def _taken(self, end: int) -> str:
        """Return the pending line that ends there, and remove it."""
        text = self._pending[:end].decode(errors="replace").rstrip("\r")
        text = text.removeprefix("\ufeff")  # .NET begins its output with a byte order mark
        text = _LONG_NUMBER.sub(_LARGEST, text)
        del self._pending[: end + 1]
        self._said = text if text.strip() else self._said
        return text

    def discard(self) -> list[str]:
        """Drop the lines that the engine has already written, and return them.

        They answer no further command.
        """
        lines = []
        while _ready(self._output, select.POLLIN, 0.0):
            try:
                chunk = os.read(self._output, _CHUNK)
            except OSError:
                break
            if not chunk:  # the next `line` reports the end
                break
            self._pending += chunk
            if len(self._pending) > MAX_ANSWER:
                raise self.fault(f"has written more than {MAX_ANSWER // 2**20} MB of its own")
        while (end := self._pending.find(b"\n")) >= 0:
            lines.append(self._taken(end))
            self.unused(lines[-1])
        return lines

    def unused(self, line: str) -> None:
        """Log a line that is no answer, such as a second move of one search."""
        self._unused += 1
        if line.strip() and self._unused <= _MOST_UNUSED:
            with contextlib.suppress(OSError, ValueError):
                self._log.write(f"{_UNUSED}{_printable(line)}\n".encode())
                self._log.flush()

    def can_be_read(self, deadline: float) -> bool:
        """Wait for output until `deadline`; return whether there is some. Raises Cancelled."""
        while not self._pending and (left_s := deadline - time.monotonic()) > 0:
            if self._cancelled.is_set():
                raise Cancelled
            if _ready(self._output, select.POLLIN, min(_NOTICE_S, left_s)):
                return True
        return bool(self._pending)

    @property
    def command(self) -> str:
        """The last command that was sent."""
        return self._command

    def fault(self, what: str) -> EngineError:
        """Return an error with the engine's name, its fault, and its last command."""
        command = self._command.rstrip()
        if len(command) > _MOST_SHOWN:
            command = f"{command[:_MOST_SHOWN]} ..."
        after = f", given {command!r}" if command else ""
        words = self._last_words()
        return EngineError(f"the engine {self._name} {what}{after}{words}", f"{what}{words}")

    def close(self, farewell: str = "", *, is_leaving: bool = False) -> None:
        """Send a last command, and end the engine with all processes that it has started.

        The engine has `QUIT_S` to exit after the command, or if it is leaving without one.
        """
        if self._control.fileno() < 0:
            return
        with contextlib.suppress(EngineError, subprocess.TimeoutExpired):
            if farewell and self._process.poll() is None:
                self.send(farewell)
            if farewell or is_leaving:
                self._process.wait(QUIT_S)
        self._end()

    def _end(self) -> None:
        with self._control, contextlib.suppress(OSError, ValueError):
            self._control.settimeout(PING_S)
            self._control.shutdown(socket.SHUT_WR)  # the guard kills the engine, unless it exited
            cpu_s, kilobytes = self._control.recv(_CHUNK).split()
            self.usage = EngineUsage(float(cpu_s), int(kilobytes) // 1024)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PING_S)
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream:
                stream.close()

    def _read(self, deadline: float) -> bytes:
        """Wait for more output, and return it."""
        while not self._readable(self._output, deadline, "has not answered in time"):
            pass
        chunk = b""
        with contextlib.suppress(ConnectionError):
            chunk = os.read(self._output, _CHUNK)
        if not chunk:
            raise self._death("has closed its output")
        self._answered += len(chunk)
        if self._answered > MAX_ANSWER:
            raise self.fault(f"has written more than {MAX_ANSWER // 2**20} MB without an answer")
        return chunk

    def _readable(self, descriptor: int, deadline: float, late: str) -> bool:
        """Wait a moment until bytes can be read. Raises Cancelled, and EngineError if late."""
        if self._cancelled.is_set():
            raise Cancelled
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            came = self._what_came()
            fault = self.fault(f"{late}{came}")
            raise EngineError(f"{fault}{'' if came else _BUFFERED}", fault.what)
        return _ready(descriptor, select.POLLIN, min(_NOTICE_S, left_s))

    def _what_came(self) -> str:
        """Describe the engine's output since the last command; "" without output."""
        begun = self._pending[:_MOST_QUOTED].decode(errors="replace")
        if begun.strip():
            return f" (it has written '{_printable(begun)}', without the end of a line)"
        return f" (its last line was '{_printable(self._said)}')" if self._said else ""

    def _death(self, what: str) -> EngineError:
        """Return the error of an engine that has closed a pipe, usually because it has exited."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            what = _how_it_ended(self._process.wait(EXIT_S))
        return self.fault(what)

    def _last_words(self) -> str:
        """Return a sentence with the last line of the log, and its path."""
        with contextlib.suppress(OSError, ValueError):
            size = os.fstat(self._log.fileno()).st_size
            tail = os.pread(self._log.fileno(), _TAIL, max(0, size - _TAIL))
            lines = [each.strip() for each in tail.decode(errors="replace").split("\n")]
            errors = [each for each in lines if each and not each.startswith(_UNUSED.strip())]
            if errors:
                return f"; its last error, in {self._log_path}: {_printable(errors[-1])}"
        return ""


class ConnectingProcess(EngineProcess):
    """An engine that sends and reads its lines over a connection to a port of this machine.

    Its standard output is written to its log.
    """

    def __init__(
        self,
        config: EngineConfig,
        cancelled: threading.Event,
        placeholders: Mapping[str, str],
        deadline: float,
    ) -> None:
        """Start the engine, and wait until it has connected; then the port is closed.

        In its command, {host}, {port} and the names in `placeholders` in braces are replaced.
        Raises EngineError, and Cancelled.
        """
        self._connection: socket.socket | None = None
        with socket.create_server((_LOOPBACK, 0), backlog=1) as listener:
            port = str(listener.getsockname()[1])
            known = {**placeholders, "host": _LOOPBACK, "port": port}
            words = [_filled(word, known) for word in config.words]
            shell = ("sh", "-c", 'exec "$@" >&2', "sh")
            super().__init__(replace(config, command=(*shell, *words)), cancelled)
            try:
                self._connection = self._accepted(listener, deadline)
            except BaseException:
                self.close()
                raise
        self._connection.setblocking(False)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self._output = self._connection.fileno()

    def _accepted(self, listener: socket.socket, deadline: float) -> socket.socket:
        while not self._readable(listener.fileno(), deadline, "has not connected in time"):
            if self._process.poll() is not None:
                raise self._death("has not connected")
        return listener.accept()[0]

    def _end(self) -> None:
        super()._end()
        if self._connection:
            self._connection.close()


def _filled(word: str, known: Mapping[str, str]) -> str:
    """Replace the known names in braces."""
    for name, value in known.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _printable(line: str) -> str:
    """Return the beginning of a line, with its printable characters."""
    return beginning(line, _MOST_QUOTED)


def _ready(descriptor: int, event: int, seconds: float) -> bool:
    """Return whether a descriptor can be read or written within some seconds."""
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(max(0.0, seconds) * 1000))


def _how_it_ended(code: int) -> str:
    """Return in words how an engine has ended, by the exit code of the guard."""
    if code > 128:
        return f"was ended by a signal ({signal.strsignal(code - 128) or code - 128})"
    return f"has exited with code {code}"


def _open_log(name: str) -> tuple[IO[bytes], Path]:
    """Open a new log of an engine: the first file of its name without another writer."""
    folder = user_log_path("playout")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):
            path = folder / f"engine-{name}-{number}.log"
            file = path.open("a+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            file.truncate(0)
            return file, path
    return tempfile.TemporaryFile(), Path(os.devnull)
