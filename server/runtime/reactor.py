"""Twisted's reactor, with less done around each event."""

from __future__ import annotations

import sys
from typing import Any


def install() -> None:
    """Use it, before anything else imports Twisted's; where there is no epoll, leave that."""
    if not sys.platform.startswith("linux"):
        return
    from twisted.internet.epollreactor import EPollReactor
    from twisted.internet.main import installReactor

    class Reactor(EPollReactor):
        """Sets up no context for log lines, which takes six of eighty microseconds a move."""

        def doPoll(self, timeout: float | None) -> None:
            """Wait for events, and do what they ask for."""
            inner: Any = self
            selectables = inner._selectables
            for fd, event in inner._poller.poll(-1 if timeout is None else timeout):
                selectable = selectables.get(fd)  # it may be gone by what an earlier one did
                if selectable is not None:
                    inner._doReadOrWrite(selectable, fd, event)

        doIteration = doPoll

    installReactor(Reactor())  # type: ignore[no-untyped-call]
