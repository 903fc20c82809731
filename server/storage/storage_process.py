"""The storage process: a program that a server starts, and talks to over standard input.

It is a process and not a thread, because Python runs one thread at a time: a thread that binds the
values of rows takes time from the one that plays matches. It exits when the server does, even if
that is killed, after storing what it was sent.

A `Writer` stores batches of records, each in one transaction, and tries again until it succeeds. A
record that the database cannot hold is set aside, so that the others are stored: the writer ends
its match or tournament in the database, and reports it.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence

from sqlalchemy.exc import SQLAlchemyError

from playout.server.model.records import (
    NOT_STORED,
    EntrantWithdrawn,
    MatchEnded,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    TournamentChanged,
    TournamentEnded,
    match_without_result,
)
from playout.server.storage.database import Database
from playout.server.storage.engine import InUse, StorageError, UnstorableError, first_line
from playout.server.storage.ipc import (
    CHECK,
    LENGTH,
    AccountChanged,
    BrokenRecord,
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

#: Seconds before a failed transaction is tried again.
RETRY_S = 0.25
#: Seconds between two queries for accounts that an operator changed.
POLL_S = 1.0
#: Seconds between two removals of some old analyses: moves wait for one for a few milliseconds.
REMOVE_S = 0.1
#: Seconds to wait until the storage process of a killed server releases the database.
_PATIENCE_S = 5.0
#: Seconds that a database may take to answer after the server has exited.
_LAST_S = 3.0
#: Seconds that the first records of a transaction wait for more, if the last transaction had at
#: least `_MANY`. So a single move is announced in 0.7 ms instead of 2, and under load a third more
#: moves are.
_GATHER_S = 0.001
_MANY = 8
#: Seconds without records after which the journal is emptied.
_IDLE_S = 2.0
_READ_BYTES = 2**20


def main() -> None:
    """Store records until the server exits."""
    # A service manager sends these to all processes of a service; this one exits after the server.
    for request in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.SIG_IGN)
    with socket.socket(fileno=0) as connection:
        inbox = _Inbox(connection)

        def report(sent: Report) -> None:
            with contextlib.suppress(OSError):  # the server may have exited; its records are stored
                connection.sendall(framed(encode(sent)))

        if not (first := inbox.first()):
            return
        order = decode_open_database(first)
        try:
            database = _opened(order)
            revision = database.accounts()[1] if order.revision is None else order.revision
        except (StorageError, SQLAlchemyError) as fault:
            report(DatabaseUnusable(first_line(fault)))
            return
        writer = Writer(database, report, revision)
        old = OldAnalysis(database, order.keep_analysis_s)
        report(DatabaseReady(revision, database.file))
        writer.check()
        threading.Thread(target=_exit_after, args=(connection,), daemon=True).start()
        many, written_at = False, math.inf
        while (records := inbox.records(old.pause_s, _GATHER_S if many else 0.0)) is not None:
            many = len(records) >= _MANY
            if records:
                writer.write(records)
                written_at = time.monotonic()
            elif time.monotonic() > written_at + _IDLE_S:
                database.empty_journal()
                written_at = math.inf
            if inbox.asks_for_check():
                writer.check()
            writer.poll_accounts()
            old.remove_some()


class Writer:
    """Stores records, and reports accounts that an operator changed."""

    def __init__(self, database: Database, report: Callable[[Report], None], revision: int) -> None:
        """Accounts that changed after `revision` are reported."""
        self._database = database
        self._report = report
        self._revision = revision
        self._polled_at = time.monotonic()
        #: The ids of matches and tournaments that lack a record.
        self._incomplete: set[str] = set()

    def write(self, records: Sequence[NumberedRecord]) -> None:
        """Store numbered records, in one transaction if possible; return when they are stored."""
        began = time.perf_counter()
        self._store(records)
        seconds = time.perf_counter() - began
        self._report(RecordsStored(records[-1][0], len(records), seconds))

    def check(self) -> None:
        """Report whether records could be stored now."""
        fault = size = None
        try:
            self._database.check()
            size = self._database.size()
        except StorageError as error:  # the connection still works
            fault = str(error)
        except SQLAlchemyError as error:
            self._database.drop_connection()
            fault = first_line(error)
        self._report(StorageChecked(fault, size))

    def poll_accounts(self) -> None:
        """Report the accounts that an operator changed, at most once in `POLL_S` seconds."""
        now = time.monotonic()
        if now - self._polled_at < POLL_S:
            return
        self._polled_at = now
        try:
            changed, self._revision = self._database.accounts(self._revision)
        except SQLAlchemyError:
            return  # the next poll finds them
        for account in changed:
            self._report(AccountChanged(account, self._revision))

    def _store(self, records: Sequence[NumberedRecord]) -> None:
        """Store records; if one cannot be stored, divide them until it is found."""
        try:
            self._save([record for _, record in records if not self._continues_incomplete(record)])
        except UnstorableError as error:
            if len(records) == 1:
                self._set_aside(*records[0], first_line(error))
            else:
                middle = len(records) // 2
                self._store(records[:middle])
                self._store(records[middle:])

    def _save(self, records: Sequence[Record | BrokenRecord]) -> None:
        """Store records in one transaction, and try until it succeeds. Raises UnstorableError."""
        sound: list[Record] = []
        for record in records:
            if isinstance(record, BrokenRecord):
                raise UnstorableError(record.reason)
            sound.append(record)
        while True:
            try:
                self._database.save(sound)
            except UnstorableError:
                raise
            except Exception as error:  # of any class: no record may be lost
                if not isinstance(error, StorageError):  # which is not about the connection
                    self._database.drop_connection()
                self._report(StorageFailed(first_line(error)))
                time.sleep(RETRY_S)
            else:
                return

    def _set_aside(self, number: int, record: Record | BrokenRecord, reason: str) -> None:
        """Leave out a record: end its match or tournament, and report it."""
        self._report(RecordRejected(number, reason))
        if subject := _subject_of(record):
            self._incomplete.add(subject)
            with contextlib.suppress(UnstorableError):  # the server ends it as well
                self._save([_ending_of(record)])

    def _continues_incomplete(self, record: Record | BrokenRecord) -> bool:
        """Return whether a record continues a match or tournament that lacks a record."""
        kinds = MovePlayed | MovesTakenBack | SeatTakenOver | EntrantWithdrawn | TournamentChanged
        continues = isinstance(record, kinds)
        return continues and _subject_of(record) in self._incomplete


class OldAnalysis:
    """Removes the analyses of matches that ended some time ago, a few at a time."""

    def __init__(self, database: Database, keep_s: float | None) -> None:
        """`keep_s`: seconds after the end of a match; None for ever."""
        self._database = database
        self._keep_s = keep_s
        #: End and id of the last match without analyses.
        self._done = (0.0, "")
        self._due_at = time.monotonic() if keep_s is not None else float("inf")

    @property
    def pause_s(self) -> float:
        """The seconds until there may be more to remove, at most `POLL_S`."""
        return min(POLL_S, max(0.0, self._due_at - time.monotonic()))

    def remove_some(self) -> None:
        """Remove some analyses, if it is time for more."""
        if self._keep_s is None or time.monotonic() < self._due_at:
            return
        try:
            done = self._database.remove_analysis(self._done, time.time() - self._keep_s)
        except SQLAlchemyError:  # the check reports it
            self._database.drop_connection()
            done = self._done
        self._due_at = time.monotonic() + (REMOVE_S if done else POLL_S)
        self._done = done or self._done


def _subject_of(record: Record | BrokenRecord) -> str | None:
    """Return the id of the match or tournament of a record; None for an account."""
    return getattr(record, "match", None) or getattr(record, "tournament", None)


def _ending_of(record: Record | BrokenRecord) -> MatchEnded | TournamentEnded:
    """Return the record that ends the match or tournament of a record now."""
    at = time.time()
    if match := getattr(record, "match", None):
        return match_without_result(match, NOT_STORED, at)
    return TournamentEnded(tournament=getattr(record, "tournament", ""), at=at)


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
        """Wait for records, and return all that arrived; None when the server has exited.

        The list is empty if none arrived within `seconds`, or only a request for a check. When the
        first bytes have arrived, it waits another `gather_s` seconds for more records.
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
        if nothing and not self._read():  # a server may be killed while it is sending
            return None
        return found

    def asks_for_check(self) -> bool:
        """Return whether the server has asked for a check since the last call."""
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
    """Exit some time after the server, even if the database does not answer. Runs in a thread."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    poll.poll()
    time.sleep(_LAST_S)
    os._exit(1)


def _opened(order: OpenDatabase) -> Database:
    """Lock a database when an earlier server has released it, and upgrade it.

    Raises StorageError.
    """
    database, until = Database(order.url), time.monotonic() + _PATIENCE_S
    database.file = order.file
    database.check_file()  # before `lock` creates another one
    while True:
        try:
            database.lock()
        except InUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            database.migrate()  # only when it is locked: another server may be using it
            return database
