"""Writes records in a thread of its own: those that come within a moment share a transaction."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from server.records import Account, Record
from server.storage.database import Database, first_line

#: How long the first record of a transaction waits for others, when the last had so many: a
#: single move is announced in 0.7 instead of 2 ms, and under load a third more are.
GATHER_S = 0.001
MANY = 8
#: How often a failed transaction is tried again, and accounts are looked at.
RETRY_S = 0.25
LOOK_S = 1.0


class Listener(Protocol):
    """Who is told what has become of records. Called in the writer's thread."""

    def stored(self, number: int, records: int, seconds: float) -> None:
        """All records up to that number are stored; the last transaction took so long."""

    def failed(self, reason: str) -> None:
        """Nothing can be stored; it is tried again and again."""

    def account_changed(self, account: Account, revision: int) -> None:
        """An operator has changed an account; the last revision there is."""


@dataclass(frozen=True)
class _Close:
    pass


class Writer:
    """Takes records as they come; tells when they are safe."""

    def __init__(self, database: Database, listener: Listener, revision: int) -> None:
        """`revision`: of the accounts that are known."""
        self._database = database
        self._listener = listener
        self._revision = revision
        self._looked_at = time.monotonic()
        self._last = 0
        self._queue: queue.SimpleQueue[tuple[int, Record] | _Close] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="storage", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put(self, number: int, record: Record) -> None:
        """Store a record, after those before it. Returns at once."""
        self._queue.put((number, record))

    def close(self, patience_s: float) -> bool:
        """Store what is left, and end; False if that was not done in time."""
        self._queue.put(_Close())
        self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            try:
                first = self._queue.get(timeout=LOOK_S)
            except queue.Empty:
                first = None
            if first is not None and not self._write(first):
                return
            self._look_at_accounts()

    def _write(self, first: tuple[int, Record] | _Close) -> bool:
        """Store what there is; False at the end."""
        if self._last >= MANY:
            time.sleep(GATHER_S)
        taken = [first]
        while not self._queue.empty():
            taken.append(self._queue.get())
        batch = [each for each in taken if not isinstance(each, _Close)]
        self._last = len(batch)
        if batch:
            self._save([record for _, record in batch], batch[-1][0])
        return len(batch) == len(taken)

    def _save(self, records: list[Record], number: int) -> None:
        began = time.perf_counter()
        while True:
            try:
                self._database.save(records)
            except Exception as error:  # whatever it is, nothing may be lost for it
                self._database.let_go()
                self._listener.failed(first_line(error))
                time.sleep(RETRY_S)
            else:
                self._listener.stored(number, len(records), time.perf_counter() - began)
                return

    def _look_at_accounts(self) -> None:
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
