"""What the players that grow trees have in common: limits, threads, the tree between moves."""

from __future__ import annotations

import secrets
import threading
import time as clock
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games import Game, SpecError, State
from players.core.node import Node
from players.core.player import ActionStats, Cancelled, Info, Limit, Player, PlayResult
from players.mcts import analysis
from players.mcts.selection import Selection
from players.mcts.simulate import SearchConfig
from players.mcts.tree import MOST_ACTIONS, MOST_SIMULATIONS
from players.mcts.worker import Worker

DEFAULT_S = 1.0
MOST_THREADS = 256


class TreeSearch(Player):
    """Searches for `time` seconds a move, or as long as the clock allows.

    `simulations` stops it after so many; with a seed and `simulations`, a search can be repeated
    exactly. `solver` backs up proofs. `decisive` playouts, where the game has them, win at once if
    they can and prevent the other from doing so. `near_first` tries actions next to stones before
    the others. `max_plies` cuts playouts off and counts them as ties. `reuse` keeps the part of
    the tree that was played, `ponder` thinks on the opponent's time. `threads` grow a tree each
    and are asked together. `memory_mb` bounds all their trees.
    """

    def __init__(
        self,
        game: Game,
        how: Selection,
        /,
        time: float | None = None,
        simulations: int | None = None,
        solver: bool = True,
        decisive: bool = True,
        near_first: bool = False,
        max_plies: int = 0,
        max_depth: int = 0,
        reuse: bool = True,
        ponder: bool = False,
        threads: int = 1,
        seed: int | None = None,
        memory_mb: int = 256,
    ) -> None:
        super().__init__(game)
        self._require(time is None or time > 0, f"time must be above 0 seconds, not {time}")
        self._require(simulations is None or simulations > 0, "simulations must be above 0")
        self._require(max_plies >= 0, f"max_plies must not be negative, as {max_plies} is")
        self._require(max_depth >= 0, f"max_depth must not be negative, as {max_depth} is")
        self._require(memory_mb > 0, "memory_mb must be above 0")
        self._require(
            0 < threads <= MOST_THREADS, f"threads must be from 1 to {MOST_THREADS}, not {threads}"
        )
        self._require(
            game.num_actions <= MOST_ACTIONS,
            f"{game} has {game.num_actions} actions; {MOST_ACTIONS} can be searched",
        )
        self._limit = Limit(time, simulations)
        self._reuse = reuse
        self.ponders = ponder
        around = self._neighbours() if near_first else np.empty(0, dtype=np.int64)
        deepest = game.max_plies + 1
        plan = SearchConfig(
            solver, decisive, min(max_plies, deepest), min(max_depth or deepest, deepest)
        )
        first = secrets.randbits(64) if seed is None else seed
        try:
            self._workers = [
                Worker(game, how, plan, first + number, memory_mb / threads, around)
                for number in range(threads)
            ]
        except (OSError, OverflowError, ValueError) as error:
            raise self._wrong(f"there is no memory_mb={memory_mb} to be had: {error}") from error
        self._require(
            len(self._workers[0].tree.nodes) > 3 * game.num_actions,  # a root takes that, growing
            f"memory_mb={memory_mb} is too little for {game}, threads={threads}",
        )
        self._pool = ThreadPoolExecutor(max(1, threads - 1), "search")
        self._reporting_s = 0.0  # how long it took last time to say what was found out
        self._searched: tuple[int, State] | None = None  # the ply and the state of the roots

    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        if self.game.winner(states[-1]):
            raise ValueError("there is nothing to choose: the game is over")
        started = clock.perf_counter()
        limit = _tighter(limit, self._limit)
        seconds = float("inf") if limit.seconds is None else limit.seconds
        most = MOST_SIMULATIONS if limit.simulations is None else limit.simulations
        self._take_up(states, seconds)
        deadline = started + seconds - min(self._reporting_s, seconds / 4)
        done = self._think(min(most, MOST_SIMULATIONS), deadline, limit.time_carries_over)
        thought = clock.perf_counter()
        info = self._info(done)
        if info.proven == 1:
            info = self._winning_at_once(states[-1], info)
        reported = clock.perf_counter()
        self._reporting_s = reported - thought
        return PlayResult(info.actions[0].action, replace(info, seconds=reported - started))

    def longest_s(self, limit: Limit) -> float | None:
        return _tighter(limit, self._limit).seconds

    def _winning_at_once(self, state: State, info: Info) -> Info:
        """With the move that wins at once, if there is one, in front of those that win later."""
        game, player = self.game, self.game.current_player(state)
        for action in game.legal_actions(state):
            if game.winner(game.next_state(state, action)) == player:
                others = [each for each in info.actions if each.action != action]
                known = [each for each in info.actions if each.action == action]
                first = replace(*known or [ActionStats(action, 0, 0.0)], proven=1)
                return replace(info, pv=(action,), actions=(first, *others))
        return info

    def ponder(self, states: Sequence[State]) -> None:
        if not self.game.winner(states[-1]):
            self._take_up(states, float("inf"))
            self._think(MOST_SIMULATIONS, float("inf"), saves=False)

    def tree(self, min_visits: int = 1) -> Node | None:
        """The tree of the last choice; with several threads, that of the first."""
        if self._searched is None:
            return None
        return analysis.node(self._workers[0], min_visits)

    def close(self) -> None:
        self._pool.shutdown()

    def _take_up(self, states: Sequence[State], seconds: float) -> None:
        """Set the trees on the newest state, keeping what was found out about it before."""
        actions = self._since_then(states)
        for worker in self._workers:
            if actions is None or not worker.follow(actions, states[-1], seconds):
                worker.begin(states[-1])
        self._searched = len(states) - 1, states[-1]

    def _since_then(self, states: Sequence[State]) -> list[int] | None:
        """The actions that led from the searched state to the newest; None if they did not."""
        if not self._reuse or self._searched is None:
            return None
        ply, state = self._searched
        if ply >= len(states) or states[ply] != state:
            return None
        actions: list[int] = []
        for before, after in zip(states[ply:], states[ply + 1 :], strict=False):
            likely = analysis.by_visits(self._workers[0], actions)
            action = next((a for a in likely if self.game.next_state(before, a) == after), None)
            if action is None:
                return None
            actions.append(action)
        return actions

    def _think(self, most: int, deadline: float, saves: bool) -> int:
        """Let every worker simulate its share; how many simulations there were in all."""
        share, rest = divmod(most, len(self._workers))
        shares = [max(1, share + (number < rest)) for number in range(len(self._workers))]
        first, *others = self._workers

        # Where simulations are counted, none depends on when another thread is done.
        counted = most < MOST_SIMULATIONS
        broken_off = threading.Event()

        def stop(left: int) -> bool:
            return (
                self.cancelled.is_set()
                or broken_off.is_set()
                or (not counted and any(worker.proven for worker in self._workers))
            )

        def stop_first(left: int) -> bool:
            return stop(left) or (saves and analysis.decided(first, left))

        if self.cancelled.is_set():
            raise Cancelled
        running = [
            self._pool.submit(worker.think, share, deadline, stop)
            for worker, share in zip(others, shares[1:], strict=True)
        ]
        try:
            done = first.think(shares[0], deadline, stop_first)
        except BaseException:  # Ctrl-C, which only one thread hears of
            broken_off.set()
            wait(running)
            raise
        done += sum(each.result() for each in running)
        if self.cancelled.is_set():
            raise Cancelled
        return done

    def _info(self, simulations: int) -> Info:
        """What was found out; how long it took is not known yet."""
        considered = analysis.considered(self._workers)
        best = considered[0]
        proven = analysis.proven(considered, any(worker.complete for worker in self._workers))
        return Info(
            simulations=simulations,
            depth=max(worker.depth for worker in self._workers),
            win_rate=best.win_rate if proven is None else (1 + proven) / 2,
            pv=analysis.line(self._workers[0], best.action),
            actions=considered,
            proven=proven,
        )

    def _neighbours(self) -> NDArray[np.int64]:
        around = getattr(self.game, "neighbours", None)
        if around is None:
            raise self._wrong(f"near_first: {self.game} does not say which actions are neighbours")
        reach = max((len(each) for each in around), default=0)
        padded = [[*each, *[-1] * (reach - len(each))] for each in around]
        return np.array(padded, dtype=np.int64).reshape(-1)

    def _require(self, holds: bool, message: str) -> None:
        if not holds:
            raise self._wrong(message)

    def _wrong(self, message: str) -> SpecError:
        return SpecError(f"{type(self).__name__.lower()}: {message}")


def _tighter(given: Limit, own: Limit) -> Limit:
    """Both limits hold; with none at all, a second."""
    seconds = min((s for s in (given.seconds, own.seconds) if s is not None), default=None)
    simulations = min(
        (n for n in (given.simulations, own.simulations) if n is not None), default=None
    )
    if seconds is None and simulations is None:
        seconds = DEFAULT_S
    return Limit(seconds, simulations, given.time_carries_over)
