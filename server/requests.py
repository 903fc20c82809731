"""What clients may ask for, when, and what is done about it: one table, one handler each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import structs

import games
from server import clock
from server.lobby import Offer
from server.match import Match, Refused
from server.messages import (
    PROTOCOL,
    Cancel,
    Code,
    Hello,
    List,
    Listing,
    Move,
    Ok,
    Person,
    Ping,
    Pong,
    Request,
    Resign,
    Seek,
    Summary,
    Unwatch,
    Update,
    Watch,
    Welcome,
)
from server.session import Asker, Session, Stage

if TYPE_CHECKING:
    from server.hub import Hub

LISTED = 200


def hello(hub: Hub, asker: Asker, request: Hello) -> None:
    """Begin a session, or take one up again."""
    if not request.protocol_min <= PROTOCOL <= request.protocol_max:
        raise Refused(Code.UNSUPPORTED_PROTOCOL, f"this server speaks protocol {PROTOCOL}")
    if request.session is None:
        session = _new_session(hub, asker, request)
    else:
        session = _old_session(hub, request)
    hub.admit(session, asker.connection)
    welcome = Welcome(
        re=request.id,
        protocol=PROTOCOL,
        session=session.token,
        name=session.name,
        software=hub.software,
        games=tuple(games.names()),
    )
    hub.tell(session, welcome)
    hub.log("{name} is here ({role}, {software})", **_who(session))
    for match_id in sorted(session.matches):
        hub.tell(session, hub.started(hub.matches[match_id], session, asker.now))
    for offer in hub.lobby:
        if offer.opponent and offer.opponent.casefold() == session.name.casefold():
            hub.tell(session, offer.message())


def seek(hub: Hub, asker: Asker, request: Seek) -> None:
    """Look for an opponent, and play at once if there is one."""
    if hub.closing:
        raise Refused(Code.CLOSING, "the server will stop: there are no new matches")
    session = asker.session
    open_ = len(hub.lobby.of_session(session.token))
    if open_ >= hub.policy.seeks_per_session:
        raise Refused(Code.TOO_MANY, f"a session may have {hub.policy.seeks_per_session} seeks")
    offer = Offer(
        id=hub.new_id(),
        session=session.token,
        name=session.name,
        game=_game_name(request.game),
        clock=None if request.clock is None else _clock_name(request.clock),
        rated=request.rated,
        opponent=request.opponent,
        seat=request.seat,
        matches=request.matches,
    )
    hub.lobby.add(offer)
    hub.tell(session, offer.message(request.id))
    challenged = hub.named(offer.opponent) if offer.opponent else None
    if challenged:
        hub.tell(challenged, offer.message())
    while offer.matches and (partner := _partner(hub, offer)):
        _pair(hub, partner, offer, asker.now)


def cancel(hub: Hub, asker: Asker, request: Cancel) -> None:
    """Stop looking."""
    offer = hub.lobby.get(request.seek)
    if offer is None or offer.session != asker.session.token:
        raise Refused(Code.UNKNOWN_SEEK, f"you have no open seek {request.seek!r}")
    hub.lobby.remove(offer.id)
    hub.tell(asker.session, Ok(re=request.id))


def move(hub: Hub, asker: Asker, request: Move) -> None:
    """Make a move; the update that everybody gets is the answer."""
    match = _own_match(hub, asker, request.match)
    seat = hub.seat_of(match, asker.session)
    assert seat is not None
    try:
        played = match.play(seat, request.ply, request.action, asker.now, asker.lag_s)
    except Refused:
        hub.settle(match, asker.now)
        raise
    if match.ply > request.ply:  # otherwise the time was up
        after = match.states[request.ply + 1]
        update = Update(
            match=match.id,
            ply=request.ply,
            player=seat,
            action=request.action,
            state=after,
            to_move=0 if match.game.winner(after) else match.game.current_player(after),
            clocks=match.readings(asker.now),
        )
        if played:
            hub.announce(match, update, request.info, asker, request.id)
        else:
            hub.tell(asker.session, structs.replace(update, re=request.id))
    hub.settle(match, asker.now)


def resign(hub: Hub, asker: Asker, request: Resign) -> None:
    """Give up."""
    match = _own_match(hub, asker, request.match)
    match.resign(hub.seat_of(match, asker.session) or 1)
    if request.id is not None:
        hub.tell(asker.session, Ok(re=request.id))
    hub.settle(match, asker.now)


def watch(hub: Hub, asker: Asker, request: Watch) -> None:
    """See a match: how it stands, then every move."""
    match = hub.match_of(request.match)
    if hub.seat_of(match, asker.session) is None:
        hub.watch(match, asker.session)
    hub.tell(asker.session, hub.started(match, asker.session, asker.now, request.id))


def unwatch(hub: Hub, asker: Asker, request: Unwatch) -> None:
    """See it no longer."""
    hub.unwatch(hub.match_of(request.match), asker.session)
    hub.tell(asker.session, Ok(re=request.id))


def list_(hub: Hub, asker: Asker, request: List) -> None:
    """Who and what is here."""
    persons = [Person(name=s.name, role=s.hello.role) for s in hub.persons()]
    matches = [
        Summary(match=m.id, game=str(m.game), players=m.players, clock=m.clock_name, ply=m.ply)
        for m in hub.matches.values()
    ]
    listing = Listing(
        re=request.id,
        players=tuple(persons[:LISTED]),
        seeks=tuple(offer.message() for offer in list(hub.lobby)[:LISTED]),
        matches=tuple(matches[:LISTED]),
    )
    hub.tell(asker.session, listing)


def ping(hub: Hub, asker: Asker, request: Ping) -> None:
    """A sign of life."""
    hub.send((asker.connection,), Pong(re=request.id))


Handler = Callable[["Hub", Asker, Any], None]

#: What is allowed to whom. All else is refused with `not_allowed`.
TABLE: dict[tuple[Stage, type[Request]], Handler] = {
    (Stage.NEW, Hello): hello,
    (Stage.NEW, Ping): ping,
    (Stage.PLAYER, Seek): seek,
    (Stage.PLAYER, Cancel): cancel,
    (Stage.PLAYER, Move): move,
    (Stage.PLAYER, Resign): resign,
    (Stage.PLAYER, Watch): watch,
    (Stage.PLAYER, Unwatch): unwatch,
    (Stage.PLAYER, List): list_,
    (Stage.PLAYER, Ping): ping,
    (Stage.SPECTATOR, Watch): watch,
    (Stage.SPECTATOR, Unwatch): unwatch,
    (Stage.SPECTATOR, List): list_,
    (Stage.SPECTATOR, Ping): ping,
}


def _who(session: Session) -> dict[str, object]:
    said = session.hello
    return {"name": said.name, "role": said.role, "software": said.software or "unknown software"}


def _new_session(hub: Hub, asker: Asker, request: Hello) -> Session:
    name = request.name
    if not name.isprintable() or name != name.strip():
        text = "a name has printable characters and no space at its ends"
        raise Refused(Code.BAD_NAME, text)
    if hub.named(name):
        raise Refused(Code.NAME_TAKEN, f"somebody called {name!r} is here; take another name")
    return Session(hub.new_token(), request, asker.connection)


def _old_session(hub: Hub, request: Hello) -> Session:
    session = hub.sessions.get(request.session or "")
    if session is None or session.name != request.name:
        text = f"there is no such session of {request.name!r} (any more)"
        raise Refused(Code.UNKNOWN_SESSION, text)
    session.hello = structs.replace(request, role=session.hello.role)
    return session


def _own_match(hub: Hub, asker: Asker, match_id: str) -> Match:
    match = hub.match_of(match_id)
    if hub.seat_of(match, asker.session) is None:
        raise Refused(Code.NOT_YOUR_MATCH, f"you do not play in match {match_id}")
    return match


def _game_name(text: str) -> str:
    try:
        return str(games.load(text))
    except games.SpecError as error:
        raise Refused(Code.BAD_GAME, str(error)) from error


def _clock_name(text: str) -> str:
    try:
        return clock.spell(clock.parse(text))
    except clock.ClockError as error:
        raise Refused(Code.BAD_CLOCK, str(error)) from error


def _partner(hub: Hub, offer: Offer) -> Offer | None:
    """An offer that fits, if both sides may play one match more."""
    partner = hub.lobby.partner(offer)
    most = hub.policy.matches_per_session
    sessions = [hub.sessions[each.session] for each in (offer, partner) if each]
    return partner if all(len(s.matches) < most for s in sessions) else None


def _pair(hub: Hub, older: Offer, newer: Offer, now: float) -> None:
    """Begin a match between two offers that fit."""
    first, second = older, newer
    if older.seat == 2 or newer.seat == 1:
        first, second = newer, older
    elif older.seat is None and newer.seat is None and hub.random.random() < 0.5:
        first, second = newer, older
    text = older.clock or newer.clock or hub.policy.default_clock
    match = Match(
        hub.new_id(),
        games.load(older.game),
        (first.name, second.name),
        clock.parse(text),
        rated=older.rated,
        illegal_moves=hub.policy.illegal_moves,
        credit_cap_s=hub.policy.credit_cap_s,
    )
    hub.lobby.take(older)
    hub.lobby.take(newer)
    hub.begin(match, (hub.sessions[first.session], hub.sessions[second.session]), now)
