"""Runs the hub: passes it requests and the time, and carries out its effects.

The hub is pure. The driver passes it input of connections, reports of the storage and the time, and
carries out the effects that it returns: it sends bytes, stores records and starts bots.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from msgspec import structs
from twisted.logger import Logger

from playout.games import NotReady
from playout.protocol.codec import ADMINISTRATORS_FRAME, MAX_FRAME, MessageFormat, Unreadable
from playout.protocol.messages import Code, Error, Event, Move, Notice, Request, ServerState
from playout.server.core.effects import (
    CallWhenIdle,
    CheckFile,
    CheckPassword,
    CheckReport,
    Close,
    Effect,
    EndAnalysis,
    EndBot,
    KeepPush,
    Log,
    PauseReading,
    PushNotice,
    RateLadder,
    Send,
    SendServerState,
    SendToSpectators,
    SetFrameLimit,
    StartAnalysis,
    StartBot,
    StartOrganizer,
    Stopped,
    Store,
    TellDisconnection,
    UpdateRatings,
    WakeAt,
)
from playout.server.core.hub import Hub
from playout.server.core.match import Refused
from playout.server.core.policy import Policy
from playout.server.core.rate_limits import network
from playout.server.model.records import MatchEnded, MovePlayed, Record
from playout.server.runtime.metrics import Metrics
from playout.server.runtime.process import last_errors
from playout.server.runtime.reactor import STEP_S, LoopTime
from playout.server.runtime.scheduler import CallScheduler, DelayedCall, LoopScheduler, StallLog
from playout.server.storage.client import (
    DatabaseMeasured,
    RejectedRecord,
    StorageEvent,
    StorageWorks,
)
from playout.server.storage.ipc import AccountChanged, RecordsStored, StorageFailed

#: The longest time between two calls of `Hub.wake` while one is scheduled.
LONGEST_SLEEP_S = 1.0
#: Seconds between two notices to a client that waits.
NOTICE_S = 1.8
#: Maximum number of requests of a connection that wait.
MOST_HELD = 8
#: The share of the database's limit from which on the operator is warned.
_WARNING_SHARE = 0.9
#: Seconds of an iteration of the loop in which new input is handled, and in which waiting input is.
NEW_INPUT_S, WAITING_INPUT_S = STEP_S / 2, STEP_S / 4
#: Seconds of waiting input of a connection that are handled in one turn.
TURN_S = 0.0005

_log = Logger(namespace="server")


class ClientTransport(Protocol):
    """A connection to one client, over TCP or WebSocket, as the driver uses it.

    It is not imported from `connection`, which imports the driver.
    """

    #: A unique number: see `Driver.new_number`.
    number: int
    #: The encoding of its messages.
    format: MessageFormat
    #: Whether it is of a process that the server has started.
    is_own: bool

    def address(self) -> str | None:
        """Return the client's IP address; None until a proxy has announced it."""

    def send(self, data: bytes, *, when_idle: bool = False) -> None:
        """Send encoded messages; with `when_idle`, when nothing else is to be done."""

    def close(self, *, at_once: bool = False) -> None:
        """Close it when all output was sent, at the latest after some seconds.

        With `at_once`, drop output that the system does not accept now. Then, as at any other end,
        `Driver.disconnected` is called.
        """

    def set_frame_limit(self, most: int) -> None:
        """Allow frames of up to `most` bytes, now that the client has said hello."""

    def pause_reading(self) -> None:
        """Stop reading from the peer until `resume_reading`."""

    def resume_reading(self) -> None:
        """Read from the peer again, after `pause_reading`."""

    def take_turn(self) -> None:
        """Handle input that waits for its turn until the turn is over; the rest waits again."""

    def lag_s(self) -> float:
        """Return the round-trip time in seconds; 0 if it is unknown."""


class EffectWorkers(NamedTuple):
    """Processes and threads that carry out effects, and call the driver with their results.

    `carriers` has a function for each kind of effect that the driver does not carry out itself.
    `update_ratings` carries out `UpdateRatings`. `compilation` returns how far the
    compilation of games is, None if nothing is compiled.
    """

    carriers: Mapping[type[Effect], Callable[[Any], None]]
    update_ratings: Callable[[], None] | None = None
    compilation: Callable[[], str | None] = lambda: None


class Driver:
    """Calls the hub with input and the time, and carries out its effects."""

    def __init__(
        self,
        hub: Hub,
        timer: CallScheduler,
        scheduler: LoopScheduler,
        stopped: Callable[[], None],
        workers: Callable[[Driver], EffectWorkers],
        store: Callable[[int, Record], None] | None,
        loop_time: LoopTime,
    ) -> None:
        """`stopped` is called when all effects after `stop` were carried out.

        `workers` is given the driver, which the workers call. `store` is called with each
        record and its number, and `storage_told` when it is stored; without it, every record
        counts as stored. `loop_time` is the time of the hub. Raises ValueError if an effect that
        the policy of the hub allows has no carrier.
        """
        self.fault: str | None = None
        self.metrics = Metrics(
            {
                "connections": lambda: hub.registry.open_connections,
                "sessions": lambda: len(hub.registry.sessions),
                "matches": lambda: len(hub.rooms),
                "accounts": lambda: len(hub.accounts),
                "bots": lambda: len(hub.bots),
                "storage_up": lambda: self.fault is None,
                "database_bytes": lambda: self._database_bytes,
                "database_limit_bytes": lambda: hub.policy.database_mb * 1e6,
            },
            analyses_dropped=lambda: hub.analyses_dropped,
        )
        #: The size of the database; 0 while it is unknown.
        self._database_bytes = 0
        self._hub = hub
        self._store_record = store
        self._timer = timer
        self._scheduler = scheduler
        self._stopped = stopped
        self._time = loop_time
        self._time.watch(lambda: bool(hub.rooms), self._stalled)
        self._now = self._time.now
        #: Which connections handle input now.
        self.turns = Turns(timer, loop_time)
        self._stall_log = StallLog(self._time.monotonic)
        self._connections: dict[int, ClientTransport] = {}
        self._held = HeldRequests(timer, self._handle)
        self._administrators: set[int] = set()
        self._next_wake: DelayedCall | None = None
        #: The number of the last record of the hub.
        self._recorded = 0
        self._numbers = itertools.count(1)
        #: Moves that are not announced yet: the numbers of their records, and when they arrived.
        self._arrivals: deque[tuple[int, float]] = deque()
        self._workers = workers(self)
        if missing := _handed_on(hub.policy) - self._workers.carriers.keys():
            names = ", ".join(sorted(each.__name__ for each in missing))
            raise ValueError(f"nothing carries out {names}, which the policy of the server allows")

    def new_number(self) -> int:
        """Return a unique number for a new connection."""
        return next(self._numbers)

    def connected(self, connection: ClientTransport) -> None:
        """Add a connection that was opened."""
        self._connections[connection.number] = connection
        self.metrics.connected()
        self._carry_out(
            self._hub.connect(
                connection.number, connection.address(), self._now(), is_own=connection.is_own
            )
        )

    def located(self, connection: ClientTransport) -> None:
        """Pass the hub the address of a client, which a proxy has announced."""
        address = connection.address() or ""
        self._carry_out(self._hub.locate(connection.number, address, self._now()))

    def received(self, connection: ClientTransport, frame: bytes) -> None:
        """Handle a frame from a client; a frame that cannot be decoded is refused."""
        try:
            request = connection.format.decode(frame)
        except Unreadable as error:
            now, text, re = self._time.arrived(), str(error), error.request_id
            self._carry_out(self._hub.refuse(connection.number, error.code, text, now, re))
            return
        self._handle(connection, request)

    def _handle(self, connection: ClientTransport, request: Request) -> None:
        now, number = self._time.arrived(), connection.number
        lag_s = connection.lag_s() if type(request) is Move else 0.0
        try:
            effects = self._hub.receive(number, request, now, lag_s)
        except NotReady as why:
            effects = self._hold(connection, request, why)
        except Exception:  # a fault here or in a game of a third party must not end the connection
            _log.failure("cannot handle {kind}", kind=type(request).__name__)
            text = "the server failed to handle this request; the operator finds why in the log"
            effects = self._hub.refuse(number, Code.INTERNAL, text, now, request.id)
        self._carry_out(effects)

    def _hold(self, connection: ClientTransport, request: Request, why: NotReady) -> list[Effect]:
        """Keep a request until its game is ready; return the effects of its beginning."""
        try:
            self._held.hold(connection, request, why)
        except Refused as refused:
            now, number = self._now(), connection.number
            return self._hub.refuse(number, refused.code, str(refused), now, request.id)
        return self._hub.wake(self._now())

    def game_ready(self, name: str) -> None:
        """Handle the requests that wait for a game, which is ready or has failed."""
        self._held.release(name)

    def refused(self, connection: ClientTransport, code: Code, text: str) -> None:
        """Answer bytes that are no frame with an error."""
        self._carry_out(self._hub.refuse(connection.number, code, text, self._now()))

    def disconnected(self, connection: ClientTransport, *, left: bool = False) -> None:
        """Remove a connection whose file is closed; for `left` see `Hub.disconnect`."""
        self._connections.pop(connection.number, None)
        self._administrators.discard(connection.number)
        self._held.drop(connection)
        self._carry_out(self._hub.disconnect(connection.number, self._now(), left=left))

    def is_playing(self, connection: ClientTransport) -> bool:
        """Return whether the client of a connection plays a match."""
        return self._hub.is_playing(connection.number)

    def silent(self, connection: ClientTransport, left_s: float | None) -> None:
        """Pass the hub that a client does not answer; for `left_s` see `Hub.silent`."""
        self._carry_out(self._hub.silent(connection.number, left_s, self._now()))

    def caller(self, method: Callable[..., list[Effect]]) -> Callable[..., None]:
        """Return a function that calls a method of the hub and carries out its effects.

        It takes the method's arguments but the last one, which is the time.
        """
        return lambda *arguments: self._carry_out(method(*arguments, self._now()))

    def stop(self, grace_s: float) -> None:
        """Start no new matches; `stopped` is called when the running ones have ended."""
        self._carry_out(self._hub.stop(self._now(), grace_s))

    def storage_told(self, event: StorageEvent) -> None:
        """Handle an event of the storage."""
        match event:
            case RecordsStored(number=number, records=records, seconds=seconds):
                self.metrics.committed(seconds, records)
                if number == self._recorded:
                    self._scheduler.release()
                self._storage_works()
                self._commit(number)
            case RejectedRecord(record=record, reason=reason):
                self._reject(record, reason)
            case StorageFailed(reason=reason):
                if self.fault != reason:
                    _log.error("the database fails: {reason}", reason=reason)
                self.fault = reason
                self._carry_out(self._hub.storage_fails(True, self._now()))
            case StorageWorks():
                self._storage_works()
            case DatabaseMeasured(size=size):
                self._database_bytes = size
                self._carry_out(self._hub.database_measured(size, self._now()))
            case AccountChanged(account=account):
                self._carry_out(self._hub.account_changed(account, self._now()))

    def _storage_works(self) -> None:
        """Notify clients that records can be stored, if they could not before."""
        if self.fault:
            self.fault = None
            _log.info("the database works again")
            self._carry_out(self._hub.storage_fails(False, self._now()))

    def _reject(self, record: Record, reason: str) -> None:
        """End the match or tournament of a record that the database cannot hold."""
        self.metrics.rejected()
        fields = {key: getattr(record, key, None) for key in ("match", "tournament")}
        text = "cannot store a {kind} of {subject}, which ends: {reason}"
        subject = fields["match"] or fields["tournament"] or "an account"
        _log.error(text, kind=type(record).__name__, subject=subject, reason=reason, **fields)
        self._carry_out(self._hub.record_rejected(record, self._now()))

    def warning(self) -> str | None:
        """Return a warning for the operator of a server that works, if any."""
        most_mb, size_mb = self._hub.policy.database_mb, self._database_bytes / 1e6
        if not 0 < most_mb * _WARNING_SHARE <= size_mb:
            return self._workers.compilation()
        return (
            f"the database has {size_mb:,.0f} of {most_mb:,g} MB (--database-mb); when it is full, "
            "no analysis is stored and no match begins"
        )

    def _commit(self, number: int) -> None:
        arrivals = self._arrivals
        if arrivals and arrivals[0][0] <= number:
            at = self._time.monotonic()
            while arrivals and arrivals[0][0] <= number:
                self.metrics.announced(at - arrivals.popleft()[1])
        self._carry_out(self._hub.committed(number, self._now()))

    def _stalled(self, seconds: float) -> None:
        self.metrics.stalled(seconds)
        self._stall_log.stalled(seconds)
        self._hub.stalled(seconds)

    # Effects of the hub.

    def _carry_out(self, effects: list[Effect]) -> None:
        recorded = self._recorded
        for effect in effects:
            if isinstance(effect, Send):  # the most frequent effect
                self._send(effect)
            elif isinstance(effect, Store):
                self._store(effect.number, effect.record)
            else:
                self._carry_out_rarer(effect)
        if self._store_record is None and self._recorded != recorded:
            self._commit(self._recorded)

    def _carry_out_rarer(self, effect: Effect) -> None:
        match effect:
            case WakeAt(at):
                self._wake_at(at)
            case SendToSpectators(connections, messages):
                for spectator, data in self._written(connections, messages):
                    spectator.send(data, when_idle=True)
            case CallWhenIdle():
                self._scheduler.when_idle(self._show)
            case Log(text, fields):
                _log.info(text, **fields)
            case SetFrameLimit(number, administrator):
                self._set_frame_limit(number, administrator=administrator)
            case SendServerState(number, state):
                self._send(Send((number,), self._with_process(state)))
            case PauseReading(number, seconds):
                self._pause_reading(number, seconds)
            case Close(number, at_once):
                if connection := self._connections.pop(number, None):
                    connection.close(at_once=at_once)
            case Stopped():
                self._stopped()
            case UpdateRatings():
                if self._workers.update_ratings:
                    self._workers.update_ratings()
            case TellDisconnection():
                if tell := self._workers.carriers.get(TellDisconnection):
                    tell(effect)
            case _:
                self._workers.carriers[type(effect)](effect)

    def _send(self, effect: Send) -> None:
        message = effect.message
        if isinstance(message, Error):
            self.metrics.refused(message.code)
        connections = effect.connections
        if len(connections) == 1:
            if connection := self._connections.get(connections[0]):
                connection.send(connection.format.encode(message))
            return
        for connection, data in self._written(connections, (message,)):
            connection.send(data)

    def _written(
        self, numbers: tuple[int, ...], messages: tuple[Event, ...]
    ) -> Iterator[tuple[ClientTransport, bytes]]:
        """Yield the connections, each with the messages in its format, encoded once a format."""
        written: dict[MessageFormat, bytes] = {}
        for number in numbers:
            if connection := self._connections.get(number):
                format_ = connection.format
                data = written.get(format_)
                if data is None:
                    data = written[format_] = b"".join(map(format_.encode, messages))
                yield connection, data

    def _store(self, number: int, record: Record) -> None:
        self._recorded = number
        if isinstance(record, MovePlayed):
            self._arrivals.append((number, self._time.monotonic()))
        elif isinstance(record, MatchEnded):
            self.metrics.ended(record.reason)
        if self._store_record:
            self._scheduler.hold()
            self._store_record(number, record)

    def _set_frame_limit(self, number: int, *, administrator: bool) -> None:
        connection = self._connections.get(number)
        if connection and administrator:
            self._administrators.add(number)
            connection.set_frame_limit(ADMINISTRATORS_FRAME)
        elif connection:
            self._administrators.discard(number)
            connection.set_frame_limit(MAX_FRAME)

    def _with_process(self, state: ServerState) -> ServerState:
        """The state of the server, with its health, its metrics and its log."""
        return structs.replace(
            state,
            fault=self.fault or "",
            warning=self.warning() or "",
            metrics=self.metrics.values(),
            errors=last_errors(),
        )

    def _pause_reading(self, number: int, seconds: float) -> None:
        if connection := self._connections.get(number):
            connection.pause_reading()
            self._timer.callLater(seconds, connection.resume_reading)

    def _wake_at(self, at: float | None) -> None:
        if self._next_wake and self._next_wake.active():
            self._next_wake.cancel()
        self._next_wake = None
        if at is not None:
            # A limited delay: the reactor follows the system's clock, which may be set.
            delay = min(max(0.0, at - self._now()), LONGEST_SLEEP_S)
            self._next_wake = self._timer.callLater(delay, self._wake)

    def _show(self) -> bool:
        self._carry_out(self._hub.show(self._now()))
        return self._hub.has_pending_moves

    def _wake(self) -> None:
        self._next_wake = None
        self._carry_out(self._hub.wake(self._now()))


def _handed_on(policy: Policy) -> set[type[Effect]]:
    """The kinds of effects that workers carry out under this policy."""
    kinds: set[type[Effect]] = {
        *(RateLadder, StartAnalysis, EndAnalysis, CheckPassword, CheckFile),
    }
    if policy.bots:
        kinds |= {StartBot, EndBot, StartOrganizer}
    if policy.stored:
        kinds.add(CheckReport)
    if policy.push_key:
        kinds |= {KeepPush, PushNotice}
    return kinds


class HeldRequests:
    """Holds requests until their games are compiled, and then has them handled again.

    Their senders are sent notices of the progress.
    """

    def __init__(
        self, timer: CallScheduler, handle: Callable[[ClientTransport, Request], None]
    ) -> None:
        """`handle` is called with each request when its game is ready or has failed."""
        self._timer = timer
        self._handle = handle
        self._held: list[tuple[ClientTransport, Request, NotReady]] = []
        self._is_telling = False

    def hold(self, connection: ClientTransport, request: Request, why: NotReady) -> None:
        """Keep a request, and tell its sender. Raises Refused if too many wait."""
        if sum(each is connection for each, _, _ in self._held) >= MOST_HELD:
            raise Refused(Code.TOO_MANY, f"{MOST_HELD} of your requests wait already: {why}")
        self._held.append((connection, request, why))
        _tell(connection, why)
        if not self._is_telling:
            self._is_telling = True
            self._timer.callLater(NOTICE_S, self._tell_all)

    def release(self, game: str) -> None:
        """Have the requests handled that wait for a game."""
        due = [each for each in self._held if each[2].game == game]
        self._held = [each for each in self._held if each[2].game != game]
        for connection, request, _ in due:
            self._handle(connection, request)

    def drop(self, connection: ClientTransport) -> None:
        """Forget the requests of a connection that is closed."""
        self._held = [each for each in self._held if each[0] is not connection]

    def _tell_all(self) -> None:
        self._is_telling = bool(self._held)
        if self._held:
            self._timer.callLater(NOTICE_S, self._tell_all)
        for connection, why in {each: why for each, _, why in self._held}.items():
            _tell(connection, why)


def _tell(connection: ClientTransport, why: NotReady) -> None:
    notice = Notice(code="game_compiling", text=str(why))
    connection.send(connection.format.encode(notice))


class Turns:
    """Shares the time of the event loop among addresses, when more input comes than it can handle.

    The loop handles input for a few milliseconds in each of its iterations. What comes later waits,
    and the addresses that wait take turns, each with one of its connections. So an address that
    sends much delays itself, and others by little: a move of another address is handled after one
    iteration. And no iteration is so long that it counts as a stall, in which the clocks of matches
    stand still. The address of a connection is the one for which limits count it.
    """

    def __init__(self, timer: CallScheduler, time: LoopTime) -> None:
        self._timer = timer
        self._time = time
        self._waiting: OrderedDict[str, deque[ClientTransport]] = OrderedDict()
        #: When the turn of a waiting connection ends, while it has one.
        self._turn_ends: float | None = None

    def is_over(self, connection: ClientTransport) -> bool:
        """Whether a connection has to wait for its next turn before it handles more input."""
        if self._turn_ends is not None:
            return self._time.monotonic() >= self._turn_ends
        if self._time.since_wake() > NEW_INPUT_S:
            return True
        # An address that waits alone delays nobody with its new input.
        return len(self._waiting) > 1 and network(connection.address() or "") in self._waiting

    def wait(self, connection: ClientTransport) -> None:
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
