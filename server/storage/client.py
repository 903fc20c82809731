"""The server's side of storing: gives records to a process of its own, hears when they are safe."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections import deque
from typing import Any, Protocol

from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from server.model.records import Account, Record
from server.runtime.restarts import BackOff, Restarts
from server.runtime.scheduler import LoopScheduler
from server.runtime.subprocesses import python_path
from server.storage.database import StorageError
from server.storage.ipc import (
    LENGTH,
    AccountChanged,
    DatabaseReady,
    DatabaseUnusable,
    OpenDatabase,
    RecordsStored,
    Report,
    StorageFailed,
    decode_report,
    encode,
    encode_records,
    framed,
)

#: When a process that exited is followed by another: moves wait for it.
_BACK_OFF = BackOff(first_s=0.25, longest_s=2.0)
_GONE = "the process that stores has ended"


class StorageListener(Protocol):
    """Who is told what has become of records."""

    def stored(self, number: int, records: int, seconds: float) -> None:
        """All records up to that number are stored; the last transaction took so long."""

    def failed(self, reason: str) -> None:
        """Nothing can be stored; it is tried again and again."""

    def recovered(self) -> None:
        """Records can be stored again, though none has been yet."""

    def account_changed(self, account: Account) -> None:
        """An operator has changed an account."""


class StorageClient:
    """Has records stored in their order, each of them at some time, whatever dies meanwhile."""

    def __init__(self, url: str, reactor: Any, turn: LoopScheduler) -> None:
        self._url = url
        self._reactor = reactor
        self._turn = turn
        self._listener: StorageListener | None = None
        self._revision: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._speaking: _Line | None = None
        self._closing = False
        self._restarts = Restarts(_BACK_OFF)
        #: What it means when the line to the process ends.
        self._why = _GONE
        self._unsent: list[tuple[int, Record]] = []
        self._unstored: deque[tuple[int, Record]] = deque()

    def start(self) -> None:
        """Start the process; `wait` for it."""
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "server.storage.worker"],
                stdin=its.fileno(),
                process_group=0,  # what a terminal sends to its group is for the server to hear
                env=os.environ | {"PYTHONPATH": python_path()},
            )
        ours.sendall(framed(encode(OpenDatabase(self._url, self._revision))))
        self._line = ours

    def wait(self) -> None:
        """Until the database is open, up to date and nobody else's. Raises StorageError."""
        match self._hear():
            case DatabaseReady(revision):
                self._revision = revision
            case DatabaseUnusable(reason):
                raise StorageError(reason)
            case _:
                raise StorageError(_GONE)

    def go_on(self, listener: StorageListener) -> None:
        """From now on in the reactor's loop, in which the listener is told."""
        self._listener = listener
        assert self._line is not None
        self._line.setblocking(False)
        self._reactor.adoptStreamConnection(
            self._line.fileno(), socket.AF_UNIX, Factory.forProtocol(lambda: _Line(self))
        )

    def put(self, number: int, record: Record) -> None:
        """Store a record, after those before it. Returns at once."""
        if not self._unsent:
            self._turn.end_of_iteration(self._send)
        self._unsent.append((number, record))
        self._unstored.append((number, record))

    def cease(self) -> None:
        """The reactor is about to stop: no process follows this one until `close`."""
        self._closing = True

    def close(self, patience_s: float) -> bool:
        """When the reactor has stopped: store what is left; False if that was not done in time."""
        self._closing = True
        until = time.monotonic() + patience_s
        self._end()
        while self._unstored and time.monotonic() < until:
            with contextlib.suppress(StorageError, OSError):
                self.start()
                self.wait()
                self._finish(until)
            self._end()
        return not self._unstored

    # What the process says.

    def connected(self, line: _Line) -> None:
        """It can be spoken to; the one before, if any, may not have stored what it was given."""
        self._speaking = line
        self._unsent = list(self._unstored)
        self._send()

    def disconnected(self) -> None:
        """It has ended, or the server has."""
        self._speaking = None
        if not self._closing and self._listener:
            self._listener.failed(self._why)
            wait_s = self._restarts.failed(self._reactor.seconds())
            self._reactor.callLater(wait_s, self._restart)

    def reported(self, report: Report) -> None:
        """What has become of records."""
        listener = self._listener
        assert listener is not None
        match report:
            case RecordsStored(number, records, seconds):
                self._forget(number)
                listener.stored(number, records, seconds)
            case StorageFailed(reason):
                listener.failed(reason)
            case DatabaseUnusable(reason):  # and it ends
                self._why = reason
            case DatabaseReady():
                self._why = _GONE
                self._restarts.succeeded()
                if not self._unstored:
                    listener.recovered()
            case AccountChanged(account, revision):
                self._revision = revision
                listener.account_changed(account)

    def _restart(self) -> None:
        if not self._closing and self._listener:
            self._end()
            try:
                self.start()
            except OSError as error:  # no memory, say; `start` may have begun one
                self._why = f"cannot start the process that stores: {error}"
                self.disconnected()
            else:
                self.go_on(self._listener)

    def _send(self) -> None:
        if self._speaking and self._unsent:
            self._speaking.sendString(encode_records(self._unsent))  # type: ignore[no-untyped-call]
            self._unsent = []

    def _forget(self, number: int) -> None:
        while self._unstored and self._unstored[0][0] <= number:
            self._unstored.popleft()

    # Without the reactor.

    def _finish(self, until: float) -> None:
        assert self._line is not None
        self._line.sendall(framed(encode_records(self._unstored)))
        while self._unstored:
            self._line.settimeout(max(0.01, until - time.monotonic()))
            match self._hear():
                case RecordsStored(number):
                    self._forget(number)
                case None:
                    return

    def _hear(self) -> Report | None:
        """What it says next; None if it has ended."""
        assert self._line is not None
        length = self._line.recv(LENGTH.size, socket.MSG_WAITALL)
        if len(length) < LENGTH.size:
            return None
        frame = self._line.recv(LENGTH.unpack(length)[0], socket.MSG_WAITALL)
        report: Report = decode_report(frame)
        return report

    def _end(self) -> None:
        """Let the process end, which it does when it has stored what it was given."""
        if self._line:
            self._line.close()
        if self._process:
            self._process.wait()
        self._line = self._process = None


class _Line(Int32StringReceiver):
    """To the process."""

    MAX_LENGTH = 2**20

    def __init__(self, keeper: StorageClient) -> None:
        self._keeper = keeper

    def connectionMade(self) -> None:
        self._keeper.connected(self)

    def stringReceived(self, frame: bytes) -> None:
        self._keeper.reported(decode_report(frame))

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._keeper.disconnected()
