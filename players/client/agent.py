"""A connected player: logs in, gets matches, plays them, and connects again when it is cut off."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import structs
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure

from playout import games, players
from playout.commands.identity import HELLO, Identity, Login
from playout.commands.progress import doing
from playout.commands.text import counted
from playout.games import IllegalAction, Position, SpecError
from playout.games.core import plugins, spec
from playout.players.client.active_match import ActiveMatch, MoveQuery, ResultCounts, TakeOvers
from playout.players.client.match_driver import MatchDriver, never, short_error
from playout.players.client.player_console import PlayerConsole
from playout.players.core.player import MatchRequest, Player
from playout.protocol.connection import ServerConnection
from playout.protocol.followed_match import OFFER_NAMES, require_same
from playout.protocol.messages import (
    Abort,
    AnswerOffer,
    ChallengeBot,
    Closing,
    Code,
    Ended,
    EnterLadder,
    Error,
    Event,
    Join,
    LeaveLadder,
    Notice,
    Offer,
    OfferClosed,
    Offered,
    Ok,
    OpenOffer,
    Ping,
    Pong,
    Reason,
    Request,
    Seek,
    Seeking,
    Started,
    TakenBack,
    Update,
    Welcome,
    WithdrawOffer,
)


class PlayerCache:
    """Makes the player of a game when it is needed for the first time."""

    def __init__(self, wanted: spec.Spec) -> None:
        """Raises SpecError for an unknown player, or options that it does not have."""
        self.make = players.find(wanted.name)
        self._options = spec.bind(self.make, wanted, skip=1)
        self._wanted = wanted
        self._made: dict[str, Player] = {}

    def __call__(self, game: str) -> Player:
        """Return the player of this game. Raises SpecError.

        One player, such as a running engine, plays from all first positions of a game.
        """
        rules = games.load(game)
        name = str(games.usual(rules))
        if name not in self._made:
            self._made[name] = players.load(self._wanted, games.load(name))
            # Imported objects are never freed. A garbage collection that visits them stops the
            # player for 60 ms, and on a busy machine for 200 to 330 ms.
            gc.freeze()
        player = self._made[name]
        player.game = rules
        return player

    @property
    def threads(self) -> int:
        """The number of threads of a player: its option `threads`, or 1."""
        option = spec.parameters_of(self.make, skip=1).get("threads")
        threads = self._options.get("threads", option.default if option else None)
        return threads if isinstance(threads, int) else 1

    @property
    def version(self) -> str:
        """The name and version of an engine; empty for players of Playout."""
        return next((each.version for each in self._made.values() if each.version), "")

    def check(self) -> Iterator[str]:
        """Check the players made so far, and yield lines about them. Raises PlayerError."""
        yield f"threads: {self.threads}"
        if self.version:
            yield f"version: {self.version}"
        for player in self._made.values():
            yield from player.check()

    def close(self) -> None:
        """Release the resources of all players."""
        for player in self._made.values():
            player.close()


@dataclass(frozen=True)
class PlayRequest:
    """A request for matches: a seek, a challenge to a bot, a ladder, or joining tournaments.

    `matches` is their number; None for all that a tournament or ladder assigns. `takebacks`:
    whether a program agrees when its opponent asks to take a move back.
    """

    request: Seek | ChallengeBot | Join | EnterLadder
    matches: int | None = None
    takebacks: bool = False

    @property
    def joins(self) -> bool:
        """Whether a tournament or a ladder assigns it matches without further requests."""
        return isinstance(self.request, Join | EnterLadder)

    @property
    def may_be_continued(self) -> bool:
        """Whether another process of the account continues its match when this one exits."""
        return isinstance(self.request, Join)

    @property
    def leave(self) -> LeaveLadder | None:
        """The request after which no more matches begin on a ladder; None elsewhere."""
        return (
            LeaveLadder(game=self.request.game) if isinstance(self.request, EnterLadder) else None
        )

    def admits(self, game: str) -> bool:
        """Return whether a match of that game is one of those requested."""
        return isinstance(self.request, Join) or game == self.request.game


#: The ids of requests: `_ROOM` is for those that change the number of matches at once, `_LEAVE` for
#: the ping after a ladder was left.
_PING, _PLAY, _ROOM, _LEAVE = "ping", "play", "room", "leave"
#: The id of the first `join`, after which the player prepares.
_PREPARE = "prepare"
#: Seconds in which the server must confirm that no match has begun meanwhile.
_LEAVE_S = 2.0
#: Errors that crossing messages cause; the events of the match decide the next step.
_HARMLESS = (Code.MATCH_OVER, Code.WRONG_PLY)
#: Refusals of `hello` after which another attempt may succeed.
_TEMPORARY = (Code.TOO_MANY, Code.CLOSING)
#: Errors about the whole connection that do not end it for good.
_PASSING = (Code.TOO_MANY, Code.RATE_LIMITED, Code.TIMEOUT)
#: The missed first moves in a row after which a program leaves; a person leaves after one.
_MISSED_STARTS = 3


class Agent:
    """Plays matches, one after the other, over one connection."""

    def __init__(
        self,
        reactor: Any,
        player_of: Callable[[str], Player],
        request: PlayRequest,
        identity: Identity,
        console: PlayerConsole,
        finished: Callable[[int], None],
        allow_stall: Callable[[float], None] = never,
    ) -> None:
        """`player_of` returns the player of a game, or raises SpecError.

        `finished` is called once, with the exit code; the player may still be thinking then.
        `allow_stall` is that of `MatchDriver`.
        """
        self.counts = ResultCounts()
        self._reactor = reactor
        self._player_of = player_of
        self._request = request
        self._identity = identity
        self._console = console
        self._finished = finished
        self._offers = OfferAnswers(console, takebacks=request.takebacks)
        self._driver = MatchDriver(
            reactor,
            console,
            self.counts,
            self._left,
            self._offers.ask,
            lambda: self._finish(self._leaving_with or 1),
            allow_stall,
        )
        self._takeovers = TakeOvers(reactor, request.admits, console.show, self._send_request)
        #: The exit code, once the player is to leave.
        self._leaving_with: int | None = None
        self._interrupted = False
        self._has_left = False
        #: Whether no match follows this one on the ladder.
        self._last_on_ladder = False
        self._server_is_closing = False
        #: Whether the player has prepared for the games of its tournaments, or does so now.
        self._has_prepared = self._is_preparing = False
        #: Whether the server has sent all running matches on the current connection.
        self._caught_up = False
        self._match: ActiveMatch | None = None
        #: Whether the server has been told to assign no other match.
        self._is_full = False
        #: The games of the matches so far.
        self._begun: set[str] = set()
        self._missed_starts = 0
        #: Events of the next match that arrived before the player had finished this one.
        self._later: list[Started | Update | Ended] = []

    def use(self, connection: ServerConnection) -> None:
        """Send requests over this connection; to be called first."""
        self._connection = connection
        self._login = Login(self._identity, connection, self._reactor.callLater, self.unusable)
        self._takeovers.connection = self._driver.connection = connection
        self._offers.connection = connection

    # The connection.

    def connected(self) -> None:
        """Log in as the player."""
        self._caught_up = False
        self._login.begin()

    def disconnected(self, reason: str) -> None:
        """Tell the user; the connection is being made again."""
        self._caught_up = False
        self._later.clear()
        self._takeovers.set_away(())
        if self._leaving_with is None:
            what = "The server has stopped" if self._server_is_closing else "The connection is lost"
            self._console.show(f"{what}; trying to get it back ...")
        if self._match:
            self._match.connected = False
            self._driver.advance(self._match)

    def retrying(self, text: str) -> None:
        """Tell the user that the server does not answer, and which option says how long to try."""
        self._console.show(f"{text} (--retry-s)")

    def unreachable(self, reason: str) -> None:
        """Give up, with a hint."""
        self._console.show(f"The server cannot be reached: {reason}")
        self._console.show("Is it running? Start one with: playout-server")
        self._finish(1)

    def unusable(self, reason: str) -> None:
        """Give up: another attempt would fail, too."""
        self._console.show(reason)
        self._finish(1)

    def received(self, event: Event) -> None:
        """Handle an event of the server."""
        try:
            self._handle(event)
        except Exception:  # the player may be any program
            self._driver.fail(Failure())

    def _handle(self, event: Event) -> None:
        match event:
            case Welcome():
                self._welcomed(event)
            case Pong(re=re) if re == _PING:
                self._catch_up()
            case Pong(re=re) if re == _LEAVE:
                self._left_ladder()
            case Seeking() if event.re == _PLAY or event.name != self._identity.name:
                self._console.seeking(event, ours=event.re == _PLAY)
            case Ok(re=re) if re == _PREPARE:
                self._prepare_for(event.games)
            case Ok(re=re) if re == _PLAY and self._match is None:
                self._console.joined(self._identity.name)
            case Started(seat=None):
                self._takeovers.shown(event)
            case Started() | Update() | Ended() if self._is_of_the_next(event.match):
                self._later.append(event)
            case Started():
                self._started(event)
            case Update():
                self._updated(event)
            case Ended():
                self._ended(event)
            case Offered() | OfferClosed() | TakenBack():
                self._offer_event(event)
            case Closing():
                self._server_is_closing = True
                self._console.closing(event)
            case Notice():
                self._console.show(f"The server says: {event.text}")
                if event.code in ("bot_failed", "game_failed", "ladder_left"):
                    self._finish(1)
            case Error():
                self._refused(event)

    def interrupt(self) -> None:
        """Handle Ctrl-C, unless the player does: leave, but a ladder after the current match."""
        if self._match is not None and self._match.player.interrupt():
            return
        is_playing = self._match is not None
        if self._request.leave is None or self._interrupted or not (is_playing or self._caught_up):
            self.leave(130)
            return
        self._interrupted = True
        self._leave_ladder()
        # The server may have begun a match that is on its way: its message comes before the answer.
        self._connection.send(Ping(id=_LEAVE))
        self._reactor.callLater(_LEAVE_S, self._left_ladder)
        if is_playing:
            self._console.show("Leaving the ladder after this match; Ctrl-C again resigns it ...")

    def _left_ladder(self) -> None:
        """Leave now, or after the current match: no further match begins."""
        self._has_left = True
        if self._match is None:
            self._next()

    def leave(self, code: int) -> None:
        """Resign the match and finish, except in a tournament: another process may continue it."""
        continued = self._request.may_be_continued
        if self._match is None or continued or self._leaving_with is not None:
            self._finish(code)
            return
        self._leaving_with = code
        self._console.show("Resigning and leaving ...")
        self._driver.resign(self._match)
        self._reactor.callLater(2.0, self._finish, code)

    # Logging in.

    def _welcomed(self, welcome: Welcome) -> None:
        """Store the token, and send a ping: its answer follows all running matches."""
        self._server_is_closing = False
        if text := self._login.welcomed(welcome):
            self._console.show(text)
        self._takeovers.set_away(welcome.away)
        self._connection.send(Ping(id=_PING))

    def _hello_refused(self, error: Error) -> None:
        if self._login.refused(error):
            return
        if error.code in _TEMPORARY:
            self._console.error(error, "; trying again ...")
            self._connection.reconnect()
        else:
            self._give_up(error)

    # Getting a match.

    def _catch_up(self) -> None:
        """Continue when the server has sent all running matches."""
        self._caught_up = True
        match = self._match
        if match is None:
            self._next()
        elif not match.connected and not match.over:
            self._console.show(
                f"Match {match.started.match} is over, or another player of yours has it."
            )
            self.counts.void += 1
            match.over = True
            self._driver.advance(match)
        if self._request.joins and not self._last_on_ladder:
            if self._match and self._match.excludes_others:
                self._set_room(0)
            else:
                self._send_request()

    def _left(self) -> None:
        match = self._match
        assert match
        if self._exit_code is None and match.player.prepares:
            self._driver.prepare(match, self._prepared)
        else:
            self._prepared()

    def _prepared(self) -> None:
        """Continue when the player is ready for another match."""
        match, self._match = self._match, None
        assert match
        if self._is_full and self._caught_up and not self._later:
            self._set_room(1)
        self._next()

    @property
    def _exit_code(self) -> int | None:
        """The code with which the player leaves after a match; None if it plays another one."""
        if self._leaving_with is not None:
            return self._leaving_with
        if self.counts.played == self._request.matches:
            return 1 if self.counts.faults else 0
        return 130 if self._has_left and not self._later else None

    def _next(self) -> None:
        if (code := self._exit_code) is not None:
            self._finish(code)
        elif self._later:
            later, self._later = self._later, []
            for event in later:
                self.received(event)
            if self._has_left and self._match is None:  # they were about earlier matches
                self._next()
        elif self._interrupted:
            pass  # the server has not answered yet
        elif self._caught_up and self._last_on_ladder:  # the match had no result
            self._last_on_ladder = False
            self._send_request()
        elif self._caught_up and not self._request.joins:
            self._takeovers.next()

    def _send_request(self) -> None:
        request = self._request.request
        if isinstance(request, Join) and not self._has_prepared:
            # No match begins: its clock would run while the player is made, and functions compiled.
            self._connection.send(structs.replace(request, id=_PREPARE, matches=0))
        else:
            self._is_full = False
            self._connection.send(structs.replace(request, id=_PLAY))

    def _prepare_for(self, played: Sequence[str]) -> None:
        """Make the players for the games of tournaments; then ask for matches."""
        if self._is_preparing:
            return
        self._is_preparing = True

        def make() -> None:
            for game in played:
                with doing(f"Preparing the player for {game}"), suppress(SpecError):
                    self._player_of(game)  # an error is shown when a match of the game begins

        pool = self._reactor.getThreadPool()
        running = deferToThreadPool(self._reactor, pool, make)
        running.addCallbacks(lambda _: self._has_prepared_for(), self._driver.fail)

    def _has_prepared_for(self) -> None:
        self._has_prepared, self._is_preparing = True, False
        if self._caught_up and self._leaving_with is None:
            self._send_request()

    def _set_room(self, matches: int) -> None:
        """Set the number of matches that are assigned at once: 0 while the player is not ready."""
        request = self._request.request
        is_last = self._last_on_ladder or (matches and self._exit_code is not None)
        if isinstance(request, Join | EnterLadder) and not is_last:
            self._is_full = not matches
            self._connection.send(structs.replace(request, id=_ROOM, matches=matches))

    def _leave_ladder(self) -> None:
        """If the current match is on a ladder, play no match after it."""
        if request := self._request.leave:
            self._last_on_ladder = True
            self._connection.send(request)

    def _is_of_the_next(self, match_id: str) -> bool:
        """Return whether a match must wait until the player stops thinking about the last one."""
        match = self._match
        return match is not None and (match.started.match != match_id or match.over)

    # A match.

    def _started(self, event: Started) -> None:
        match = self._match
        if match is None:
            match = self._begin(event)
        elif match.resigned:  # the request may have been lost with the connection
            self._driver.resign(match)
        if match is None:
            return
        # Moves that were taken back and played while the connection was lost.
        common = match.common(event.moves)
        if common < match.ply:
            match.take_back(common)
            self._driver.taken_back(match, match.position.to_move)
        for action in event.moves[match.ply :]:
            if not self._played(match, partial(match.play, action)):
                return
        match.latest = event
        match.connected = True
        match.done = match.info = None  # a move may have been lost as well
        match.offers.clear()
        for offer in event.offers:
            self._offers.made(match, offer)
        self._driver.advance(match)

    def _begin(self, event: Started) -> ActiveMatch | None:
        """Begin to play a match; return None if no player can play its game.

        An earlier process may have started it.
        """
        self._console.started(event)
        try:
            player = self._player_of(event.game)
        except SpecError as error:
            self.counts.faults += 1
            self._console.show(f"There is no player for {event.game}: {error}")
            self._driver.send_resignation(event.match)
            return None
        player.match = event.match
        try:
            position = Position(player.game, event.moves)
            require_same(position.state, event.state)
        except IllegalAction as error:
            self._show_other_rules(event, error)
            self._driver.send_resignation(event.match)
            return None
        match = self._match = ActiveMatch(
            started=event,
            latest=event,
            position=position,
            player=player,
            is_first=self._request.joins and event.game not in self._begun,
        )
        if self.counts.played + 1 == self._request.matches:
            self._leave_ladder()
        self._begun.add(event.game)
        if match.excludes_others:
            self._set_room(0)
        opponent = event.players[2 - match.seat]
        self._driver.notify(match, player.started, match.seat, opponent, position)
        return match

    def _updated(self, event: Update) -> None:
        match = self._match
        if match is None or event.match != match.started.match or event.ply != match.ply:
            return
        if self._played(match, lambda: match.updated(event)):
            self._driver.advance(match)

    def _played(self, match: ActiveMatch, play: Callable[[], object]) -> bool:
        """Add a move of the server, with its rolls, by the client's rules; return if they allow it.

        The client's rules compute the position, because searches need a valid one.
        """
        before = match.position
        try:
            play()
        except IllegalAction as error:
            self._show_other_rules(match.started, error)
            self._driver.resign(match)
            return False
        for ply in range(before.ply, match.ply):
            self._driver.moved(match, match.position.at(ply + 1))
        return True

    def _show_other_rules(self, started: Started, error: IllegalAction) -> None:
        self.counts.faults += 1
        self._console.show(
            f"The server's rules of {started.game} differ from those of this player: {error}. "
            f"The player resigns match {started.match}."
        )

    def _offer_event(self, event: Offered | OfferClosed | TakenBack) -> None:
        match = self._match
        if match is None or event.match != match.started.match or match.over:
            return
        match event:
            case Offered():
                self._offers.made(match, event)
            case OfferClosed():
                self._offers.closed(match, event)
            case TakenBack():
                self._taken_back(match, event)

    def _taken_back(self, match: ActiveMatch, event: TakenBack) -> None:
        try:
            match.taken_back(event)
        except IllegalAction as error:
            self._show_other_rules(match.started, error)
            self._driver.resign(match)
            return
        self._driver.taken_back(match, event.player)
        self._driver.advance(match)

    def _ended(self, event: Ended) -> None:
        match = self._match
        if match is None or event.match != match.started.match or match.over:
            return
        self.counts.count(event.winner, match.seat)
        if event.reason is Reason.ILLEGAL_MOVES and event.winner != match.seat:
            self.counts.faults += 1
        self._console.ended(event)
        if event.reason is not Reason.VOID:
            self._missed_starts = 0
        elif match.query is MoveQuery.CHOICE:
            self._missed_start(match.player)
        if event.reason is Reason.ABORTED and match.aborting:
            self._console.show("You have aborted the match, so no other match is sought.")
            self._leaving_with = 0
        match.over = True
        self._driver.notify(match, match.player.ended, event.winner, event.text)
        self._driver.advance(match)

    def _missed_start(self, player: Player) -> None:
        """Leave when the player keeps missing its first move."""
        self._missed_starts += 1
        if self._missed_starts == (1 if player.human else _MISSED_STARTS):
            subject = "You" if player.human else "The player"
            self._console.show(f"{subject} did not move in time, so no other match is sought.")
            self._leaving_with = 1

    # Errors.

    def _refused(self, error: Error) -> None:
        if error.re == HELLO:
            self._hello_refused(error)
        elif (
            self._offers.refused(self._match, error)
            or self._takeovers.refused(error)
            or error.code in _HARMLESS
        ):
            pass
        elif error.re == _PLAY and self._request.leave and error.code is Code.RATE_LIMITED:
            self._console.error(error, "; waiting ...")
            self._reactor.callLater(error.seconds or 1.0, self._send_request)
        elif isinstance(error.re, int):
            self._move_refused(error)
        elif error.code is Code.CLOSING or (error.re is None and error.code in _PASSING):
            self._console.error(error)  # requests are sent again on the next connection
        else:
            self._give_up(error)

    def _give_up(self, error: Error) -> None:
        self._console.error(error)
        if advice := self._identity.advice(error):
            self._console.show(advice)
        if error.code is Code.BAD_GAME and (own := plugins.registered()):
            options = " ".join(f"--game {each.target}" for each in own.values())
            self._console.show(f"A server knows the game if it was started with {options}")
        self._finish(1)

    def _move_refused(self, error: Error) -> None:
        self._console.show(f"The server refused the move: {error.text}")
        match = self._match
        if match is None or error.re != match.ply:
            return
        if error.code is Code.ILLEGAL_ACTION:  # the server counts these
            match.done = None
            self._driver.advance(match)
        else:
            self.counts.faults += 1
            self._driver.resign(match, short_error(error.text))

    def _finish(self, code: int) -> None:
        finished, self._finished = self._finished, lambda code: None
        if self._match:
            self._match.resigned = True
            self._match.player.cancel()
        self._connection.close()
        finished(code)


# Offers.

#: The id of all requests about offers, which wait for no answer.
_REQUEST = "offer"
_WANTED = {
    "draw": "offers a draw",
    "takeback": "asks to take a move back",
    "score": "offers to count",
}
_WANT = {"draw": "offer a draw", "takeback": "ask to take a move back", "score": "offer to count"}


class OfferAnswers:
    """Answers the offers of opponents, and sends those of a person at the terminal.

    A program declines draws. It agrees to takebacks with the option `--takebacks`, as the bots of a
    server do.
    """

    def __init__(self, console: PlayerConsole, *, takebacks: bool) -> None:
        """`takebacks`: whether a program agrees to takebacks."""
        #: The connection to send requests over, to be set first.
        self.connection: ServerConnection
        self._console = console
        self._takebacks = takebacks

    def made(self, match: ActiveMatch, event: Offered | OpenOffer) -> None:
        """Handle an offer of either player."""
        offer = match.offered(event)
        if offer.player == match.seat:
            match.player.notice(
                f"You {_WANT[offer.offer]}. A move of {match.opponent} declines it."
            )
        elif match.player.human:
            match.player.notice(
                f"{match.opponent} {_wanted(match, offer)}. Type accept or decline; a move "
                "declines it, too."
            )
        else:
            accept = self._takebacks and offer.offer == "takeback"
            answer = "agreed" if accept else "declined"
            self._console.show(f"{match.opponent} {_WANTED[offer.offer]}: {answer}.")
            self._answer(match, offer, accept)

    def closed(self, match: ActiveMatch, event: OfferClosed) -> None:
        """Handle the end of an offer that was not accepted."""
        match.offer_closed(event)
        player, opponent = "You have", f"{match.opponent} has"
        if event.player != match.seat:
            player, opponent = opponent, player
        who = player if event.how == "withdrawn" else opponent
        match.player.notice(f"{who} {event.how} {OFFER_NAMES[event.offer]}.")

    def refused(self, match: ActiveMatch | None, error: Error) -> bool:
        """Handle an error, and return True if it is about offers."""
        if error.re != _REQUEST:
            return False
        if match and match.player.human:
            match.player.notice(f"The server says: {error.text}")
        return True

    def ask(self, match: ActiveMatch, request: MatchRequest) -> None:
        """Send the request of a player to the server."""
        match_id = match.started.match
        match request:
            case "draw" | "takeback":
                self._send(Offer(id=_REQUEST, match=match_id, offer=request, ply=match.ply))
            case "withdraw":
                self._send(WithdrawOffer(id=_REQUEST, match=match_id))
            case "abort":
                match.aborting = True
                self._send(Abort(id=_REQUEST, match=match_id))
            case "accept" | "decline":
                offer = match.opponents_offer
                if offer is None:
                    match.player.notice(f"{match.opponent} has no open offer.")
                else:
                    self._answer(match, offer, request == "accept")

    def _answer(self, match: ActiveMatch, offer: OpenOffer, accept: bool) -> None:
        self._send(
            AnswerOffer(
                id=_REQUEST,
                match=match.started.match,
                offer=offer.offer,
                ply=offer.ply,
                accept=accept,
            )
        )

    def _send(self, request: Request) -> None:
        self.connection.send(request)


def _wanted(match: ActiveMatch, offer: OpenOffer) -> str:
    """The opponent's offer in words, with the result of an offered score."""
    wanted = _WANTED[offer.offer]
    if not offer.lead:
        return wanted
    leader = "you win" if (offer.lead > 0) == (match.seat == 1) else f"{match.opponent} wins"
    return (
        f"{wanted}, with {counted(len(offer.dead), 'dead stone')}: {leader} by {abs(offer.lead):g}"
    )
