"""The whole server without its sockets: what comes in is a call, what has to happen comes out.

Every call takes the time and returns effects, in the order in which they are to be carried out.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from server.alarm import Alarms
from server.lobby import Lobby
from server.match import Match, Refused, Status
from server.messages import Closing, Code, Error, Event, Request, RequestId
from server.requests import TABLE
from server.session import Asker, Session, Stage
from server.table import Table


@dataclass(frozen=True)
class Send:
    """Say this on these connections."""

    connections: tuple[int, ...]
    message: Event


@dataclass(frozen=True)
class Close:
    """End a connection, after what was sent on it."""

    connection: int


@dataclass(frozen=True)
class Wake:
    """Call `wake` at that time, and not before; instead of any other time asked for."""

    at: float | None


@dataclass(frozen=True)
class Log:
    """Something that the operator may want to know; `text` is a format over `fields`."""

    text: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Stopped:
    """Nothing is left to be done."""


Effect = Send | Close | Wake | Log | Stopped


@dataclass(frozen=True)
class Policy:
    """What the operator decides."""

    default_clock: str = "300+3"
    illegal_moves: int = 3
    reconnect_s: float = 60.0
    credit_cap_s: float = 0.1
    matches_per_session: int = 100


ENDED_KEPT = 1000


class Hub:
    """Connections, sessions, lobby and matches."""

    def __init__(
        self, policy: Policy | None = None, source: random.Random | None = None, software: str = ""
    ) -> None:
        self.policy = policy or Policy()
        self.random = source or random.SystemRandom()
        self.software = software
        self.lobby = Lobby()
        self.tables: dict[str, Table] = {}
        self.sessions: dict[str, Session] = {}
        self.closing = False
        self._connections: dict[int, Session | None] = {}
        self._names: dict[str, Session] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._alarms = Alarms()
        self._woken_at: float | None = None
        self._effects: list[Effect] = []

    # Calls from outside.

    def connect(self, connection: int) -> list[Effect]:
        """A connection is there. Its number is not used again."""
        self._connections[connection] = None
        return self._done()

    def receive(
        self, connection: int, request: Request, now: float, lag_s: float = 0.0
    ) -> list[Effect]:
        """A connection asks for something; `lag_s` is the network's share of its time."""
        if connection not in self._connections:  # it was closed, and this was still on its way
            return []
        session = self._connections[connection]
        stage = session.stage if session else Stage.NEW
        try:
            handler = TABLE.get((stage, type(request)))
            if handler is None:
                kind = type(request).__struct_config__.tag
                text = f"{kind} is not allowed to one who {stage.value}"
                raise Refused(Code.NOT_ALLOWED, text)
            handler(self, Asker(connection, session, now, lag_s), request)
        except Refused as refused:
            self.decline(connection, refused, request.id)
        return self._done()

    def refuse(
        self, connection: int, code: Code, text: str, re: RequestId | None = None
    ) -> list[Effect]:
        """What a connection said could not be read."""
        self.decline(connection, Refused(code, text), re)
        return self._done()

    def disconnect(self, connection: int, now: float) -> list[Effect]:
        """A connection is gone. Who has matches is expected back."""
        self._detach(connection, now)
        return self._done()

    def wake(self, now: float) -> list[Effect]:
        """It is the time that was asked for: somebody's may be up."""
        self._woken_at = None
        for key in self._alarms.due(now):
            if table := self.tables.get(key):
                table.match.flag(now)
                self.settle(table, now)
            elif session := self.sessions.get(key):
                self._forget(session, now)
            elif key == _STOP:
                self._abort_all(now)
        return self._done()

    def stop(self, now: float, grace_s: float) -> list[Effect]:
        """No new matches; those running have `grace_s` seconds to end."""
        self.closing = True
        for offer in list(self.lobby):
            self.lobby.remove(offer.id)
        self.send(self._connections, Closing(seconds=grace_s))
        if self.tables and grace_s > 0:
            self._alarms.set(_STOP, now + grace_s)
        else:
            self._abort_all(now)
        return self._done()

    # What the handlers of requests need.

    def new_id(self) -> str:
        """A name for a match or a seek."""
        return f"{self.random.getrandbits(40):010x}"

    def new_token(self) -> str:
        """A secret."""
        return f"{self.random.getrandbits(128):032x}"

    def named(self, name: str) -> Session | None:
        """Who has this name, upper or lower case."""
        return self._names.get(name.casefold())

    def admit(self, session: Session, connection: int, now: float) -> None:
        """A session begins, or goes on over another connection."""
        if session.connection is not None:
            replaced = Refused(Code.REPLACED, "this session goes on elsewhere")
            self.decline(session.connection, replaced, None)
            self._close(session.connection, now)
        session.connection = connection
        self._connections[connection] = session
        self.sessions[session.token] = session
        self._names[session.name.casefold()] = session
        self._alarms.set(session.token, None)

    def begin(self, match: Match, seats: tuple[Session, Session], now: float) -> None:
        """A match is played from now on."""
        table = self.tables[match.id] = Table(match, seats)
        for session in seats:
            session.matches.add(match.id)
        match.start(now)
        text = "match {match} started: {game}, {first} against {second}, clock {clock}"
        self.log(text, _about(match))
        for session in seats:
            self.tell(session, table.started(session, now))
        self.settle(table, now)

    def table(self, match_id: str) -> Table:
        """Where a match is being played. Raises Refused."""
        if table := self.tables.get(match_id):
            return table
        if match_id in self._ended:
            raise Refused(Code.MATCH_OVER, f"match {match_id} is over")
        raise Refused(Code.UNKNOWN_MATCH, f"there is no match {match_id!r}")

    def settle(self, table: Table, now: float) -> None:
        """After anything that happened to a match: set its alarm, or tell that it is over."""
        match = table.match
        if match.status is not Status.ENDED:
            self._alarms.set(match.id, match.deadline())
            return
        self.tell_all(table.everybody(), table.ended())
        self.log("match {match} ended after {plies} plies: {result} ({reason})", _about(match))
        self._remove(table, now)

    def decline(self, connection: int, refused: Refused, re: RequestId | None) -> None:
        """Say that something is not done, and why."""
        self.send((connection,), Error(re=re, code=refused.code, text=str(refused)))

    def tell(self, session: Session, message: Event) -> None:
        """Say something to one session, if it is connected."""
        self.tell_all([session], message)

    def tell_all(self, sessions: Iterable[Session], message: Event) -> None:
        """Say something to those of some sessions that are connected."""
        self.send(sorted({s.connection for s in sessions if s.connection is not None}), message)

    def send(self, connections: Iterable[int], message: Event) -> None:
        """Say something on some connections."""
        listening = tuple(connections)
        if listening:
            self._effects.append(Send(listening, message))

    def log(self, text: str, fields: Mapping[str, object]) -> None:
        """Tell the operator."""
        self._effects.append(Log(text, fields))

    def persons(self) -> list[Session]:
        """Who is connected."""
        return [session for session in self._connections.values() if session]

    # The rest.

    def _done(self) -> list[Effect]:
        at = self._alarms.next()
        if at != self._woken_at:
            self._woken_at = at
            self._effects.append(Wake(at))
        effects, self._effects = self._effects, []
        return effects

    def _close(self, connection: int, now: float) -> None:
        """End a connection; nothing that it still says counts."""
        self._effects.append(Close(connection))
        self._detach(connection, now)

    def _detach(self, connection: int, now: float) -> None:
        """Who is no longer there looks for nobody and watches nothing."""
        session = self._connections.pop(connection, None)
        if session is None:
            return
        session.connection = None
        for offer in self.lobby.of_session(session.token):
            self.lobby.remove(offer.id)
        for match_id in list(session.watching):
            self.tables[match_id].unwatch(session)
        if session.matches:
            self._alarms.set(session.token, now + self.policy.reconnect_s)
        else:
            self._forget(session, now)

    def _forget(self, session: Session, now: float) -> None:
        """A session is over: it left, with nothing to come back to or for too long."""
        for match_id in list(session.matches):
            table = self.tables[match_id]
            if seat := table.seat_of(session):
                table.match.abandon(seat)
                self.settle(table, now)
        # Its last match may have ended it already.
        if self.sessions.pop(session.token, None):
            del self._names[session.name.casefold()]
            self._alarms.set(session.token, None)

    def _remove(self, table: Table, now: float) -> None:
        match_id = table.match.id
        del self.tables[match_id]
        self._alarms.set(match_id, None)
        self._ended[match_id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        for session in table.watchers.values():
            session.watching.discard(match_id)
        for session in table.seats:
            session.matches.discard(match_id)
            if session.connection is None and not session.matches:
                self._forget(session, now)
        if self.closing and not self.tables:
            self._finish(now)

    def _abort_all(self, now: float) -> None:
        if not self.tables:
            self._finish(now)
        for table in list(self.tables.values()):
            table.match.abort("the server stopped")
            self.settle(table, now)

    def _finish(self, now: float) -> None:
        for connection in list(self._connections):
            self._close(connection, now)
        self._alarms.set(_STOP, None)
        self._effects.append(Stopped())


_STOP = "stop"


def _about(match: Match) -> dict[str, object]:
    fields: dict[str, object] = {
        "match": match.id,
        "game": str(match.game),
        "first": match.players[0],
        "second": match.players[1],
        "clock": match.clock_name,
        "plies": match.ply,
    }
    if match.result:
        fields |= {"result": match.result.text, "reason": match.result.reason.value}
    return fields
