"""The whole server without its sockets: what comes in is a call, what has to happen comes out.

Every call takes the time and returns effects, in the order in which they are to be carried out.
What tells of something that must not be forgotten waits until that is stored: see `committed`.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping

from msgspec import DecodeError

import games
from server.core.accounts import Directory
from server.core.effects import (
    CallWhenIdle,
    Close,
    Effect,
    Log,
    PauseReading,
    Send,
    SendToSpectators,
    SetFrameLimit,
    Stopped,
    Store,
    Wake,
)
from server.core.handlers.bots import BotManager
from server.core.handlers.lobby_feed import LobbyFeed
from server.core.handlers.requests import TABLE
from server.core.handlers.tournaments import TournamentDirector
from server.core.match import Match, Refused, Status
from server.core.match_room import MatchRoom
from server.core.outbox import Outbox
from server.core.people import People
from server.core.policy import Policy
from server.core.rate_limits import BURST_S, Quota, TokenBucket
from server.core.restore import table_of
from server.core.seeks import Lobby, OpenSeek
from server.core.sessions import Connection, RequestContext, Session, Stage
from server.core.timers import Timers
from server.model.messages import (
    Closing,
    Code,
    Ended,
    Error,
    Event,
    Fixture,
    Listing,
    News,
    Notice,
    Ok,
    Overview,
    Request,
    RequestId,
    Seat,
    ServerPing,
    Started,
    Tournament,
    Update,
    Welcome,
)
from server.model.records import (
    Account,
    MovePlayed,
    Record,
    SeatTakenOver,
    StoredMatch,
    StoredTournament,
)
from server.tournament.openings import OpeningError
from server.tournament.state import restore_tournament

ENDED_KEPT = 1000
#: How long somebody who was asked for a sign of life has to give one.
ANSWER_S = 60.0

#: Moves that those who watch are told of at once: each takes a third of a millisecond to draw.
AT_ONCE = 4

#: What rests on all that was done before, and so waits until that is stored.
_RESTS_ON_RECORDS = frozenset(
    {Welcome, Started, Update, Ended, Listing, Overview, News, Tournament, Fixture, Ok}
)

_STOP, _TOURNAMENTS, _GALLERY = "stop", "tournaments", "gallery"
#: A connection that there is not, for what is done after all that was said.
_NOBODY = 0
# Alarms that are not for a match or a session have a kind before their key.
_HELLO, _IDLE, _BOT = "hello ", "idle ", "bot "


class Hub:
    """Connections, sessions, accounts, lobby and matches."""

    def __init__(
        self,
        policy: Policy | None = None,
        source: random.Random | None = None,
        software: str = "",
        accounts: Iterable[Account] = (),
        epoch: float = 0.0,
        started_at: float = 0.0,
    ) -> None:
        """In seconds since 1970: `epoch` is when `now` was 0, `started_at` is the time now."""
        self.policy = policy or Policy()
        self.random = source or random.SystemRandom()
        self.software = software
        self.epoch = epoch
        # Not the epoch, which is when the machine was started: that of an earlier hub was the same.
        self._era = f"{int(started_at * 1000):x}"
        self.accounts = Directory(accounts)
        self.registrations = Quota(self.policy.registrations_per_hour)
        self.lobby = Lobby()
        self.people = People()
        self.tables: dict[str, MatchRoom] = {}
        self.hosting = TournamentDirector(self)
        self.gallery = LobbyFeed(self)
        self.summoning = BotManager(self)
        self.closing = False
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._alarms = Timers()
        self._woken_at: float | None = None
        self._effects: list[Effect] = []
        self._outbox: Outbox[Send | SendToSpectators | Close | Stopped] = Outbox()
        self._records = 0
        self._waiting: deque[tuple[int, MatchRoom]] = deque()
        self._unshown: deque[MatchRoom] = deque()
        self._ids = 0
        self._storage_fails = False

    # Calls from outside.

    def connect(self, connection: int, address: str | None, now: float) -> list[Effect]:
        """A connection is there. Its number is not used again.

        `address` is None until a proxy has said where it comes from: see `locate`.
        """
        policy, people = self.policy, self.people
        rate = policy.messages_per_s
        people.called(Connection(connection, TokenBucket(rate, rate * BURST_S, now), now))
        if 0 < policy.connections < len(people.callers):
            text = f"the server has {policy.connections} connections and takes no more"
            self._turn_away(connection, text, now)
        elif policy.hello_s:
            self._alarms.set(f"{_HELLO}{connection}", now + policy.hello_s)
        if address is not None:
            self._locate(connection, address, now)
        return self._done()

    def locate(self, connection: int, address: str, now: float) -> list[Effect]:
        """It is known now where a connection comes from."""
        self._locate(connection, address, now)
        return self._done()

    def receive(
        self, connection: int, request: Request, now: float, lag_s: float = 0.0
    ) -> list[Effect]:
        """A connection asks for something; `lag_s` is the network's share of its time."""
        caller = self.people.callers.get(connection)
        if caller is None:  # it was closed, and this was still on its way
            return []
        session = caller.session
        stage = session.stage if session else Stage.NEW
        try:
            self._count(caller, now)
            handler = TABLE.get((stage, type(request)))
            if handler is None:
                kind = type(request).__struct_config__.tag
                text = f"{kind} is not allowed to one who {stage.value}"
                raise Refused(Code.NOT_ALLOWED, text)
            handler(self, RequestContext(caller, now, lag_s), request)
        except Refused as refused:
            self.decline(connection, refused, request.id)
        return self._done()

    def refuse(
        self, connection: int, code: Code, text: str, now: float, re: RequestId | None = None
    ) -> list[Effect]:
        """What a connection said could not be read."""
        if caller := self.people.callers.get(connection):
            refused = Refused(code, text)
            try:
                self._count(caller, now)
            except Refused as limited:
                refused = limited
            self.decline(connection, refused, re)
        return self._done()

    def disconnect(self, connection: int, now: float) -> list[Effect]:
        """A connection is gone. Who has matches is expected back."""
        self._detach(connection, now)
        return self._done()

    def committed(self, number: int, now: float) -> list[Effect]:
        """All records up to a number are stored: what waited for that happens."""
        while self._waiting and self._waiting[0][0] <= number:
            awaited, table = self._waiting.popleft()
            if table.awaits == awaited and table.match.status is not Status.ENDED:
                table.match.resume(now)
                self._alarms.set(table.match.id, table.match.deadline())
            if table.unshown:
                self._show_when_idle(table)
        self._effects += self._outbox.release(number)
        return self._done()

    @property
    def unshown(self) -> bool:
        """Is there anything that those who watch have not been told of?"""
        return bool(self._unshown)

    def show(self) -> list[Effect]:
        """Nothing else is to be done: those who watch are told of some moves."""
        if self._unshown:
            table = self._unshown[0]
            self._show_moves(table, AT_ONCE)
            if not table.unshown:
                self._unshown.popleft()
        return self._done()

    def storage_fails(self, fails: bool) -> list[Effect]:
        """Nothing can be stored at the moment, or it can again: everybody is told at once."""
        if fails != self._storage_fails:
            self._storage_fails = fails
            connections = tuple(s.connection for s in self.people.present() if s.connection)
            if connections:
                self._effects.append(Send(connections, _STORAGE_NOTICE[fails]))
        return self._done()

    def account_changed(self, account: Account, now: float) -> list[Effect]:
        """An operator has changed or added an account."""
        before = self.accounts.put(account)
        proven = before and (before.digest, before.revoked) == (account.digest, account.revoked)
        for session in [s for s in self.people.sessions.values() if s.is_of(account)]:
            session.account = account
            if not proven:
                self.dismiss(session, "the token of this account was revoked", now)
            elif session.connection is not None:
                self._effects.append(SetFrameLimit(session.connection, session.is_administrators))
        return self._done()

    def bot_ended(self, bot: str, why: str, now: float) -> list[Effect]:
        """One that was started has ended, though nobody asked it to."""
        self.summoning.ended(bot, why, now)
        return self._done()

    def take_up(self, tournaments: Iterable[StoredTournament]) -> None:
        """Tournaments from before the server was started; then `restore` their matches."""
        for held in tournaments:
            try:
                self.hosting.take_up(restore_tournament(held))
            except (games.SpecError, OpeningError, DecodeError, ValueError) as error:
                text = "tournament {tournament} cannot go on, and stays as it is: {why}"
                self.log(text, {"tournament": held.created.tournament, "why": str(error)})

    def restore(self, kept: Iterable[StoredMatch], now: float) -> list[Effect]:
        """Matches from before the server was started go on; their players are expected back.

        Of those that have ended, the players are told so when they come back.
        """
        for each in kept:
            match_id = each.started.match
            try:
                table = table_of(each, self.people, self.accounts)
            except (games.SpecError, games.IllegalAction) as error:
                text = "match {match} cannot go on, and stays as it is: {why}"
                self.log(text, {"match": match_id, "why": str(error)})
                self.hosting.lost(match_id, each.started.tournament, now)
                continue
            for session in table.seats:
                self._expect(session, now)
            if each.ended:
                self._note_result(table, table.ended(), each.ended.at - self.epoch)
                self._ended[match_id] = None
            else:
                self._take_up(table, now)
        self.hosting.go_on(now)
        return self._done()

    def wake(self, now: float) -> list[Effect]:
        """It is the time that was asked for: somebody's may be up."""
        self._woken_at = None
        for key in self._alarms.due(now):
            if table := self.tables.get(key):
                table.match.flag(now)
                self.settle(table, now)
            elif session := self.people.sessions.get(key):
                self.forget(session, now)
            elif key == _STOP:
                self._stop_now(now)
            elif key == _TOURNAMENTS:
                self.hosting.go_on(now)
            elif key == _GALLERY:
                self.gallery.look(now)
            elif key.startswith(_BOT):
                self.summoning.time_is_up(key.removeprefix(_BOT), now)
            elif key.startswith(_HELLO):
                self._miss_hello(int(key.removeprefix(_HELLO)), now)
            elif caller := self.people.callers.get(int(key.removeprefix(_IDLE))):
                self._look_after(caller, now)
        return self._done()

    def stop(self, now: float, grace_s: float) -> list[Effect]:
        """No new matches; those running have `grace_s` seconds to end."""
        self.closing = True
        for offer in list(self.lobby):
            self.withdraw(offer, now)
        self.send(tuple(self.people.callers), Closing(seconds=grace_s, kept=self.policy.stored))
        if self.tables and grace_s > 0:
            self._alarms.set(_STOP, now + grace_s)
        else:
            self._stop_now(now)
        return self._done()

    # What the handlers of requests need.

    def new_id(self) -> str:
        """A name for a match or a seek, never used before; later ones sort after earlier ones."""
        self._ids += 1
        return f"{self._era}{self._ids:04x}"

    def new_token(self) -> str:
        """A secret."""
        return f"{self.random.getrandbits(128):032x}"

    def admit(self, session: Session, caller: Connection, now: float) -> None:
        """A session begins, or goes on over another connection."""
        if session.connection is not None:
            replaced = Refused(Code.REPLACED, "this session goes on elsewhere")
            self.decline(session.connection, replaced, None)
            self._close(session.connection, now)
        session.connection = caller.number
        caller.session = session
        self.people.add(session)
        self._alarms.set(session.key, None)
        self._alarms.set(f"{_HELLO}{caller.number}", None)
        self._effects.append(SetFrameLimit(caller.number, session.is_administrators))
        if self._storage_fails:  # its welcome may have to wait
            self._effects.append(Send((caller.number,), _STORAGE_NOTICE[True]))
        if self.policy.idle_s:
            self._alarms.set(f"{_IDLE}{caller.number}", now + self.policy.idle_s)

    def withdraw(self, offer: OpenSeek, now: float) -> None:
        """A seek is closed before it has led to all that it was for."""
        self.lobby.remove(offer.id)
        self.summoning.withdrawn(offer, now)

    def begin(self, table: MatchRoom, now: float) -> None:
        """A match is played from now on."""
        match, seats, at = table.match, table.seats, now + self.epoch
        self.tables[match.id] = table
        table.begun_at = at
        for session in seats:
            session.matches.add(match.id)
        match.start(now)
        self.store(table.begun(at))
        for ply in range(match.ply):
            self.store(table.played(ply, now, None, at))
        self._await(table)
        text = "match {match} started: {game}, {first} against {second}, clock {clock}"
        self.log(text, _about(match))
        for session in seats:
            self.tell(session, table.started(session, now))
        self.settle(table, now)

    def reseat(self, table: MatchRoom, seat: Seat, session: Session, now: float) -> None:
        """Another session of the same account plays a match on."""
        before, match_id = table.seats[seat - 1], table.match.id
        table.reseat(seat, session)
        session.matches.add(match_id)
        before.matches.discard(match_id)
        self.store(SeatTakenOver(match=match_id, seat=seat, session=session.key))
        if not before.matches:
            self.forget(before, now)

    def moved(self, table: MatchRoom, played: MovePlayed, now: float) -> None:
        """A move was made: nobody's clock runs until it is stored and announced."""
        self.store(played)
        self._await(table)
        table.show_later(played.ply, now, played.info, self._records)

    def show_moves(self, table: MatchRoom) -> None:
        """Tell those who watch of all moves that they were not told of."""
        self._show_moves(table, len(table.unshown))

    def table(self, match_id: str) -> MatchRoom:
        """Where a match is being played. Raises Refused."""
        if table := self.tables.get(match_id):
            return table
        if match_id in self._ended:
            raise Refused(Code.MATCH_OVER, f"match {match_id} is over")
        raise Refused(Code.UNKNOWN_MATCH, f"there is no match {match_id!r}")

    def settle(self, table: MatchRoom, now: float) -> None:
        """After anything that happened to a match: set its alarm, or tell that it is over."""
        match = table.match
        if fault := table.drawing.take_fault():
            text = "match {match} is not drawn: the view of {game} fails, with {fault}"
            self.log(text, _about(match) | {"fault": fault})
        if match.status is not Status.ENDED:
            self._alarms.set(match.id, match.deadline())
            return
        finished = table.finished(now + self.epoch)
        self.store(finished)
        ended = table.ended()
        self._note_result(table, ended, now)
        self.tell_all(table.seats, ended)
        self.show_moves(table)
        self.tell_onlookers(table.watchers(), ended)
        self.log("match {match} ended after {plies} plies: {result} ({reason})", _about(match))
        self._remove(table, now)
        if match.missing:
            self._look_for_nobody(table.seats[match.missing - 1], now)
        self.gallery.ended(table)
        self.summoning.over(table, now)
        if table.tournament:
            self.hosting.ended(table, finished, now)

    def look_at_tournaments(self, at: float) -> None:
        """Call `hosting.go_on` then, or before."""
        if at < self._alarms.wanted(_TOURNAMENTS):
            self._alarms.set(_TOURNAMENTS, at)

    def look_around(self, at: float | None) -> None:
        """Call `gallery.look` then; None for never."""
        self._alarms.set(_GALLERY, at)

    def look_at_bot(self, bot: str, at: float | None) -> None:
        """Call `summoning.time_is_up` then, instead of at any other time."""
        self._alarms.set(f"{_BOT}{bot}", at)

    def do(self, effect: Effect) -> None:
        """Have something done."""
        self._effects.append(effect)

    def dismiss(self, session: Session, text: str, now: float) -> None:
        """Send somebody away, who does not come back."""
        if session.connection is not None:
            self.decline(session.connection, Refused(Code.KICKED, text), None)
        self.part_with(session, now)

    def part_with(self, session: Session, now: float) -> None:
        """End a session, here or not, that has nothing more to do."""
        if session.connection is not None:
            self._close(session.connection, now)
        self.forget(session, now)

    def forget(self, session: Session, now: float) -> None:
        """A session is over: it left, with nothing to come back to or for too long."""
        for match_id in list(session.matches):
            table = self.tables[match_id]
            if seat := table.seat_of(session):
                table.match.abandon(seat)
                self.settle(table, now)
        if self.people.remove(session):
            self._alarms.set(session.key, None)
        self.summoning.left(session)

    def store(self, record: Record) -> None:
        """Keep something. What is said from now on waits for it."""
        self._records += 1
        self._effects.append(Store(self._records, record))

    def decline(self, connection: int, refused: Refused, re: RequestId | None) -> None:
        """Say that something is not done, and why."""
        seconds = None if refused.seconds is None else round(refused.seconds, 3)
        error = Error(re=re, code=refused.code, text=str(refused), seconds=seconds)
        self.send((connection,), error)

    def tell(self, session: Session, message: Event) -> None:
        """Say something to one session, if it is connected."""
        if session.connection is not None:
            self.send((session.connection,), message)

    def tell_all(self, sessions: Iterable[Session], message: Event) -> None:
        """Say something to those of some sessions that are connected."""
        self.send(_lines(sessions), message)

    def tell_onlookers(self, sessions: Iterable[Session], message: Event) -> None:
        """Say something to those who only look on: players come first, however many these are."""
        if lines := _lines(sessions):
            self._when_stored(lines, self._records, SendToSpectators(lines, (message,)))

    def send(self, connections: tuple[int, ...], message: Event) -> None:
        """Say something on some connections, when all that it rests on is stored."""
        if type(message) in _RESTS_ON_RECORDS:
            if connections:
                self._when_stored(connections, self._records, Send(connections, message))
        else:
            for connection in connections:  # each at once, unless something before it is held
                self._when_stored((connection,), 0, Send((connection,), message))

    def log(self, text: str, fields: Mapping[str, object]) -> None:
        """Tell the operator."""
        self._effects.append(Log(text, fields))

    # The rest.

    def _look_for_nobody(self, session: Session, now: float) -> None:
        """Who is not there for one match shall not spoil the next one, by a seek of before."""
        offers = self.lobby.of_session(session.key)
        for offer in offers:
            self.withdraw(offer, now)
        if offers:
            self.tell(session, _SEEKS_CLOSED)

    def _take_up(self, table: MatchRoom, now: float) -> None:
        """A match goes on, after a while for its players to come back."""
        self.tables[table.match.id] = table
        for session in table.seats:
            session.matches.add(table.match.id)
        table.match.resume(now + self.policy.restart_grace_s)
        self.log("match {match} goes on at ply {plies}", _about(table.match))
        self.settle(table, now)
        self.summoning.take_up(table, now)

    def _expect(self, session: Session, now: float) -> None:
        """A session from before the server was started may come back."""
        session.left_at = now
        self.people.add(session)
        wait_s = max(self.policy.reconnect_s, self.policy.restart_grace_s)
        self._alarms.set(session.key, now + wait_s)

    def _note_result(self, table: MatchRoom, ended: Ended, at: float) -> None:
        """Its players may not hear how a match ended, and are told again when they come back."""
        for session in table.seats:
            session.news(at - self.policy.reconnect_s)
            session.results.append((at, ended))

    def _when_stored(
        self,
        connections: tuple[int, ...],
        after: int,
        effect: Send | SendToSpectators | Close | Stopped,
    ) -> None:
        if self._outbox.passes(connections, after):
            self._effects.append(effect)
        else:
            self._outbox.hold(connections, after, effect)

    def _await(self, table: MatchRoom) -> None:
        """A match stands still until all records up to now are stored."""
        table.match.hold()
        table.awaits = self._records
        self._waiting.append((self._records, table))

    def _show_moves(self, table: MatchRoom, most: int) -> None:
        moves, table.unshown = table.unshown[:most], table.unshown[most:]
        if not moves:
            return
        for sessions, updates in table.shown(moves):
            if lines := _lines(sessions):
                self._when_stored(lines, moves[-1].record, SendToSpectators(lines, updates))

    def _show_when_idle(self, table: MatchRoom) -> None:
        if not self._unshown:
            self._effects.append(CallWhenIdle())
        self._unshown.append(table)

    def _done(self) -> list[Effect]:
        at = self._alarms.next()
        if at != self._woken_at:
            self._woken_at = at
            self._effects.append(Wake(at))
        effects, self._effects = self._effects, []
        return effects

    def _locate(self, connection: int, address: str, now: float) -> None:
        caller, most = self.people.callers.get(connection), self.policy.connections_per_address
        if caller is None:
            return
        self.people.locate(caller, address)
        if 0 < most < self.people.calls_from(address):
            self._turn_away(connection, f"your address has {most} connections already", now)

    def _turn_away(self, connection: int, text: str, now: float) -> None:
        self.decline(connection, Refused(Code.TOO_MANY, text), None)
        self._close(connection, now)

    def _count(self, caller: Connection, now: float) -> None:
        """One more message. Raises Refused, and does not listen for a while, if it is too many."""
        caller.heard_at = now
        wait_s = caller.bucket.take(now)
        if wait_s:
            self._effects.append(PauseReading(caller.number, wait_s))
            text = (
                f"more than {self.policy.messages_per_s:g} messages a second; "
                f"you are not listened to for {wait_s:.1f} s"
            )
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    def _miss_hello(self, connection: int, now: float) -> None:
        if connection in self.people.callers:
            text = f"no hello within {self.policy.hello_s:g} seconds"
            self.decline(connection, Refused(Code.TIMEOUT, text), None)
            self._close(connection, now)

    def _look_after(self, caller: Connection, now: float) -> None:
        """Ask one who says nothing for a sign of life; then wait for it, if not for ever.

        Who plays may think for as long as the clock lets it.
        """
        idle_s, alarm = self.policy.idle_s, f"{_IDLE}{caller.number}"
        silent_s = now - caller.heard_at
        if caller.session and caller.session.matches:
            self._alarms.set(alarm, now + idle_s)
        elif silent_s < idle_s:
            self._alarms.set(alarm, caller.heard_at + idle_s)
        elif silent_s < idle_s + ANSWER_S:
            self.send((caller.number,), ServerPing(seconds=ANSWER_S))
            self._alarms.set(alarm, caller.heard_at + idle_s + ANSWER_S)
        else:
            text = f"nothing was heard for {silent_s:.0f} seconds"
            self.decline(caller.number, Refused(Code.TIMEOUT, text), None)
            self._close(caller.number, now)

    def _close(self, connection: int, now: float, after: int = 0) -> None:
        """End a connection, once record `after` is stored; nothing that it still says counts."""
        self._when_stored((connection,), after, Close(connection))
        self._detach(connection, now)

    def _detach(self, connection: int, now: float) -> None:
        """Who is no longer there looks for nobody and watches nothing."""
        caller = self.people.hung_up(connection)
        if caller is None:
            return
        self._outbox.forget(connection)
        self._alarms.set(f"{_HELLO}{connection}", None)
        self._alarms.set(f"{_IDLE}{connection}", None)
        session = caller.session
        if session is None:
            return
        session.connection, session.left_at = None, now
        for offer in self.lobby.of_session(session.key):
            self.withdraw(offer, now)
        for match_id in list(session.watching):
            self.tables[match_id].unwatch(session)
        self.hosting.leave(session, now)
        self.gallery.leave(session)
        if session.matches or session.news(now - self.policy.reconnect_s):
            self._alarms.set(session.key, now + self.policy.reconnect_s)
        else:
            self.forget(session, now)

    def _remove(self, table: MatchRoom, now: float) -> None:
        match_id = table.match.id
        del self.tables[match_id]
        self._alarms.set(match_id, None)
        self._ended[match_id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        for session in table.watchers():
            session.watching.discard(match_id)
        for session in table.seats:
            session.matches.discard(match_id)
        if self.closing and not self.tables:
            self._finish(now)

    def _stop_now(self, now: float) -> None:
        """What is stored goes on another time; all else ends here."""
        if self.policy.stored or not self.tables:
            self._finish(now)
            return
        for table in list(self.tables.values()):  # the last one finishes
            table.match.abort("the server stopped")
            self.settle(table, now)

    def _finish(self, now: float) -> None:
        for connection in list(self.people.callers):
            self._close(connection, now, self._records)
        self._alarms.set(_STOP, None)
        self._when_stored((_NOBODY,), self._records, Stopped())


_SEEKS_CLOSED = Notice(
    code="seeks_closed",
    text="you made no move, so your open seeks are closed: seek again when you are there",
)
_STORAGE_NOTICE = {
    True: Notice(
        code="storage_down",
        text="the server cannot store anything at the moment: moves wait, and clocks with them",
    ),
    False: Notice(code="storage_up", text="the server stores again: matches go on"),
}


def _lines(sessions: Iterable[Session]) -> tuple[int, ...]:
    return tuple({s.connection for s in sessions if s.connection is not None})


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
