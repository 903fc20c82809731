"""Twisted's reactor for the server: epoll with less work for each event, and with a stall clock."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet import abstract, tcp

# The time of the event loop, which stops during a stall.
#
# A process that is stopped, a machine that is paused, or a request that takes seconds must not take
# time from players. So the clocks of matches follow this time instead of the system's: it advances
# with the system's monotonic clock, but from one iteration of the loop to the next by no more than
# the loop meant to wait, and `STEP_S`. The rest is a stall. It is detected when the loop wakes,
# before any input is handled and before any timer fires.
#
# While matches are played, the loop wakes every `TICK_S` or earlier, to distinguish a stall from a
# wait even if a message ends both.


#: Longest wait of the loop while matches are played. A waiting server with a match takes 1.7 % of a
#: core with it, and 2.6 % with half of it.
TICK_S = 0.01
#: Seconds that handling the events of an iteration may take before the rest counts as a stall.
STEP_S = 0.005
#: Seconds of handling events, after which the rest of them is left to the next iteration.
EVENTS_S = 0.01
#: Connections of a listener that are accepted in one iteration of the loop.
ACCEPTS = 4


class LoopTime:
    """The time of the event loop in seconds: `time.monotonic` at its start, then without stalls."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`monotonic` returns the system's time, which the loop has until the first `wait`."""
        self.monotonic = monotonic
        self._must_tick: Callable[[], bool] = lambda: False
        self._stalled: Callable[[float], None] = lambda seconds: None
        #: The last wake of the loop, in the system's time and in the loop's.
        self._woke_at = self._time = self._arrived = monotonic()
        #: Seconds until the loop must wake, and by which `now` may advance until then.
        self._allowed_s = self._step_s = math.inf

    def watch(self, must_tick: Callable[[], bool], stalled: Callable[[float], None]) -> None:
        """Wake every `TICK_S` while `must_tick`, and report the seconds of each stall."""
        self._must_tick = must_tick
        self._stalled = stalled

    def now(self) -> float:
        """Return the current time in seconds."""
        return self._time + min(self.monotonic() - self._woke_at, self._step_s)

    def arrived(self) -> float:
        """Return the earliest time, in seconds, at which the current input can have arrived.

        It is that of the last wake; after a stall, that of the wake before it.
        """
        return self._arrived if self._step_s < math.inf else self.now()

    def since_wake(self) -> float:
        """Return for how many seconds the loop has handled events; 0 before its first wait."""
        return self.monotonic() - self._woke_at if self._step_s < math.inf else 0.0

    def wait(self, timeout: float | None) -> float | None:
        """Return the longest wait of the loop in seconds, up to `timeout`; None for no limit."""
        if self._step_s == math.inf:
            self._start()
        if (timeout is None or timeout > TICK_S) and self._must_tick():
            timeout = TICK_S
        self._allowed_s = STEP_S + (math.inf if timeout is None else timeout)
        return timeout

    def wake(self) -> None:
        """Note that the loop has waited, before it handles input."""
        at = self.monotonic()
        elapsed_s = at - self._woke_at
        self._woke_at = at
        stall_s = elapsed_s - self._allowed_s
        if stall_s <= 0:
            self._time += elapsed_s
            self._arrived = self._time
        else:
            self._arrived = self._time
            self._time += self._allowed_s
            self._stalled(stall_s)

    def _start(self) -> None:
        at = self.monotonic()
        self._time += at - self._woke_at
        self._woke_at = at
        self._step_s = STEP_S


# All uses of private attributes of Twisted's reactor and transports.
#
# tests/unit/runtime/test_reactor_twisted_internals.py runs these functions with the classes of
# Twisted, and fails when a new version changes them.


#: A selectable, its file, and what has happened to it.
Polled = tuple[Any, int, int]


def poll_without_log_context(
    reactor: Any, timeout: float | None, loop_time: LoopTime, rest: deque[Polled]
) -> None:
    """`EPollReactor.doPoll` without a log context: wait for events, then handle them.

    `loop_time` is called before and after the wait. `rest` has the events that earlier calls have
    left, which are handled first; those that come after `EVENTS_S` are left to the next call.

    Twisted sets a context for each event, with which log lines name the connection. No log line
    here uses it. Without it the server takes 71 instead of 77 µs a move (without storage).
    """
    selectables = reactor._selectables
    timeout = loop_time.wait(0.0 if rest else timeout)
    polled = reactor._poller.poll(-1 if timeout is None else timeout)
    loop_time.wake()
    monotonic = loop_time.monotonic
    end = monotonic() + EVENTS_S
    known = {fd for _, fd, _ in rest} if rest else ()
    rest.extend([(selectables.get(fd), fd, event) for fd, event in polled if fd not in known])
    while rest:
        selectable, fd, event = rest.popleft()
        # An earlier event may have removed it, or a new one may have its file.
        if selectable is not None and selectables.get(fd) is selectable:
            reactor._doReadOrWrite(selectable, fd, event)
            if monotonic() > end:
                return


def queued_bytes(transport: Any) -> int:
    """The number of bytes of earlier writes that the system did not accept yet.

    Of a transport with TLS or behind a proxy, these are the encrypted bytes.
    """
    while not isinstance(transport, abstract.FileDescriptor):
        transport = getattr(transport, "transport", None)
        if transport is None:  # it is not connected any more
            return 0
    return len(transport.dataBuffer) - int(transport.offset) + int(transport._tempDataLen)


class Port(tcp.Port):
    """A listening port that accepts few connections in one iteration of the loop.

    Twisted raises the number while more wait, to hundreds: with TLS, a connection takes 0.4 ms.
    """

    #: Maximum number of connections that Twisted accepts at once; Twisted sets it each time.
    numberAccepts = property(lambda self: ACCEPTS, lambda self, wanted: None)


def install(loop_time: LoopTime) -> None:
    """Install the reactor, before any module imports `twisted.internet.reactor`.

    `loop_time` is called for each wait. Only on Linux; systems without epoll keep Twisted's default
    reactor, which detects no stalls.
    """
    if not sys.platform.startswith("linux"):
        return
    from twisted.internet.epollreactor import EPollReactor
    from twisted.internet.main import installReactor

    rest: deque[Polled] = deque()

    class Reactor(EPollReactor):
        """Handles events without a log context around each."""

        def doPoll(self, timeout: float | None) -> None:
            poll_without_log_context(self, timeout, loop_time, rest)

        doIteration = doPoll

        def listenTCP(
            self, port: int, factory: Any, backlog: int = 50, interface: str = ""
        ) -> tcp.Port:
            listener = Port(port, factory, backlog, interface, self)
            listener.startListening()
            return listener

    installReactor(Reactor())  # type: ignore[no-untyped-call]
