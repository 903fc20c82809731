"""What every feature of the hub is given: new ids, effects, storage, messages, timers, events.

Messages and other effects wait in an outbox until the records before them are stored. Nothing here
knows of seeks, matches or tournaments.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from playout.protocol.messages import Error, Event, RequestId
from playout.server.core.effects import (
    Close,
    Effect,
    Log,
    Send,
    SendToSpectators,
    Stopped,
    Store,
    WakeAt,
)
from playout.server.core.match import Refused
from playout.server.core.policy import Policy
from playout.server.core.sessions import Session
from playout.server.core.timers import JobQueue, Timers
from playout.server.model.records import Record

T = TypeVar("T")

#: An effect that may have to wait for records.
_Held = Send | SendToSpectators | Close | Stopped

#: Stands for a connection in the outbox where an effect is not about one.
_NO_CONNECTION = 0


class FeatureEvent:
    """Something that happened in a call of the hub, and that features listen for.

    Each subclass stands beside the feature that queues it, with `Context.queue`. The hub hands an
    event to its listeners when the request's handler has returned, so that no handler re-enters
    another one.
    """


class Outbox(Generic[T]):
    """Holds things for connections until records up to a number are stored.

    Records are numbered from 1 in the order in which they are to be stored.
    """

    def __init__(self) -> None:
        self._stored = 0
        self._held: deque[tuple[int, T]] = deque()
        #: For each connection, the highest record number that something held for it waits for.
        self._until: dict[int, int] = {}

    def passes(self, connections: tuple[int, ...], after: int) -> bool:
        """Whether something that waits for record `after` may be sent on these connections now."""
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
        """Keep something that may not be sent yet; things that were held before it go first."""
        held = self._held
        if held and held[-1][0] > after:
            after = held[-1][0]
        held.append((after, thing))
        for connection in connections:
            self._until[connection] = after

    def release(self, stored: int) -> list[T]:
        """Note that the records up to number `stored` are safe; what may be sent now, in order."""
        self._stored = stored
        held, ready = self._held, []
        while held and held[0][0] <= stored:
            ready.append(held.popleft()[1])
        return ready

    def revise(self, change: Callable[[T], T | None]) -> None:
        """Replace each thing that is held by what `change` returns for it; None drops it."""
        changed = ((after, change(thing)) for after, thing in self._held)
        self._held = deque((after, thing) for after, thing in changed if thing is not None)

    def forget(self, connection: int) -> None:
        """Drop the order that is kept for a connection that was closed."""
        self._until.pop(connection, None)


class Context:
    """Collects the effects of a call, in the order in which they are to be carried out."""

    def __init__(
        self,
        policy: Policy | None = None,
        source: random.Random | None = None,
        epoch: float = 0.0,
        started_at: float = 0.0,
    ) -> None:
        """In seconds since 1970: `epoch` is when `now` was 0, `started_at` is the time now."""
        self.policy = policy or Policy()
        self.random = source or random.SystemRandom()
        self.epoch = epoch
        self.timers = Timers()
        self.jobs = JobQueue(self.timers)
        #: Whether the server is stopping: no new matches and tournaments.
        self.closing = False
        #: How many records were stored so far, which is also the number of the last one.
        self.records = 0
        self._effects: list[Effect] = []
        #: What happened during this call and was not yet handed to its listeners: see `queue`.
        self.events: deque[FeatureEvent] = deque()
        self._outbox: Outbox[_Held] = Outbox()
        # Not from the epoch, which is when the machine was started: the hub before had the same.
        self._id_prefix = f"{int(started_at * 1000):x}"
        self._ids = 0
        self._wake_at: float | None = None

    def new_id(self) -> str:
        """An id for a match, seek or tournament, never used before; later ids sort later."""
        self._ids += 1
        return f"{self._id_prefix}{self._ids:04x}"

    def new_token(self) -> str:
        """A secret of 128 random bits, in hexadecimal."""
        return f"{self.random.getrandbits(128):032x}"

    # Effects.

    def do(self, effect: Effect) -> None:
        """Have an effect carried out, at once."""
        self._effects.append(effect)

    def log(self, text: str, fields: Mapping[str, object]) -> None:
        """Write to the log; `text` is a format over `fields`."""
        self._effects.append(Log(text, fields))

    def store(self, record: Record) -> None:
        """Store a record. Durable messages that are sent from now on wait for it."""
        self.records += 1
        self._effects.append(Store(self.records, record))

    def woken(self) -> None:
        """Note that the time that was last asked for has come."""
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
        """Tell other features that something happened, when the current handler has returned."""
        self.events.append(event)

    # Messages.

    def send(self, connections: tuple[int, ...], message: Event) -> None:
        """Send a message on these connections; a durable one when all before it is stored."""
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
        """Send messages to spectators: later than to players, however many spectators there are.

        They wait for record number `after`, by default the last one.
        """
        if connections := connections_of(sessions):
            effect = SendToSpectators(connections, messages)
            self._send_after(connections, self.records if after is None else after, effect)

    def decline(self, connection: int, refused: Refused, re: RequestId | None) -> None:
        """Answer that a request is refused, and why."""
        seconds = None if refused.seconds is None else round(refused.seconds, 3)
        error = Error(re=re, code=refused.code, text=str(refused), seconds=seconds)
        self.send((connection,), error)

    def close(self, connection: int, after: int = 0) -> None:
        """End a connection after all that was sent on it, once record `after` is stored."""
        self._send_after((connection,), after, Close(connection))

    def forget_connection(self, connection: int) -> None:
        """Drop what was kept to send messages on a connection in order."""
        self._outbox.forget(connection)

    def stop(self) -> None:
        """Report that nothing is left to be done, once all records are stored."""
        self._send_after((_NO_CONNECTION,), self.records, Stopped())

    def release(self, stored: int) -> None:
        """Send what waited for the records up to number `stored`."""
        self._effects += self._outbox.release(stored)

    def revise(self, change: Callable[[Event], Event | None]) -> None:
        """Replace each message that waits by what `change` returns for it; None drops it."""

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

    def _send_after(self, connections: tuple[int, ...], after: int, effect: _Held) -> None:
        if self._outbox.passes(connections, after):
            self._effects.append(effect)
        else:
            self._outbox.hold(connections, after, effect)


def connections_of(sessions: Iterable[Session]) -> tuple[int, ...]:
    """The connections of those sessions that are connected, each once."""
    return tuple({each.connection for each in sessions if each.connection is not None})
