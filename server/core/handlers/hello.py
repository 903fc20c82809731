"""Hello: who somebody is, and what there is to come back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

import games
from server.core.accounts import digest, proves
from server.core.match import Refused
from server.core.sessions import RequestContext, Session
from server.model.codec import ADMINISTRATORS_FRAME
from server.model.messages import PROTOCOL, Code, Hello, Welcome
from server.model.names import BadName, normalised, skeleton
from server.model.records import Account

if TYPE_CHECKING:
    from server.core.hub import Hub


def hello(hub: Hub, asker: RequestContext, request: Hello) -> None:
    """Begin a session, or take one up again."""
    if not request.protocol_min <= PROTOCOL <= request.protocol_max:
        raise Refused(Code.UNSUPPORTED_PROTOCOL, f"this server speaks protocol {PROTOCOL}")
    if request.session:
        session, token, new = _old_session(hub, request), request.session, None
    else:
        name = _name(request)
        account, new = _account(hub, asker, request, name)
        _require_room(hub, account)
        token = hub.new_token()
        name = account.name if account else name
        session = Session(digest(token), name, request, account)
    hub.admit(session, asker.caller, asker.now)
    away = [m for m in _away(hub, session) if m not in session.matches]
    welcome = Welcome(
        re=request.id,
        protocol=PROTOCOL,
        session=token,
        name=session.name,
        token=new,
        guest=session.account is None,
        frame_bytes=ADMINISTRATORS_FRAME if session.is_administrators else None,
        away=tuple(sorted(away)),
        software=hub.software,
        games=tuple(games.names()),
        bots=hub.summoning.offered,
    )
    hub.tell(session, welcome)
    hub.log("{name} is here ({role}, {software})", _who(session))
    for ended in session.news(asker.now - hub.policy.reconnect_s):
        hub.tell(session, ended)
    for match_id in sorted(session.matches):
        hub.tell(session, hub.tables[match_id].started(session, asker.now))
    for offer in hub.lobby:
        if offer.opponent and offer.wants(session.skeleton):
            hub.tell(session, offer.message())
    hub.summoning.came(session, asker.now)


def _old_session(hub: Hub, request: Hello) -> Session:
    session = hub.people.sessions.get(digest(request.session or ""))
    names = {session.skeleton} if session else set()
    if session and session.account:
        names.add(skeleton(session.account.name))  # it may have been renamed meanwhile
    if session is None or skeleton(request.name) not in names:
        text = f"there is no such session of {request.name!r} (any more)"
        raise Refused(Code.UNKNOWN_SESSION, text)
    # A session does not change sides; one from before a restart has played.
    role = session.hello.role
    session.hello = structs.replace(request, role=role)
    return session


def _name(request: Hello) -> str:
    try:
        return normalised(request.name)
    except BadName as error:
        raise Refused(Code.BAD_NAME, str(error)) from error


def _account(
    hub: Hub, asker: RequestContext, request: Hello, name: str
) -> tuple[Account | None, str | None]:
    """Whose session it will be, None for a guest's; and the token, if it is a new account."""
    owner = hub.accounts.like(name)
    if request.token is not None:
        return _proven(owner, name, request.token), None
    _require_free(hub, owner, name, asker.now)
    registration = hub.policy.registration
    if request.guest or request.role == "spectator":
        if registration == "closed":
            text = "this server is for those who have an account, and takes no guests"
            raise Refused(Code.REGISTRATION_CLOSED, text)
        return None, None
    if registration != "open":
        text = f"nobody is called {name!r} here, and new names are given by the operator only"
        raise Refused(Code.REGISTRATION_CLOSED, text)
    return _registered(hub, asker, name)


def _proven(owner: Account | None, name: str, token: str) -> Account:
    if owner is None:
        raise Refused(Code.UNKNOWN_ACCOUNT, f"there is no account called {name!r} here")
    if not proves(owner, token):
        raise Refused(Code.BAD_TOKEN, f"this is not the token of {name!r}, or not any more")
    return owner


def _require_free(hub: Hub, owner: Account | None, name: str, now: float) -> None:
    others = hub.people.like(skeleton(name))
    if owner:
        text = f"{owner.name!r} is registered; its owner says hello with its token"
    elif here := [other for other in others if _is_expected(hub, other)]:
        text = f"{here[0].name!r} is here"
    else:
        for other in others:  # a guest who has left, with nothing to come back to but a result
            hub.forget(other, now)
        return
    raise Refused(Code.NAME_TAKEN, f"{text}. Take another name, one that looks different")


def _is_expected(hub: Hub, session: Session) -> bool:
    """Is it here, or has it something to come back to, or to come for?"""
    return bool(session.connection or session.matches or hub.summoning.player_of(session))


def _registered(hub: Hub, asker: RequestContext, name: str) -> tuple[Account, str]:
    wait_s = hub.registrations.take(asker.caller.address, asker.now)
    if wait_s:
        most = hub.policy.registrations_per_hour
        text = f"your address has registered {most} names of late; wait, or come as a guest"
        raise Refused(Code.RATE_LIMITED, text, wait_s)
    token = hub.new_token()
    account = Account(
        id=hub.new_token()[:16],
        name=name,
        digest=digest(token),
        created_at=asker.now + hub.epoch,
    )
    hub.accounts.put(account)
    hub.store(account)
    fields = {"name": name, "session": None, "match": None}
    hub.log("{name} is registered", fields)
    return account, token


def _require_room(hub: Hub, account: Account | None) -> None:
    most = hub.policy.sessions_per_account
    if account is None or not most:
        return
    here = sum(session.is_of(account) for session in hub.people.like(skeleton(account.name)))
    if here >= most:
        text = f"an account may have {most} sessions at once, and {account.name!r} has"
        raise Refused(Code.TOO_MANY, text)


def _away(hub: Hub, session: Session) -> list[str]:
    """Matches of the same account whose session is gone."""
    return [
        match_id
        for other in hub.people.like(session.skeleton)
        if other.connection is None and other.is_of(session.account)
        for match_id in other.matches
    ]


def _who(session: Session) -> dict[str, object]:
    said = session.hello
    return {
        "name": session.name,
        "role": said.role,
        "software": said.software or "unknown software",
        "session": session.label,
    }
