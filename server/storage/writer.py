"""Writes batches of records, each in one transaction, until they are stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from server.model.records import Account, Record
from server.storage.database import Database
from server.storage.engine import first_line

#: Seconds before a failed transaction is tried again.
RETRY_S = 0.25
#: Seconds between two queries for accounts that an operator changed.
POLL_S = 1.0


class WriterListener(Protocol):
    """Is told what becomes of records."""

    def stored(self, number: int, records: int, seconds: float) -> None:
        """All records up to a number are stored, the last `records` of them in `seconds`."""

    def failed(self, reason: str) -> None:
        """Nothing can be stored at the moment; it is tried again and again."""

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

    def write(self, records: Sequence[tuple[int, Record]]) -> None:
        """Store numbered records in one transaction, and return when they are stored."""
        began = time.perf_counter()
        while True:
            try:
                self._database.save([record for _, record in records])
            except Exception as error:  # whatever it is, no record may be lost
                self._database.drop_connection()
                self._listener.failed(first_line(error))
                time.sleep(RETRY_S)
            else:
                seconds = time.perf_counter() - began
                self._listener.stored(records[-1][0], len(records), seconds)
                return

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
