"""Twisted's reactor for the server: epoll with less work around each event."""

from __future__ import annotations

import sys

from server.runtime.twisted_internals import poll_without_log_context


def install() -> None:
    """Install the reactor, before any module imports `twisted.internet.reactor`.

    Only on Linux; elsewhere, where there is no epoll, Twisted's default reactor stays.
    """
    if not sys.platform.startswith("linux"):
        return
    from twisted.internet.epollreactor import EPollReactor
    from twisted.internet.main import installReactor

    class Reactor(EPollReactor):
        """Handles events without a log context around each."""

        doPoll = doIteration = poll_without_log_context

    installReactor(Reactor())  # type: ignore[no-untyped-call]
