"""What a connected player does: say hello, get matches, play them, come back when cut off."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from msgspec import structs
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure

from games import SpecError, State
from players.client import report
from players.client.active_match import ActiveMatch, Doing, MoveQuery, ResultCounts, Step
from players.client.budget import limit_for_move
from players.client.console import PlayerConsole
from players.client.identity import Identity
from players.client.play_request import PlayRequest
from players.client.takeover import TakeOvers
from players.client.tokens import TokenError
from players.core.player import Cancelled, Info, Player, PlayResult, Resigned
from server.client.connection import ServerConnection
from server.model.messages import (
    Closing,
    Code,
    Ended,
    Error,
    Event,
    Move,
    Notice,
    Ok,
    Ping,
    Pong,
    Reason,
    Resign,
    Seeking,
    Started,
    Update,
    Welcome,
)

#: The ids of requests; those of moves are their plies.
_HELLO, _RESUMED, _WISH, _RESIGN = "hello", "resumed", "wish", "resign"
#: So short a thought is had at once, and the line waits: a thread takes 0.15 ms there and back,
#: and on a machine that is busy, much more.
_AT_ONCE_S = 0.02
#: Errors that come of messages that crossed; the match itself says what to do next.
_HARMLESS = (Code.MATCH_OVER, Code.WRONG_PLY)
#: Errors after which the server may be more welcoming later.
_FOR_NOW = (Code.TOO_MANY, Code.CLOSING)
#: Errors about the connection as a whole, after which it is kept, or made again.
_PASSING = (Code.TOO_MANY, Code.RATE_LIMITED, Code.TIMEOUT)
#: A player, unlike a person, may be late with its first move; not so often in a row.
_MOST_UNMOVED = 3


class Agent:
    """Plays matches, one after the other, over one link."""

    def __init__(
        self,
        reactor: Any,
        player_of: Callable[[str], Player],
        wish: PlayRequest,
        identity: Identity,
        screen: PlayerConsole,
        finished: Callable[[int], None],
    ) -> None:
        """`player_of` gives the player of a game, or raises SpecError.

        `finished` is called once, with the exit code.
        """
        self.tally = ResultCounts()
        self._reactor = reactor
        self._player_of = player_of
        self._wish = wish
        self._identity = identity
        self._screen = screen
        self._say = screen.say
        self._finished = finished
        self._claims = TakeOvers(reactor, wish.admits, self._say, self._say_wish)
        self._leaving_with: int | None = None
        self._closing = False
        #: Counts the connections.
        self._line = 0
        #: Has everything about running matches been said on this one?
        self._settled = False
        self._seat: ActiveMatch | None = None
        #: Matches in a row that came to nothing while it was to make its first move.
        self._unmoved = 0
        #: What was said of the next match before the player was done with this one.
        self._later: list[Started | Update | Ended] = []

    def use(self, connection: ServerConnection) -> None:
        """Send requests over this connection; to be called first."""
        self.connection = self._claims.connection = connection

    # The connection.

    def connected(self) -> None:
        """Say hello."""
        self._line += 1
        self._settled = False
        self._say_hello(self._line)

    def disconnected(self, reason: str) -> None:
        """Tell the user; the connection makes itself anew."""
        self._settled = False
        self._later.clear()
        self._claims.told(())
        if self._leaving_with is None:
            what = "The server has stopped" if self._closing else "The connection is lost"
            self._say(f"{what}; trying to get it back ...")
        if self._seat:
            self._seat.in_sight = False
            self._go_on(self._seat)

    def unreachable(self, reason: str) -> None:
        """Give up, with a hint."""
        self._say(f"The server cannot be reached: {reason}")
        self._say("Is it running? Start one with: playout-server")
        self._finish(1)

    def unusable(self, reason: str) -> None:
        """Give up: another attempt would fail, too."""
        self._say(reason)
        self._finish(1)

    def received(self, event: Event) -> None:
        """The server says something."""
        match event:
            case Welcome():
                self._welcomed(event)
            case Pong(re=re) if re == _RESUMED:
                self._resumed()
            case Seeking():
                self._screen.seeking(event, ours=event.re == _WISH)
            case Ok(re=re) if re == _WISH and self._seat is None:
                self._screen.entered(self._identity.name)
            case Started(seat=None):
                self._claims.seen(event)
            case Started() | Update() | Ended() if self._is_of_the_next(event.match):
                self._later.append(event)
            case Started():
                self._started(event)
            case Update():
                self._updated(event)
            case Ended():
                self._ended(event)
            case Closing():
                self._closing = True
                self._screen.closing(event)
            case Notice():
                self._say(f"The server says: {event.text}")
                if event.code == "bot_failed":
                    self._finish(1)
            case Error():
                self._refused(event)

    def interrupt(self) -> None:
        """Ctrl-C: what the player makes of it, otherwise leave."""
        if self._seat is None or not self._seat.player.interrupt():
            self.leave(130)

    def leave(self, code: int) -> None:
        """Resign what is being played, unless somebody may come back to it, and end."""
        if self._seat is None or self._wish.enters or self._leaving_with is not None:
            self._finish(code)
            return
        self._leaving_with = code
        self._say("Resigning and leaving ...")
        self._give_up(self._seat)
        self._reactor.callLater(2.0, self._finish, code)

    # Saying hello.

    def _say_hello(self, line: int) -> None:
        """Unless it is another line by now."""
        if line != self._line:
            return
        try:
            self.connection.send(self._identity.hello())
        except TokenError as error:
            self.unusable(str(error))

    def _welcomed(self, welcome: Welcome) -> None:
        """Ask for a sign that everything about running matches was said."""
        self._closing = False
        try:
            said = self._identity.welcomed(welcome)
        except TokenError as error:
            said = f"The name is registered, but cannot be used again: {error}"
        if said:
            self._say(said)
        self._claims.told(welcome.away)
        self.connection.send(Ping(id=_RESUMED))

    def _hello_refused(self, error: Error) -> None:
        try:
            wait_s = self._identity.again(error)
        except TokenError as problem:
            self.unusable(str(problem))
            return
        if wait_s is not None:
            self._reactor.callLater(wait_s, self._say_hello, self._line)
        elif error.code in _FOR_NOW:
            self._screen.error(error, "; trying again ...")
            self.connection.reconnect()
        else:
            self._give_in(error)

    # Getting a match.

    def _resumed(self) -> None:
        """Everything about running matches has been said."""
        self._settled = True
        seat = self._seat
        if seat is None:
            self._next()
        elif not seat.in_sight and not seat.over:
            self._say(f"Match {seat.started.match} is over, or another player of yours has it.")
            self.tally.void += 1
            seat.over = True
            self._go_on(seat)
        if self._wish.enters:
            self._say_wish()

    def _next(self) -> None:
        if self._leaving_with is not None:
            self._finish(self._leaving_with)
        elif self.tally.played == self._wish.matches:
            self._finish(1 if self.tally.faults else 0)
        elif self._later:
            later, self._later = self._later, []
            for event in later:
                self.received(event)
        elif self._settled and not self._wish.enters:
            self._claims.next()

    def _say_wish(self) -> None:
        self.connection.send(structs.replace(self._wish.request, id=_WISH))

    def _is_of_the_next(self, match: str) -> bool:
        """Is a match about to begin while the player is still with another, or that, too, over?"""
        seat = self._seat
        return seat is not None and (seat.started.match != match or seat.over)

    # A match.

    def _started(self, event: Started) -> None:
        seat = self._seat
        if seat is None:
            seat = self._sit_down(event)
        elif seat.given_up:  # the line may have broken before that was heard
            self._give_up(seat)
        if seat is None:
            return
        # Moves that were made while the line was broken.
        for action in event.moves[seat.ply :]:
            self._append(seat, action, seat.game.next_state(seat.states[-1], action))
        seat.clocks = event.clocks
        seat.in_sight = True
        seat.done = seat.thought = None  # so may a move
        self._go_on(seat)

    def _sit_down(self, event: Started) -> ActiveMatch | None:
        """A match begins, or one from before this program started is taken up.

        None if there is nobody to play it.
        """
        self._screen.started(event)
        try:
            player = self._player_of(event.game)
        except SpecError as error:
            self.tally.faults += 1
            self._say(f"Nobody can play {event.game}: {error}")
            self.connection.send(Resign(id=_RESIGN, match=event.match))
            return None
        states = [player.game.initial_state()]
        for action in event.moves:
            states.append(player.game.next_state(states[-1], action))
        seat = self._seat = ActiveMatch(event, player, states, event.clocks)
        opponent = event.players[2 - seat.number]
        self._tell_player(player.started, seat.number, opponent, tuple(states))
        return seat

    def _updated(self, event: Update) -> None:
        seat = self._seat
        if seat is None or event.match != seat.started.match or event.ply != seat.ply:
            return
        seat.clocks = event.clocks
        self._append(seat, event.action, tuple(event.state))
        self._go_on(seat)

    def _append(self, seat: ActiveMatch, action: int, state: State) -> None:
        before = seat.states[-1]
        mover = seat.game.current_player(before)
        self._screen.move(seat, action, state)
        seat.states.append(state)
        self._tell_player(seat.player.moved, mover, action, tuple(seat.states))
        thought, seat.thought = seat.thought, None
        if thought:
            self._tell_player(self._screen.thought, seat.player, before, thought)

    def _ended(self, event: Ended) -> None:
        seat = self._seat
        if seat is None or event.match != seat.started.match or seat.over:
            return
        self.tally.count(event.winner, seat.number)
        self._screen.ended(event)
        if event.reason is not Reason.VOID:
            self._unmoved = 0
        elif seat.asked is MoveQuery.CHOICE:
            self._unmoved += 1
            if self._unmoved == (1 if seat.player.human else _MOST_UNMOVED):
                who = "You" if seat.player.human else "The player"
                self._say(f"{who} did not move in time, so no other match is looked for.")
                self._leaving_with = 1
        seat.over = True
        self._tell_player(seat.player.ended, event.winner, event.text)
        self._go_on(seat)

    def _give_up(self, seat: ActiveMatch) -> None:
        """Resign, unless there is nothing left to resign."""
        if seat.over:
            return
        seat.given_up = True
        self.connection.send(Resign(id=_RESIGN, match=seat.started.match))
        self._go_on(seat)

    # Thinking.

    def _go_on(self, seat: ActiveMatch) -> None:
        """Let the player do what the match asks of it; called whenever that may have changed."""
        match seat.step:
            case Step.CHOOSE:
                self._choose(seat)
            case Step.PONDER:
                self._ponder(seat)
            case Step.CANCEL:
                seat.doing = Doing.STOPPING
                seat.player.cancel()
            case Step.STAND_UP:
                self._seat = None
                self._next()

    def _choose(self, seat: ActiveMatch) -> None:
        control, clocks = seat.started.time_control, seat.clocks
        self._screen.turn(seat)
        limit = limit_for_move(
            control,
            clocks[seat.number - 1] if clocks else None,
            lag_s=self.connection.round_trip_s,
            ply=seat.ply,
            max_plies=seat.game.max_plies,
        )
        longest_s = seat.player.longest_s(limit)
        quick = longest_s is not None and longest_s <= _AT_ONCE_S
        run = maybeDeferred if quick else self._in_thread
        self._think(seat, Doing.CHOOSING, self._chosen, run, seat.player.choose, limit)

    def _ponder(self, seat: ActiveMatch) -> None:
        self._think(seat, Doing.PONDERING, self._pondered, self._in_thread, seat.player.ponder)

    def _in_thread(self, think: Callable[..., Any], *about: object) -> Deferred[Any]:
        return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), think, *about)

    def _think(
        self,
        seat: ActiveMatch,
        doing: Doing,
        then: Callable[[Any, ActiveMatch, int], None],
        run: Callable[..., Deferred[Any]],
        think: Callable[..., Any],
        *more: object,
    ) -> None:
        """Let the player think; what it returns goes to `then`, in this thread."""
        seat.doing, seat.since = doing, seat.ply
        seat.player.ready()
        running = run(think, tuple(seat.states), *more)
        running.addBoth(self._stopped, seat)
        running.addCallback(then, seat, seat.ply)
        running.addErrback(self._failed, seat)
        running.addCallback(lambda _: self._go_on(seat))

    def _stopped(self, result: Any, seat: ActiveMatch) -> Any:
        seat.doing = Doing.NOTHING
        return result

    def _pondered(self, _: None, seat: ActiveMatch, ply: int) -> None:
        if not seat.player.cancelled.is_set():
            seat.done = ply

    def _chosen(self, choice: PlayResult, seat: ActiveMatch, ply: int) -> None:
        if seat.asked is not MoveQuery.CHOICE or ply != seat.ply:  # no longer
            return
        if not isinstance(choice, PlayResult):
            raise TypeError(f"choose must return a Choice, not {choice!r}")
        info = choice.info
        move = Move(
            id=ply,
            match=seat.started.match,
            ply=ply,
            action=operator.index(choice.action),  # an element of a numpy array will do
            info=report.thought(info) if info else None,
        )
        seat.done = ply
        seat.thought = info or Info()
        self.connection.send(move)

    def _failed(self, failure: Failure, seat: ActiveMatch) -> None:
        if failure.check(Cancelled) and seat.player.cancelled.is_set():
            return
        if not failure.check(Resigned):
            self._blame(failure)
        self._give_up(seat)

    def _tell_player(self, what: Callable[..., None], *about: object) -> None:
        """Let the player know something, or show what it thinks; if it fails, it resigns."""
        try:
            what(*about)
        except Exception:  # the player is somebody else's program
            self._blame(Failure())
            if self._seat:
                self._give_up(self._seat)

    def _blame(self, failure: Failure) -> None:
        self.tally.faults += 1
        self._say("The player failed, and resigns what it plays:")
        failure.printTraceback(sys.stderr)

    # Errors.

    def _refused(self, error: Error) -> None:
        if error.re == _HELLO:
            self._hello_refused(error)
        elif self._claims.refused(error) or error.code in _HARMLESS:
            pass
        elif isinstance(error.re, int):
            self._move_refused(error)
        elif error.code is Code.CLOSING or (error.re is None and error.code in _PASSING):
            self._screen.error(error)  # the line will break, and what is wanted said again
        else:
            self._give_in(error)

    def _give_in(self, error: Error) -> None:
        self._screen.error(error)
        if advice := self._identity.advice(error):
            self._say(advice)
        self._finish(1)

    def _move_refused(self, error: Error) -> None:
        self._say(f"The server refused the move: {error.text}")
        seat = self._seat
        if seat is None or error.re != seat.ply:
            return
        if error.code is Code.ILLEGAL_ACTION:  # the server counts these
            seat.done = None
            self._go_on(seat)
        else:
            self.tally.faults += 1
            self._give_up(seat)

    def _finish(self, code: int) -> None:
        finished, self._finished = self._finished, lambda code: None
        if self._seat:
            self._seat.given_up = True
            self._seat.player.cancel()
        self.connection.close()
        finished(code)
