"""Child processes: start, messages, output and end.

A `Program` starts as a `Child`, in a process group of its own, which ends with it. A child ends
with this process, even if this process is killed. Its exit is a descriptor (a pidfd on Linux), for
which an event loop (`when_exited`) or a thread (`wait`) waits without polling.

A child that `talks` gets and sends messages, each a line of JSON, over a socket that is its
standard input: it uses `playout.commands.subprocesses.Parent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
from twisted.internet.abstract import FileDescriptor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from playout.commands import prepared
from playout.commands.restarts import Restarts
from playout.commands.subprocesses import (
    LONGEST_LINE,
    TOO_LONG,
    JsonLines,
    begin,
    decoded,
    is_ready,
    own,
)

T = TypeVar("T")

#: The bytes at the end of an output that are read for its last lines, and the lines that are kept.
_TAIL_BYTES, _TAIL_LINES = 4000, 50

#: Seconds in which a process exits that has closed its input.
_EXIT_S = 2.0


@dataclass(frozen=True)
class Program:
    """A command with its folder, that of this process by default, and its environment.

    `death` is the signal that it gets when this process exits. Processes with a lower `niceness`
    run first, as the server should before players. A `secret` is the line on its standard input.
    `begins`: whether the command calls `subprocesses.begin` itself, as those of `own` do.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: Path | None = None
    death: signal.Signals = signal.SIGKILL
    niceness: int = 0
    secret: str | None = None
    begins: bool = False

    @classmethod
    def own(
        cls,
        call: str,
        *arguments: str,
        environment: Mapping[str, str],
        niceness: int,
        secret: str | None = None,
    ) -> Program:
        """Return a command of Playout, `module:function`, which calls `begin` itself.

        Other programs start as a copy of this process, which stops a server for 13 ms.
        """
        first = f"begin({os.getpid()}, {signal.SIGKILL:d}, {niceness})"
        first = f"from playout.commands.subprocesses import begin; {first}; "
        words = own(call, *arguments, first=first)
        return cls(words, environment, niceness=niceness, secret=secret, begins=True)

    def start(
        self,
        log: Path | IO[bytes] | None = None,
        *,
        output: IO[bytes] | None = None,
        talks: bool = False,
    ) -> Child:
        """Start it. Raises OSError.

        Its output and its errors are appended to `log`, by default to a temporary file; with
        `output`, only its errors are.

        Call it in a thread that lasts: on Linux, the process gets `death` when the thread ends.
        """
        file = log.open("ab+") if isinstance(log, Path) else log
        file = file or tempfile.TemporaryFile()  # noqa: SIM115 - until the process has exited
        kept = file if file is not log else None
        if not (talks or output) and (child := self._prepared(file, kept)):
            return child
        ours, its = _standard_input(self.secret, talks=talks)
        first = functools.partial(begin, os.getpid(), self.death, self.niceness)
        try:
            process = subprocess.Popen(
                self.words,
                stdin=its.fileno() if its else subprocess.DEVNULL,
                stdout=output or file,
                stderr=file,
                cwd=self.folder,
                env=self.environment,
                process_group=0,
                # It takes no lock that another thread could hold at this moment.
                preexec_fn=None if self.begins else first,  # noqa: PLW1509
            )
            return Child(process, kept, ours)
        except OSError:
            if kept:
                kept.close()
            if ours:
                ours.close()
            raise
        finally:
            if its:
                its.close()

    def _prepared(self, log: IO[bytes], kept: IO[bytes] | None) -> Child | None:
        """Return a prepared process that begins as this command; None if there is none."""
        found = prepared.taken(
            self.words, self.environment, self.folder, log.fileno(), self.death, self.niceness
        )
        if found is None:
            return None
        process, connection = found
        with connection:
            if self.secret is not None:
                connection.sendall(f"{self.secret}\n".encode())
        return Child(process, kept)


def _standard_input(
    secret: str | None, *, talks: bool
) -> tuple[socket.socket | None, socket.socket | None]:
    """Return our end and the end of a process of its standard input; None is an empty input.

    Other processes of the user can read the arguments and the environment of a process. They cannot
    open its input under `/proc`, as it is a socket, and a secret line is gone when it was read.
    """
    if secret is None and not talks:
        return None, None
    ours, its = socket.socketpair()
    if secret is not None:
        ours.sendall(f"{secret}\n".encode())
    if talks:
        return ours, its
    ours.close()
    return None, its


class Child:
    """A started process.

    One thread uses it; `send` may be called in any thread. When it has exited, the processes that
    it has started and that are still in its process group are killed.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: IO[bytes] | None = None,
        connection: socket.socket | None = None,
    ) -> None:
        """`output` is the file with its output; `connection` is the socket for its messages."""
        self._process = process
        self._output = output
        self._tail: list[str] = []
        self._lines = JsonLines(connection) if connection else None
        #: The reason for which it was killed.
        self._fault = ""
        self._exit_descriptor = _exit_descriptor(process)
        #: Set by `when_exited` and `listen`, until they are over.
        self._exit_reader: _ExitReader | None = None
        self._channel: _Channel | None = None
        self._when_exited: Callable[[], object] | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, the negative number of a signal that has ended it; None while it runs."""
        return self.wait(0.0)

    def wait(self, seconds: float = math.inf) -> int | None:
        """Wait for its exit, and return the exit code; None if it still runs after some seconds."""
        if self._exit_descriptor >= 0:
            if not is_ready(self._exit_descriptor, seconds):
                return None
            self._end()
            self._when_exited = None
        return self._process.returncode

    def _end(self) -> None:
        """Record the exit of the process."""
        self.send(signal.SIGKILL)  # to the rest of its group, before its number is free
        self._process.wait()
        if self._exit_reader:
            self._exit_reader.stopReading()  # type: ignore[no-untyped-call]
            self._exit_reader = None
        os.close(self._exit_descriptor)
        self._exit_descriptor = -1
        if self._output:
            with self._output as output:
                self._tail = last_lines(output, _TAIL_LINES)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it and to the processes that it has started."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def how_it_ended(self) -> str:
        """Return in words how it has exited."""
        code = self.wait()
        assert code is not None
        if self._fault:
            return f"was ended: {self._fault}"
        if code < 0:
            return f"was ended by a signal ({signal.strsignal(-code) or -code})"
        return f"has ended with exit code {code}"

    def tail(self, number: int) -> list[str]:
        """Return up to `number` of the last lines of its output."""
        if self._output and not self._output.closed:
            return last_lines(self._output, number)
        return self._tail[-number:]

    def why(self) -> str:
        """Return in words how it has exited, with the last line of its output."""
        return ": ".join([self.how_it_ended(), *self.tail(1)])

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped it, so that it does nothing until it is continued."""
        try:
            found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return found is not None

    # In an event loop of Twisted.

    def when_exited(self, reactor: Any, call: Callable[[], object]) -> None:
        """Call a function in the event loop when it has exited and its messages were received.

        The function is not called if `wait` or `stop` notices the exit before.
        """
        self._when_exited = call
        self._exit_reader = _ExitReader(reactor, self._exit_descriptor, self._noticed)

    def _noticed(self) -> None:
        self._end()
        self._tell()

    def _tell(self) -> None:
        if self._when_exited and self._process.returncode is not None and not self._channel:
            call, self._when_exited = self._when_exited, None
            call()

    def exit_within(self, reactor: Any, seconds: float) -> Deferred[bool]:
        """Wait for its exit, and kill it after some seconds; return whether it exited before."""
        exited: Deferred[bool] = Deferred()
        timer = reactor.callLater(seconds, self.send, signal.SIGKILL)

        def note() -> None:
            in_time = timer.active()
            if in_time:
                timer.cancel()
            exited.callback(in_time)

        self.when_exited(reactor, note)
        return exited

    def listen(self, reactor: Any, kind: type[T], received: Callable[[T], object]) -> None:
        """Call a function in the event loop with each message, of type `kind`.

        If the process writes anything else, or closes its input, it is killed.
        """

        def closed(fault: str) -> None:
            self._channel, self._fault = None, fault
            reactor.callLater(0.0 if fault else _EXIT_S, self.send, signal.SIGKILL)
            self._tell()

        channel = self._channel = _Channel(kind, received, closed)
        assert self._lines
        with self._lines.connection as connection:
            connection.setblocking(False)
            factory = Factory.forProtocol(lambda: channel)
            reactor.adoptStreamConnection(connection.fileno(), socket.AF_UNIX, factory)
        self._lines = None

    # In an event loop of asyncio.

    async def exited(self) -> None:
        """Wait for its exit, without a limit."""
        if self.code is None:
            loop, noticed = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self._exit_descriptor, noticed.set)
            try:
                await noticed.wait()
            finally:
                loop.remove_reader(self._exit_descriptor)

    # Messages.

    def say(self, message: object) -> None:
        """Send a message, unless it has exited."""
        if self._channel:
            self._channel.sendLine(msgspec.json.encode(message))  # type: ignore[no-untyped-call]
        elif self._lines:
            with contextlib.suppress(OSError):
                self._lines.say(message)

    def reply(self, kind: type[T], seconds: float = math.inf) -> T | None:
        """Wait for a message, of type `kind`; return None if there is none within some seconds.

        Raises EOFError when the process has exited. It is killed if it writes anything else. Only
        without `listen`.
        """
        assert self._lines
        try:
            return self._lines.receive(kind, seconds)
        except (ValueError, EOFError) as error:
            self._fault = str(error)
            self.close()
            if not self._fault:
                self.wait(_EXIT_S)
            self.send(signal.SIGKILL)
            raise EOFError from error

    def close(self) -> None:
        """Close the connection for its messages, after which most programs exit."""
        if self._lines:
            self._lines.close()


class _ExitReader(FileDescriptor):
    """Calls a function in the event loop when a process has exited."""

    def __init__(self, reactor: Any, descriptor: int, call: Callable[[], None]) -> None:
        super().__init__(reactor)
        self._descriptor = descriptor
        self._call = call
        self.startReading()  # type: ignore[no-untyped-call]

    def fileno(self) -> int:
        return self._descriptor

    def doRead(self) -> None:
        self._call()


class _Channel(LineOnlyReceiver):
    """The connection to a process, in the event loop."""

    delimiter = b"\n"
    MAX_LENGTH = LONGEST_LINE

    def __init__(
        self, kind: type[T], received: Callable[[T], object], closed: Callable[[str], None]
    ) -> None:
        """`closed` gets the fault of the process, if it has one."""
        self._kind = kind
        self._received = received
        self._closed = closed
        self._fault = ""

    def lineReceived(self, line: bytes) -> None:
        try:
            message = decoded(line, self._kind)
        except ValueError as error:
            self._reject(str(error))
        else:
            self._received(message)

    def lineLengthExceeded(self, line: bytes) -> None:
        self._reject(TOO_LONG)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._closed(self._fault)

    def _reject(self, fault: str) -> None:
        self._fault = fault
        self.transport.loseConnection()  # type: ignore[misc,union-attr]


def _exit_descriptor(process: subprocess.Popen[bytes]) -> int:
    """Return a descriptor that can be read when a process has exited."""
    if hasattr(os, "pidfd_open"):
        try:
            return os.pidfd_open(process.pid)
        except OSError:  # too many files are open
            process.kill()
            process.wait()
            raise
    reading, writing = os.pipe()

    def wait() -> None:
        process.wait()
        os.write(writing, b"\0")
        os.close(writing)

    threading.Thread(target=wait, daemon=True).start()
    return reading


class KeptChild:
    """A child that is started again, after growing pauses, when it has exited."""

    def __init__(self, start: Callable[[], Child], restarts: Restarts) -> None:
        """`start` starts it. Raises OSError."""
        self._start = start
        self.restarts = restarts
        #: The child that was started last, and whether it runs, as far as `poll` knows.
        self.child: Child | None = None
        self.runs = False

    def poll(self, now: float, *, counts: bool = True) -> str | None:
        """Start it if that is due. Return in words how it has exited, if that is new.

        An exit that does not count makes the pause no longer, and never exhausts `restarts`.
        """
        if self.runs and self.child:
            if self.child.code is None:
                return None
            how = self.child.how_it_ended()
        elif not self.restarts.is_due(now):
            return None
        else:
            try:
                self.child, self.runs = self._start(), True
                return None
            except OSError as error:
                how = f"cannot be started: {error}"
        self.runs = False
        self.restarts.failed(now, counts=counts)
        return how

    def stop(self, patience_s: float) -> None:
        """End it by SIGTERM, and after some seconds by SIGKILL."""
        if self.runs and self.child:
            stop([self.child], patience_s)
        self.runs = False


def stop(children: Iterable[Child], patience_s: float) -> None:
    """End children: by SIGTERM, and after `patience_s` seconds by SIGKILL."""
    all_ = list(children)
    for each in all_:
        each.send(signal.SIGTERM)
    until = time.monotonic() + patience_s
    for each in all_:
        each.wait(max(0.0, until - time.monotonic()))
    for each in all_:
        each.send(signal.SIGKILL)
        each.wait()
        each.close()


def last_lines(file: IO[bytes], number: int) -> list[str]:
    """Return up to `number` of the last lines of a process's output."""
    descriptor = file.fileno()  # whose position a running process has, too: it stays
    begin_at = max(0, os.fstat(descriptor).st_size - _TAIL_BYTES)
    found = os.pread(descriptor, _TAIL_BYTES, begin_at)
    return found.decode(errors="replace").splitlines()[-number:]


#: Seconds for which the output of processes is kept.
_LOGS_KEPT_S = 30 * 86_400


class LogFolder:
    """A folder for the output of processes, which is kept if it is `wanted`.

    It is in the folder `parent`, where those that were kept are deleted after 30 days, or in that
    of temporary files.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self.wanted = False
        self._parent = parent

    @functools.cached_property
    def folder(self) -> Path:
        """The path of the folder, which is created when it is first used."""
        prefix = "playout-tournament-"
        if self._parent:
            with contextlib.suppress(OSError):
                self._parent.mkdir(mode=0o700, exist_ok=True)
                for each in self._parent.glob(f"{prefix}*"):
                    if each.stat().st_mtime < time.time() - _LOGS_KEPT_S:
                        shutil.rmtree(each, ignore_errors=True)
                return Path(tempfile.mkdtemp(prefix=prefix, dir=self._parent))
        return Path(tempfile.mkdtemp(prefix=prefix))

    def of(self, name: str) -> Path:
        """Return the path of a process's log; the folder is created again if it was deleted."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.log"

    def close(self) -> bool:
        """Delete the folder unless it is wanted; return whether it is kept."""
        used = "folder" in vars(self)
        if used and not self.wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._parent:
                with contextlib.suppress(OSError):  # it has others
                    self._parent.rmdir()
        return used and self.wanted
