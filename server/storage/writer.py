"""Writes records: those that come within a moment share a transaction."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from server.model.records import Account, Record
from server.storage.database import Database, first_line

#: How often a failed transaction is tried again, and accounts are looked at.
RETRY_S = 0.25
LOOK_S = 1.0


class WriterListener(Protocol):
    """Who is told what has become of records."""

    def stored(self, number: int, records: int, seconds: float) -> None:
        """All records up to that number are stored; the last transaction took so long."""

    def failed(self, reason: str) -> None:
        """Nothing can be stored; it is tried again and again."""

    def account_changed(self, account: Account, revision: int) -> None:
        """An operator has changed an account; the last revision there is."""


class Writer:
    """Stores records; tells when they are safe."""

    def __init__(self, database: Database, listener: WriterListener, revision: int) -> None:
        """`revision`: of the accounts that are known."""
        self._database = database
        self._listener = listener
        self._revision = revision
        self._looked_at = time.monotonic()

    def write(self, records: Sequence[tuple[int, Record]]) -> None:
        """Store records, each with its number, in one transaction; return when that is done."""
        began = time.perf_counter()
        while True:
            try:
                self._database.save([record for _, record in records])
            except Exception as error:  # whatever it is, nothing may be lost for it
                self._database.let_go()
                self._listener.failed(first_line(error))
                time.sleep(RETRY_S)
            else:
                seconds = time.perf_counter() - began
                self._listener.stored(records[-1][0], len(records), seconds)
                return

    def look_at_accounts(self) -> None:
        """See whether an operator has changed any, if it is time to."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        try:
            changed, self._revision = self._database.accounts(self._revision)
        except SQLAlchemyError:
            return  # it will be seen when the database is back
        for account in changed:
            self._listener.account_changed(account, self._revision)
