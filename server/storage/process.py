"""The process that stores: a program that a server starts, and talks to over standard input.

A process and not a thread: Python runs one thread at a time, and one that binds the values of rows
takes turns from the thread that plays matches. It ends when the server does, by whatever death,
after storing what it was given.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from typing import IO

from sqlalchemy.exc import SQLAlchemyError

from server.records import Account
from server.storage.database import Database, InUse, StorageError, first_line
from server.storage.dialogue import (
    LENGTH,
    Changed,
    Failed,
    Ready,
    Report,
    Stored,
    Unusable,
    Use,
    decode_records,
    decode_use,
    encode,
    framed,
)
from server.storage.writer import Writer

#: How long the process of a server that was killed may take to let go of the database.
_PATIENCE_S = 5.0
#: How long it stays for a database that does not answer, once the server is gone.
_LAST_S = 3.0


def main() -> None:
    """Store until the server is gone."""
    # A service manager sends these to all processes of a service: the server says when.
    for request in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.SIG_IGN)
    with socket.socket(fileno=0) as line, line.makefile("rb") as incoming:
        server = _Server(line)
        use = decode_use(_frame(incoming))
        try:
            database = _opened(use)
            revision = database.accounts()[1] if use.revision is None else use.revision
        except (StorageError, SQLAlchemyError) as fault:
            server.say(Unusable(first_line(fault)))
            return
        writer = Writer(database, server, revision)
        server.say(Ready(revision))
        writer.start()
        while frame := _frame(incoming):
            for number, record in decode_records(frame):
                writer.put(number, record)
        writer.close(_LAST_S)


class _Server:
    """Whom it is told, from the thread that writes."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = threading.Lock()

    def say(self, report: Report) -> None:
        with self._lock, contextlib.suppress(OSError):  # it may be gone; what it said is stored
            self._line.sendall(framed(encode(report)))

    def stored(self, number: int, records: int, seconds: float) -> None:
        self.say(Stored(number, records, seconds))

    def failed(self, reason: str) -> None:
        self.say(Failed(reason))

    def account_changed(self, account: Account, revision: int) -> None:
        self.say(Changed(account, revision))


def _opened(use: Use) -> Database:
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


def _frame(incoming: IO[bytes]) -> bytes:
    """The next one; empty at the end, also of a server that died while it spoke or was told."""
    try:
        length = incoming.read(LENGTH.size)
        (size,) = LENGTH.unpack(length) if len(length) == LENGTH.size else (0,)
        frame = incoming.read(size)
    except ConnectionError:
        return b""
    return frame if len(frame) == size else b""


if __name__ == "__main__":
    main()
