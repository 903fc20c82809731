"""Base classes of the players with tree search: limits, threads, the tree between moves."""

from __future__ import annotations

import secrets
import threading
import time as clock
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from playout import players
from playout.games import Game, Option, SpecError, State
from playout.players.core.options import Ponder, Seed, Simulations, Threads, Time
from playout.players.core.player import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    Node,
    Player,
    PlayResult,
    tighter,
)
from playout.players.evaluations.placements import Placements
from playout.players.mcts import analysis
from playout.players.mcts.selection import Selection
from playout.players.mcts.tree import MAX_ACTIONS, MAX_SIMULATIONS
from playout.players.mcts.uct_simulation import SearchConfig
from playout.players.mcts.uct_worker import Worker

#: The largest share of the time for a move in which `minimax` looks for a proof.
MAX_PROOF = 0.9
#: The share of `memory_mb` for the table of `minimax`.
_PROOF_MEMORY = 0.25


class TreeSearch(Player):
    """Monte Carlo tree search, with its time, threads, proofs and reports.

    A search with `simulations` and `seed` is exactly repeatable. `solver` backs up proofs.
    `decisive` playouts, for games that define them, win at once if possible and prevent immediate
    losses. In the share `proof` of the time for a move, `minimax` first looks for a proof; without
    one, the tree search has the rest.
    """

    def __init__(
        self,
        game: Game,
        config: SearchConfig,
        threads: int,
        /,
        time: Time = None,
        simulations: Simulations = None,
        solver: Annotated[
            bool, Option("whether wins, ties and losses are proven in the tree")
        ] = True,
        decisive: Annotated[
            bool,
            Option("whether playouts win at once and prevent losses, in games that define this"),
        ] = True,
        reuse: Annotated[bool, Option("whether the tree is kept between moves")] = True,
        ponder: Ponder = False,
        proof: Annotated[
            float,
            Option(
                "share of the time in which minimax first looks for a proof, unless the number of "
                "simulations is limited",
                ge=0,
                le=MAX_PROOF,
            ),
        ] = 0.0,
        seed: Seed = None,
        memory_mb: Annotated[
            int,
            Option("memory of all trees and, for `proof`, of the table of minimax, in MB", ge=1),
        ] = 256,
    ) -> None:
        super().__init__(game)
        self._require(
            game.num_actions <= MAX_ACTIONS,
            f"{game} has {game.num_actions} actions, and at most {MAX_ACTIONS} are supported",
        )
        self._limit = Limit(time, simulations)
        self._reuse = reuse
        self.ponders = ponder
        config = config._replace(solver=solver, decisive=decisive)
        self._seed = secrets.randbits(64) if seed is None else seed
        self._proof = proof
        self._prover = self._new_prover(_PROOF_MEMORY * memory_mb) if proof else None
        trees_mb = memory_mb * (1 - _PROOF_MEMORY if proof else 1)
        try:
            self._workers = [
                self._new_worker(config, self._seed + number, trees_mb / threads)
                for number in range(threads)
            ]
        except (OSError, OverflowError, ValueError) as error:
            raise self._error(f"cannot allocate memory_mb={memory_mb}: {error}") from error
        self._require(
            len(self._workers[0].tree.nodes) > 3 * game.num_actions,  # for the root as it grows
            f"memory_mb={memory_mb} is too little for {game}, threads={threads}",
        )
        self._pool = ThreadPoolExecutor(max(1, threads - 1), "search")
        self._report_s = 0.0  # seconds of the last report, after its search
        self._root: tuple[int, State] | None = None  # the ply and the state of the roots

    def _new_prover(self, megabytes: float) -> Player:
        """Return `minimax`, by its name, as the two searches do not import each other."""
        prover = players.load(f"minimax(memory_mb={max(1, int(megabytes))})", self.game)
        prover.cancelled = self.cancelled
        return prover

    @abstractmethod
    def _new_worker(self, config: SearchConfig, seed: int, megabytes: float) -> Worker:
        """Return a new tree. Raises OSError, OverflowError or ValueError without memory."""

    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        if self.game.winner(states[-1]):
            raise ValueError("there is nothing to choose: the game is over")
        started = clock.perf_counter()
        limit = tighter(limit, self._limit)
        if found := self._prove(states, limit):
            return found
        seconds = float("inf") if limit.seconds is None else limit.seconds
        simulations = MAX_SIMULATIONS if limit.simulations is None else limit.simulations
        self._set_root(states, started + seconds - clock.perf_counter())
        deadline = started + seconds - min(self._report_s, seconds / 4)
        done = self._search(min(simulations, MAX_SIMULATIONS), deadline, limit.time_carries_over)
        searched = clock.perf_counter()
        info = self._info(done)
        if info.proven == 1:
            info = self._with_immediate_win(states[-1], info)
        reported = clock.perf_counter()
        self._report_s = reported - searched
        return PlayResult(self._pick(info), replace(info, seconds=reported - started))

    def _prove(self, states: Sequence[State], limit: Limit) -> PlayResult | None:
        """Return the move of a proof that is found in its share of the time, or None.

        There is no search for a proof if only one action is legal, and if the number of simulations
        is limited: that makes a search repeatable.
        """
        if self._prover is None or limit.seconds is None or limit.simulations is not None:
            return None
        if len(self.game.legal_actions(states[-1])) == 1:
            return None
        found = self._prover.choose(states, Limit(self._proof * limit.seconds))
        if found.info is None or found.info.proven is None:
            return None
        self._root = None  # the trees are of an earlier position
        return found

    def _pick(self, info: Info) -> int:
        """Return the action to play."""
        return info.actions[0].action

    def longest_s(self, limit: Limit) -> float | None:
        return tighter(limit, self._limit).seconds

    def _with_immediate_win(self, state: State, info: Info) -> Info:
        """Put an action that wins at once, if any, in front of those that win later."""
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
            self._set_root(states, float("inf"))
            self._search(MAX_SIMULATIONS, float("inf"), stop_early=False)

    def tree(self, min_visits: int = 1) -> Node | None:
        """Return the tree of the last choice; with several threads, that of the first."""
        if self._root is None:
            return None
        return analysis.export_tree(self._workers[0], min_visits)

    def close(self) -> None:
        if self._prover:
            self._prover.close()
        self._pool.shutdown()

    def _set_root(self, states: Sequence[State], seconds: float) -> None:
        """Set the root of each tree to the newest state, and keep its subtree if possible."""
        actions = self._actions_since_root(states)
        for worker in self._workers:
            if actions is None or not worker.advance(actions, states[-1], seconds):
                self._reset(worker, states)
        self._root = len(states) - 1, states[-1]

    def _reset(self, worker: Worker, states: Sequence[State]) -> None:
        """Start a new tree with the newest state as its root."""
        worker.reset(states[-1])

    def _actions_since_root(self, states: Sequence[State]) -> list[int] | None:
        """Return the actions from the root's state to the newest; None if it is not reachable."""
        if not self._reuse or self._root is None:
            return None
        ply, state = self._root
        if ply >= len(states) or states[ply] != state:
            return None
        actions: list[int] = []
        for before, after in zip(states[ply:], states[ply + 1 :], strict=False):
            likely = analysis.actions_by_visits(self._workers[0], actions)
            action = next((a for a in likely if self.game.next_state(before, a) == after), None)
            if action is None:
                return None
            actions.append(action)
        return actions

    def _search(self, simulations: int, deadline: float, stop_early: bool) -> int:
        """Run a share of the simulations in each worker; return the number of all."""
        share, rest = divmod(simulations, len(self._workers))
        shares = [max(1, share + (number < rest)) for number in range(len(self._workers))]
        first, *others = self._workers

        # With a limited number of simulations, no thread stops because another one was faster.
        counted = simulations < MAX_SIMULATIONS
        interrupted = threading.Event()

        def stop(left: int) -> bool:
            return (
                self.cancelled.is_set()
                or interrupted.is_set()
                or (not counted and any(worker.proven for worker in self._workers))
            )

        def stop_first(left: int) -> bool:
            return stop(left) or (stop_early and analysis.is_decided(first, left))

        if self.cancelled.is_set():
            raise Cancelled
        running = [
            self._pool.submit(worker.search, share, deadline, stop)
            for worker, share in zip(others, shares[1:], strict=True)
        ]
        try:
            done = first.search(shares[0], deadline, stop_first)
        except BaseException:  # Ctrl-C is raised in this thread only
            interrupted.set()
            wait(running)
            raise
        done += sum(each.result() for each in running)
        if self.cancelled.is_set():
            raise Cancelled
        return done

    def _info(self, simulations: int) -> Info:
        """Return the analysis of the root, without the seconds it took."""
        actions = analysis.action_stats(self._workers)
        best = actions[0]
        proven = analysis.proven_value(actions, any(worker.complete for worker in self._workers))
        return Info(
            simulations=simulations,
            depth=max(worker.depth for worker in self._workers),
            win_rate=best.win_rate if proven is None else (1 + proven) / 2,
            pv=analysis.principal_variation(self._workers[0], best.action),
            actions=actions,
            proven=proven,
        )

    def _require(self, holds: bool, message: str) -> None:
        if not holds:
            raise self._error(message)

    def _error(self, message: str) -> SpecError:
        return SpecError(f"{type(self).__name__.lower()}: {message}")


class PlayoutSearch(TreeSearch):
    """Evaluates the leaves of the tree by random playouts.

    Each of the `threads` has its own tree, and their results are summed.
    """

    def __init__(
        self,
        game: Game,
        selection: Selection,
        placements: Placements | None = None,
        expected: int = 0,
        /,
        heavy: Annotated[
            bool, Option("whether playouts use what the game knows of good moves")
        ] = False,
        near_first: Annotated[
            bool,
            Option(
                "whether actions next to stones are tried first, in games that define neighbours"
            ),
        ] = False,
        max_plies: Annotated[
            int,
            Option("number of plies after which a playout counts as a tie; 0 for no limit", ge=0),
        ] = 0,
        max_depth: Annotated[
            int, Option("maximum depth of the tree in plies; 0 for no limit", ge=0)
        ] = 0,
        threads: Threads = 1,
        **options: Any,
    ) -> None:
        self.game = game
        self._neighbours = self._padded_neighbours() if near_first else np.empty(0, dtype=np.int64)
        self._placements = placements
        deepest = game.max_plies + 1
        config = SearchConfig(
            selection,
            expected=expected,
            max_plies=min(max_plies, deepest),
            max_depth=min(max_depth or deepest, deepest),
            heavy=heavy,
        )
        super().__init__(game, config, threads, **options)

    def _padded_neighbours(self) -> NDArray[np.int64]:
        neighbours = getattr(self.game, "neighbours", None)
        if neighbours is None:
            raise self._error(f"near_first: {self.game} does not define neighbours of its actions")
        reach = max((len(each) for each in neighbours), default=0)
        padded = [[*each, *[-1] * (reach - len(each))] for each in neighbours]
        return np.array(padded, dtype=np.int64).reshape(-1)

    def _new_worker(self, config: SearchConfig, seed: int, megabytes: float) -> Worker:
        return Worker(self.game, config, seed, megabytes, self._neighbours, self._placements)
