"""The composition: the hub, its time, its connections. All that is not pure is done here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from twisted.logger import Logger

from server.hub import Close, Effect, Hub, Log, Send, Stopped, Wake
from server.messages import Code
from server.wire import Unreadable, decode_request, encode

LONGEST_SLEEP_S = 1.0

_log = Logger(namespace="server")


class Line(Protocol):
    """A connection of any kind."""

    number: int

    def sendString(self, frame: bytes) -> None:
        """Send one message."""

    def close(self) -> None:
        """End it when everything was sent."""

    def lag_s(self) -> float:
        """How long there and back takes."""


class Call(Protocol):
    """Something that will be called."""

    def active(self) -> bool:
        """Is it still to come?"""

    def cancel(self) -> None:
        """Do not call."""


class Timer(Protocol):
    """Twisted's reactor, as far as it is needed here."""

    def callLater(self, delay: float, function: Callable[[], None], /) -> Call:
        """Call the function after so many seconds."""


class Service:
    """Carries out what the hub decides."""

    def __init__(
        self,
        hub: Hub,
        timer: Timer,
        stopped: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stopped` is called when the last match has ended after `stop`."""
        self._hub = hub
        self._timer = timer
        self._stopped = stopped
        self._now = now
        self._lines: dict[int, Line] = {}
        self._waiting: Call | None = None

    def connected(self, line: Line) -> None:
        """Somebody is there."""
        self._lines[line.number] = line
        self._do(self._hub.connect(line.number))

    def received(self, line: Line, frame: bytes) -> None:
        """Somebody says something."""
        now = self._now()
        try:
            request = decode_request(frame)
        except Unreadable as error:
            self._do(self._hub.refuse(line.number, error.code, str(error), error.request_id))
            return
        try:
            effects = self._hub.receive(line.number, request, now, line.lag_s())
        except Exception:  # a fault here or in a game of others must not end the connection
            _log.failure("cannot handle {kind}", kind=type(request).__name__)
            text = "the server has a fault and could not do that"
            effects = self._hub.refuse(line.number, Code.INTERNAL, text, request.id)
        self._do(effects)

    def refused(self, line: Line, code: Code, text: str) -> None:
        """Somebody said something that is not even a frame."""
        self._do(self._hub.refuse(line.number, code, text))

    def disconnected(self, line: Line) -> None:
        """Somebody is gone."""
        self._lines.pop(line.number, None)
        self._do(self._hub.disconnect(line.number, self._now()))

    def stop(self, grace_s: float) -> None:
        """No new matches; `stopped` is called after those that run."""
        self._do(self._hub.stop(self._now(), grace_s))

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(connections, message):
                    frame = encode(message)
                    for number in connections:
                        if line := self._lines.get(number):
                            line.sendString(frame)
                case Log(text, fields):
                    _log.info(text, **fields)
                case Wake(at):
                    self._wake_at(at)
                case Close(number):
                    if line := self._lines.pop(number, None):
                        line.close()
                case Stopped():
                    self._stopped()

    def _wake_at(self, at: float | None) -> None:
        if self._waiting and self._waiting.active():
            self._waiting.cancel()
        self._waiting = None
        if at is not None:
            # Not for long at a time: the reactor follows the system's clock, which may be set.
            delay = min(max(0.0, at - self._now()), LONGEST_SLEEP_S)
            self._waiting = self._timer.callLater(delay, self._wake)

    def _wake(self) -> None:
        self._waiting = None
        self._do(self._hub.wake(self._now()))
