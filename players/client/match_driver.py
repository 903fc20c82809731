"""Runs the player of a match in a thread, with its time, and handles its failures."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure

from playout.commands.text import plain
from playout.games import Position
from playout.players.client.active_match import (
    THINKING,
    ActiveMatch,
    Doing,
    MoveQuery,
    ResultCounts,
    Step,
)
from playout.players.client.player_console import PlayerConsole
from playout.players.core.budget import limit_for_move
from playout.players.core.player import (
    Cancelled,
    Info,
    MatchRequest,
    MatchRequested,
    PlayerError,
    PlayResult,
    Resigned,
)
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import Move, Resign
from playout.protocol.tournament_spec import without_folders

#: The id of the request to resign; those of moves are their plies.
_RESIGN = "resign"
#: The longest choice that is made in the reactor's thread: switching to another thread and back
#: takes 0.15 ms, and much more on a busy machine.
_SHORT_S = 0.02
#: Most characters of an error in a message to the server.
_LONGEST_ERROR = 64
#: Seconds that a player may think after the end of its match, and of its time for the move.
GRACE_S = 10.0
#: The same for the first match of a game that was assigned: a player that compiles its code in its
#: first move and is ended before it has done so would begin again in each process.
FIRST_GRACE_S = 60.0
#: Seconds after the end of a player's clocks in which its code must let the event loop run.
STALL_S = 10.0


def never(seconds: float) -> None:
    """Limit nothing; the default of `MatchDriver` for the alarm."""


class MatchDriver:
    """Lets a player think as its match demands, and sends its moves."""

    def __init__(
        self,
        reactor: Any,
        console: PlayerConsole,
        counts: ResultCounts,
        left: Callable[[], None],
        ask: Callable[[ActiveMatch, MatchRequest], None],
        abandon: Callable[[], None],
        allow_stall: Callable[[float], None] = never,
    ) -> None:
        """`left` is called when a match is over and its player has stopped thinking.

        `ask` sends a player's request to the server. `abandon` is called after a failure with which
        the player cannot go on, also if it still thinks some seconds after the end of its match.
        `allow_stall` is told for how many seconds the event loop may stand still, as in
        `StallAlarm.allow`.
        """
        self.connection: ServerConnection
        self._reactor = reactor
        self._console = console
        self._counts = counts
        self._left = left
        self._ask = ask
        self._abandon = abandon
        self._allow_stall = allow_stall
        #: The time at which the player should have chosen, by its limit.
        self._due_at = 0.0
        #: The call of `_stuck`, once a match is over while its player thinks.
        self._grace: Any = None

    def advance(self, match: ActiveMatch) -> None:
        """Take the next step of the player; to be called after each change of the match."""
        try:
            self._advance(match)
        except Exception:  # the player may be any program
            self.fail(Failure())

    def fail(self, failure: Failure) -> None:
        """Report a failure of the player outside of `choose` and `ponder`, and give it up."""
        self._report_fault(failure, "The player failed, and cannot go on")
        self._abandon()

    def _stuck(self) -> None:
        self._counts.faults += 1
        self._console.show("The player still thinks, although its match is over: giving it up.")
        self._abandon()

    def _advance(self, match: ActiveMatch) -> None:
        self._allow_stall(sum(match.left_s) + STALL_S)
        if match.over and match.doing in THINKING and self._grace is None:
            overtime_s = max(0.0, self._due_at - self._reactor.seconds())
            grace_s = FIRST_GRACE_S if match.is_first else GRACE_S
            self._grace = self._reactor.callLater(overtime_s + grace_s, self._stuck)
        match match.step:
            case Step.CHOOSE:
                self._choose(match)
            case Step.PONDER:
                self._think(
                    match, Doing.PONDERING, self._pondered, self._thread, match.player.ponder
                )
            case Step.CANCEL:
                match.doing = Doing.STOPPING
                match.player.cancel()
            case Step.LEAVE:
                self._allow_stall(math.inf)
                self._left()

    def prepare(self, match: ActiveMatch, done: Callable[[], None]) -> None:
        """Let the player of a match that is over get ready for the next one; then call `done`."""
        match.doing = Doing.PREPARING
        match.player.ready()
        running = self._thread(match.player.prepare)
        running.addCallbacks(lambda _: done(), self._not_prepared)
        running.addErrback(self.fail)

    def _not_prepared(self, failure: Failure) -> None:
        if not failure.check(Cancelled):
            self.fail(failure)

    def moved(self, match: ActiveMatch, position: Position) -> None:
        """Tell the player of a move or a roll, which led to that position."""
        self._console.move(match, position)
        before = position.at(position.ply - 1)
        self.notify(match, match.player.moved, before.to_move, position)
        info, match.info = match.info, None
        if info:
            self.notify(match, self._console.analysis, match.player, before, info)

    def taken_back(self, match: ActiveMatch, seat: int) -> None:
        """Tell the player that `seat` has taken moves back."""
        if match.step is Step.CANCEL:  # before a person sees the board and answers
            self.advance(match)
        self.notify(match, match.player.taken_back, seat, match.position)

    def resign(self, match: ActiveMatch, error: str | None = None) -> None:
        """Resign the match, unless it is over; for an error of the player, as a crash."""
        if match.over:
            return
        match.resigned = True
        match.error = error or match.error
        self.send_resignation(match.started.match, match.error)
        self.advance(match)

    def send_resignation(self, match: str, error: str | None = None) -> None:
        """Ask the server to resign a match, as a crash if there is an `error`."""
        self.connection.send(Resign(id=_RESIGN, match=match, crash=error))

    def notify(self, match: ActiveMatch, call: Callable[..., None], *arguments: object) -> None:
        """Call a method of the player, or show its analysis; resign if that fails."""
        self._allow_stall(sum(match.left_s) + STALL_S)
        try:
            call(*arguments)
        except Exception:  # the player may be any program
            self._report_fault(failure := Failure())
            self.resign(match, _error(failure))

    def _choose(self, match: ActiveMatch) -> None:
        self._console.turn(match)
        controls = match.started.time_controls
        limit = limit_for_move(
            match.started.time_control,
            match.clocks,
            match.seat,
            lag_s=self.connection.round_trip_s,
            ply=match.ply,
            max_plies=match.game.max_plies,
            opponent=controls[2 - match.seat] if controls else None,
        )
        self._due_at = self._reactor.seconds() + (limit.seconds or 0.0)
        self._allow_stall(match.left_s[match.seat - 1] + STALL_S)
        longest_s = match.player.longest_s(limit)
        is_short = longest_s is not None and longest_s <= _SHORT_S
        run = maybeDeferred if is_short else self._thread
        report = self._console.progress(match.position)
        self._think(match, Doing.CHOOSING, self._chosen, run, match.player.choose, limit, report)

    def _thread(self, think: Callable[..., Any], *arguments: object) -> Deferred[Any]:
        return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), think, *arguments)

    def _think(
        self,
        match: ActiveMatch,
        doing: Doing,
        done: Callable[[Any, ActiveMatch, int], None],
        run: Callable[..., Deferred[Any]],
        think: Callable[..., Any],
        *arguments: object,
    ) -> None:
        """Let the player think; pass its result to `done` in the reactor's thread."""
        match.doing, match.since = doing, match.ply
        match.player.ready()
        running = run(think, match.position, *arguments)
        running.addBoth(self._stopped, match)
        running.addCallback(done, match, match.ply)
        running.addErrback(self._failed, match)
        running.addCallback(lambda _: self.advance(match))

    def _stopped(self, result: Any, match: ActiveMatch) -> Any:
        match.doing = Doing.NOTHING
        if self._grace:
            self._grace.cancel()
            self._grace = None
        return result

    def _pondered(self, _: None, match: ActiveMatch, ply: int) -> None:
        if not match.player.cancelled.is_set():
            match.done = ply

    def _chosen(self, result: PlayResult, match: ActiveMatch, ply: int) -> None:
        if match.query is not MoveQuery.CHOICE or ply != match.ply:  # no longer wanted
            return
        if match.player.cancelled.is_set():  # moves were taken back, and others made
            return
        if not isinstance(result, PlayResult):
            raise TypeError(f"choose must return a PlayResult, not {result!r}")
        move = Move(
            id=ply,
            match=match.started.match,
            ply=ply,
            action=operator.index(result.action),  # it may be an element of a numpy array
            info=result.info.to_message() if result.info else None,
        )
        match.done = ply
        match.info = result.info or Info()
        self.connection.send(move)

    def _failed(self, failure: Failure, match: ActiveMatch) -> None:
        # A program may end when its search is cancelled, as the match is over.
        expected = (Cancelled, PlayerError) if match.over else (Cancelled,)
        if failure.check(*expected) and match.player.cancelled.is_set():
            return
        if isinstance(failure.value, MatchRequested):
            self._ask(match, failure.value.request)
            return
        if failure.check(Resigned):
            self.resign(match)
        else:
            self._report_fault(failure)
            self.resign(match, _error(failure))

    def _report_fault(
        self, failure: Failure, what: str = "The player crashed, and loses its match"
    ) -> None:
        self._counts.faults += 1
        if failure.check(PlayerError):
            self._console.show(
                f"The player crashed, and loses its match: {failure.getErrorMessage()}"
            )
            return
        self._console.show(f"{what}:")
        failure.printTraceback(sys.stderr)


def _error(failure: Failure) -> str:
    """Return the last line of a failure, as short as a message to the server needs it."""
    text = failure.getErrorMessage().partition("\n")[0]
    if not failure.check(PlayerError):
        text = f"{failure.type.__name__ if failure.type else 'Exception'}: {text}"
    return short_error(text)


def short_error(text: str) -> str:
    """Return a line about an error without folders, as short as a message to the server needs."""
    return plain(" ".join(without_folders(text).split()))[:_LONGEST_ERROR].rstrip(": ")
