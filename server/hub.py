"""The whole server without its sockets: what comes in is a call, what has to happen comes out.

Every call takes the time and returns effects, in the order in which they are to be carried out.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from server.alarm import Alarms
from server.lobby import Lobby
from server.match import Match, Refused, Status
from server.messages import (
    Closing,
    Code,
    Ended,
    Error,
    Event,
    Request,
    RequestId,
    Seat,
    Started,
    Thought,
    Update,
)
from server.requests import TABLE
from server.session import Asker, Session, Stage


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
        self.matches: dict[str, Match] = {}
        self.sessions: dict[str, Session] = {}
        self.closing = False
        self._connections: dict[int, Session | None] = {}
        self._names: dict[str, Session] = {}
        self._seats: dict[str, tuple[Session, Session]] = {}
        self._watchers: dict[str, dict[str, Session]] = {}
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
        """A connection asks for something; `lag_s` is how long that was on its way."""
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
            self._refuse(connection, refused.code, str(refused), request.id)
        return self._done()

    def refuse(
        self, connection: int, code: Code, text: str, re: RequestId | None = None
    ) -> list[Effect]:
        """What a connection said could not be read."""
        self._refuse(connection, code, text, re)
        return self._done()

    def disconnect(self, connection: int, now: float) -> list[Effect]:
        """A connection is gone. Who has matches is expected back."""
        self._detach(connection, now)
        return self._done()

    def wake(self, now: float) -> list[Effect]:
        """It is the time that was asked for: somebody's may be up."""
        self._woken_at = None
        for key in self._alarms.due(now):
            if match := self.matches.get(key):
                match.flag(now)
                self.settle(match, now)
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
        if self.matches and grace_s > 0:
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
            text = "this session goes on elsewhere"
            self._refuse(session.connection, Code.REPLACED, text, None)
            self._close(session.connection, now)
        session.connection = connection
        self._connections[connection] = session
        self.sessions[session.token] = session
        self._names[session.name.casefold()] = session
        self._alarms.set(session.token, None)

    def begin(self, match: Match, seats: tuple[Session, Session], now: float) -> None:
        """A match is played from now on."""
        self.matches[match.id] = match
        self._seats[match.id] = seats
        self._watchers[match.id] = {}
        for session in seats:
            session.matches.add(match.id)
        match.start(now)
        text = "match {match} started: {game}, {first} against {second}, clock {clock}"
        self.log(text, _about(match))
        for session in seats:
            self.tell(session, self.started(match, session, now))
        self.settle(match, now)

    def seat_of(self, match: Match, session: Session) -> Seat | None:
        """Which side a session plays."""
        seats = self._seats[match.id]
        return 1 if seats[0] is session else 2 if seats[1] is session else None

    def match_of(self, match_id: str) -> Match:
        """A running match. Raises Refused."""
        if match := self.matches.get(match_id):
            return match
        if match_id in self._ended:
            raise Refused(Code.MATCH_OVER, f"match {match_id} is over")
        raise Refused(Code.UNKNOWN_MATCH, f"there is no match {match_id!r}")

    def watch(self, match: Match, session: Session) -> None:
        """Show a match to a session from now on."""
        self._watchers[match.id][session.token] = session
        session.watching.add(match.id)

    def unwatch(self, match: Match, session: Session) -> None:
        """Show it no longer."""
        self._watchers[match.id].pop(session.token, None)
        session.watching.discard(match.id)

    def started(
        self, match: Match, session: Session, now: float, re: RequestId | None = None
    ) -> Started:
        """All of a match, as one session sees it."""
        return Started(
            re=re,
            match=match.id,
            game=str(match.game),
            players=match.players,
            seat=self.seat_of(match, session),
            clock=match.clock_name,
            control=match.terms.control,
            clocks=match.readings(now),
            rated=match.terms.rated,
            moves=tuple(match.moves),
            state=match.state,
            to_move=match.to_move,
            legal_actions=match.legal_actions() if session.hello.legal_actions else None,
        )

    def announce(
        self, match: Match, update: Update, info: Thought | None, asker: Asker, re: RequestId | None
    ) -> None:
        """Tell everybody in a match of a move; the mover's copy answers its request.

        Only those who watch are told what the mover thinks.
        """
        players, watchers = self._seats[match.id], self._watchers[match.id].values()
        audience: dict[tuple[bool, bool, bool], list[Session]] = {}
        for session in (*players, *watchers):
            answers = re is not None and session is asker.session
            kind = (session.hello.legal_actions, session not in players, answers)
            audience.setdefault(kind, []).append(session)
        for (legal, watches, answers), sessions in audience.items():
            copy = update
            if legal:
                copy = structs.replace(copy, legal_actions=match.legal_actions())
            if watches and info:
                copy = structs.replace(copy, info=info)
            if answers:
                copy = structs.replace(copy, re=re)
            self._tell_all(sessions, copy)

    def settle(self, match: Match, now: float) -> None:
        """After anything that happened to a match: set its alarm, or tell that it is over."""
        if match.status is not Status.ENDED:
            self._alarms.set(match.id, match.deadline())
            return
        result = match.result
        assert result is not None
        ended = Ended(
            match=match.id,
            winner=result.winner,
            returns=result.returns,
            reason=result.reason,
            text=result.text,
            state=match.state,
        )
        told = [*self._seats[match.id], *self._watchers[match.id].values()]
        self._tell_all(told, ended)
        self.log("match {match} ended after {plies} plies: {result} ({reason})", _about(match))
        self._remove(match, now)

    def tell(self, session: Session, message: Event) -> None:
        """Say something to one session, if it is connected."""
        self._tell_all([session], message)

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

    def _tell_all(self, sessions: list[Session], message: Event) -> None:
        connected = {s.connection for s in sessions if s.connection is not None}
        self.send(sorted(connected), message)

    def _refuse(self, connection: int, code: Code, text: str, re: RequestId | None) -> None:
        self.send((connection,), Error(re=re, code=code, text=text))

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
            self.unwatch(self.matches[match_id], session)
        if session.matches:
            self._alarms.set(session.token, now + self.policy.reconnect_s)
        else:
            self._forget(session, now)

    def _forget(self, session: Session, now: float) -> None:
        """A session is over: it left, with nothing to come back to or for too long."""
        for match_id in list(session.matches):
            match = self.matches[match_id]
            if seat := self.seat_of(match, session):
                match.abandon(seat)
                self.settle(match, now)
        # Its last match may have ended it already.
        if self.sessions.pop(session.token, None):
            del self._names[session.name.casefold()]
            self._alarms.set(session.token, None)

    def _remove(self, match: Match, now: float) -> None:
        for session in self._seats.pop(match.id):
            session.matches.discard(match.id)
            if session.connection is None and not session.matches:
                self._forget(session, now)
        for session in self._watchers.pop(match.id).values():
            session.watching.discard(match.id)
        del self.matches[match.id]
        self._alarms.set(match.id, None)
        self._ended[match.id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        if self.closing and not self.matches:
            self._finish(now)

    def _abort_all(self, now: float) -> None:
        if not self.matches:
            self._finish(now)
        for match in list(self.matches.values()):
            match.abort("the server stopped")
            self.settle(match, now)

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
