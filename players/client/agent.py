"""What a connected player does: say hello, look for matches, play them, come back when cut off."""

from __future__ import annotations

import operator
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import structs
from rich.console import Console
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure

from games import State
from players.client import report
from players.client.budget import seconds_for_move
from players.client.link import Link
from players.client.seat import Seat, Tally
from players.core.player import Cancelled, Choice, Info, Limit, Player, Resigned
from server.messages import (
    PROTOCOL,
    Closing,
    Code,
    Ended,
    Error,
    Event,
    Hello,
    Move,
    Ping,
    Pong,
    Resign,
    Seek,
    Seeking,
    Started,
    Thought,
    Update,
    Welcome,
)

_RESUMED = "resumed"
_LINE_SENT = 20
_ACTIONS_SENT = 50
#: Errors that come of messages that crossed; the match itself says what to do next.
_HARMLESS = (Code.MATCH_OVER, Code.WRONG_PLY)


@dataclass(frozen=True)
class Wish:
    """What a player wants to play, and as whom."""

    seek: Seek
    matches: int
    name: str
    #: May another name be taken if somebody has this one?
    any_name: bool
    role: str
    software: str


class Agent:
    """Plays the matches of one player, one after the other, over one link."""

    def __init__(
        self,
        reactor: Any,
        player: Player,
        wish: Wish,
        console: Console,
        finished: Callable[[int], None],
        *,
        quiet: bool = False,
        show: bool = False,
    ) -> None:
        """`finished` is called once, with the exit code.

        `quiet` keeps what the player thinks to itself, `show` prints the board after each move.
        """
        self.link: Link
        self.tally = Tally()
        self._reactor = reactor
        self._player = player
        self._wish = wish
        self._name = wish.name
        self._console = console
        self._finished = finished
        self._quiet = quiet
        self._show = show and not player.human  # who sees the board anyway
        self._session: str | None = None
        self._leaving_with: int | None = None
        self._closing = False
        self._seat: Seat | None = None

    # The line.

    def connected(self) -> None:
        """Say hello, and ask for a sign that everything about running matches was said."""
        hello = Hello(
            id="hello",
            protocol_min=PROTOCOL,
            protocol_max=PROTOCOL,
            name=self._name,
            role=self._wish.role,  # type: ignore[arg-type]
            software=self._wish.software,
            session=self._session,
        )
        self.link.send(hello)

    def disconnected(self) -> None:
        """Wait; the link is mended."""
        if self._seat and not self._seat.over:
            self._seat.lost_sight = True
        if self._leaving_with is None:
            what = "The server has stopped" if self._closing else "The connection is lost"
            self._say(f"{what}; trying to get it back ...")

    def unreachable(self, reason: str) -> None:
        """Give up."""
        self._say(f"The server cannot be reached: {reason}")
        self._say("Is it running? Start one with: playout-server")
        self._finish(1)

    def confused(self, reason: str) -> None:
        """Server and client do not understand each other."""
        self._say(reason)
        self._finish(1)

    def received(self, event: Event) -> None:
        """The server says something."""
        match event:
            case Welcome():
                self._closing = False
                self._session = event.session
                self.link.send(Ping(id=_RESUMED))
            case Pong(re=re) if re == _RESUMED:
                self._resumed()
            case Seeking():
                self._seeking(event)
            case Started():
                self._started(event)
            case Update():
                self._updated(event)
            case Ended():
                self._ended(event)
            case Closing():
                self._closing = True
                self._say(f"The server is going to stop, in {event.seconds:g} s at the latest.")
            case Error():
                self._refused(event)

    def interrupt(self) -> None:
        """Ctrl-C: what the player makes of it, otherwise leave."""
        if not self._player.interrupt():
            self.leave(130)

    def leave(self, code: int) -> None:
        """Resign what is being played, and end."""
        if self._seat is None or self._leaving_with is not None:
            self._finish(code)
            return
        self._leaving_with = code
        self._say("Resigning and leaving ...")
        self.link.send(Resign(match=self._seat.started.match))
        self._reactor.callLater(2.0, self._finish, code)

    # Looking for a match.

    def _resumed(self) -> None:
        """Everything about running matches has been said."""
        if self._seat and self._seat.lost_sight:
            self._say(f"Match {self._seat.started.match} ended while the connection was lost.")
            self.tally.void += 1
            self._stand_up(self._seat)
        elif self._seat is None:
            self._next()

    def _next(self) -> None:
        if self._leaving_with is not None:
            self._finish(self._leaving_with)
        elif self.tally.played >= self._wish.matches:
            self._finish(1 if self.tally.faults else 0)
        else:
            self.link.send(structs.replace(self._wish.seek, id="seek"))

    def _seeking(self, event: Seeking) -> None:
        if event.name == self._name:
            clock = f", clock {event.clock}" if event.clock else ""
            whom = f"for {event.opponent}" if event.opponent else "for an opponent"
            self._say(f"{self._name}: waiting {whom} at {event.game}{clock} ...")
        else:
            self._say(f"{event.name} challenges you to {event.game}.")

    # A match.

    def _started(self, event: Started) -> None:
        seat = self._seat
        if seat and seat.started.match == event.match:
            seat.lost_sight = False
        else:
            game = self._player.game
            states = [game.initial_state()]
            for action in event.moves:
                states.append(game.next_state(states[-1], action))
            seat = self._seat = Seat(event, states, event.clocks)
            first, second = event.players
            self._say(f"Match {event.match}: {event.game}, {first} against {second}, {event.clock}")
            opponent = event.players[2 - seat.number]
            self._tell_player(self._player.started, seat.number, opponent, tuple(states))
        # Moves that were made while the line was broken.
        for action in event.moves[seat.ply :]:
            self._append(seat, action, self._player.game.next_state(seat.states[-1], action))
        seat.clocks = event.clocks
        self._think(seat)

    def _updated(self, event: Update) -> None:
        seat = self._seat
        if seat is None or event.match != seat.started.match or event.ply != seat.ply:
            return
        seat.clocks = event.clocks
        self._append(seat, event.action, tuple(event.state))
        self._think(seat)

    def _append(self, seat: Seat, action: int, state: State) -> None:
        mover = self._player.game.current_player(seat.states[-1])
        if self._show:
            game, before = self._player.game, seat.states[-1]
            who = seat.started.players[mover - 1]
            self._say(f"{who} plays {game.action_name(before, action)}")
            self._console.print(report.board(game, state, action, before))
        seat.states.append(state)
        self._tell_player(self._player.moved, mover, action, tuple(seat.states))

    def _ended(self, event: Ended) -> None:
        seat = self._seat
        if seat is None or event.match != seat.started.match:
            return
        if event.winner == 0:
            self.tally.void += 1
        elif event.winner < 0:
            self.tally.tied += 1
        elif event.winner == seat.number:
            self.tally.won += 1
        else:
            self.tally.lost += 1
        self._say(f"Match {event.match}: {event.text} ({event.reason}).")
        self._tell_player(self._player.ended, event.winner, event.text)
        self._stand_up(seat)

    def _stand_up(self, seat: Seat) -> None:
        """The match is over; go on when the player has stopped thinking about it."""
        seat.over = True
        if seat.thinking:
            self._player.cancel()
        else:
            self._seat = None
            self._next()

    # Thinking.

    def _think(self, seat: Seat) -> None:
        game, state = self._player.game, seat.states[-1]
        if seat.thinking or game.winner(state) or game.current_player(state) != seat.number:
            return
        seat.thinking = True
        if self._player.human and seat.clocks and seat.started.control:
            self._say(report.clocks(seat.started.players, seat.clocks, seat.started.control))
        left = seat.clocks[seat.number - 1] if seat.clocks else None
        seconds = seconds_for_move(
            seat.started.control,
            left,
            lag_s=self.link.round_trip_s,
            plies_left=game.max_plies - seat.ply,
        )
        self._player.ready()
        pool = self._reactor.getThreadPool()
        chosen = deferToThreadPool(
            self._reactor, pool, self._player.choose, tuple(seat.states), Limit(seconds)
        )
        chosen.addCallback(self._chosen, seat, seat.ply)
        chosen.addErrback(self._not_chosen, seat)

    def _chosen(self, choice: Choice, seat: Seat, ply: int) -> None:
        seat.thinking = False
        if seat.over:
            self._stand_up(seat)
            return
        if seat.lost_sight:  # when the match is in sight again, it is thought over again
            return
        if ply != seat.ply:  # it went on elsewhere: a move sent before the line broke counted
            self._think(seat)
            return
        if not isinstance(choice, Choice):
            raise TypeError(f"choose must return a Choice, not {choice!r}")
        info = choice.info
        move = Move(
            id=ply,
            match=seat.started.match,
            ply=ply,
            action=operator.index(choice.action),  # an element of a numpy array will do
            info=_thought(info) if info else None,
        )
        self.link.send(move)
        if info and not self._quiet:
            self._say(report.search(self._player.game, seat.states[ply], info, self._console.width))

    def _not_chosen(self, failure: Failure, seat: Seat) -> None:
        seat.thinking = False
        if not failure.check(Cancelled, Resigned):
            self._blame(failure)
        if seat.over:
            self._stand_up(seat)
        elif not failure.check(Cancelled):
            self.link.send(Resign(match=seat.started.match))

    def _tell_player(self, what: Callable[..., None], *about: object) -> None:
        """Let the player know something; if it cannot bear that, it resigns."""
        try:
            what(*about)
        except Exception:  # the player is somebody else's program
            self._blame(Failure())
            if self._seat:
                self.link.send(Resign(match=self._seat.started.match))

    def _blame(self, failure: Failure) -> None:
        self.tally.faults += 1
        self._say("The player failed, and resigns what it plays:")
        failure.printTraceback(sys.stderr)

    # Errors.

    def _refused(self, error: Error) -> None:
        if error.code in _HARMLESS:
            return
        if error.code is Code.UNKNOWN_SESSION:
            self._session = None
            self.connected()
        elif error.code is Code.NAME_TAKEN and self._wish.any_name:
            self._name = f"{self._wish.name[:27]}-{secrets.token_hex(2)}"
            self.connected()
        elif isinstance(error.re, int):
            self._move_refused(error)
        else:
            self._say(f"The server says: {error.text} ({error.code})")
            self._finish(1)

    def _move_refused(self, error: Error) -> None:
        self._say(f"The server refused the move: {error.text}")
        if self._seat is None or error.re != self._seat.ply:
            return
        if error.code is Code.ILLEGAL_ACTION:  # the server counts these
            self._think(self._seat)
        else:
            self.tally.faults += 1
            self.link.send(Resign(match=self._seat.started.match))

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)

    def _finish(self, code: int) -> None:
        finished, self._finished = self._finished, lambda code: None
        self._player.cancel()
        self.link.close()
        finished(code)


def _thought(info: Info) -> Thought:
    """What is sent to the server with a move."""
    actions = info.actions[:_ACTIONS_SENT]
    return Thought(
        win_rate=float(info.win_rate),
        simulations=int(info.simulations),
        seconds=float(info.seconds),
        depth=int(info.depth),
        line=tuple(int(action) for action in info.line[:_LINE_SENT]),
        actions=tuple(
            (int(each.action), int(each.visits), float(each.win_rate)) for each in actions
        ),
    )
