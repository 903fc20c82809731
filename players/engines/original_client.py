"""A client of the original system, boardgame-socketplayer: lines of JSON over a connection.

It plays one match and exits, so each match has a process of its own. It knows no clock and no
passes; it is sent a position when it has to move, and the end. If its connection is closed without
a last message, it uses a whole processor for ever.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable

from playout.games import Game, Position
from playout.players.core.player import Info, Limit, PlayResult
from playout.players.engines.client import EngineClient, move_deadline, shown
from playout.players.engines.config import EngineConfig
from playout.players.engines.original_json import (
    ClientFault,
    IllegalMessage,
    answer_of,
    message,
    position_fields,
    result_fields,
    rules_named,
)
from playout.players.engines.process import ConnectingProcess, EngineError, EngineProcess
from playout.protocol.messages import Analysis

#: Seconds for a move without any limit: the default of the original players.
_UNLIMITED_S = 30.0
#: Maximum number of moves over which main time is spread.
_MOST_MOVES = 100
#: The share of the time for a move that its search gets, and the shortest search: the rest is for
#: its start, and for its work after the search.
_SHARE, _SHORTEST_S = 0.9, 0.01
#: The bounds of the time of a process for a move, as a multiple of the time that the clock gives.
_LEAST_FIT, _MOST_FIT = 0.9, 1.05


class OriginalEngineClient(EngineClient):
    """Plays with clients of the original system, each of them one seat of one match."""

    farewell = message("decline", message="The match is over.") + "\r"

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises ValueError for a game that the original system does not have."""
        self._rules = rules_named(str(game))
        #: The seat of the process, 0 before it was sent one; and whether it can be sent a position.
        self._seat, self._is_usable = 0, True
        #: Whether its answer is pending, and whether it was sent the end.
        self._is_thinking = self._is_over = False
        #: Seconds for a move, in its command.
        self._seconds = _UNLIMITED_S
        super().__init__(config, game, cancelled)

    def _launched(self, deadline: float) -> EngineProcess:
        known = {"game": self._rules.name, "seconds": f"{self._seconds:.2f}"}
        return ConnectingProcess(self.config, self.cancelled, known, deadline)

    def _start(self, deadline: float) -> None:
        pass  # it writes nothing before its first position

    def describe(self) -> Iterable[str]:
        yield f"{self._rules.name} of the original system; each match has a process of its own"

    def _new_match(self, deadline: float) -> None:
        if self._seat:
            self._launch_again(deadline)

    def settle(self, deadline: float) -> None:
        pass  # a cancelled process is not used again

    def end_search(self, deadline: float) -> None:
        if self._is_thinking:  # and reads no message
            raise self.process.fault("still thinks after the end of its match")

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        seconds = move_seconds(limit, position, self.game.max_plies)
        if not self._is_usable or not self._fits(position.to_move, seconds):
            self._seconds = seconds
            self._launch_again(self.start_deadline())
        if not self._seat:
            self._seat = position.to_move
            self._send("player", message=position.to_move)
        fields = position_fields(self._rules, position)
        self._is_usable, self._is_thinking = False, True  # until it answers
        self._send("update", **fields)
        line = self.process.line(move_deadline(limit, position.to_move))
        self._is_thinking = False
        try:
            action, analysis = answer_of(self._rules, position.state, line)
        except ClientFault as error:
            raise self._refused(error, position, line) from error
        self._is_usable = True
        return PlayResult(action, _info(analysis))

    def ended(self, position: Position, winner: int) -> None:
        if not self._seat or self._is_over:
            return
        self._is_usable, self._is_over = False, True
        with contextlib.suppress(EngineError):  # it may have exited
            if winner == 0:
                self.process.send(self.farewell)
            else:
                fields = position_fields(self._rules, position)
                self._send("update", **fields, **result_fields(self._rules, position.state, winner))

    def close(self) -> None:
        """End the process: it reads no message while it thinks, and exits after the result."""
        if self._is_thinking:
            self.process.close()
        elif self._is_over:
            self.process.close(is_leaving=True)
        else:
            self.process.close(self.farewell)

    def _fits(self, seat: int, seconds: float) -> bool:
        """Return whether the process plays this seat, or, if it has none, whether its time fits.

        The process for a match is started before its clock is known, with the time of the last one.
        """
        if self._seat or not any("{seconds}" in word for word in self.config.command):
            return self._seat in (0, seat)
        return _LEAST_FIT <= self._seconds / seconds <= _MOST_FIT

    def _launch_again(self, deadline: float) -> None:
        """End the process, and start one for another match."""
        self.close()
        self._seat, self._is_thinking, self._is_over = 0, False, False
        self.process = self._launched(deadline)
        self._is_usable = True

    def _send(self, kind: str, **fields: object) -> None:
        self.process.send(message(kind, **fields) + "\r")

    def _refused(self, error: ClientFault, position: Position, line: str) -> EngineError:
        """Report an error to the client, and return the error for people."""
        if isinstance(error, IllegalMessage):
            fault = self.illegal(position, line)
            answer = message("illegal", message=error.action)
        else:
            fault = self.process.fault(f"has answered {shown(line)}: {error}")
            answer = message("error", message=str(error))
        with contextlib.suppress(EngineError):
            self.process.send(f"{answer}\r")
        return fault


def move_seconds(limit: Limit, position: Position, max_plies: int) -> float:
    """Return the seconds for each move of a player, from this position to the end."""
    clock = limit.clock
    seconds = limit.seconds
    if clock and clock.start.main_s:
        left = clock.left[position.to_move - 1]
        moves = min(_MOST_MOVES, 1 + (max_plies - len(position.moves)) // 2)
        share = clock.gain_s + left.main_s / moves - clock.overhead_s
        seconds = max(share, clock.start.period_s - clock.overhead_s)
    return _UNLIMITED_S if seconds is None else max(_SHORTEST_S, _SHARE * seconds)


def _info(analysis: Analysis | None) -> Info | None:
    if analysis is None:
        return None
    return Info(
        simulations=analysis.simulations or 0,
        depth=analysis.depth or 0,
        win_rate=0.5 if analysis.win_rate is None else analysis.win_rate,
    )
