"""The composition: the hub, its time, its lines, its storage. All that is not pure is done here."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from twisted.logger import Logger

from server.core.effects import (
    CallWhenIdle,
    Close,
    Effect,
    EndBot,
    Log,
    PauseReading,
    Send,
    SendToSpectators,
    SetFrameLimit,
    StartBot,
    Stopped,
    Store,
    Wake,
)
from server.core.hub import Hub
from server.model.codec import ADMINISTRATORS_FRAME, MAX_FRAME, MessageFormat, Unreadable
from server.model.messages import Code, Error, Event, Move
from server.model.records import Account, MatchEnded, MovePlayed, Record
from server.runtime.metrics import Metrics
from server.runtime.scheduler import LoopScheduler

LONGEST_SLEEP_S = 1.0

_log = Logger(namespace="server")


class ClientTransport(Protocol):
    """A connection of any kind."""

    #: No other line of the service has it: see `Service.new_number`.
    number: int
    #: How messages look on it.
    language: MessageFormat

    def address(self) -> str | None:
        """Where it comes from, None as long as a proxy has not said so."""

    def say(self, data: bytes, *, patient: bool = False) -> None:
        """Send a message in its language; if `patient`, when nothing else is to be done."""

    def close(self) -> None:
        """End it when everything was sent."""

    def trust(self, most: int) -> None:
        """It has said who it is: its frames may have so many bytes."""

    def ignore(self) -> None:
        """Do not listen, until `listen`."""

    def listen(self) -> None:
        """Listen again."""

    def lag_s(self) -> float:
        """How long there and back takes."""


class DelayedCall(Protocol):
    """Something that will be called."""

    def active(self) -> bool:
        """Is it still to come?"""

    def cancel(self) -> None:
        """Do not call."""


class Timer(Protocol):
    """Twisted's reactor, as far as it is needed here."""

    def callLater(self, delay: float, function: Callable[[], None], /) -> DelayedCall:
        """Call the function after so many seconds."""


class Storage(Protocol):
    """Something that stores records, and calls `Service.stored` when they are safe."""

    def put(self, number: int, record: Record) -> None:
        """Store a record, after those before it."""


class BotLauncher(Protocol):
    """Something that starts bots, and calls `Service.bot_ended` when one has ended by itself."""

    def start(self, order: StartBot) -> None:
        """Let one come."""

    def end(self, bot: str) -> None:
        """It is not wanted any more."""


class Driver:
    """Carries out what the hub decides."""

    def __init__(
        self,
        hub: Hub,
        timer: Timer,
        turn: LoopScheduler,
        stopped: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stopped` is called when nothing is left to be done after `stop`.

        Nothing is stored, and all counts as stored, until `keeper` is set. Where the policy offers
        bots, `bots` starts them.
        """
        self.keeper: Storage | None = None
        self.bots: BotLauncher | None = None
        self.fault: str | None = None
        self.metrics = Metrics(
            connections=lambda: len(hub.people.callers),
            sessions=lambda: len(hub.people.sessions),
            matches=lambda: len(hub.tables),
            accounts=lambda: len(hub.accounts),
            bots=lambda: len(hub.summoning),
            storage_up=lambda: self.fault is None,
        )
        self._hub = hub
        self._timer = timer
        self._turn = turn
        self._stopped = stopped
        self._now = now
        self._lines: dict[int, ClientTransport] = {}
        self._administrators: set[int] = set()
        self._waiting: DelayedCall | None = None
        self._recorded = 0
        self._numbers = itertools.count(1)
        #: Moves that are not announced yet: their records' numbers, and when they came.
        self._arrivals: deque[tuple[int, float]] = deque()

    def new_number(self) -> int:
        """For a line."""
        return next(self._numbers)

    def connected(self, line: ClientTransport) -> None:
        """Somebody is there."""
        self._lines[line.number] = line
        self.metrics.connected()
        self._do(self._hub.connect(line.number, line.address(), self._now()))

    def located(self, line: ClientTransport) -> None:
        """A proxy has said where somebody comes from."""
        self._do(self._hub.locate(line.number, line.address() or "", self._now()))

    def received(self, line: ClientTransport, frame: bytes) -> None:
        """Somebody says something."""
        now = self._now()
        try:
            request = line.language.decode(frame, line.number in self._administrators)
        except Unreadable as error:
            text, re = str(error), error.request_id
            self._do(self._hub.refuse(line.number, error.code, text, now, re))
            return
        lag_s = line.lag_s() if type(request) is Move else 0.0
        try:
            effects = self._hub.receive(line.number, request, now, lag_s)
        except Exception:  # a fault here or in a game of others must not end the connection
            _log.failure("cannot handle {kind}", kind=type(request).__name__)
            text = "the server has a fault and could not do that"
            effects = self._hub.refuse(line.number, Code.INTERNAL, text, now, request.id)
        self._do(effects)

    def refused(self, line: ClientTransport, code: Code, text: str) -> None:
        """Somebody said something that is not even a frame."""
        self._do(self._hub.refuse(line.number, code, text, self._now()))

    def disconnected(self, line: ClientTransport) -> None:
        """Somebody is gone."""
        self._lines.pop(line.number, None)
        self._administrators.discard(line.number)
        self._do(self._hub.disconnect(line.number, self._now()))

    def do(self, call: Callable[[float], list[Effect]]) -> None:
        """Do what a call of the hub decides, which is given the time."""
        self._do(call(self._now()))

    def bot_ended(self, bot: str, why: str) -> None:
        """A bot has ended by itself."""
        self._do(self._hub.bot_ended(bot, why, self._now()))

    def stop(self, grace_s: float) -> None:
        """No new matches; `stopped` is called after those that run."""
        self._do(self._hub.stop(self._now(), grace_s))

    # Of the storage.

    def stored(self, number: int, records: int, seconds: float) -> None:
        """All records up to a number are safe."""
        self.metrics.committed(seconds, records)
        if number == self._recorded:
            self._turn.release()
        self.recovered()
        self._commit(number)

    def recovered(self) -> None:
        """Records can be stored, again if they could not."""
        if self.fault:
            self.fault = None
            _log.info("the database works again")
            self._do(self._hub.storage_fails(False))

    def failed(self, reason: str) -> None:
        """Nothing can be stored at the moment."""
        if self.fault != reason:
            _log.error("the database fails: {reason}", reason=reason)
        self.fault = reason
        self._do(self._hub.storage_fails(True))

    def account_changed(self, account: Account) -> None:
        """An operator has changed an account."""
        self._do(self._hub.account_changed(account, self._now()))

    def _commit(self, number: int) -> None:
        now, arrivals = self._now(), self._arrivals
        while arrivals and arrivals[0][0] <= number:
            self.metrics.announced(now - arrivals.popleft()[1])
        self._do(self._hub.committed(number, now))

    # What the hub wants.

    def _do(self, effects: list[Effect]) -> None:
        recorded = self._recorded
        for effect in effects:
            if type(effect) is Send:  # most are
                self._send(effect)
            else:
                self._do_rarer(effect)
        if self.keeper is None and self._recorded != recorded:
            self._commit(self._recorded)

    def _do_rarer(self, effect: Effect) -> None:
        match effect:
            case Store(number, record):
                self._store(number, record)
            case Wake(at):
                self._wake_at(at)
            case SendToSpectators(connections, messages):
                for onlooker, data in self._written(connections, messages):
                    onlooker.say(data, patient=True)
            case CallWhenIdle():
                self._turn.when_idle(self._show)
            case Log(text, fields):
                _log.info(text, **fields)
            case StartBot() if self.bots:
                self.bots.start(effect)
            case EndBot(bot) if self.bots:
                self.bots.end(bot)
            case SetFrameLimit(number, administrator):
                self._trust(number, administrator=administrator)
            case PauseReading(number, seconds):
                self._pause(number, seconds)
            case Close(number):
                if line := self._lines.pop(number, None):
                    line.close()
            case Stopped():
                self._stopped()

    def _send(self, effect: Send) -> None:
        message = effect.message
        if isinstance(message, Error):
            self.metrics.refused(message.code)
        for line, data in self._written(effect.connections, (message,)):
            line.say(data)

    def _written(
        self, connections: tuple[int, ...], messages: tuple[Event, ...]
    ) -> Iterator[tuple[ClientTransport, bytes]]:
        """The lines, each with the messages in its language."""
        written: dict[MessageFormat, bytes] = {}
        for number in connections:
            if line := self._lines.get(number):
                language = line.language
                data = written.get(language)
                if data is None:
                    data = written[language] = b"".join(map(language.encode, messages))
                yield line, data

    def _store(self, number: int, record: Record) -> None:
        self._recorded = number
        if isinstance(record, MovePlayed):
            self._arrivals.append((number, self._now()))
        elif isinstance(record, MatchEnded):
            self.metrics.ended(record.reason)
        if self.keeper:
            self._turn.hold()
            self.keeper.put(number, record)

    def _trust(self, number: int, *, administrator: bool) -> None:
        line = self._lines.get(number)
        if line and administrator:
            self._administrators.add(number)
            line.trust(ADMINISTRATORS_FRAME)
        elif line:
            self._administrators.discard(number)
            line.trust(MAX_FRAME)

    def _pause(self, number: int, seconds: float) -> None:
        line = self._lines.get(number)
        if line:
            line.ignore()
            self._timer.callLater(seconds, line.listen)

    def _wake_at(self, at: float | None) -> None:
        if self._waiting and self._waiting.active():
            self._waiting.cancel()
        self._waiting = None
        if at is not None:
            # Not for long at a time: the reactor follows the system's clock, which may be set.
            delay = min(max(0.0, at - self._now()), LONGEST_SLEEP_S)
            self._waiting = self._timer.callLater(delay, self._wake)

    def _show(self) -> bool:
        self._do(self._hub.show())
        return self._hub.unshown

    def _wake(self) -> None:
        self._waiting = None
        self._do(self._hub.wake(self._now()))
