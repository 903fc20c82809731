"""Writes batches of records, each in one transaction, until they are stored.

A record that the database cannot hold is set aside, so that the others are stored: its match or
tournament is ended in the database, and the server is told.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from playout.server.model.records import (
    NOT_STORED,
    Account,
    EntrantWithdrawn,
    MatchEnded,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    TournamentEnded,
    match_without_result,
)
from playout.server.storage.database import Database
from playout.server.storage.engine import StorageError, UnstorableError, first_line
from playout.server.storage.ipc import BrokenRecord, NumberedRecord

#: Seconds before a failed transaction is tried again.
RETRY_S = 0.25
#: Seconds between two queries for accounts that an operator changed.
POLL_S = 1.0


class WriterListener(Protocol):
    """Is told what becomes of records."""

    def stored(self, number: int, records: int, seconds: float) -> None:
        """All records up to a number are stored, the last `records` of them in `seconds`."""

    def rejected(self, number: int, reason: str) -> None:
        """The database cannot hold the record of this number."""

    def failed(self, reason: str) -> None:
        """Nothing can be stored at the moment; it is tried again and again."""

    def checked(self, fault: str | None) -> None:
        """Records could be stored now, or could not for this reason."""

    def account_changed(self, account: Account, revision: int) -> None:
        """An operator has changed an account; `revision` is the last of all accounts."""


class Writer:
    """Stores records, and reports accounts that an operator changed."""

    def __init__(self, database: Database, listener: WriterListener, revision: int) -> None:
        """Accounts that changed after `revision` are reported to the listener."""
        self._database = database
        self._listener = listener
        self._revision = revision
        self._polled_at = time.monotonic()
        #: The ids of matches and tournaments that lack a record.
        self._incomplete: set[str] = set()

    def write(self, records: Sequence[NumberedRecord]) -> None:
        """Store numbered records, in one transaction if possible; return when they are stored."""
        began = time.perf_counter()
        self._store(records)
        seconds = time.perf_counter() - began
        self._listener.stored(records[-1][0], len(records), seconds)

    def check(self) -> None:
        """Report whether records could be stored now."""
        fault = None
        try:
            self._database.check()
        except StorageError as error:  # the connection is as good as it was
            fault = str(error)
        except SQLAlchemyError as error:
            self._database.drop_connection()
            fault = first_line(error)
        self._listener.checked(fault)

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
            self._listener.account_changed(account, self._revision)

    def _store(self, records: Sequence[NumberedRecord]) -> None:
        """Store records; half by half if one of them cannot be stored, until it is found."""
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
        """Store records in one transaction, however often that fails. Raises UnstorableError."""
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
            except Exception as error:  # whatever it is, no record may be lost
                if not isinstance(error, StorageError):  # otherwise it is not the connection
                    self._database.drop_connection()
                self._listener.failed(first_line(error))
                time.sleep(RETRY_S)
            else:
                return

    def _set_aside(self, number: int, record: Record | BrokenRecord, reason: str) -> None:
        """Go on without a record: end its match or tournament, and report it."""
        self._listener.rejected(number, reason)
        if subject := _subject_of(record):
            self._incomplete.add(subject)
            with contextlib.suppress(UnstorableError):  # the server ends it, too, and is told why
                self._save([_ending_of(record)])

    def _continues_incomplete(self, record: Record | BrokenRecord) -> bool:
        """Whether a record continues a match or tournament that lacks an earlier one."""
        kinds = MovePlayed | MovesTakenBack | SeatTakenOver | EntrantWithdrawn
        continues = isinstance(record, kinds)
        return continues and _subject_of(record) in self._incomplete


def _subject_of(record: Record | BrokenRecord) -> str | None:
    """Return the id of the match or tournament of a record; None for an account."""
    return getattr(record, "match", None) or getattr(record, "tournament", None)


def _ending_of(record: Record | BrokenRecord) -> MatchEnded | TournamentEnded:
    """Return the record that ends the match or tournament of a record now."""
    at = time.time()
    if match := getattr(record, "match", None):
        return match_without_result(match, NOT_STORED, at)
    return TournamentEnded(tournament=getattr(record, "tournament", ""), at=at)
