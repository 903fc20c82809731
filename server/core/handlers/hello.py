"""Requests about sessions: hello, ping and kick."""

from __future__ import annotations

import hmac
import math

from msgspec import structs

from playout import games
from playout.protocol.codec import ADMINISTRATORS_FRAME
from playout.protocol.messages import (
    PROTOCOL,
    Code,
    Hello,
    Kick,
    Ok,
    OpenSession,
    Ping,
    Pong,
    SessionOpened,
    Welcome,
)
from playout.protocol.names import BadName, normalised, skeleton
from playout.server.core.accounts import (
    DAY_S,
    DeviceLogin,
    digest,
    entrant_token,
    login_with,
    logins_of,
    token_left_s,
    used,
)
from playout.server.core.handlers.bots import BotManager
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext
from playout.server.core.rate_limits import Quota
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.model.records import Account, token_change


class Greeting:
    """Begins sessions, resumes and ends them; registers accounts."""

    def __init__(
        self,
        context: FeatureContext,
        sessions: SessionManager,
        bots: BotManager,
        software: str,
    ) -> None:
        """`software` is the server's name and version."""
        self._context = context
        self._accounts = context.accounts
        self._registry = context.registry
        self._sessions = sessions
        self._bots = bots
        self._software = software
        self._registrations = Quota(
            context.policy.registrations_per_hour, "register {} names", "come as a guest"
        )

    @handles(Hello)
    def hello(self, request: Hello, origin: RequestContext) -> None:
        """Begin or resume a session."""
        if not request.protocol_min <= PROTOCOL <= request.protocol_max:
            raise Refused(Code.UNSUPPORTED_PROTOCOL, f"this server speaks protocol {PROTOCOL}")
        owner = self._accounts.like(request.name)
        if not self._sessions.has_room(origin.connection.number, owner, origin.now, request.id):
            return
        if request.session:
            session, token, new_token = self._old_session(request), request.session, None
        else:
            session, token, new_token = self._new_session(request, origin)
        self._sessions.admit(session, origin.connection, origin.now)
        welcome = self._welcome(session, token, new_token, origin.now)
        self._context.send_to(session, structs.replace(welcome, re=request.id))
        self._context.log("{name} has connected ({role}, {software})", _log_fields(session))
        self._send_state(session, origin.now)
        self._bots.connected(session, origin.now)

    @handles(Ping)
    def ping(self, request: Ping, origin: RequestContext) -> None:
        """Answer a client's ping with a pong."""
        self._context.send((origin.connection.number,), Pong(re=request.id))

    @handles(Kick)
    def kick(self, request: Kick, origin: RequestContext) -> None:
        """End all sessions of a name, at an administrator's request."""
        text = request.text or "an administrator has ended your session"
        sessions = self._registry.like(skeleton(request.name))
        if not sessions:
            raise Refused(Code.INVALID, f"no session is named {request.name!r}")
        self._context.send_to(origin.session, Ok(re=request.id))
        fields = {"name": sessions[0].name, "by": origin.session.name}
        self._context.log("{by} has kicked {name}", fields)
        for session in sessions:
            self._sessions.kick(session, text, origin.now)

    @handles(OpenSession)
    def open_session(self, request: OpenSession, origin: RequestContext) -> None:
        """Prepare a session of a name for a program of an administrator."""
        name = normalised_name(request.name)
        account = self._accounts.like(name) or self._without_token(name, origin.now)
        if account.revoked or account.administrator:
            raise Refused(Code.NOT_ALLOWED, f"{account.name!r} is revoked, or an administrator")
        token = self._context.new_token()
        hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=account.name)
        session = Session(digest(token), account.name, hello, account, opened=True)
        self._sessions.expect(session, origin.now)
        answer = SessionOpened(re=request.id, session=token, name=account.name)
        self._context.send_to(origin.session, answer)

    def _welcome(
        self, session: Session, token: str, account_token: str | None, now: float
    ) -> Welcome:
        account = session.account
        left_s = math.inf
        if account and account.digest:
            own = (each for each in logins_of(account) if each.id == session.login)
            left_s = self._left_s(account, now, next(own, None))
        away = [match for match in self._away(session) if match not in session.matches]
        return Welcome(
            protocol=PROTOCOL,
            session=token,
            name=session.name,
            token=account_token,
            token_left_s=left_s if left_s < math.inf else None,
            guest=session.account is None,
            frame_bytes=ADMINISTRATORS_FRAME if session.is_administrators else None,
            away=tuple(sorted(away)),
            software=self._software,
            games=tuple(games.names()),
            bots=self._bots.accounts.offered,
            push_key=self._context.policy.push_key or None,
        )

    def _send_state(self, session: Session, now: float) -> None:
        """Send a session its results, matches and challenges, and seeks that no list shows."""
        context = self._context
        for ended in session.results_since(now - context.policy.reconnect_s):
            context.send_to(session, ended)
        for match_id in sorted(session.matches):
            context.send_to(session, context.rooms.running[match_id].started(session, now))
        lobby = context.lobby
        own = [each for each in lobby.of_account(session.account) if not each.is_listed]
        # Each once: an account may have challenged a name that it had before.
        for seek in {
            each.id: each for each in [*lobby.challenges(session.skeleton), *own]
        }.values():
            context.send_to(session, seek.to_message())

    # Sessions.

    def _old_session(self, request: Hello) -> Session:
        """The session to resume. Raises Refused."""
        session = self._registry.sessions.get(digest(request.session or ""))
        skeletons = {session.skeleton} if session else set()
        if session and session.account:
            skeletons.add(skeleton(session.account.name))  # it may have been renamed
        if session is None or skeleton(request.name) not in skeletons:
            text = f"there is no such session of {request.name!r}, or it has ended"
            raise Refused(Code.UNKNOWN_SESSION, text)
        session.resume(request)
        return session

    def _new_session(
        self, request: Hello, origin: RequestContext
    ) -> tuple[Session, str, str | None]:
        """A new session, its token, and the token of an account that was registered for it."""
        name = normalised_name(request.name)
        account, account_token = self._account(request, name, origin)
        if account is None or account.digest:
            self._require_room(account)
        token = self._context.new_token()
        name = account.name if account else name
        login = login_with(account, request.token) if account and request.token else None
        session = Session(digest(token), name, request, account, login=login.id if login else "")
        session.opened = account is not None and not account.digest
        return session, token, account_token

    def _away(self, session: Session) -> list[str]:
        """Matches of the account whose session is not connected; none for a bot."""
        if session.bot_player or session.opened:
            return []
        return [
            match_id
            for other in self._registry.like(session.skeleton)
            if other.connection is None and other.is_of(session.account)
            for match_id in other.matches
        ]

    # Accounts.

    def _account(
        self, request: Hello, name: str, origin: RequestContext
    ) -> tuple[Account | None, str | None]:
        """The account of a new session, None for a guest, and the token that it is sent."""
        owner = self._accounts.like(name)
        if request.token is not None:
            owner = self._proven(owner, name, request.token, origin.now)
            is_own = owner.digest and login_with(owner, request.token) is None
            renews = request.renew_token and is_own
            return owner, self._renewed_token(owner, origin.now) if renews else None
        self.require_free(name, origin.now)
        self.require_unreserved(name)
        registration = self._context.policy.registration
        if request.guest or request.role == "spectator":
            if registration == "closed":
                text = "this server is for registered players and accepts no guests"
                raise Refused(Code.REGISTRATION_CLOSED, text)
            return None, None
        if registration != "open":
            text = f"there is no account {name!r} here, and only the operator registers new names"
            raise Refused(Code.REGISTRATION_CLOSED, text)
        return self._registered(name, origin)

    def _proven(self, owner: Account | None, name: str, token: str, now: float) -> Account:
        """The account of a token. Raises Refused."""
        if owner is None:
            raise Refused(Code.UNKNOWN_ACCOUNT, f"there is no account named {name!r} here")
        if not owner.digest and hmac.compare_digest(
            token, entrant_token(self._context.entrants_key, owner.name)
        ):
            return owner
        account = used(owner, token, now + self._context.epoch)
        if account is None:
            raise Refused(Code.BAD_TOKEN, f"this is not the token of {name!r}, or not any more")
        if self._left_s(account, now, login_with(account, token)) <= 0:
            text = f"this token of {name!r} has expired: the operator can issue a new one"
            raise Refused(Code.BAD_TOKEN, text)
        return account if account is owner else self._change_token(owner, account)

    def _renewed_token(self, account: Account, now: float) -> str | None:
        """A new token for an account, if half of the time of its token is over."""
        days = self._context.policy.token_days
        if self._left_s(account, now) > days * DAY_S / 2:
            return None
        token = self._context.new_token()
        self._change_token(account, structs.replace(account, renewal=digest(token)))
        return token

    def _change_token(self, before: Account, account: Account) -> Account:
        self._accounts.put(account)
        self._context.store(token_change(before, account))
        return account

    def _left_s(self, account: Account, now: float, login: DeviceLogin | None = None) -> float:
        days = self._context.policy.token_days
        return token_left_s(account, days, now + self._context.epoch, login)

    def require_unreserved(self, name: str) -> None:
        """Raise Refused if a name is, or looks like, one that a competition uses."""
        if skeleton(name) in self._context.policy.reserved:
            text = f"{name!r} is, or looks like, a name of a competition of this server"
            raise Refused(Code.NAME_TAKEN, f"{text}. Take another name, one that looks different")

    def require_free(self, name: str, now: float) -> None:
        """Raise Refused if the name, or one that looks like it, is in use."""
        owner = self._accounts.like(name)
        others = self._registry.like(skeleton(name))
        if self._bots.accounts.reserves(name) or (owner and not owner.digest):
            text = f"{name!r} is, or looks like, the name of a bot of this server"
        elif owner:
            text = f"{owner.name!r} is registered; its owner says hello with its token"
        elif present := [other for other in others if _is_expected(other)]:
            text = f"{present[0].name!r} is connected"
        else:
            for other in others:  # guests that have left, without matches
                self._sessions.forget(other, now)
            return
        raise Refused(Code.NAME_TAKEN, f"{text}. Take another name, one that looks different")

    def _registered(self, name: str, origin: RequestContext) -> tuple[Account, str]:
        """A new account and its token. Raises Refused."""
        context = self._context
        self._registrations.require(origin.connection.address, origin.now)
        token = context.new_token()
        account = self.new_account(name, digest(token), origin.now)
        context.log("{name} is registered", {"name": name, "session": None, "match": None})
        return account, token

    def _without_token(self, name: str, now: float) -> Account:
        """A new account to which nobody can log in. Raises Refused if the name is in use."""
        self.require_free(name, now)
        return self.new_account(name, "", now)

    def new_account(self, name: str, its_digest: str, now: float) -> Account:
        """Make an account of a free name, with the digest of its token."""
        account = Account(
            id=self._context.new_token()[:16],
            name=name,
            digest=its_digest,
            created_at=now + self._context.epoch,
        )
        self._accounts.put(account)
        self._context.store(account)
        return account

    def _require_room(self, account: Account | None) -> None:
        """Raise Refused if an account has the maximum of sessions, not counting opened ones."""
        most = self._context.policy.sessions_per_account
        if account is None or not most:
            return
        named = self._registry.like(skeleton(account.name))
        mine = [each for each in named if each.is_of(account)]
        if sum(not (each.opened or each.is_dormant) for each in mine) >= most:
            text = f"an account may have {most} sessions at once, and {account.name!r} has"
            raise Refused(Code.TOO_MANY, text)


def normalised_name(name: str) -> str:
    """Return a name as it is stored. Raises Refused."""
    try:
        return normalised(name)
    except BadName as error:
        raise Refused(Code.BAD_NAME, str(error)) from error


def _is_expected(session: Session) -> bool:
    """Whether a session is connected, has matches to come back to, or is a bot's."""
    return bool(session.connection or session.matches or session.bot_player)


def _log_fields(session: Session) -> dict[str, object]:
    hello = session.hello
    return {
        "name": session.name,
        "role": hello.role,
        "software": hello.software or "unknown software",
        "session": session.label,
    }
