"""Seeks: opened, matched with each other, and closed; the lobby has the open ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import structs

from playout import games
from playout.protocol.messages import (
    Accept,
    Cancel,
    Code,
    Notice,
    Ok,
    RequestId,
    Seek,
    Seeking,
    Sender,
)
from playout.protocol.names import skeleton
from playout.protocol.time_control import (
    TimeControlError,
    canonical_time_control,
    is_correspondence,
    parse_time_control,
)
from playout.server.core.context import Context, FeatureEvent
from playout.server.core.guarded_game import GameFault
from playout.server.core.match import Match, Refused
from playout.server.core.match_room import MatchOver, MatchRoom, started_record
from playout.server.core.rate_limits import DATABASE_FULL
from playout.server.core.rooms import Rooms
from playout.server.core.session_manager import SessionClosed, SessionDisconnected
from playout.server.core.sessions import RequestContext, Session, SessionRegistry, handles

#: Matches that begin in a slice: with views, one takes 1.5 ms.
MATCHES_A_SLICE = 5

_SEEKS_CLOSED = Notice(
    code="seeks_closed",
    text="you made no move, so your open seeks are closed: seek again when you can play",
)


@dataclass(eq=False)
class OpenSeek:
    """A seek that is open: the session's `request`, with game and clock in their usual notation.

    `matches` is the number of matches still to be begun.
    """

    id: str
    session: Session
    request: Seek
    matches: int = field(init=False)
    #: Skeleton of the only accepted opponent; None for any opponent.
    opponent_skeleton: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.matches = self.request.matches
        opponent = self.request.opponent
        self.opponent_skeleton = skeleton(opponent) if opponent else None

    @property
    def is_listed(self) -> bool:
        """Whether anybody may take it, who finds it in a list."""
        return not (self.request.link or self.request.opponent)

    def fits(self, other: OpenSeek) -> bool:
        """Whether the two can be paired: same game, rating, compatible clocks and seats.

        Sessions that an administrator has opened play with each other only. Without a clock, a seek
        fits no match by correspondence.
        """
        mine, theirs = self.request, other.request
        return (
            self.session.skeleton != other.session.skeleton
            and self.session.opened == other.session.opened
            and mine.game == theirs.game
            and mine.rated == theirs.rated
            and _clocks_fit(mine.clock, theirs.clock)
            and self.accepts(other.session.skeleton)
            and other.accepts(self.session.skeleton)
            and (mine.seat is None or mine.seat != theirs.seat)
        )

    def accepts(self, opponent: str) -> bool:
        """Whether a player may be the opponent, by the skeleton of its name."""
        return self.opponent_skeleton is None or self.opponent_skeleton == opponent

    def to_message(self, re: RequestId | None = None) -> Seeking:
        """The message about this seek for other players."""
        terms = structs.asdict(self.request) | {"matches": self.matches}
        del terms["id"], terms["link"]
        return Seeking(re=re, seek=self.id, name=self.session.name, **terms)


@dataclass(frozen=True)
class SeekClosed(FeatureEvent):
    """A seek was closed before all its matches were begun."""

    seek: OpenSeek


class Lobby:
    """The open seeks of each game, oldest first, and those with a link, which are not listed."""

    def __init__(self) -> None:
        self._by_game: dict[str, dict[str, OpenSeek]] = {}
        self._games: dict[str, str] = {}
        self._linked: dict[str, OpenSeek] = {}

    def add(self, seek: OpenSeek) -> None:
        """Add a seek to those of its game, or to those with a link."""
        if seek.request.link:
            self._linked[seek.id] = seek
            return
        game = seek.request.game
        self._by_game.setdefault(game, {})[seek.id] = seek
        self._games[seek.id] = game

    def remove(self, seek_id: str) -> None:
        """Close a seek, if it is still open."""
        if seek := self.get(seek_id):
            seek.session.lasting_seeks.discard(seek_id)
        self._linked.pop(seek_id, None)
        game = self._games.pop(seek_id, None)
        if game is not None:
            del self._by_game[game][seek_id]
            if not self._by_game[game]:
                del self._by_game[game]

    def get(self, seek_id: str) -> OpenSeek | None:
        """The open seek of this id."""
        game = self._games.get(seek_id)
        return self._linked.get(seek_id) if game is None else self._by_game[game][seek_id]

    def partner(self, seek: OpenSeek) -> OpenSeek | None:
        """The oldest listed seek that fits; none fits a seek with a link."""
        if seek.request.link:
            return None
        others = self._by_game.get(seek.request.game, {}).values()
        return next((other for other in others if seek.fits(other)), None)

    def take(self, seek: OpenSeek) -> None:
        """Count one match of `seek` as begun; the last one closes it."""
        seek.matches -= 1
        if seek.matches == 0:
            self.remove(seek.id)

    def of_session(self, session: Session) -> list[OpenSeek]:
        """The open seeks of a session."""
        return [seek for seek in self.all() if seek.session is session]

    def all(self) -> list[OpenSeek]:
        """All open seeks, those with a link too."""
        return [*self, *self._linked.values()]

    def __iter__(self) -> Iterator[OpenSeek]:
        return (seek for seeks in self._by_game.values() for seek in seeks.values())

    def __len__(self) -> int:
        return len(self._games)


class Pairing:
    """Makes matches of open seeks that fit each other."""

    def __init__(self, context: Context, lobby: Lobby, rooms: Rooms) -> None:
        self._context = context
        self._lobby = lobby
        self._rooms = rooms

    def pair(self, older: OpenSeek, newer: OpenSeek, now: float) -> None:
        """Begin a match between two seeks that fit; seats are drawn if neither asks for one.

        If the game fails, both seeks are closed.
        """
        context, policy = self._context, self._context.policy
        first, second = older, newer
        seats = older.request.seat, newer.request.seat
        any_seat = seats == (None, None)
        if seats[0] == 2 or seats[1] == 1 or (any_seat and context.random.random() < 0.5):
            first, second = newer, older
        text = older.request.clock or newer.request.clock or policy.default_clock
        sessions = first.session, second.session
        game, terms = older.request.game, policy.terms(text, rated=older.request.rated)
        names = sessions[0].name, sessions[1].name
        try:
            match = Match(context.new_id(), games.load(game), names, terms)
        except GameFault as fault:
            self._fail((older, newer), fault)
            return
        self._lobby.take(older)
        self._lobby.take(newer)
        record = started_record(match, sessions, now + context.epoch)
        MatchRoom(context, self._rooms, match, sessions, record, draws=True).begin(now)

    def _fail(self, seeks: tuple[OpenSeek, OpenSeek], fault: GameFault) -> None:
        """Close seeks of a game that has failed."""
        fields = {"game": seeks[0].request.game, "fault": fault.details}
        self._context.log("no match of {game} begins, for the game has failed: {fault}", fields)
        for each in seeks:
            self._lobby.remove(each.id)
            self._context.queue(SeekClosed(each))
            text = f"your seek is closed: {fault}"
            self._context.send_to(each.session, Notice(code="game_failed", text=text))


class Seeks:
    """Opens and closes the seeks of the lobby."""

    def __init__(
        self, context: Context, registry: SessionRegistry, lobby: Lobby, pairing: Pairing
    ) -> None:
        self._context = context
        self._registry = registry
        self._lobby = lobby
        self._pairing = pairing

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
        self._pairing.pair(seek, answer, origin.now)

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
        if self._context.closing:
            raise Refused(Code.CLOSING, "the server will stop: it starts no new matches")
        if self._context.budget.is_full:
            raise Refused(Code.TOO_MANY, DATABASE_FULL)
        policy, account = self._context.policy, session.account
        named = self._registry.like(session.skeleton)
        mine = [each for each in named if each is session or each.is_of(account)]
        seeks = {each.key: self._lobby.of_session(each) for each in mine}
        if 0 < policy.seeks_per_account <= sum(len(each) for each in seeks.values()):
            most = policy.seeks_per_account
            text = f"an account may have {most} open seeks, and yours has: cancel one"
            raise Refused(Code.TOO_MANY, text)
        for most, sessions, owner in (
            (policy.matches_per_session, [session], "a session"),
            (policy.matches_per_account, mine, "an account"),
        ):
            playing = sum(len(each.matches) for each in sessions)
            sought = sum(seek.matches for each in sessions for seek in seeks[each.key])
            if 0 < most < playing + sought + matches:
                text = (
                    f"{owner} may have {most} matches at once; "
                    f"you play {playing} and seek {sought} already"
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
            self._pairing.pair(partner, seek, now)
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


def is_by_correspondence(clock: str | None) -> bool:
    """Whether matches with this clock are played by correspondence."""
    return clock is not None and is_correspondence(parse_time_control(clock))


def _clocks_fit(one: str | None, other: str | None) -> bool:
    """Whether two seeks agree on a clock; None is any clock of less than a day."""
    if one is None or other is None:
        return not is_by_correspondence(one or other)
    return one == other


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
