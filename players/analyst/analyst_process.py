"""The analyst as a process: a thread reads orders, the main thread works on them.

An order asks for an analysis of a position, for a proof of the result of a match, or for the luck
of its rolls.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from queue import SimpleQueue
from typing import Literal

from msgspec import structs

from playout import games, players
from playout.commands.subprocesses import Parent
from playout.games import Game, Position, SpecError
from playout.games.core import spec
from playout.players.comparison.pairs import expectation_of
from playout.players.core.player import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    Player,
    PlayerError,
    Resigned,
    paced,
)
from playout.players.evaluations.files import EvaluationError
from playout.protocol.analyst import (
    AnalysisOrder,
    AnalysisReport,
    AnalystOrder,
    LuckOrder,
    ProofOrder,
    StopOrder,
    Work,
)
from playout.protocol.messages import Analysis, Lines
from playout.ratings.luck import luck_of_rolls

#: Shortest time between two reports to the server.
REPORT_S = 0.2
#: Moves whose values are found by a player that finds one only, without the option `candidates`.
CANDIDATES = "3"
#: The player that searches proofs; a short search cannot fill a larger table of positions.
PROVER = "minimax(memory_mb=16)"


class CannotAnalyse(Exception):
    """Raised for a position that cannot be analysed; the message says why."""


class Analyst:
    """Analyses one position after the other; keeps the last player, which may keep its tree."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._cancelled = False
        self._loaded: tuple[str, str] | None = None
        self._player: Player | None = None

    def cancel(self) -> None:
        """Cancel the analysis that is running, and any until `ready`; safe from any thread."""
        self._cancelled = True
        if player := self._player:
            player.cancel()

    def ready(self) -> None:
        """Allow analyses again after `cancel`."""
        self._cancelled = False

    def analyse(self, order: AnalysisOrder, show: Callable[[Analysis, Lines], None]) -> None:
        """Show analyses of a position while the player searches, the last one at the end.

        Raises CannotAnalyse, SpecError, Cancelled, and the errors of the player.
        """
        game = games.load(order.game)
        position = position_after(game, order.moves)
        player = self._load(order, game)
        player.ready()
        if self._cancelled:  # after `ready` of the player, which would undo it
            raise Cancelled
        began = self._clock()

        def said(info: Info) -> None:
            if not info.seconds:  # engines do not report it
                info = replace(info, seconds=self._clock() - began)
            show(analysis_of(info, order.played), info.lines)

        report = paced(said, REPORT_S, self._clock)
        result = player.choose(position, Limit(seconds=order.seconds), report)
        if self._cancelled:
            raise Cancelled
        if result.info is None:
            show(Analysis(pv=(result.action,), seconds=self._clock() - began), ())
        else:
            said(result.info)

    def _load(self, order: AnalysisOrder, game: Game) -> Player:
        wanted = str(game), order.player
        if self._player is None or self._loaded != wanted:
            if self._player:
                self._player.close()
                self._player = None
            self._player, self._loaded = players.load(_comparing(order.player), game), wanted
        return self._player


def _comparing(player: str) -> spec.Spec:
    """Return a player's specification, so that it compares moves if it does so on demand only."""
    wanted = spec.parse(player)
    if "candidates" in spec.parameters_of(players.find(wanted.name), skip=1):
        return spec.Spec(wanted.name, {"candidates": CANDIDATES, **wanted.options})
    return wanted


def position_after(game: Game, moves: tuple[int, ...]) -> Position:
    """Return the position after some moves. Raises CannotAnalyse."""
    position = Position(game)
    for number, action in enumerate(moves, start=1):
        if position.winner:
            raise CannotAnalyse(f"the game is over before move {number}")
        if action not in position.legal_actions:
            raise CannotAnalyse(f"move {number} is not legal: action {action}")
        position = position.play(action)
    if position.winner:
        raise CannotAnalyse("the game is over in this position")
    if position.to_move == 0:
        raise CannotAnalyse("a roll follows in this position: analyse the position after it")
    return position


def analysis_of(info: Info, played: int | None) -> Analysis:
    """Return the report of an analysis: the best actions, and the one that was played."""
    analysis = info.to_message()
    if played is None or any(action == played for action, _, _ in analysis.actions):
        return analysis
    known = [each for each in info.actions if each.action == played] or [ActionStats(played, 0, 0)]
    stats = (played, known[0].visits, known[0].win_rate)
    return structs.replace(analysis, actions=(*analysis.actions, stats))


class Prover:
    """Proves results of positions; keeps a player for each game."""

    def __init__(self) -> None:
        self._players: dict[str, tuple[Game, Player]] = {}

    def prove(self, order: ProofOrder) -> AnalysisReport:
        """Return the report with the proven winner of a position, or with an error."""
        try:
            return AnalysisReport(order.analysis, over=True, winner=self._winner(order))
        except Exception as error:  # the game may be a plugin
            return AnalysisReport(order.analysis, over=True, error=str(error) or repr(error))

    def _winner(self, order: ProofOrder) -> Literal[1, 2, -1] | None:
        if order.game not in self._players:
            game = games.load(order.game)
            self._players[order.game] = game, players.load(PROVER, game)
        game, player = self._players[order.game]
        position = position_after(game, order.moves)
        info = player.choose(position, Limit(seconds=order.seconds)).info
        if info is None or info.proven is None:
            return None
        return _WINNERS[info.proven if position.to_move == 1 else -info.proven]


#: The winner of a match by its proven outcome for player 1.
_WINNERS: Mapping[int, Literal[1, 2, -1]] = {1: 1, 0: -1, -1: 2}


def measure_luck(order: LuckOrder) -> AnalysisReport:
    """Return the report with the luck of all rolls of a match, or with an error."""
    try:
        game = games.load(order.game)
        expected = expectation_of(game, order.evaluation)
        rolls = luck_of_rolls(Position(game, order.moves), expected, order.opening)
        return AnalysisReport(order.analysis, over=True, luck=tuple(luck for _, luck in rolls))
    except EvaluationError as error:
        return AnalysisReport(order.analysis, over=True, error=str(error), luck=())
    except Exception as error:  # the game may be a plugin
        return AnalysisReport(order.analysis, over=True, error=str(error) or repr(error))


class _Orders:
    """The orders of the server, read in a thread, so that a stop takes effect at once."""

    def __init__(self, server: Parent, analyst: Analyst) -> None:
        self._server = server
        self._analyst = analyst
        self._lock = threading.Lock()
        #: The analysis that is running.
        self._current: str | None = None
        #: The last analysis that was to be stopped.
        self._stopped: str | None = None
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Work | None:
        """Wait for the next order; None at the end of the input."""
        order = self._queue.get()
        if order:
            with self._lock:
                self._current = order.analysis
                self._analyst.ready()
                if self._stopped == order.analysis:
                    self._analyst.cancel()
        return order

    def _read(self) -> None:
        order: AnalystOrder | None
        with contextlib.suppress(EOFError):
            while order := self._server.receive(AnalystOrder):
                if isinstance(order, StopOrder):
                    self._stop(order.analysis)
                else:
                    self._queue.put(order)
        self._queue.put(None)
        self._analyst.cancel()

    def _stop(self, analysis: str) -> None:
        with self._lock:
            self._stopped = analysis
            if analysis == self._current:
                self._analyst.cancel()


def main() -> None:
    """Carry out the orders of standard input, a socket, which also gets the reports."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    server, analyst, prover = Parent(), Analyst(), Prover()
    orders = _Orders(server, analyst)
    with contextlib.suppress(OSError):  # the server has ended
        while order := orders.next():
            if isinstance(order, ProofOrder):
                server.say(prover.prove(order))
            elif isinstance(order, LuckOrder):
                server.say(measure_luck(order))
            else:
                _analyse(order, analyst, server.say)


def _analyse(
    order: AnalysisOrder, analyst: Analyst, send: Callable[[AnalysisReport], None]
) -> None:
    """Send the analyses of a position, and finally the end of the analysis."""
    error = ""
    try:
        analyst.analyse(order, lambda *found: send(AnalysisReport(order.analysis, *found)))
    except Cancelled:
        pass
    except (CannotAnalyse, PlayerError, SpecError) as fault:
        error = str(fault)
    except Resigned:
        error = "the bot resigns in this position"
    except OSError:
        raise
    except Exception as fault:  # the player and the game may be plugins
        error = f"the bot has failed: {type(fault).__name__}: {fault}"
    send(AnalysisReport(order.analysis, over=True, error=error))
