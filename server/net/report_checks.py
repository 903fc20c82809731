"""Checks reported matches in a thread: by the rules, and against what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from playout.games import NotReady
from playout.server.core.effects import CheckReport
from playout.server.core.handlers.reports import CheckedReport
from playout.server.model.records import Record
from playout.server.storage.queries import Reader
from playout.server.tournament.reported import (
    AHEAD_S,
    BadReport,
    read_matches,
    read_whole,
    reported_id,
)

_log = Logger(namespace="server")


class ReportChecks:
    """One thread, which ends when the reactor stops."""

    def __init__(self, url: str, reactor: Any, told: Callable[[CheckedReport], None]) -> None:
        """`told` is called with each result. Raises StorageError."""
        self._reader = Reader(url)
        self._reactor = reactor
        self._told = told
        self._pool = ThreadPool(0, 1, name="reports")
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._pool.stop)

    def start(self, order: CheckReport) -> None:
        """Check a report after those before."""

        def failed(failure: Failure) -> CheckedReport:
            if failure.check(BadReport, NotReady):
                return CheckedReport(order.check, fault=str(failure.value))
            if not failure.check(SQLAlchemyError):
                _log.failure("cannot check a report", failure)
            return CheckedReport(order.check, fault="the server cannot check it: try again later")

        done = deferToThreadPool(self._reactor, self._pool, self._checked, order)
        done.addErrback(failed)
        done.addCallback(self._told)

    def _checked(self, order: CheckReport) -> CheckedReport:
        try:
            return checked(self._reader, order)
        finally:
            self._reader.close()  # as the file may be moved


def checked(reader: Reader, order: CheckReport) -> CheckedReport:
    """Return the result of a check. Raises BadReport."""
    request, account = order.request, order.account
    if request.at > order.now + AHEAD_S:
        raise BadReport("the tournament starts in the future")
    to = reported_id(account, request.tournament, request.at)
    count, over = reader.reported_matches(to)
    records: list[Record] = []
    if not over and (request.matches or request.whole):
        if request.first != count:
            raise BadReport(f"expected match number {count}, the first that is not reported")
        if request.matches:
            arguments = request.matches, count, request.tournament, account, to, order.now
            found = read_matches(*arguments)
            for each in found:
                records += [each.started, *each.moves]
                records += [each.ended] if each.ended else []
            count += len(found)
        else:
            games = reader.games_of(to)
            records += read_whole(request.whole, to, request.at, games, order.now)
            over = True
    return CheckedReport(order.check, to, count, over, tuple(records))
