"""Base classes of the players with tree search: limits, threads, the tree between moves."""

from __future__ import annotations

import math
import secrets
import threading
import time as clock
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from playout import players
from playout.games import Game, Option, Position, SpecError
from playout.players.core.player import (
    MAX_DEPTH,
    ActionStats,
    Info,
    Limit,
    Node,
    Player,
    PlayResult,
    Ponder,
    Report,
    Reporter,
    Seed,
    Simulations,
    Threads,
    Time,
    tighter,
)
from playout.players.evaluations.placements import Placements
from playout.players.mcts import chance
from playout.players.mcts.search import Worker
from playout.players.mcts.selection import Selection
from playout.players.mcts.simulation import SearchConfig
from playout.players.mcts.tree import LOSS, MAX_ACTIONS, MAX_SIMULATIONS, ROOT, TIE, UNKNOWN, WIN

# The results of a search, from the trees of its workers.

#: Proofs as they are reported: 1, 0 and -1 for a win, a tie and a loss.
_PROOF_VALUE = {UNKNOWN: None, WIN: 1, TIE: 0, LOSS: -1}


def action_stats(workers: Sequence[Worker]) -> tuple[ActionStats, ...]:
    """Return the statistics of the root's actions, summed over all workers, the best first.

    The best is a proven win, otherwise the most visited action, or the action with the best mean if
    the selection visits evenly. A proven tie ranks above actions with a worse mean than a tie, a
    proven loss ranks last.
    """
    first, *others = (_children(worker, ROOT) for worker in workers)
    merged = {each.action: each for each in first}
    for each in (each for children in others for each in children):
        known = merged.get(each.action)
        merged[each.action] = _merged(known, each) if known else each
    rank = _ranking(merged.values(), visits_evenly=workers[0].visits_evenly)
    return tuple(sorted(merged.values(), key=rank, reverse=True))


def proven_value(actions: Sequence[ActionStats], complete: bool) -> int | None:
    """Return the proven value of the root, for the player to move; or None.

    `complete` says that `actions` are all legal actions.
    """
    proofs = [each.proven for each in actions]
    if 1 in proofs:
        return 1
    if not complete or None in proofs:
        return None
    return max((proof for proof in proofs if proof is not None), default=None)


def principal_variation(worker: Worker, action: int) -> tuple[int, ...]:
    """Return the expected moves, starting with `action`."""
    found, row = [action], worker.find([action])
    while row is not None:
        rank = _ranking(children := _children(worker, row), visits_evenly=worker.visits_evenly)
        best = max(children, key=rank, default=None)
        if best is None or not best.visits or worker.tree.nodes[row]["nature"]:
            break
        found.append(best.action)
        row = worker.find([best.action], row)
    return tuple(found)


def is_decided(worker: Worker, left: int) -> bool:
    """Return whether no `left` simulations can change the most visited action."""
    nodes = worker.tree.nodes[worker.children(ROOT)]
    visits = nodes["visits"][nodes["proof"] != LOSS]
    if len(visits) < 2:
        return len(visits) == 1 and worker.complete
    second, first = np.partition(visits, -2)[-2:]
    return bool(first - second > left)


def export_tree(worker: Worker, min_visits: int) -> Node:
    """Return the tree as plain values: the nodes with at least `min_visits` visits."""
    root = worker.tree.nodes[ROOT]
    visits = int(root["visits"])
    proven = _PROOF_VALUE[int(root["proof"])]
    win_rate = int(root["value"]) / 2 / visits
    children = _exported_children(worker, ROOT, min_visits, MAX_DEPTH)
    return Node(None, visits, win_rate, None, 0, proven, children)


def _exported_children(worker: Worker, row: int, min_visits: int, depth: int) -> tuple[Node, ...]:
    """Return the children of a row, exported to `depth` plies."""
    if depth == 0:
        return ()
    nodes = []
    for child in sorted(_children(worker, row), key=lambda each: -each.visits):
        if child.visits >= max(1, min_visits):
            below = worker.find([child.action], row)
            assert below is not None
            counted = int(worker.tree.amaf["visits"][below]) if len(worker.tree.amaf) else 0
            children = _exported_children(worker, below, min_visits, depth - 1)
            nodes.append(
                Node(
                    child.action,
                    child.visits,
                    child.win_rate,
                    child.amaf,
                    counted,
                    child.proven,
                    children,
                    *_guidance(worker, row, below),
                )
            )
    return tuple(nodes)


def _guidance(worker: Worker, row: int, child: int) -> tuple[float | None, float | None]:
    """Return the prior and the exploration term of a child; both None without a net."""
    tree = worker.tree
    if not len(tree.guide):
        return None, None
    prior = float(tree.guide["prior"][child])
    scale = worker.config.selection.c * math.sqrt(tree.nodes["visits"][row])
    return prior, float(scale * prior / (1 + tree.nodes["visits"][child]))


def _children(worker: Worker, row: int) -> list[ActionStats]:
    rows, tree = worker.children(row), worker.tree
    nodes = tree.nodes[rows]
    actions, visits, values, proofs = (
        nodes[name].tolist() for name in ("action", "visits", "value", "proof")
    )
    means: list[float | None] = [None] * len(actions)
    if len(tree.amaf):
        amaf = tree.amaf[rows]
        columns = zip(amaf["average"].tolist(), amaf["visits"].tolist(), strict=True)
        means = [mean if count else None for mean, count in columns]
    priors: list[float | None] = [None] * len(actions)
    if len(tree.guide):
        priors = tree.guide["prior"][rows].tolist()
    return [
        ActionStats(action, count, value / 2, mean, _PROOF_VALUE[proof], prior)
        for action, count, value, mean, proof, prior in zip(
            actions, visits, values, means, proofs, priors, strict=True
        )
    ]


def _merged(one: ActionStats, other: ActionStats) -> ActionStats:
    amaf = [each.amaf for each in (one, other) if each.amaf is not None]
    return ActionStats(
        one.action,
        one.visits + other.visits,
        one.wins + other.wins,
        sum(amaf) / len(amaf) if amaf else None,
        other.proven if one.proven is None else one.proven,
        one.prior,
    )


def _ranking(
    actions: Collection[ActionStats], *, visits_evenly: bool
) -> Callable[[ActionStats], tuple[int, float]]:
    """Return the sort key of actions: by visits or, with `visits_evenly`, by means."""
    hopes = [each.win_rate for each in actions if each.proven is None and each.visits]
    ties = 3 if max(hopes, default=0.0) < 0.5 else 2

    def rank(each: ActionStats) -> tuple[int, float]:
        if each.proven is None:
            return 2, _mean(each) if visits_evenly else each.visits
        return {1: 4, 0: ties, -1: 1}[each.proven], each.visits

    return rank


def _mean(each: ActionStats) -> float:
    return each.win_rate if each.visits else -1.0  # below every action with visits


# The players.

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

    plays_chance = False

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
        self._root: Position | None = None

    def _new_prover(self, megabytes: float) -> Player:
        """Return `minimax`, by its name, as the two searches do not import each other."""
        prover = players.load(f"minimax(memory_mb={max(1, int(megabytes))})", self.game)
        prover.cancelled = self.cancelled
        return prover

    @abstractmethod
    def _new_worker(self, config: SearchConfig, seed: int, megabytes: float) -> Worker:
        """Return a new tree. Raises OSError, OverflowError or ValueError without memory."""

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        if position.winner:
            raise ValueError("there is nothing to choose: the game is over")
        started = clock.perf_counter()
        limit = tighter(limit, self._limit)
        if found := self._prove(position, limit):
            return found
        seconds = float("inf") if limit.seconds is None else limit.seconds
        simulations = MAX_SIMULATIONS if limit.simulations is None else limit.simulations
        self._set_root(position, started + seconds - clock.perf_counter())
        deadline = started + seconds - min(self._report_s, seconds / 4)
        reporter, before = Reporter(report), self._visits

        def line_of(action: int) -> tuple[int, ...]:
            return principal_variation(self._workers[0], action)

        def report_if_due() -> None:
            if reporter.is_due:
                found = self._info(self._workers[:1], self._visits - before)
                timed = replace(found, seconds=clock.perf_counter() - started)
                reporter(lambda: timed.with_lines(line_of))

        done = self._search(
            min(simulations, MAX_SIMULATIONS), deadline, limit.time_carries_over, report_if_due
        )
        searched = clock.perf_counter()
        info = self._info(self._workers, done)
        if info.proven == 1:
            info = self._with_immediate_win(position, info)
        if report is not None:
            info = info.with_lines(line_of)
        reported = clock.perf_counter()
        self._report_s = reported - searched
        return PlayResult(self._pick(info), replace(info, seconds=reported - started))

    def _prove(self, position: Position, limit: Limit) -> PlayResult | None:
        """Return the move of a proof that is found in its share of the time, or None.

        There is no search for a proof if only one action is legal, if the time is infinite, and if
        the number of simulations is limited: that makes a search repeatable.
        """
        if self._prover is None or limit.seconds is None or limit.simulations is not None:
            return None
        if math.isinf(limit.seconds):
            return None
        if len(position.legal_actions) == 1:
            return None
        found = self._prover.choose(position, Limit(self._proof * limit.seconds))
        if found.info is None or found.info.proven is None:
            return None
        self._root = None  # the trees are of an earlier position
        return found

    def _pick(self, info: Info) -> int:
        """Return the action to play."""
        return info.actions[0].action

    def longest_s(self, limit: Limit) -> float | None:
        return tighter(limit, self._limit).seconds

    def _with_immediate_win(self, position: Position, info: Info) -> Info:
        """Put an action that wins at once, if any, in front of those that win later."""
        for action in position.legal_actions:
            if position.play(action).winner == position.to_move:
                others = [each for each in info.actions if each.action != action]
                known = [each for each in info.actions if each.action == action]
                first = replace(*known or [ActionStats(action, 0, 0.0)], proven=1)
                return replace(info, pv=(action,), actions=(first, *others))
        return info

    def ponder(self, position: Position) -> None:
        if not position.winner:
            self._set_root(position, float("inf"))
            self._search(MAX_SIMULATIONS, float("inf"), stop_early=False)

    def tree(self, min_visits: int = 1) -> Node | None:
        """Return the tree of the last choice; with several threads, that of the first."""
        if self._root is None:
            return None
        return export_tree(self._workers[0], min_visits)

    def close(self) -> None:
        if self._prover:
            self._prover.close()
        self._pool.shutdown()

    def _set_root(self, position: Position, seconds: float) -> None:
        """Set the root of each tree to a position, and keep its subtree if possible."""
        actions = self._actions_since_root(position)
        last = -1 if position.last_move is None else position.last_move
        for worker in self._workers:
            if actions is None or not worker.advance(actions, position.state, seconds):
                worker.reset(position.state, last)
        self._root = position

    def _actions_since_root(self, position: Position) -> tuple[int, ...] | None:
        """Return the actions from the root to a position; None if they do not lead to it."""
        root = self._root
        if not self._reuse or root is None or root != position.at(min(root.ply, position.ply)):
            return None
        return position.moves[root.ply :]

    def _search(
        self,
        simulations: int,
        deadline: float,
        stop_early: bool,
        after_slice: Callable[[], None] = lambda: None,
    ) -> int:
        """Run a share of the simulations in each worker; return the number of all.

        `after_slice` is called in this thread after each slice of the first worker. After `cancel`,
        each worker ends its current slice.
        """
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
            after_slice()
            return stop(left) or (stop_early and is_decided(first, left))

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
        return done + sum(each.result() for each in running)

    @property
    def _visits(self) -> int:
        """The visits of the roots of all trees."""
        return sum(int(worker.tree.nodes[ROOT]["visits"]) for worker in self._workers)

    def _info(self, workers: Sequence[Worker], simulations: int) -> Info:
        """Return the analysis of the roots of some trees, without the seconds it took."""
        actions = action_stats(workers)
        best = actions[0]
        proven = proven_value(actions, any(worker.complete for worker in workers))
        return Info(
            simulations=simulations,
            depth=max(worker.depth for worker in workers),
            win_rate=best.win_rate if proven is None else (1 + proven) / 2,
            pv=principal_variation(workers[0], best.action),
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
        given = (self.game, config, seed, megabytes, self._neighbours, self._placements)
        if not self.game.has_chance:
            return Worker(*given)
        self._require(not config.max_plies, "max_plies is not supported in games with chance")
        return Worker(*given, loop=chance.search_with_playouts())
