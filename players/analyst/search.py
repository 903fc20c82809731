"""What a player thinks of a position, again and again as it knows more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from msgspec import structs

import games
import players
from games import Game, State
from players.client import report
from players.core.player import ActionStats, Cancelled, Info, Limit, Player
from server.model.analyst import AnalysisOrder
from server.model.messages import Analysis

#: Seconds of a player's first turn, and between two reports, at least.
FIRST_S, REPORT_S = 0.1, 0.2
#: A search that goes on with its tree has at least this many visits for each simulation of a turn.
_KEPT = 1.2


class CannotAnalyse(Exception):
    """A position that cannot be analysed; the text says why."""


class Analyst:
    """Analyses one position after the other; it keeps the last player, which may keep its tree."""

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

    def analyse(self, order: AnalysisOrder) -> Iterator[Analysis]:
        """Yield what is known of a position, the last time when its seconds are over.

        Raises CannotAnalyse, SpecError, Cancelled, and what the player raises.
        """
        game = games.load(order.game)
        states = states_after(game, order.moves)
        player = self._load(order, game)
        player.ready()
        if self._cancelled:  # after `ready` of the player, which would undo it
            raise Cancelled
        reported_at, unreported = self._clock(), None
        for analysis in self._turns(player, states, order):
            unreported = analysis
            if self._clock() - reported_at >= REPORT_S:
                yield analysis
                reported_at, unreported = self._clock(), None
        if unreported:
            yield unreported

    def _load(self, order: AnalysisOrder, game: Game) -> Player:
        wanted = str(game), order.player
        if self._player is None or self._loaded != wanted:
            if self._player:
                self._player.close()
                self._player = None
            self._player, self._loaded = players.load(order.player, game), wanted
        return self._player

    def _turns(
        self, player: Player, states: tuple[State, ...], order: AnalysisOrder
    ) -> Iterator[Analysis]:
        """Let the player choose until its time is over or nothing more can come of it.

        A search that keeps its tree goes on with it; one that begins again has longer and longer
        turns.
        """
        began = now = self._clock()
        seconds, simulations, turns = FIRST_S, 0, 0
        left = order.seconds
        while turns == 0 or left > seconds / 2:
            turn_began, turns = now, turns + 1
            limit = Limit(seconds=min(seconds, left), moves=order.moves)
            result = player.choose(states, limit)
            now = self._clock()
            left, info = began + order.seconds - now, result.info
            if info is None:
                yield Analysis(pv=(result.action,), seconds=now - began)
                return
            visits = sum(each.visits for each in info.actions)
            keeps = visits >= _KEPT * info.simulations > 0
            simulations = simulations + info.simulations if keeps else info.simulations
            yield analysis_of(
                replace(info, simulations=simulations, seconds=now - began), order.played
            )
            is_complete = turns > 1 and not keeps and now - turn_began < seconds / 2
            if info.proven is not None or is_complete:
                return
            seconds = seconds if keeps else 2 * seconds


def states_after(game: Game, moves: tuple[int, ...]) -> tuple[State, ...]:
    """Return all positions, from the first one. Raises CannotAnalyse."""
    states = [game.initial_state()]
    for number, action in enumerate(moves, start=1):
        if game.winner(states[-1]):
            raise CannotAnalyse(f"the game is over before move {number}")
        if action not in game.legal_actions(states[-1]):
            raise CannotAnalyse(f"move {number} is not legal: action {action}")
        states.append(game.next_state(states[-1], action))
    if game.winner(states[-1]):
        raise CannotAnalyse("the game is over in this position")
    return tuple(states)


def analysis_of(info: Info, played: int | None) -> Analysis:
    """Return what is reported of an analysis: the best actions, and the one that was played."""
    analysis = report.analysis(info)
    if played is None or any(action == played for action, _, _ in analysis.actions):
        return analysis
    known = [each for each in info.actions if each.action == played] or [ActionStats(played, 0, 0)]
    stats = (played, known[0].visits, known[0].win_rate)
    return structs.replace(analysis, actions=(*analysis.actions, stats))
