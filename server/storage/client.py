"""The server's side of storage: sends records to the storage process, which confirms them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import own, python_path
from playout.server.model.records import Record
from playout.server.runtime.scheduler import LoopScheduler
from playout.server.storage.engine import FileIdentity, StorageError
from playout.server.storage.ipc import (
    CHECK,
    LENGTH,
    AccountChanged,
    DatabaseReady,
    DatabaseUnusable,
    OpenDatabase,
    RecordRejected,
    RecordsStored,
    Report,
    StorageChecked,
    StorageFailed,
    decode_report,
    encode,
    encode_records,
    framed,
)

#: The pause before an exited process is started again: moves wait for it.
_BACK_OFF = BackOff(first_s=0.25, longest_s=2.0)
_GONE = "the storage process exited"
#: Seconds between two requests for a check; the next one waits for the answer to the last.
CHECK_S = 1.0
#: The number of checks without any report after which the process counts as failed. A number, not
#: seconds: if the server itself was stopped for long, an answer may wait to be read.
SILENT_CHECKS = 10
_SILENT = "the storage process does not answer"


class RejectedRecord(Struct, frozen=True):
    """The database cannot hold a record: its match or tournament has ended in the database."""

    record: Record
    reason: str


class StorageWorks(Struct, frozen=True):
    """Records can be stored again, even if none was stored since."""


class DatabaseMeasured(Struct, frozen=True):
    """The size of the database in bytes was measured."""

    size: int


#: What a server hears of its storage.
StorageEvent = (
    RecordsStored
    | RejectedRecord
    | StorageFailed
    | StorageWorks
    | DatabaseMeasured
    | AccountChanged
)


class StorageClient:
    """Stores records in their order in a process, which it keeps running.

    Records that a process had not stored when it exited are sent to the next one.
    """

    def __init__(
        self,
        url: str,
        reactor: Any,
        scheduler: LoopScheduler,
        *,
        keep_analysis_s: float | None = None,
    ) -> None:
        """Nothing is started yet: call `start`, `wait` and `attach`, in this order.

        `keep_analysis_s`: seconds after which the analyses of ended matches are removed.
        """
        self._url = url
        self._keep_analysis_s = keep_analysis_s
        self._reactor = reactor
        self._scheduler = scheduler
        self._tell: Callable[[StorageEvent], None] | None = None
        #: The last revision of the accounts that the server knows.
        self._revision: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._connection: _Connection | None = None
        self._closing = False
        self._restarts = Restarts(_BACK_OFF)
        #: The identity of a SQLite file: the next process must find the same file.
        self._file: FileIdentity | None = None
        #: Whether the process has opened the database.
        self._ready = False
        #: Whether an answer to a request for a check is expected.
        self._checking = False
        #: The number of checks since the last report of the process.
        self._silent = 0
        #: The reason that is reported if the connection to the process closes.
        self._why = _GONE
        self._unsent: list[tuple[int, Record]] = []
        self._unstored: deque[tuple[int, Record]] = deque()

    def start(self) -> None:
        """Start the process, which opens the database: see `wait`. Raises OSError."""
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                own("playout.server.storage.storage_process:main"),
                stdin=its.fileno(),
                process_group=0,  # the server alone handles the signals of a terminal
                env=os.environ | {"PYTHONPATH": python_path()},
            )
        order = OpenDatabase(self._url, self._revision, self._file, self._keep_analysis_s)
        ours.sendall(framed(encode(order)))
        self._socket = ours

    def wait(self) -> None:
        """Wait until the database is open, locked and up to date. Raises StorageError."""
        match self._receive():
            case DatabaseReady(revision=revision, file=file):
                self._revision, self._file, self._ready = revision, file, True
            case DatabaseUnusable(reason=reason):
                raise StorageError(reason)
            case _:
                raise StorageError(_GONE)

    def attach(self, tell: Callable[[StorageEvent], None]) -> None:
        """Use the reactor's loop from now on; `tell` is called in it with each event."""
        if self._tell is None:
            self._reactor.callLater(CHECK_S, self._check)
        self._tell = tell
        assert self._socket is not None
        self._socket.setblocking(False)
        self._reactor.adoptStreamConnection(
            self._socket.fileno(), socket.AF_UNIX, Factory.forProtocol(lambda: _Connection(self))
        )

    def put(self, number: int, record: Record) -> None:
        """Store a record with its number, after those before it. Returns at once."""
        if not self._unsent:
            self._scheduler.end_of_iteration(self._send)
        self._unsent.append((number, record))
        self._unstored.append((number, record))

    def stop_restarting(self) -> None:
        """Start no further process until `close`: the reactor is about to stop."""
        self._closing = True

    def close(self, patience_s: float) -> bool:
        """Store the rest after the reactor has stopped, within at most `patience_s` seconds.

        Returns whether everything is stored.
        """
        self._closing = True
        until = time.monotonic() + patience_s
        self._end()
        while self._unstored and time.monotonic() < until:
            with contextlib.suppress(StorageError, OSError):
                self.start()
                self.wait()
                self._store_rest(until)
            self._end()
        return not self._unstored

    # Called by the connection to the process.

    def connected(self, connection: _Connection) -> None:
        """Send all records without confirmation: an earlier process may not have stored them."""
        self._connection = connection
        self._unsent = list(self._unstored)
        self._send()

    def disconnected(self) -> None:
        """Note that the process exited; start another unless the server is about to stop."""
        self._connection, self._ready, self._checking = None, False, False
        if not self._closing and self._tell:
            self._tell(StorageFailed(self._why))
            wait_s = self._restarts.failed(self._reactor.seconds())
            self._reactor.callLater(wait_s, self._restart)

    def received(self, report: Report) -> None:
        """Handle a report of the process."""
        tell = self._tell
        assert tell is not None
        self._silent = 0
        match report:
            case RecordsStored(number=number):
                self._forget(number)
                tell(report)
            case RecordRejected(number=number, reason=reason):
                for record in [each for place, each in self._unstored if place == number]:
                    tell(RejectedRecord(record, reason))
            case DatabaseUnusable(reason=reason):  # and it exits
                self._why = reason
            case StorageChecked(fault=fault, size=size):
                self._checking = False
                if size is not None:
                    tell(DatabaseMeasured(size))
                if fault:
                    tell(StorageFailed(fault))
                elif not self._unstored:
                    tell(StorageWorks())
            case DatabaseReady():
                self._why, self._ready = _GONE, True
                self._restarts.succeeded()
                if not self._unstored:
                    tell(StorageWorks())
            case AccountChanged(revision=revision):
                self._revision = revision
                tell(report)
            case StorageFailed():
                tell(report)

    def _check(self) -> None:
        """Ask the process regularly whether it can store, and report it if it is silent."""
        if self._closing or self._tell is None:
            return
        self._reactor.callLater(CHECK_S, self._check)
        if self._connection and self._ready:
            self._silent += 1
            if self._silent > SILENT_CHECKS:
                self._tell(StorageFailed(_SILENT))
            if not self._checking:
                self._checking = True
                self._connection.sendString(CHECK)  # type: ignore[no-untyped-call]

    def _restart(self) -> None:
        if not self._closing and self._tell:
            self._end()
            try:
                self.start()
            except OSError as error:  # no memory, for example
                self._why = f"cannot start the storage process: {error}"
                self.disconnected()
            else:
                self.attach(self._tell)

    def _send(self) -> None:
        if self._connection and self._unsent:
            frame = encode_records(self._unsent)
            self._connection.sendString(frame)  # type: ignore[no-untyped-call]
            self._unsent = []

    def _forget(self, number: int) -> None:
        while self._unstored and self._unstored[0][0] <= number:
            self._unstored.popleft()

    # Without the reactor.

    def _store_rest(self, until: float) -> None:
        assert self._socket is not None
        self._socket.sendall(framed(encode_records(self._unstored)))
        while self._unstored:
            self._socket.settimeout(max(0.01, until - time.monotonic()))
            match self._receive():
                case RecordsStored(number=number):
                    self._forget(number)
                case None:
                    return

    def _receive(self) -> Report | None:
        """Wait for the next report of the process; return None if it has exited."""
        assert self._socket is not None
        length = self._socket.recv(LENGTH.size, socket.MSG_WAITALL)
        if len(length) < LENGTH.size:
            return None
        frame = self._socket.recv(LENGTH.unpack(length)[0], socket.MSG_WAITALL)
        report: Report = decode_report(frame)
        return report

    def _end(self) -> None:
        """Close the connection, and wait until the process has stored everything and exits."""
        if self._socket:
            self._socket.close()
        if self._process:
            self._process.wait()
        self._socket = self._process = None


class _Connection(Int32StringReceiver):
    """The connection to the process, in the reactor's loop."""

    MAX_LENGTH = 2**20

    def __init__(self, client: StorageClient) -> None:
        self._client = client

    def connectionMade(self) -> None:
        self._client.connected(self)

    def stringReceived(self, frame: bytes) -> None:
        self._client.received(decode_report(frame))

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._client.disconnected()
