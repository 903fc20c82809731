"""The storage process: a program that a server starts, and talks to over standard input.

A process and not a thread: Python runs one thread at a time, and one that binds the values of rows
takes turns from the thread that plays matches. It exits when the server does, even if that is
killed, after storing what it was sent.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time

from sqlalchemy.exc import SQLAlchemyError

from playout.server.model.records import Account
from playout.server.storage.database import Database
from playout.server.storage.engine import InUse, StorageError, first_line
from playout.server.storage.ipc import (
    CHECK,
    LENGTH,
    AccountChanged,
    DatabaseReady,
    DatabaseUnusable,
    NumberedRecord,
    OpenDatabase,
    RecordRejected,
    RecordsStored,
    Report,
    StorageChecked,
    StorageFailed,
    decode_open_database,
    decode_records,
    encode,
    framed,
)
from playout.server.storage.writer import POLL_S, Writer

#: Seconds to wait for the storage process of a killed server to release the database.
_PATIENCE_S = 5.0
#: Seconds that a database may take to answer after the server has exited.
_LAST_S = 3.0
#: Seconds that the first records of a transaction wait for others, if the last had `_MANY`: a
#: single move is announced in 0.7 instead of 2 ms, and under load a third more are.
_GATHER_S = 0.001
_MANY = 8
_READ_BYTES = 2**20


def main() -> None:
    """Store records until the server exits."""
    # A service manager sends these to all processes of a service; this one ends with the server.
    for request in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.SIG_IGN)
    with socket.socket(fileno=0) as connection:
        server, inbox = _Server(connection), _Inbox(connection)
        order = decode_open_database(inbox.first())
        try:
            database = _opened(order)
            revision = database.accounts()[1] if order.revision is None else order.revision
        except (StorageError, SQLAlchemyError) as fault:
            server.send(DatabaseUnusable(first_line(fault)))
            return
        writer = Writer(database, server, revision)
        server.send(DatabaseReady(revision, database.file))
        writer.check()
        threading.Thread(target=_exit_after, args=(connection,), daemon=True).start()
        many = False
        while (records := inbox.records(POLL_S, _GATHER_S if many else 0.0)) is not None:
            many = len(records) >= _MANY
            if records:
                writer.write(records)
            if inbox.asks_for_check():
                writer.check()
            writer.poll_accounts()


class _Server:
    """Sends reports to the server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, report: Report) -> None:
        with contextlib.suppress(OSError):  # it may have exited; what it sent is stored
            self._connection.sendall(framed(encode(report)))

    def stored(self, number: int, records: int, seconds: float) -> None:
        self.send(RecordsStored(number, records, seconds))

    def rejected(self, number: int, reason: str) -> None:
        self.send(RecordRejected(number, reason))

    def failed(self, reason: str) -> None:
        self.send(StorageFailed(reason))

    def checked(self, fault: str | None) -> None:
        self.send(StorageChecked(fault))

    def account_changed(self, account: Account, revision: int) -> None:
        self.send(AccountChanged(account, revision))


class _Inbox:
    """Receives frames from the server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = bytearray()
        self._asks_for_check = False

    def first(self) -> bytes:
        """Return the first frame; empty if the server exited before it had sent all of it."""
        while (frame := self._frame()) is None:
            if not self._read():
                return b""
        return frame

    def records(self, seconds: float, gather_s: float) -> list[NumberedRecord] | None:
        """Wait for records, and return all that have come; None when the server has exited.

        The list is empty if none came within `seconds`, or only a request for a check. Before it
        reads, it waits for another `gather_s` seconds, in which more records may come.
        """
        if not self._unread:
            if not select.select([self._connection], [], [], seconds)[0]:
                return []
            if gather_s:
                time.sleep(gather_s)
            if not self._read():
                return None
        found: list[NumberedRecord] = []
        while (frame := self._frame()) is not None:
            if frame == CHECK:
                self._asks_for_check = True
            else:
                found += decode_records(frame)
        nothing = not found and not self._asks_for_check
        if nothing and not self._read():  # a server may be killed while it sends
            return None
        return found

    def asks_for_check(self) -> bool:
        """Whether the server has asked for a check since the last call."""
        asked, self._asks_for_check = self._asks_for_check, False
        return asked

    def _read(self) -> bool:
        """Wait for bytes and read them; return False at the end."""
        try:
            data = self._connection.recv(_READ_BYTES)
        except ConnectionError:
            return False
        self._unread += data
        return bool(data)

    def _frame(self) -> bytes | None:
        """Return the next frame if it is complete."""
        if len(self._unread) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._unread)[0]
        if len(self._unread) < end:
            return None
        frame = bytes(self._unread[LENGTH.size : end])
        del self._unread[:end]
        return frame


def _exit_after(connection: socket.socket) -> None:
    """Exit after the server does, even if the database does not answer. Runs in a thread."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    poll.poll()
    time.sleep(_LAST_S)
    os._exit(1)


def _opened(order: OpenDatabase) -> Database:
    """Lock a database, when an earlier server has released it, and upgrade it.

    Raises StorageError.
    """
    database, until = Database(order.url), time.monotonic() + _PATIENCE_S
    database.file = order.file
    database.check_file()  # before it creates another one
    while True:
        try:
            database.lock()
        except InUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            database.migrate()  # not before it is locked: another server may use it as it is
            return database


if __name__ == "__main__":
    main()
