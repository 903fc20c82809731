"""Twisted's reactor for the server: epoll with less work around each event."""

from __future__ import annotations

import sys

from server.runtime.loop_time import LoopTime
from server.runtime.twisted_internals import poll_without_log_context


def install(loop_time: LoopTime) -> None:
    """Install the reactor, before any module imports `twisted.internet.reactor`.

    `loop_time` is told of each wait. Only on Linux; elsewhere, where there is no epoll, Twisted's
    default reactor stays, and no stalls are noticed.
    """
    if not sys.platform.startswith("linux"):
        return
    from twisted.internet.epollreactor import EPollReactor
    from twisted.internet.main import installReactor

    class Reactor(EPollReactor):
        """Handles events without a log context around each."""

        def doPoll(self, timeout: float | None) -> None:
            poll_without_log_context(self, timeout, loop_time)

        doIteration = doPoll

    installReactor(Reactor())  # type: ignore[no-untyped-call]
