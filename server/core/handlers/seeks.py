"""Seeks: opened, matched with each other, and closed; `Lobby` has the open ones."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from playout import games
from playout.protocol.messages import (
    Accept,
    Cancel,
    Code,
    Notice,
    Ok,
    Seek,
    Sender,
)
from playout.protocol.names import skeleton
from playout.protocol.time_control import (
    TimeControlError,
    canonical_time_control,
)
from playout.server.core.context import FeatureEvent
from playout.server.core.guarded_game import GameFault
from playout.server.core.lobby import OpenSeek, is_by_correspondence
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext, MatchOver, MatchRoom, started_record
from playout.server.core.session_manager import SessionClosed, SessionDisconnected
from playout.server.core.sessions import RequestContext, Session, handles

#: Matches that begin in a slice: with views, one takes 1.5 ms.
MATCHES_A_SLICE = 5

_SEEKS_CLOSED = Notice(
    code="seeks_closed",
    text="you made no move, so your open seeks are closed: seek again when you can play",
)


@dataclass(frozen=True)
class SeekClosed(FeatureEvent):
    """A seek was closed before all its matches were begun."""

    seek: OpenSeek


def begin_match(context: FeatureContext, older: OpenSeek, newer: OpenSeek, now: float) -> None:
    """Begin a match between two seeks that fit; seats are drawn if neither asks for one.

    If the game fails, both seeks are closed.
    """
    first, second = older, newer
    seats = older.request.seat, newer.request.seat
    any_seat = seats == (None, None)
    if seats[0] == 2 or seats[1] == 1 or (any_seat and context.random.random() < 0.5):
        first, second = newer, older
    text = older.request.clock or newer.request.clock or context.policy.default_clock
    sessions = first.session, second.session
    game, terms = older.request.game, context.policy.terms(text, rated=older.request.rated)
    names = sessions[0].name, sessions[1].name
    try:
        match = context.new_match(games.load(game), names, terms)
    except GameFault as fault:
        _close_for_fault(context, (older, newer), fault)
        return
    context.lobby.take(older)
    context.lobby.take(newer)
    record = started_record(match, sessions, now + context.epoch)
    MatchRoom(context, match, sessions, record, draws=True).begin(now)


def _close_for_fault(
    context: FeatureContext, seeks: tuple[OpenSeek, OpenSeek], fault: GameFault
) -> None:
    """Close seeks of a game that has failed."""
    fields = {"game": seeks[0].request.game, "fault": fault.details}
    context.log("no match of {game} begins, for the game has failed: {fault}", fields)
    for each in seeks:
        context.lobby.remove(each.id)
        context.queue(SeekClosed(each))
        text = f"your seek is closed: {fault}"
        context.send_to(each.session, Notice(code="game_failed", text=text))


class Seeks:
    """Opens and closes the seeks of the lobby."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._registry = context.registry
        self._lobby = context.lobby

    def seek(self, request: Seek, origin: RequestContext) -> None:
        """Open a seek, and begin matches with the seeks that fit."""
        session = origin.session
        self.require_room(session, request.matches)
        request = normalised(request)
        lasts = is_by_correspondence(request.clock)
        require_account(session, request.rated, lasts)
        challenged = self._challenged(session, request.opponent)
        seek = self.open(session, request)
        if lasts and session.hello.role == "human":  # a program seeks again when it comes back
            session.lasting_seeks.add(seek.id)
        self._context.send_to_all(challenged, seek.to_message())
        self._context.jobs.start(lambda now: self._pair(seek, now), origin.now)

    @handles(Accept)
    def accept(self, request: Accept, origin: RequestContext) -> None:
        """Begin a match on the terms of an open seek."""
        session, seek = origin.session, self._lobby.get(request.seek)
        if seek is None:
            raise Refused(Code.UNKNOWN_SEEK, f"there is no open seek {request.seek!r}")
        self.require_room(session, 1)
        terms = seek.request
        require_account(session, terms.rated, is_by_correspondence(terms.clock))
        agreed = Seek(game=terms.game, clock=terms.clock, rated=terms.rated)
        answer = OpenSeek(self._context.new_id(), session, agreed)
        if not seek.fits(answer):
            raise Refused(Code.INVALID, "this seek is your own, or for another player")
        self._context.send_to(session, Ok(re=request.id))
        begin_match(self._context, seek, answer, origin.now)

    @handles(Cancel)
    def cancel(self, request: Cancel, origin: RequestContext) -> None:
        """Close one of the session's own seeks, or of another session of its account."""
        session, seek = origin.session, self._lobby.get(request.seek)
        if seek is None or not (seek.session is session or seek.session.is_of(session.account)):
            raise Refused(Code.UNKNOWN_SEEK, f"you have no open seek {request.seek!r}")
        self._close(seek)
        self._context.send_to(session, Ok(re=request.id))

    def open(self, session: Session, request: Seek) -> OpenSeek:
        """Open a seek of normalised terms, and confirm it to its session."""
        if request.link and self._lobby.get(request.link):
            raise Refused(Code.INVALID, "an open seek has this link already: draw another one")
        seek = OpenSeek(request.link or self._context.new_id(), session, request)
        self._lobby.add(seek)
        self._context.send_to(session, seek.to_message(request.id))
        return seek

    def require_room(self, session: Session, matches: int) -> None:
        """Raise Refused if a session seeks more matches than it may play at once.

        A seek is a promise to play: open seeks count as matches.
        """
        self._context.require_open("matches")
        policy = self._context.policy
        named = self._registry.like(session.skeleton)
        mine = [each for each in named if each is session or each.is_of(session.account)]
        seeks = [seek for each in mine for seek in self._lobby.of_session(each)]
        seeks_near = self._lobby.of_network(session.network)
        for most, count, text in (
            (
                policy.seeks_per_account,
                len(seeks),
                "an account may have %d open seeks, and yours has: cancel one",
            ),
            (
                policy.seeks_per_address,
                len(seeks_near),
                "an address may have %d open seeks, and the players at yours have: cancel one",
            ),
        ):
            if 0 < most <= count:
                raise Refused(Code.TOO_MANY, text % most)
        own = [each for each in seeks if each.session is session]
        near = self._registry.from_network(session.network)
        for most, sessions, sought_by, owner, who in (
            (policy.matches_per_session, [session], own, "a session", "you"),
            (policy.matches_per_account, mine, seeks, "an account", "you"),
            (policy.matches_per_address, near, seeks_near, "an address", "the players at yours"),
        ):
            if not most:
                continue
            playing = sum(len(each.matches) for each in sessions)
            sought = sum(each.matches for each in sought_by)
            if most < playing + sought + matches:
                text = (
                    f"{owner} may have {most} matches at once; "
                    f"{who} play {playing} and seek {sought} already"
                )
                raise Refused(Code.TOO_MANY, text)

    def close_all(self) -> None:
        """Close all open seeks, because the server stops."""
        for seek in self._lobby.all():
            self._close(seek)

    # Events.

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Close the seeks of a session that has lost its connection, except lasting ones."""
        for seek in self._lobby.of_session(event.session):
            if seek.id not in event.session.lasting_seeks:
                self._close(seek)

    def session_closed(self, event: SessionClosed, now: float) -> None:
        """Close the lasting seeks of a session that is over."""
        for seek in self._lobby.of_session(event.session):
            self._close(seek)

    def match_over(self, event: MatchOver, now: float) -> None:
        """Close the seeks of a player that never moved, so that it spoils no other match."""
        if missing := event.room.match.missing:
            session = event.room.seats[missing - 1]
            seeks = self._lobby.of_session(session)
            for seek in seeks:
                self._close(seek)
            if seeks:
                self._context.send_to(session, _SEEKS_CLOSED)

    def _pair(self, seek: OpenSeek, now: float) -> bool:
        """Begin some matches with the seeks that fit; True if there may be more."""
        for _ in range(MATCHES_A_SLICE):
            partner = self._lobby.partner(seek) if self._lobby.get(seek.id) else None
            if partner is None:
                return False
            begin_match(self._context, partner, seek, now)
        return True

    def _close(self, seek: OpenSeek) -> None:
        self._lobby.remove(seek.id)
        self._context.queue(SeekClosed(seek))

    def _challenged(self, session: Session, opponent: str | None) -> list[Session]:
        """The sessions to which a challenge is announced. Raises Refused."""
        if not opponent:
            return []
        rival = skeleton(opponent)
        if rival == session.skeleton:
            raise Refused(Code.INVALID, "you cannot challenge yourself")
        named = self._registry.like(rival)
        players = [each for each in named if each.sender is Sender.PLAYER]
        if named and not players:
            raise Refused(Code.INVALID, f"{named[0].name} only watches")
        return players


def require_account(session: Session, rated: bool, by_correspondence: bool = False) -> None:
    """Raise Refused if a guest asks for a match that only accounts play."""
    if session.account is None and (rated or by_correspondence):
        text = "guests cannot play with a clock of a day or more: register a name"
        if rated:
            text = "guests cannot play rated matches"
        raise Refused(Code.NOT_FOR_GUESTS, text)


def normalised(request: Seek) -> Seek:
    """The request with game and clock in their usual notation. Raises Refused."""
    if request.link and request.opponent:
        raise Refused(Code.INVALID, "a seek has an opponent or a link, not both")
    game = normalised_game(request.game)
    try:
        text = None if request.clock is None else canonical_time_control(request.clock)
    except TimeControlError as error:
        raise Refused(Code.BAD_CLOCK, str(error)) from error
    return structs.replace(request, game=game, clock=text)


def normalised_game(text: str) -> str:
    """A game with its parameters in their usual notation. Raises Refused."""
    try:
        return str(games.load(text))
    except games.SpecError as error:
        raise Refused(Code.BAD_GAME, str(error)) from error
