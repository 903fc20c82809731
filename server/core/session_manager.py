"""Begins and ends connections and sessions, pings idle ones, and waits for lost ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from playout.protocol.messages import Code, Notice, RequestId, Seat, ServerPing
from playout.server.core.accounts import DAY_S, digest
from playout.server.core.context import FeatureEvent
from playout.server.core.effects import PauseReading, Send, SetFrameLimit
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext, MatchRoom
from playout.server.core.rate_limits import BURST_S, FIRST_BURST, FIRST_RATE, TokenBucket, network
from playout.server.core.sessions import Connection, Session
from playout.server.model.records import Account

#: Seconds in which a peer must answer the server's ping.
PING_ANSWER_S = 60.0

#: Seconds between checks whether a session has no more matches that wait for it.
_DORMANT_CHECK_S = 600.0

#: Connections above the limit that may say hello, so that administrators can always connect.
RESERVED = 8

#: Connections above a limit that may wait to read why they are closed. Others are closed at once.
MAX_REFUSED = 16

_STORAGE_NOTICE = {
    True: Notice(
        code="storage_down",
        text="the server cannot store anything at the moment: moves wait, and clocks are stopped",
    ),
    False: Notice(code="storage_up", text="the server stores again: matches continue"),
}


@dataclass(frozen=True)
class SessionDisconnected(FeatureEvent):
    """A session has lost its connection, or its client has `left`; it may come back."""

    session: Session
    left: bool = False


@dataclass(frozen=True)
class SeatTaken(FeatureEvent):
    """Another session of the same account has taken over a seat."""

    session: Session


@dataclass(frozen=True)
class SessionClosed(FeatureEvent):
    """A session is over; nothing can be sent to it."""

    session: Session


class SessionManager:
    """Connections and sessions of a hub, with their timers."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._registry = context.registry
        self._rooms = context.rooms
        self._storage_fails = False
        #: The connections above the limit that have not said hello, the oldest first.
        self._reserved: dict[int, None] = {}

    # Connections.

    def connect(
        self, number: int, address: str | None, now: float, *, is_own: bool = False
    ) -> None:
        """Add a connection, unless there are too many; `address` is None until `locate`.

        Above the limit, a few may wait for their hello, in case it is an administrator's.
        """
        policy, timers = self._context.policy, self._context.timers
        rate = policy.messages_per_s
        connection = Connection(
            number,
            TokenBucket(
                min(rate, FIRST_RATE),
                min(rate * BURST_S, FIRST_BURST),
                now + self._context.epoch,
            ),
            heard_at=now,
            hello_timer=timers.new(partial(self._hello_timeout, number)),
            idle_timer=timers.new(partial(self._check_idle, number)),
        )
        self._registry.connect(connection, is_own=is_own)
        if policy.hello_s:
            connection.hello_timer.set(now + policy.hello_s)
        if not is_own and 0 < policy.connections < self._registry.counted_connections:
            self._reserved[number] = None
            if len(self._reserved) > RESERVED:
                self._turn_away_reserved(next(iter(self._reserved)), now)
        if address is not None:
            self.locate(number, address, now)

    def locate(self, number: int, address: str, now: float) -> None:
        """Note the address of a connection, and close it if there are too many from there."""
        connection = self._registry.connections.get(number)
        most = self._context.policy.connections_per_address
        if connection is None:
            return
        self._registry.locate(connection, address)
        if not self._registry.is_own(number) and 0 < most < self._registry.connections_from(
            address
        ):
            self._turn_away(number, f"your address has {most} connections already", now)

    def count_message(self, connection: Connection, now: float) -> None:
        """Count one more message. Raises Refused, and pauses reading, if there were too many."""
        connection.heard_at = now
        # By the time of day: during a stall requests arrive, and tokens with them.
        wait_s = connection.bucket.take(now + self._context.epoch)
        if wait_s:
            self._context.do(PauseReading(connection.number, wait_s))
            most = connection.bucket.rate
            text = (
                f"more than {most:g} messages a second; "
                f"the server reads no further message for {wait_s:.1f} s"
            )
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    def disconnect(self, number: int, now: float, *, left: bool = False) -> None:
        """End a connection. A session with matches or unsent results may come back.

        `left`: whether the client has closed it, and not the network or the server.
        """
        connection = self._registry.disconnect(number)
        if connection is None:
            return
        self._reserved.pop(number, None)
        self._context.forget_connection(number)
        connection.hello_timer.stop()
        connection.idle_timer.stop()
        session = connection.session
        if session is None:
            return
        session.connection, session.left_at, session.ends_at = None, now, None
        self._context.lobby.update_shares(session)
        for match_id in list(session.watching):
            self._rooms.running[match_id].unwatch(session, now)
        self._send_presence(session, now)
        self._context.queue(SessionDisconnected(session, left))
        reconnect_s = self._context.policy.reconnect_s
        waits = session.matches or session.lasting_seeks
        if waits or session.results_since(now - reconnect_s):
            self._expire_at(session, now + reconnect_s)
        else:
            self.forget(session, now)

    def silent(self, number: int, left_s: float | None, now: float) -> None:
        """Note that a client is silent, or that it answers again: see `Hub.silent`."""
        connection = self._registry.connections.get(number)
        if connection and (session := connection.session):
            session.ends_at = None if left_s is None else now + left_s
            self._send_presence(session, now)

    def _send_presence(self, session: Session, now: float) -> None:
        for match_id in session.matches:
            self._rooms.running[match_id].send_presence(session, now)

    def closed(self, number: int, now: float, *, left: bool = False) -> None:
        """End a connection if it was not ended before: its file is closed."""
        self.disconnect(number, now, left=left)
        self._registry.closed(number)

    def close(self, number: int, now: float, after: int = 0, *, at_once: bool = False) -> None:
        """Close a connection once record `after` is stored; its further input is ignored.

        It counts until `closed`.
        """
        self._context.close(number, after, at_once=at_once)
        self.disconnect(number, now)

    def close_all(self, now: float) -> None:
        """Close all connections once all records are stored."""
        for number in list(self._registry.connections):
            self.close(number, now, self._context.records)

    def storage_fails(self, fails: bool) -> None:
        """Tell every session that storage fails, or that it works again."""
        if fails != self._storage_fails:
            self._storage_fails = fails
            present = self._registry.present()
            connections = tuple(each.connection for each in present if each.connection)
            if connections:
                self._context.do(Send(connections, _STORAGE_NOTICE[fails]))

    # Sessions.

    def admit(self, session: Session, connection: Connection, now: float) -> None:
        """Begin a session, or resume it on another connection."""
        context = self._context
        if session.connection is not None:
            replaced = Refused(Code.REPLACED, "this session continues on another connection")
            context.decline(session.connection, replaced, None)
            self.close(session.connection, now)
        self._reserved.pop(connection.number, None)
        session.connection, session.ends_at = connection.number, None
        session.network = network(connection.address)
        self._send_presence(session, now)
        for match_id in session.matches:
            self._rooms.update_share(self._rooms.running[match_id])
        context.lobby.update_shares(session)
        session.is_dormant = False
        connection.session = session
        rate = context.policy.messages_per_s
        connection.bucket = TokenBucket(rate, rate * BURST_S, now + context.epoch)
        connection.bucket.take(now + context.epoch)  # for hello
        self._registry.add(session)
        if session.expiry:
            session.expiry.stop()
        connection.hello_timer.stop()
        self.set_frame_limit(session)
        if self._storage_fails:  # its welcome may have to wait
            context.do(Send((connection.number,), _STORAGE_NOTICE[True]))
        if context.policy.idle_s:
            connection.idle_timer.set(now + context.policy.idle_s)

    def set_frame_limit(self, session: Session) -> None:
        """Set the largest frame of a connected session, which depends on its account."""
        if session.connection is not None:
            self._context.do(SetFrameLimit(session.connection, session.is_administrators))

    def expect(self, session: Session, now: float) -> None:
        """Wait for a session from before the server was started to come back."""
        session.left_at = now
        self._registry.add(session)
        policy = self._context.policy
        self._expire_at(session, now + max(policy.reconnect_s, policy.restart_grace_s))

    def kick(self, session: Session, text: str, now: float) -> None:
        """End a session with an error after which its player does not reconnect."""
        if session.connection is not None:
            self._context.decline(session.connection, Refused(Code.KICKED, text), None)
        self.end(session, now)

    def log_out(self, session: Session, text: str, now: float) -> None:
        """End a session with an error; its matches wait for another session of its account."""
        if session.matches:
            key = digest(self._context.new_token())
            waiting = Session(key, session.name, session.hello, session.account, login=None)
            self.expect(waiting, now)
            for match_id in list(session.matches):
                room = self._rooms.running[match_id]
                if seat := room.seat_of(session):
                    room.reseat(seat, waiting)
                    self._context.queue(SeatTaken(waiting))
        self.kick(session, text, now)

    def account_changed(self, before: Account | None, account: Account, now: float) -> None:
        """Use an account in its sessions; they end if their token is not valid any more."""
        proven = before and (before.digest, before.revoked) == (account.digest, account.revoked)
        for session in [each for each in self._registry.sessions.values() if each.is_of(account)]:
            session.account = account
            if proven:
                self.set_frame_limit(session)
            else:
                self.kick(session, "the token of this account was revoked", now)

    def end(self, session: Session, now: float) -> None:
        """End a session, and close its connection if it has one."""
        if session.connection is not None:
            self.close(session.connection, now)
        self.forget(session, now)

    def forget(self, session: Session, now: float) -> None:
        """End a session that is not connected; matches that it still plays are abandoned."""
        self._abandon(session, [self._rooms.running[each] for each in session.matches], now)
        if self._registry.remove(session):
            if session.expiry:
                session.expiry.stop()
            self._context.queue(SessionClosed(session))

    def reseat(self, room: MatchRoom, seat: Seat, session: Session, now: float) -> None:
        """Give a seat to another session of the account; the session before ends if it is idle."""
        before = room.seats[seat - 1]
        room.reseat(seat, session)
        if not before.matches:
            self.forget(before, now)
        self._context.queue(SeatTaken(session))

    def _abandon(self, session: Session, rooms: Iterable[MatchRoom], now: float) -> None:
        for room in rooms:
            if seat := room.seat_of(session):
                room.abandon(seat, now)

    # Timers.

    def _expire_at(self, session: Session, at: float) -> None:
        if session.expiry is None:
            session.expiry = self._context.timers.new(partial(self._expire, session.key))
        session.expiry.set(at)

    def _expire(self, key: str, now: float) -> None:
        """End a session that did not come back, unless matches wait for it."""
        session = self._registry.sessions[key]
        rooms = [self._rooms.running[each] for each in session.matches]
        lasting = [room for room in rooms if room.waits_for(session)]
        away_s, days = now - session.left_at, self._context.policy.seek_days
        if 0 < days * DAY_S <= away_s:
            for seek in list(session.lasting_seeks):
                self._context.lobby.remove(seek)
        if not lasting and not session.lasting_seeks:
            self.forget(session, now)
            return
        self._abandon(session, [room for room in rooms if room not in lasting], now)
        session.is_dormant = True
        self._expire_at(session, now + _DORMANT_CHECK_S)

    def _hello_timeout(self, number: int, now: float) -> None:
        text = f"no hello within {self._context.policy.hello_s:g} seconds"
        self._context.decline(number, Refused(Code.TIMEOUT, text), None)
        self.close(number, now)

    def _check_idle(self, number: int, now: float) -> None:
        """Send a ping to a peer that was silent for `idle_s` seconds, then close its connection.

        A player in a match may think until its clock ends.
        """
        connection = self._registry.connections[number]
        timer, idle_s = connection.idle_timer, self._context.policy.idle_s
        silent_s = now - connection.heard_at
        if connection.session and connection.session.matches:
            timer.set(now + idle_s)
        elif silent_s < idle_s:
            timer.set(connection.heard_at + idle_s)
        elif silent_s < idle_s + PING_ANSWER_S:
            self._context.send((number,), ServerPing(seconds=PING_ANSWER_S))
            timer.set(connection.heard_at + idle_s + PING_ANSWER_S)
        else:
            text = f"nothing was received for {silent_s:.0f} seconds"
            self._context.decline(number, Refused(Code.TIMEOUT, text), None)
            self.close(number, now)

    def has_room(
        self, number: int, account: Account | None, now: float, re: RequestId | None
    ) -> bool:
        """Whether a connection may say hello: above the limit only an administrator's.

        A connection that came when the limit was reached may stay if another one has been closed
        since. Otherwise it is closed, after an error in reply to its request `re`.
        """
        if number not in self._reserved or (account and account.administrator):
            return True
        within = self._registry.counted_connections - len(self._reserved)
        if within < self._context.policy.connections:
            return True
        self._turn_away_reserved(number, now, re)
        return False

    def _turn_away_reserved(self, number: int, now: float, re: RequestId | None = None) -> None:
        del self._reserved[number]
        self._turn_away(number, self._too_many(), now, re)

    def _too_many(self) -> str:
        most = self._context.policy.connections
        return f"the server has {most} connections and accepts no more"

    def _turn_away(self, number: int, text: str, now: float, re: RequestId | None = None) -> None:
        self._context.decline(number, Refused(Code.TOO_MANY, text), re)
        self.close(number, now, at_once=self._registry.closing_connections >= MAX_REFUSED)
