"""The process that stores: a program that a server starts, and talks to over standard input.

A process and not a thread: Python runs one thread at a time, and one that binds the values of rows
takes turns from the thread that plays matches. It ends when the server does, by whatever death,
after storing what it was given.
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

from server.model.records import Account, Record
from server.storage.database import Database, InUse, StorageError, first_line
from server.storage.ipc import (
    LENGTH,
    AccountChanged,
    DatabaseReady,
    DatabaseUnusable,
    OpenDatabase,
    RecordsStored,
    Report,
    StorageFailed,
    decode_records,
    decode_use,
    encode,
    framed,
)
from server.storage.writer import LOOK_S, Writer

#: How long the process of a server that was killed may take to let go of the database.
_PATIENCE_S = 5.0
#: How long it stays for a database that does not answer, once the server is gone.
_LAST_S = 3.0
#: How long the first records of a transaction wait for others, when the last had so many: a
#: single move is announced in 0.7 instead of 2 ms, and under load a third more are.
_GATHER_S = 0.001
_MANY = 8
_READ_BYTES = 2**20


def main() -> None:
    """Store until the server is gone."""
    # A service manager sends these to all processes of a service: the server says when.
    for request in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.SIG_IGN)
    with socket.socket(fileno=0) as line:
        server, inbox = _Server(line), _Inbox(line)
        use = decode_use(inbox.first())
        try:
            database = _opened(use)
            revision = database.accounts()[1] if use.revision is None else use.revision
        except (StorageError, SQLAlchemyError) as fault:
            server.say(DatabaseUnusable(first_line(fault)))
            return
        writer = Writer(database, server, revision)
        server.say(DatabaseReady(revision))
        threading.Thread(target=_end_after, args=(line,), daemon=True).start()
        many = False
        while (records := inbox.records(LOOK_S, _GATHER_S if many else 0.0)) is not None:
            many = len(records) >= _MANY
            if records:
                writer.write(records)
            writer.look_at_accounts()


class _Server:
    """Whom it is told."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def say(self, report: Report) -> None:
        with contextlib.suppress(OSError):  # it may be gone; what it said is stored
            self._line.sendall(framed(encode(report)))

    def stored(self, number: int, records: int, seconds: float) -> None:
        self.say(RecordsStored(number, records, seconds))

    def failed(self, reason: str) -> None:
        self.say(StorageFailed(reason))

    def account_changed(self, account: Account, revision: int) -> None:
        self.say(AccountChanged(account, revision))


class _Inbox:
    """What the server sends."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._unread = bytearray()

    def first(self) -> bytes:
        """The first frame; empty if the server died before it had sent that."""
        while (frame := self._frame()) is None:
            if not self._read():
                return b""
        return frame

    def records(self, seconds: float, gather_s: float) -> list[tuple[int, Record]] | None:
        """All that have come, a moment after the first of them; None at the end.

        None of them, if none has come within so many seconds.
        """
        if not self._unread:
            if not select.select([self._line], [], [], seconds)[0]:
                return []
            if gather_s:
                time.sleep(gather_s)
            if not self._read():
                return None
        found: list[tuple[int, Record]] = []
        while (frame := self._frame()) is not None:
            found += decode_records(frame)
        if not found and not self._read():  # a server may die while it speaks
            return None
        return found

    def _read(self) -> bool:
        """Wait for more; False at the end."""
        try:
            data = self._line.recv(_READ_BYTES)
        except ConnectionError:
            return False
        self._unread += data
        return bool(data)

    def _frame(self) -> bytes | None:
        """The next, if all of it is there."""
        if len(self._unread) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._unread)[0]
        if len(self._unread) < end:
            return None
        frame = bytes(self._unread[LENGTH.size : end])
        del self._unread[:end]
        return frame


def _end_after(line: socket.socket) -> None:
    """End when the server is gone, even if the database does not answer. In a thread of its own."""
    poll = select.poll()
    poll.register(line, select.POLLRDHUP)
    poll.poll()
    time.sleep(_LAST_S)
    os._exit(1)


def _opened(use: OpenDatabase) -> Database:
    """The database, when the process of an earlier server has let go of it. Raises StorageError."""
    database, until = Database(use.url), time.monotonic() + _PATIENCE_S
    while True:
        try:
            database.lock()
        except InUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            database.migrate()  # not before: what another server uses stays as that one knows it
            return database


if __name__ == "__main__":
    main()
