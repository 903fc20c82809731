"""The context of the hub's features: accounts, sessions, seeks, and the means to act.

These are new ids, effects, storage, messages, timers and events. Messages and calls wait in an
outbox until the records before them are stored.
"""

from __future__ import annotations

import functools
import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from playout.games import Game
from playout.protocol.dice import Dice
from playout.protocol.messages import Code, Error, Event, RequestId
from playout.server.core.accounts import Directory
from playout.server.core.effects import (
    CallWhenIdle,
    Close,
    Effect,
    Log,
    Send,
    SendToSpectators,
    Stopped,
    Store,
    WakeAt,
)
from playout.server.core.lobby import Lobby
from playout.server.core.match import Match, Refused, Terms
from playout.server.core.policy import Policy
from playout.server.core.rate_limits import DATABASE_FULL, StorageBudget
from playout.server.core.sessions import Session, SessionRegistry
from playout.server.core.timers import JobQueue, Timers
from playout.server.model.records import Account, Record

T = TypeVar("T")

#: An effect that may have to wait for records.
_Delayed = Send | SendToSpectators | Close | Stopped
#: Such an effect, or a call with the time: see `Context.when_stored`.
_Held = _Delayed | Callable[[float], None]

#: Maximum number of ids of one stamp, whose numbers have four digits.
_MOST_IDS = 0xFFFF
#: The connection in the outbox of an effect that concerns no connection.
_NO_CONNECTION = 0


class FeatureEvent:
    """Something that happened during a call of the hub; other features listen for it.

    Each subclass is defined beside the feature that queues it with `Context.queue`. The hub passes
    an event to its listeners when the request's handler has returned, so that no handler re-enters
    another one.
    """


class Outbox(Generic[T]):
    """Holds items, most of them for connections, until the records up to a number are stored.

    Records are numbered from 1 in the order in which they are to be stored.
    """

    def __init__(self) -> None:
        self._stored = 0
        self._held: deque[tuple[int, T]] = deque()
        #: For each connection, the highest record number that an item held for it waits for.
        self._until: dict[int, int] = {}

    def passes(self, connections: tuple[int, ...], after: int) -> bool:
        """Whether an item that waits for record `after` may be sent on these connections now."""
        stored = self._stored
        if after > stored:
            return False
        if self._held:
            until = self._until
            for connection in connections:
                if until.get(connection, 0) > stored:
                    return False
        return True

    def hold(self, connections: tuple[int, ...], after: int, thing: T) -> None:
        """Keep an item that may not be sent yet; items held before it are released first."""
        held = self._held
        if held and held[-1][0] > after:
            after = held[-1][0]
        held.append((after, thing))
        for connection in connections:
            self._until[connection] = after

    def release(self, stored: int) -> list[T]:
        """Note that the records up to `stored` are stored; return the items to send, in order."""
        self._stored = stored
        held, ready = self._held, []
        while held and held[0][0] <= stored:
            ready.append(held.popleft()[1])
        return ready

    def revise(self, change: Callable[[T], T | None]) -> None:
        """Replace each held item by the result of `change`; None drops the item."""
        changed = ((after, change(thing)) for after, thing in self._held)
        self._held = deque((after, thing) for after, thing in changed if thing is not None)

    def forget(self, connection: int) -> None:
        """Forget a connection that was closed."""
        self._until.pop(connection, None)


class Context:
    """The state that features share, and the effects of a call in their order."""

    def __init__(
        self,
        policy: Policy | None = None,
        source: random.Random | None = None,
        epoch: float = 0.0,
        started_at: float = 0.0,
        accounts: Iterable[Account] = (),
    ) -> None:
        """In seconds since 1970: `epoch` is when `now` was 0, `started_at` is the time now."""
        self.policy = policy or Policy()
        self.accounts = Directory(accounts)
        self.registry = SessionRegistry()
        self.lobby = Lobby()
        self.random = source or random.SystemRandom()
        self.epoch = epoch
        self.timers = Timers()
        self.jobs = JobQueue(self.timers)
        #: What clients may store.
        self.budget = StorageBudget(self.policy.stored_mb_per_hour)
        #: Whether the server is stopping: no new matches and tournaments.
        self.closing = False
        #: The number of records so far, which is also the number of the last one.
        self.records = 0
        self._effects: list[Effect] = []
        #: Events of this call that were not yet passed to their listeners: see `queue`.
        self.events: deque[FeatureEvent] = deque()
        self._outbox: Outbox[_Held] = Outbox()
        #: Work that waits until nothing else is to be done: see `when_idle`.
        self._idle: deque[Callable[[], bool]] = deque()
        # Not from the epoch, the start of the machine: the hub before a restart had the same one.
        self._id_stamp = int(started_at * 1000)
        self._ids = 0
        self._wake_at: float | None = None

    def new_id(self) -> str:
        """An id for a match, seek or tournament, never used before; later ids sort later."""
        self._ids += 1
        if self._ids > _MOST_IDS:
            self._id_stamp, self._ids = self._id_stamp + 1, 1
        return f"{self._id_stamp:x}{self._ids:04x}"

    def new_token(self) -> str:
        """A secret of 128 random bits, in hexadecimal."""
        return f"{self.random.getrandbits(128):032x}"

    @functools.cached_property
    def entrants_key(self) -> str:
        """The key of the tokens of entrants that the server starts; it is valid until it ends."""
        return self.new_token()

    def new_match(
        self, game: Game, players: tuple[str, str], terms: Terms, opening: Iterable[int] = ()
    ) -> Match:
        """A match with a new id, after its opening; in a game with chance, with new dice.

        Raises IllegalAction for an illegal opening, and GameFault.
        """
        match_id = self.new_id()
        key = f"{self.random.getrandbits(256):064x}" if game.has_chance else None
        match = Match(match_id, game, players, terms, Dice(match_id, key) if key else None)
        match.open(opening)
        return match

    # Effects.

    def do(self, effect: Effect) -> None:
        """Return an effect to the driver, which carries it out at once."""
        self._effects.append(effect)

    def log(self, text: str, fields: Mapping[str, object]) -> None:
        """Write a line to the log; `text` is a format of `fields`."""
        self._effects.append(Log(text, fields))

    def store(self, record: Record) -> None:
        """Store a record. Durable messages that are sent from now on wait for it."""
        self.records += 1
        self._effects.append(Store(self.records, record))

    def require_open(self, what: str) -> None:
        """Raise Refused if the server will stop, or its database is full: no new `what` begin."""
        if self.closing:
            raise Refused(Code.CLOSING, f"the server will stop: it starts no new {what}")
        if self.budget.is_full:
            raise Refused(Code.TOO_MANY, DATABASE_FULL)

    def when_stored(self, call: Callable[[float], None]) -> None:
        """Call `call` with the time when the records so far are stored."""
        self._outbox.hold((), self.records, call)

    def when_idle(self, work: Callable[[], bool]) -> None:
        """Do some work when nothing else is to be done, and again while it returns True."""
        if not self._idle:
            self._effects.append(CallWhenIdle())
        self._idle.append(work)

    @property
    def has_idle_work(self) -> bool:
        """Whether work waits for an idle moment."""
        return bool(self._idle)

    def work_idly(self) -> None:
        """Do a part of the work that has waited longest; called when the driver is idle."""
        if self._idle and not self._idle[0]():
            self._idle.popleft()

    def woken(self) -> None:
        """Note that the driver has called at the time of the last `WakeAt`."""
        self._wake_at = None

    def take_effects(self) -> list[Effect]:
        """The effects since the last call, and the time of the next timer if it has changed."""
        at = self.timers.next()
        if at != self._wake_at:
            self._wake_at = at
            self._effects.append(WakeAt(at))
        effects, self._effects = self._effects, []
        return effects

    # Events.

    def queue(self, event: FeatureEvent) -> None:
        """Pass an event to its listeners when the current handler has returned."""
        self.events.append(event)

    # Messages.

    def send(self, connections: tuple[int, ...], message: Event) -> None:
        """Send a message on these connections; a durable one waits for all records before it."""
        if message.durable:
            if connections:
                self._send_after(connections, self.records, Send(connections, message))
        else:
            for connection in connections:  # each at once, unless something before it is held
                self._send_after((connection,), 0, Send((connection,), message))

    def send_to(self, session: Session, message: Event) -> None:
        """Send a message to one session, if it is connected."""
        if session.connection is not None:
            self.send((session.connection,), message)

    def send_to_all(self, sessions: Iterable[Session], message: Event) -> None:
        """Send a message to each of these sessions that is connected."""
        self.send(connections_of(sessions), message)

    def send_to_spectators(
        self, sessions: Iterable[Session], *messages: Event, after: int | None = None
    ) -> None:
        """Send messages to spectators when nothing else is to be done, and players were served.

        They wait for record number `after`, by default the last one.
        """
        if connections := connections_of(sessions):
            effect = SendToSpectators(connections, messages)
            self._send_after(connections, self.records if after is None else after, effect)

    def decline(self, connection: int, refused: Refused, re: RequestId | None) -> None:
        """Answer a request with an error that gives the reason."""
        seconds = None if refused.seconds is None else round(refused.seconds, 3)
        error = Error(re=re, code=refused.code, text=str(refused), seconds=seconds)
        self.send((connection,), error)

    def close(self, connection: int, after: int = 0, *, at_once: bool = False) -> None:
        """Close a connection after everything sent on it, once record `after` is stored.

        With `at_once`, output is dropped that the system does not accept then.
        """
        self._send_after((connection,), after, Close(connection, at_once))

    def forget_connection(self, connection: int) -> None:
        """Drop the outbox's state of a connection that was closed."""
        self._outbox.forget(connection)

    def stop(self) -> None:
        """Have the process exit once all records are stored."""
        self._send_after((_NO_CONNECTION,), self.records, Stopped())

    def release(self, stored: int, now: float) -> None:
        """Send the messages and make the calls that waited for records up to number `stored`."""
        for each in self._outbox.release(stored):
            if callable(each):
                each(now)
            else:
                self._effects.append(each)

    def revise(self, change: Callable[[Event], Event | None]) -> None:
        """Replace each waiting message by the result of `change`; None drops the message."""

        def changed(effect: _Held) -> _Held | None:
            match effect:
                case Send(connections, message):
                    revised = change(message)
                    return None if revised is None else Send(connections, revised)
                case SendToSpectators(connections, messages):
                    kept = tuple(each for each in map(change, messages) if each is not None)
                    return SendToSpectators(connections, kept)
            return effect

        self._outbox.revise(changed)

    def _send_after(self, connections: tuple[int, ...], after: int, effect: _Delayed) -> None:
        if self._outbox.passes(connections, after):
            self._effects.append(effect)
        else:
            self._outbox.hold(connections, after, effect)


def connections_of(sessions: Iterable[Session]) -> tuple[int, ...]:
    """The connections of those sessions that are connected, each once."""
    return tuple({each.connection for each in sessions if each.connection is not None})
