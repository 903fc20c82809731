"""What clients may ask for, when, and what is done about it: one table, one handler each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import structs

import games
from server import clock
from server.lobby import Offer
from server.match import Match, Refused, Terms
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
    Seat,
    Seek,
    Summary,
    Unwatch,
    Watch,
    Welcome,
)
from server.session import Asker, Session, Stage
from server.table import Table

if TYPE_CHECKING:
    from server.hub import Hub

LISTED = 200


def hello(hub: Hub, asker: Asker, request: Hello) -> None:
    """Begin a session, or take one up again."""
    if not request.protocol_min <= PROTOCOL <= request.protocol_max:
        raise Refused(Code.UNSUPPORTED_PROTOCOL, f"this server speaks protocol {PROTOCOL}")
    session = _old_session(hub, request) if request.session else _new_session(hub, request)
    hub.admit(session, asker.connection, asker.now)
    welcome = Welcome(
        re=request.id,
        protocol=PROTOCOL,
        session=session.token,
        name=session.name,
        software=hub.software,
        games=tuple(games.names()),
    )
    hub.tell(session, welcome)
    hub.log("{name} is here ({role}, {software})", _who(session))
    for match_id in sorted(session.matches):
        hub.tell(session, hub.tables[match_id].started(session, asker.now))
    for offer in hub.lobby:
        if offer.opponent and offer.wants(session.name):
            hub.tell(session, offer.message())


def seek(hub: Hub, asker: Asker, request: Seek) -> None:
    """Look for an opponent, and play at once if there is one."""
    if hub.closing:
        raise Refused(Code.CLOSING, "the server will stop: there are no new matches")
    session = asker.session
    _require_room(hub, session, request.matches)
    challenged = hub.named(request.opponent) if request.opponent else None
    if challenged is session:
        raise Refused(Code.INVALID, "you cannot challenge yourself")
    if challenged and challenged.stage is Stage.SPECTATOR:
        raise Refused(Code.INVALID, f"{challenged.name} only watches")
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
    if challenged:
        hub.tell(challenged, offer.message())
    while offer.matches and (partner := hub.lobby.partner(offer)):
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
    table, seat = _own_table(hub, asker, request.match)
    try:
        played = table.match.play(seat, request.ply, request.action, asker.now, asker.lag_s)
    except Refused as refused:
        # The answer comes first, then what came of it: the match may be lost.
        hub.decline(asker.connection, refused, request.id)
        hub.settle(table, asker.now)
        return
    for sessions, update in table.updates(request.ply, asker.now, request.info):
        if asker.session in sessions:
            hub.tell(asker.session, structs.replace(update, re=request.id))
            sessions.remove(asker.session)
        if played:  # a repetition is answered, and not announced again
            hub.tell_all(sessions, update)
    hub.settle(table, asker.now)


def resign(hub: Hub, asker: Asker, request: Resign) -> None:
    """Give up."""
    table, seat = _own_table(hub, asker, request.match)
    table.match.resign(seat)
    if request.id is not None:
        hub.tell(asker.session, Ok(re=request.id))
    hub.settle(table, asker.now)


def watch(hub: Hub, asker: Asker, request: Watch) -> None:
    """See a match: how it stands, then every move."""
    table = hub.table(request.match)
    if table.seat_of(asker.session) is None:
        table.watch(asker.session)
    hub.tell(asker.session, table.started(asker.session, asker.now, request.id))


def unwatch(hub: Hub, asker: Asker, request: Unwatch) -> None:
    """See it no longer."""
    hub.table(request.match).unwatch(asker.session)
    hub.tell(asker.session, Ok(re=request.id))


def list_(hub: Hub, asker: Asker, request: List) -> None:
    """Who and what is here."""
    persons = [Person(name=s.name, role=s.hello.role) for s in hub.persons()]
    matches = [
        Summary(match=m.id, game=str(m.game), players=m.players, clock=m.clock_name, ply=m.ply)
        for m in (table.match for table in hub.tables.values())
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


def _new_session(hub: Hub, request: Hello) -> Session:
    name = request.name
    if not name.isprintable() or name != name.strip():
        text = "a name has printable characters and no space at its ends"
        raise Refused(Code.BAD_NAME, text)
    if hub.named(name):
        raise Refused(Code.NAME_TAKEN, f"somebody called {name!r} is here; take another name")
    return Session(hub.new_token(), request)


def _old_session(hub: Hub, request: Hello) -> Session:
    session = hub.sessions.get(request.session or "")
    if session is None or session.name != request.name:
        text = f"there is no such session of {request.name!r} (any more)"
        raise Refused(Code.UNKNOWN_SESSION, text)
    session.hello = structs.replace(request, role=session.hello.role)
    return session


def _own_table(hub: Hub, asker: Asker, match_id: str) -> tuple[Table, Seat]:
    table = hub.table(match_id)
    seat = table.seat_of(asker.session)
    if seat is None:
        raise Refused(Code.NOT_YOUR_MATCH, f"you do not play in match {match_id}")
    return table, seat


def _require_room(hub: Hub, session: Session, matches: int) -> None:
    """A seek is a promise: nobody may look for more than can be played at once."""
    sought = sum(offer.matches for offer in hub.lobby.of_session(session.token))
    most = hub.policy.matches_per_session
    if len(session.matches) + sought + matches > most:
        text = (
            f"a session may have {most} matches at once; "
            f"you play {len(session.matches)} and look for {sought} already"
        )
        raise Refused(Code.TOO_MANY, text)


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


def _pair(hub: Hub, older: Offer, newer: Offer, now: float) -> None:
    """Begin a match between two offers that fit."""
    first, second = older, newer
    nobody_minds = older.seat is None and newer.seat is None
    if older.seat == 2 or newer.seat == 1 or (nobody_minds and hub.random.random() < 0.5):
        first, second = newer, older
    text = older.clock or newer.clock or hub.policy.default_clock
    match = Match(
        hub.new_id(),
        games.load(older.game),
        (first.name, second.name),
        Terms(clock.parse(text), older.rated, hub.policy.illegal_moves, hub.policy.credit_cap_s),
    )
    hub.lobby.take(older)
    hub.lobby.take(newer)
    hub.begin(match, (hub.sessions[first.session], hub.sessions[second.session]), now)
