"""The process of a server that runs the queue of its laboratory: its pages, and its tests.

The server starts it (`KeptProcess`), and ends it by SIGTERM. It ends with the server, and
with it everything that it has started; the next process goes on.

Each author has a share of the cores, and uses it for one test at a time, in a process of its own
(`queued_test`). When the shares change, a test whose turn has lasted long enough is interrupted,
and goes on with other cores when it is its turn again.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from playout.bots.builder import has_room
from playout.bots.uploads import Accounts, UploadSite
from playout.commands.child import Child, Program, stop
from playout.commands.cores import Cores, kept_to, usable_cores
from playout.commands.subprocesses import PLAYER_NICENESS, own_environment
from playout.laboratory.queue import (
    LabQueue,
    QueuedTest,
    QueueFileError,
    QueueInUse,
    conditions_of,
    shares,
)
from playout.laboratory.queue_site import QueueSite
from playout.laboratory.queued_test import TrialNews, TrialOrders
from playout.server.core.accounts import DAY_S
from playout.server.net.site_processes import LaboratoryOrders, run_host
from playout.server.net.webhooks import EndEvent, Webhook, WebhooksUnavailable
from playout.server.storage.queries import Place
from playout.server.web.http_server import Access

_PROGRAM = "playout.laboratory.queued_test:main"
#: Seconds between two looks at whose turn it is, and in which an interrupted test ends: at the end
#: of a turn, and when this process ends.
LOOK_S, _END_S, _STOP_S = 0.5, 20.0, 10.0
#: Seconds between two removals of old matches.
_REMOVE_S = 600.0
#: How many times as long as a usual turn one without a result lasts. Each further one in a row is
#: twice as long, so that there is a result at last, also on a busy machine.
_LONGEST_TURN = 10
#: A test whose process fails is played again after these pauses in seconds, then stopped. Failures
#: do not count while the file of the queue has faults.
_TRY_AGAIN_S = (2.0, 10.0, 30.0)

_log = Logger(namespace="server")


def main() -> int:
    """Run the queue of the orders on the standard input, until SIGTERM."""
    faults = (QueueFileError, QueueInUse, WebhooksUnavailable, OSError)
    host = run_host(QueueHost, LaboratoryOrders, faults)
    if host is None:
        return 1
    host.close()
    os._exit(0)  # threads may check submissions


def check() -> int:
    """Check the file of a queue, which is the only argument; return 1 and print its fault."""
    try:
        conditions_of(Path(sys.argv[1]), {})
    except QueueFileError as error:
        print(error)
        return 1
    return 0


@dataclass
class _Run:
    """A test that is being played: its process, its cores, and when its turn is over.

    `ends_at` is when it is killed, after it was interrupted. `played`: whether it has a result.
    """

    test: int
    child: Child
    cores: Collection[int]
    over_at: float = math.inf
    ends_at: float = math.inf
    played: bool = False


class TestEvents:
    """The ends of the tests of a queue, for webhooks."""

    kinds: Sequence[str] = ("test",)

    def __init__(self, queue: LabQueue, told: Callable[[QueuedTest], object]) -> None:
        """`told` returns what is told of a test."""
        self.name = str(queue.folder)
        self._queue = queue
        self._told = told

    def ended(self, kind: str, after: Place, limit: int) -> Iterable[EndEvent]:
        """Return the first ends after a place."""
        ends = [(each.ended_at or 0.0, str(each.id), each) for each in self._queue if each.is_over]
        due = sorted(each for each in ends if each[:2] > after)[:limit]
        return [EndEvent(at, identity, self._told(test)) for at, identity, test in due]

    def close(self) -> None:
        """Do nothing: the tests are in memory."""


class QueueHost:
    """The queue of a server, and the processes that play its tests."""

    def __init__(self, reactor: Any, orders: LaboratoryOrders) -> None:
        """Read the file and the folder. Raises QueueFileError, QueueInUse, OSError."""
        self._reactor = reactor
        self._http = orders.http
        self._file = Path(orders.file)
        conditions = conditions_of(self._file, {})
        self._terms = conditions.queue
        self.queue = LabQueue(self._file.with_suffix(""))
        if self._terms.dask:  # any cores of its workers
            usable = list(range(self._terms.cores))
        else:
            usable = sorted(Cores().usable) or list(range(usable_cores()))
        self._cores = usable[: self._terms.cores or None]
        #: The running tests, by the accounts of their authors.
        self._runs: dict[str, _Run] = {}
        #: The core seconds of each author that waits or plays.
        self._used: dict[str, float] = {}
        #: The turns in a row in which a test had no result.
        self._fruitless = Counter[int]()
        #: How often the process of a test has failed, and when it is started again.
        self._failures: dict[int, tuple[int, float]] = {}
        self._looked_at = self._remove_at = time.monotonic()
        site = QueueSite(self.queue, self._file, conditions, self.turns, orders.pages)
        accounts = Accounts(orders.database, orders.token_days)
        for url in orders.webhook:
            Webhook(reactor, Path(orders.webhooks), url, TestEvents(self.queue, site.told))
        access = Access.at(orders.http[0], proxied=orders.proxied, names=orders.names)
        self._site = UploadSite(site, site.room, accounts, access)

    def start(self) -> None:
        """Listen, and begin to play."""
        if not self._site.listen(self._reactor, self._http, "tests"):
            return
        looks = LoopingCall(self._look)
        looks.clock = self._reactor
        looks.start(LOOK_S).addErrback(self._broken)

    def close(self) -> None:
        """End all tests; they go on with the next process."""
        stop([each.child for each in self._runs.values()], _STOP_S)
        self.queue.close()

    def turns(self) -> dict[int, int]:
        """Return the number of cores that each test uses now, by its number."""
        return {each.test: len(each.cores) for each in self._runs.values()}

    # Whose turn it is.

    def _look(self) -> None:
        """Start and interrupt tests by the shares of their authors."""
        now = time.monotonic()
        self._count(now)
        if self._terms.keep_days and now > self._remove_at:
            self._remove_at = now + _REMOVE_S
            try:
                self.queue.remove_matches(self._terms.keep_days * DAY_S, self._runs)
            except OSError as error:
                _log.error("old matches cannot be removed: {error}", error=error)
        first = {
            account: test
            for account, test in self.queue.first_of_authors().items()
            if self._failures.get(test.id, (0, 0.0))[1] <= now
        }
        least = min((self._used[each] for each in first if each in self._used), default=0.0)
        self._used = {each: max(self._used.get(each, least), least) for each in first}
        due = shares(len(self._cores), self._used)
        for account, run in self._runs.items():
            is_due = account in first and first[account].id == run.test
            missing = due.get(account, 0) - len(run.cores)
            changes = missing < 0 or 0 < missing <= len(self._free())
            if (not is_due or changes) and self._may_end(run, now):
                self._interrupt(run, now)
        if any(each.ends_at < math.inf for each in self._runs.values()):
            return  # its cores are shared, too, when it has ended
        if not has_room(self.queue.folder):
            return  # each test would fail
        for account in sorted(first, key=lambda each: self._used[each]):
            if account not in self._runs and (free := self._free()[: due[account]]):
                self._begin(account, first[account], free, now)

    def _count(self, now: float) -> None:
        for account, run in self._runs.items():
            used = len(run.cores) * (now - self._looked_at)
            self._used[account] = self._used.get(account, 0.0) + used
            if now > run.ends_at:
                run.child.send(signal.SIGKILL)
        self._looked_at = now

    def _may_end(self, run: _Run, now: float) -> bool:
        test = self.queue.get(run.test)
        is_over = test is None or test.is_over
        return run.ends_at == math.inf and (is_over or now > run.over_at)

    def _interrupt(self, run: _Run, now: float) -> None:
        run.ends_at = now + _END_S
        run.child.send(signal.SIGTERM)

    def _free(self) -> list[int]:
        taken = {core for each in self._runs.values() for core in each.cores}
        return [each for each in self._cores if each not in taken]

    # The processes of tests.

    def _begin(self, account: str, test: QueuedTest, cores: list[int], now: float) -> None:
        orders = TrialOrders(
            str(self._file),
            str(self.queue.place(test)),
            str(self.queue.home(test)),
            test.file,
            test.base,
            test.given,
            len(cores),
            len(self._cores),
        )
        program = Program.own(
            _PROGRAM,
            environment=own_environment(),
            niceness=PLAYER_NICENESS,
            secret=msgspec.json.encode(orders).decode(),
        )
        try:
            with contextlib.nullcontext() if self._terms.dask else kept_to(cores):
                child = program.start(talks=True)
        except OSError as error:
            _log.error("test {test} cannot be started: {error}", test=test.id, error=error)
            self._failed(test, now)
            return
        run = self._runs[account] = _Run(test.id, child, cores)
        child.listen(self._reactor, TrialNews, partial(self._told, run))
        child.when_exited(self._reactor, partial(self._exited, account))

    def _told(self, run: _Run, news: TrialNews) -> None:
        test = self.queue.get(run.test)
        if news.state == "running":  # a turn lasts from its first result, so that each has one
            longest = _LONGEST_TURN * 2 ** self._fruitless[run.test]
            turn_s = self._terms.turn_s * (1 if news.played else longest)
            run.over_at = min(run.over_at, time.monotonic() + turn_s)
        run.played = news.played
        if news.played:  # only failures in a row stop a test
            self._failures.pop(run.test, None)
        if test and not test.is_over:  # it may have been stopped meanwhile
            self.queue.put(test, news.state, result=news.result, reason=news.reason)

    def _exited(self, account: str) -> None:
        run = self._runs.pop(account)
        if run.played:
            self._fruitless.pop(run.test, None)
        elif run.ends_at < math.inf:  # its turn was over
            self._fruitless[run.test] += 1
        test = self.queue.get(run.test)
        if test is None:
            return
        if test.is_over:
            self._failures.pop(run.test, None)
            self._fruitless.pop(run.test, None)
            self.queue.remove_code(test)  # it may have been unpacked while it was stopped
            return
        self.queue.put(test, "waiting")
        if run.child.code == 0:  # it has taken results back, and plays on
            return
        if run.ends_at == math.inf:
            text = "the process of test {test} {why}"
            _log.error(text, test=test.id, why=run.child.why())
            self._failed(test, time.monotonic())

    def _failed(self, test: QueuedTest, now: float) -> None:
        """Try again later; stop the test if its process has failed again and again."""
        failures = self._failures.pop(test.id, (0, 0.0))[0]
        try:
            conditions_of(self._file, {})
        except QueueFileError as error:
            _log.error("tests wait until this is corrected: {error}", error=error)
            self._failures[test.id] = failures, now + _TRY_AGAIN_S[-1]
            return
        if failures == len(_TRY_AGAIN_S):
            reason = "faults of the server, again and again: tell its operator"
            self.queue.put(test, "stopped", reason=reason)
            return
        self._failures[test.id] = failures + 1, now + _TRY_AGAIN_S[failures]

    def _broken(self, failure: Any) -> None:
        _log.failure("the process of the laboratory ends", failure)
        self._reactor.stop()
