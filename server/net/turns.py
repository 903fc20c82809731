"""Shares the time of the event loop among addresses, when more input comes than it can handle.

The loop handles input for a few milliseconds in each of its iterations. What comes later waits, and
the addresses that wait take turns, each with one of its connections. So an address that sends much
delays itself, and others by little: a move of another address is handled after one iteration. And
no iteration is so long that it counts as a stall, in which the clocks of matches stand still.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Protocol

from playout.server.core.rate_limits import network
from playout.server.runtime.reactor import STEP_S, LoopTime
from playout.server.runtime.scheduler import CallScheduler

#: Seconds of an iteration of the loop in which new input is handled, and in which waiting input is.
NEW_INPUT_S, WAITING_INPUT_S = STEP_S / 2, STEP_S / 4
#: Seconds of waiting input of a connection that are handled in one turn.
TURN_S = 0.0005


class WaitingConnection(Protocol):
    """A connection whose input waits for its turn."""

    def address(self) -> str | None:
        """Return the IP address of the client."""

    def take_turn(self) -> None:
        """Handle input until the turn is over, and wait again for the rest."""


class Turns:
    """The connections whose input waits, by the address for which limits count it."""

    def __init__(self, timer: CallScheduler, time: LoopTime) -> None:
        self._timer = timer
        self._time = time
        self._waiting: OrderedDict[str, deque[WaitingConnection]] = OrderedDict()
        #: When the turn of a waiting connection ends, while it has one.
        self._turn_ends: float | None = None

    def is_over(self, connection: WaitingConnection) -> bool:
        """Whether a connection has to wait for its next turn before it handles more input."""
        if self._turn_ends is not None:
            return self._time.monotonic() >= self._turn_ends
        if self._time.since_wake() > NEW_INPUT_S:
            return True
        return bool(self._waiting) and network(connection.address() or "") in self._waiting

    def wait(self, connection: WaitingConnection) -> None:
        """Give a connection a turn in a later iteration of the loop."""
        if not self._waiting and self._turn_ends is None:
            self._timer.callLater(0, self._take_turns)
        self._waiting.setdefault(network(connection.address() or ""), deque()).append(connection)

    def _take_turns(self) -> None:
        monotonic = self._time.monotonic
        at = monotonic()
        end = at + WAITING_INPUT_S
        try:
            while self._waiting and at < end:
                address, connections = self._waiting.popitem(last=False)
                connection = connections.popleft()
                if connections:
                    self._waiting[address] = connections
                self._turn_ends = at + TURN_S
                connection.take_turn()
                at = monotonic()
        finally:
            self._turn_ends = None
            if self._waiting:
                self._timer.callLater(0, self._take_turns)
