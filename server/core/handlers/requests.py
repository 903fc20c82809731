"""What clients may ask for, when, and what is done about it: one table, one handler each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import structs

import games
from server.core.handlers.hello import hello
from server.core.handlers.lobby_feed import summary
from server.core.handlers.pairing import pair
from server.core.handlers.tournaments import told
from server.core.match import Refused
from server.core.match_room import MatchRoom
from server.core.seeks import OpenSeek
from server.core.sessions import RequestContext, Session, Stage
from server.model.messages import (
    Abort,
    Adjudicate,
    Cancel,
    ChallengeBot,
    Code,
    CreateTournament,
    EndTournament,
    Hello,
    Join,
    Kick,
    List,
    Listing,
    Move,
    Ok,
    Ping,
    Pong,
    Reason,
    Request,
    Resign,
    Seat,
    Seek,
    SubscribeLobby,
    TakeOver,
    Unwatch,
    Watch,
    WatchTournament,
    Withdraw,
)
from server.model.names import skeleton
from server.model.time_control import TimeControlError, canonical_time_control

if TYPE_CHECKING:
    from server.core.hub import Hub

LISTED = 200


def seek(hub: Hub, asker: RequestContext, request: Seek) -> None:
    """Look for an opponent, and play at once if there is one."""
    if hub.closing:
        raise Refused(Code.CLOSING, "the server will stop: there are no new matches")
    session = asker.session
    _require_room(hub, session, request.matches)
    if request.rated and session.account is None:
        raise Refused(Code.NOT_FOR_GUESTS, "guests play matches that do not count")
    challenged = _challenged(hub, session, request.opponent)
    offer = OpenSeek(
        id=hub.new_id(),
        session=session.key,
        name=session.name,
        likeness=session.skeleton,
        game=_game_name(request.game),
        clock=None if request.clock is None else _clock_name(request.clock),
        rated=request.rated,
        opponent=request.opponent,
        seat=request.seat,
        matches=request.matches,
    )
    hub.lobby.add(offer)
    hub.tell(session, offer.message(request.id))
    hub.tell_all(challenged, offer.message())
    while offer.matches and (partner := hub.lobby.partner(offer)):
        pair(hub, partner, offer, asker.now)


def summon(hub: Hub, asker: RequestContext, request: ChallengeBot) -> None:
    """Have a bot started, and play it when it is there."""
    if hub.closing:
        raise Refused(Code.CLOSING, "the server will stop: there are no new matches")
    session = asker.session
    game = _game_name(request.game)
    clock = _clock_name(request.clock or hub.policy.default_clock)
    _require_room(hub, session, 1)
    hub.summoning.admit(asker, request.player)
    name = hub.summoning.name_of(request.player)
    offer = OpenSeek(
        id=hub.new_id(),
        session=session.key,
        name=session.name,
        likeness=session.skeleton,
        game=game,
        clock=clock,
        opponent=name,
        seat=request.seat,
    )
    hub.lobby.add(offer)
    hub.tell(session, offer.message(request.id))
    hub.summoning.summon(session, offer, request.player, asker.now)


def cancel(hub: Hub, asker: RequestContext, request: Cancel) -> None:
    """Stop looking."""
    offer = hub.lobby.get(request.seek)
    if offer is None or offer.session != asker.session.key:
        raise Refused(Code.UNKNOWN_SEEK, f"you have no open seek {request.seek!r}")
    hub.withdraw(offer, asker.now)
    hub.tell(asker.session, Ok(re=request.id))


def move(hub: Hub, asker: RequestContext, request: Move) -> None:
    """Make a move; the update that everybody gets is the answer."""
    table, seat = _own_table(hub, asker, request.match)
    try:
        played = table.match.play(seat, request.ply, request.action, asker.now, asker.lag_s)
    except Refused as refused:
        # The answer comes first, then what came of it: the match may be lost.
        hub.decline(asker.connection, refused, request.id)
        hub.settle(table, asker.now)
        return
    if played:
        at = asker.now + hub.epoch
        hub.moved(table, table.played(request.ply, asker.now, request.info, at), asker.now)
        asker.caller.bucket.give_back()
    session = asker.session
    for player, update in table.updates(request.ply, asker.now, session, request.id):
        if played or player is session:  # a repetition is answered, and not announced again
            hub.tell(player, update)
    hub.settle(table, asker.now)


def resign(hub: Hub, asker: RequestContext, request: Resign) -> None:
    """Give up."""
    table, seat = _own_table(hub, asker, request.match)
    table.match.resign(seat)
    hub.settle(table, asker.now)
    if request.id is not None:
        hub.tell(asker.session, Ok(re=request.id))


def claim(hub: Hub, asker: RequestContext, request: TakeOver) -> None:
    """Play a match on that another session of the same account has left."""
    table, session = hub.table(request.match), asker.session
    if table.seat_of(session):
        hub.tell(session, table.started(session, asker.now, request.id))
        return
    owner = next((s for s in table.seats if s.is_of(session.account)), None)
    seat = table.seat_of(owner) if owner else None
    if owner is None or seat is None:
        raise Refused(Code.NOT_YOUR_MATCH, f"no session of yours played match {request.match}")
    wait_s = owner.left_at + hub.policy.claim_after_s - asker.now
    if owner.connection is not None:
        raise Refused(Code.NOT_AWAY, "the session that plays this match is here")
    if wait_s > 0:
        text = f"the session that plays this match may still come back, for {wait_s:.1f} s"
        raise Refused(Code.NOT_AWAY, text, wait_s)
    # The match stays within the account, so that only what a session can play counts.
    most, playing = hub.policy.matches_per_session, len(session.matches)
    if 0 < most <= playing:
        text = f"a session may have {most} matches at once, and you play {playing} already"
        raise Refused(Code.TOO_MANY, text)
    hub.reseat(table, seat, session, asker.now)
    hub.tell(session, table.started(session, asker.now, request.id))


def watch(hub: Hub, asker: RequestContext, request: Watch) -> None:
    """See a match: how it stands, then every move."""
    table = hub.table(request.match)
    if table.seat_of(asker.session) is None:
        hub.show_moves(table)  # those who join are not told again what they see at once
        table.watch(asker.session)
    hub.tell(asker.session, table.started(asker.session, asker.now, request.id))


def unwatch(hub: Hub, asker: RequestContext, request: Unwatch) -> None:
    """See it no longer."""
    hub.table(request.match).unwatch(asker.session)
    hub.tell(asker.session, Ok(re=request.id))


def list_(hub: Hub, asker: RequestContext, request: List) -> None:
    """Who and what is here."""
    persons = [s.person for s in hub.people.present()]
    matches = [summary(table.match) for table in hub.tables.values()]
    listing = Listing(
        re=request.id,
        players=tuple(persons[:LISTED]),
        seeks=tuple(offer.message() for offer in list(hub.lobby)[:LISTED]),
        matches=tuple(matches[:LISTED]),
    )
    hub.tell(asker.session, listing)


def look(hub: Hub, asker: RequestContext, request: SubscribeLobby) -> None:
    """Who and what is here, then what is new."""
    hub.gallery.enter(asker.session, asker.now, request.id)


def ping(hub: Hub, asker: RequestContext, request: Ping) -> None:
    """A sign of life."""
    hub.send((asker.connection,), Pong(re=request.id))


def enter(hub: Hub, asker: RequestContext, request: Join) -> None:
    """Be there for the matches of tournaments."""
    if asker.session.account is None:
        raise Refused(Code.NOT_FOR_GUESTS, "only those who have an account enter tournaments")
    hub.hosting.enter(asker.session, request, asker.now)
    hub.tell(asker.session, Ok(re=request.id))


def follow(hub: Hub, asker: RequestContext, request: WatchTournament) -> None:
    """See a tournament: how it stands, then what happens."""
    contest = hub.hosting.contest(request.tournament)
    hub.tell(asker.session, structs.replace(told(contest), re=request.id))
    hub.hosting.follow(asker.session, contest)


def organize(hub: Hub, asker: RequestContext, request: CreateTournament) -> None:
    """Hold a tournament, and see it."""
    _require_administrator(asker)
    if hub.closing:
        raise Refused(Code.CLOSING, "the server will stop: there are no new tournaments")
    contest = hub.hosting.organize(request.spec, asker.now)
    hub.tell(asker.session, structs.replace(told(contest), re=request.id))
    hub.hosting.follow(asker.session, contest)


def suspend(hub: Hub, asker: RequestContext, request: Withdraw) -> None:
    """Go on with a tournament without one of its entrants."""
    _require_administrator(asker)
    contest = hub.hosting.contest(request.tournament)
    hub.hosting.suspend(contest, request.entrant, asker.now)
    hub.tell(asker.session, Ok(re=request.id))


def conclude(hub: Hub, asker: RequestContext, request: EndTournament) -> None:
    """End a tournament as it stands."""
    _require_administrator(asker)
    hub.hosting.conclude(hub.hosting.contest(request.tournament), asker.now)
    hub.tell(asker.session, Ok(re=request.id))


def adjudicate(hub: Hub, asker: RequestContext, request: Adjudicate) -> None:
    """End a match of a tournament with what is proven of it."""
    _require_administrator(asker)
    table = hub.table(request.match)
    if table.tournament is None:
        raise Refused(Code.NOT_ALLOWED, f"match {request.match} is of no tournament")
    table.match.adjudicate(request.ply, request.winner)
    hub.settle(table, asker.now)
    hub.tell(asker.session, Ok(re=request.id))


def abort(hub: Hub, asker: RequestContext, request: Abort) -> None:
    """End a match without result."""
    _require_administrator(asker)
    table = hub.table(request.match)
    table.match.abort(request.text or "ended by an administrator", Reason.ADMINISTRATOR)
    hub.settle(table, asker.now)
    hub.tell(asker.session, Ok(re=request.id))


def dismiss(hub: Hub, asker: RequestContext, request: Kick) -> None:
    """Send somebody away."""
    _require_administrator(asker)
    text = request.text or "sent away by an administrator"
    sessions = hub.people.like(skeleton(request.name))
    if not sessions:
        raise Refused(Code.INVALID, f"nobody called {request.name!r} is here")
    hub.tell(asker.session, Ok(re=request.id))
    for session in sessions:
        hub.dismiss(session, text, asker.now)


Handler = Callable[["Hub", RequestContext, Any], None]

#: What is allowed to whom. All else is refused with `not_allowed`.
TABLE: dict[tuple[Stage, type[Request]], Handler] = {
    (Stage.NEW, Hello): hello,
    (Stage.NEW, Ping): ping,
    (Stage.PLAYER, Seek): seek,
    (Stage.PLAYER, ChallengeBot): summon,
    (Stage.PLAYER, Cancel): cancel,
    (Stage.PLAYER, Move): move,
    (Stage.PLAYER, Resign): resign,
    (Stage.PLAYER, TakeOver): claim,
    (Stage.PLAYER, Watch): watch,
    (Stage.PLAYER, Unwatch): unwatch,
    (Stage.PLAYER, List): list_,
    (Stage.PLAYER, SubscribeLobby): look,
    (Stage.PLAYER, Ping): ping,
    (Stage.PLAYER, Abort): abort,
    (Stage.PLAYER, Kick): dismiss,
    (Stage.PLAYER, Join): enter,
    (Stage.PLAYER, CreateTournament): organize,
    (Stage.PLAYER, WatchTournament): follow,
    (Stage.PLAYER, Withdraw): suspend,
    (Stage.PLAYER, EndTournament): conclude,
    (Stage.PLAYER, Adjudicate): adjudicate,
    (Stage.SPECTATOR, Watch): watch,
    (Stage.SPECTATOR, Unwatch): unwatch,
    (Stage.SPECTATOR, List): list_,
    (Stage.SPECTATOR, SubscribeLobby): look,
    (Stage.SPECTATOR, Ping): ping,
    (Stage.SPECTATOR, Abort): abort,
    (Stage.SPECTATOR, Kick): dismiss,
    (Stage.SPECTATOR, CreateTournament): organize,
    (Stage.SPECTATOR, WatchTournament): follow,
    (Stage.SPECTATOR, Withdraw): suspend,
    (Stage.SPECTATOR, EndTournament): conclude,
    (Stage.SPECTATOR, Adjudicate): adjudicate,
}


def _own_table(hub: Hub, asker: RequestContext, match_id: str) -> tuple[MatchRoom, Seat]:
    table = hub.table(match_id)
    seat = table.seat_of(asker.session)
    if seat is None:
        raise Refused(Code.NOT_YOUR_MATCH, f"you do not play in match {match_id}")
    return table, seat


def _challenged(hub: Hub, session: Session, opponent: str | None) -> list[Session]:
    """Who is to be told of a challenge. Raises Refused."""
    if not opponent:
        return []
    rival = skeleton(opponent)
    if rival == session.skeleton:
        raise Refused(Code.INVALID, "you cannot challenge yourself")
    named = hub.people.like(rival)
    players = [each for each in named if each.stage is Stage.PLAYER]
    if named and not players:
        raise Refused(Code.INVALID, f"{named[0].name} only watches")
    return players


def _require_administrator(asker: RequestContext) -> None:
    if not asker.session.is_administrators:
        raise Refused(Code.NOT_ALLOWED, "this is for administrators")


def _require_room(hub: Hub, session: Session, matches: int) -> None:
    """A seek is a promise: nobody may look for more than can be played at once."""
    policy, account = hub.policy, session.account
    mine = [s for s in hub.people.like(session.skeleton) if s is session or s.is_of(account)]
    offers = {s.key: hub.lobby.of_session(s.key) for s in mine}
    if 0 < policy.seeks_per_account <= sum(len(each) for each in offers.values()):
        text = f"one may have {policy.seeks_per_account} open seeks, and you have"
        raise Refused(Code.TOO_MANY, text)
    for most, sessions, who in (
        (policy.matches_per_session, [session], "a session"),
        (policy.matches_per_account, mine, "an account"),
    ):
        playing = sum(len(s.matches) for s in sessions)
        sought = sum(offer.matches for s in sessions for offer in offers[s.key])
        if 0 < most < playing + sought + matches:
            text = (
                f"{who} may have {most} matches at once; "
                f"you play {playing} and look for {sought} already"
            )
            raise Refused(Code.TOO_MANY, text)


def _game_name(text: str) -> str:
    try:
        return str(games.load(text))
    except games.SpecError as error:
        raise Refused(Code.BAD_GAME, str(error)) from error


def _clock_name(text: str) -> str:
    try:
        return canonical_time_control(text)
    except TimeControlError as error:
        raise Refused(Code.BAD_CLOCK, str(error)) from error
