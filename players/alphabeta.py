"""Alpha-beta: a search with an evaluation that was learned from games against itself.

In games with chance, it is expectiminimax.
"""

from __future__ import annotations

import contextlib
import threading
import time as clock
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import Annotated, Any

from playout.games import Game, Option, Position, SpecError, State
from playout.players.core.player import (
    ActionStats,
    Candidates,
    Info,
    Limit,
    Ponder,
    Seed,
    Threads,
    Time,
)
from playout.players.core.rules import rules_of
from playout.players.depth_first import LAST, MOST_PLIES, NODES, ROOT
from playout.players.depth_first.deepening import DeepeningSearch
from playout.players.evaluations import files, perceptron

#: A search to the next depth is not begun after this part of the time, if the rest can be kept.
_MOST_USED = 0.7
#: Moves of a reported line, at most.
_LONGEST_LINE = 24


class AlphaBeta(DeepeningSearch):
    """Principal-variation search, a ply deeper each time, with a learned evaluation.

    `evaluation` is a file made by `playout-train export`; some games come with one. The `threads`
    search the same position and share a table, which `reuse` keeps for the next move.

    In games with chance it is expectiminimax, in one thread, without a table. The depth is the
    number of moves of nature, such as rolls, up to which positions are compared.
    """

    def __init__(
        self,
        game: Game,
        evaluation: Annotated[
            str,
            Option("file of the evaluation; `shipped` is the one that comes with the game"),
        ] = files.SHIPPED,
        time: Time = None,
        depth: Annotated[
            int, Option("maximum depth in plies before forcing moves; 0 for no limit", ge=0)
        ] = 0,
        seed: Seed = None,
        memory_mb: Annotated[
            int, Option("memory of the transposition table, in MB", ge=1, le=1 << 16)
        ] = 64,
        candidates: Candidates = 1,
        threads: Threads = 1,
        reuse: Annotated[
            bool, Option("whether the table is kept between the moves of a match")
        ] = True,
        ponder: Ponder = False,
    ) -> None:
        super().__init__(game, time, seed)
        self._rules = rules_of(game)
        self._searches: list[Any]
        try:
            if game.has_chance:
                self._prepare_chance(evaluation, threads, ponder)
            else:
                self._prepare(evaluation, threads, memory_mb)
        except (files.EvaluationError, MemoryError) as error:
            raise SpecError(f"alphabeta: {error}") from error
        self._depth = min(depth or MOST_PLIES, MOST_PLIES)
        self._candidates, self._reuse, self.ponders = candidates, reuse, ponder
        self._first = self._searches[0]
        self._pool = ThreadPoolExecutor(max(1, threads - 1), "search")
        self._number, self._count = 0, 0
        self._reached = 0  # the depth in plies; 0 if not even the search of one ply has ended
        self._root: Position | None = None

    def _prepare(self, evaluation: str, threads: int, memory_mb: int) -> None:
        from playout.players.depth_first import principal_variation as pv  # compiled when needed

        tables = files.load(self.game, evaluation)
        table = pv.new_table(1 << (memory_mb * 2**20 // 32).bit_length() - 1)
        self._functions = pv.functions_for(self._rules)
        self._searches = [
            pv.new_search(self.game, self._rules, tables, table) for _ in range(threads)
        ]
        self._arguments: tuple[Any, Any] = pv.kernels_of(self._rules), tables

    def _prepare_chance(self, evaluation: str, threads: int, ponder: bool) -> None:
        if threads > 1 or ponder:
            option = "threads" if threads > 1 else "ponder"
            raise SpecError(
                f"alphabeta searches games with chance, such as {self.game}, in one thread and on "
                f"its own time; leave out the option {option}"
            )
        from playout.players.depth_first import expectiminimax  # compiled when needed

        kernels = perceptron.kernels_of(self.game, self._rules)
        net = files.load_net(self.game, evaluation)
        self._functions = expectiminimax.FUNCTIONS
        self._searches = [expectiminimax.new_search(self.game, self._rules, net)]
        self._arguments = kernels, net

    def close(self) -> None:
        self._pool.shutdown()

    def _start(self, position: Position, limit: Limit) -> None:
        """Set the root of each search; the table is kept while the match goes on."""
        root = self._root
        if not self._reuse or root is None or root != position.at(min(root.ply, position.ply)):
            self._number += 1
        self._root = position
        legal = position.legal_actions
        for search in self._searches:
            self._functions.start(search, self._rules.board(position.state), self._number)
            search.actions[0, : len(legal)] = self._random.permutation(legal)
            search.scores[0, : len(legal)] = 0
        self._count, self._reached = len(legal), 0
        if limit.simulations is not None:
            self._first.state[LAST] = limit.simulations

    @contextlib.contextmanager
    def _stopped_after(self, seconds: float | None) -> Iterator[None]:
        """Stop the searches after some seconds, less those that the report will take."""
        if seconds is None or seconds > threading.TIMEOUT_MAX:
            yield
            return
        timer = threading.Timer(seconds - min(self._report_s, seconds / 4), self._stop)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _stop(self) -> None:
        for search in self._searches:
            search.state[LAST] = -1  # a running search stops at its next node

    def _deepen(self, limit: Limit, started: float) -> Generator[bool]:
        """Search in all threads until the first one ends."""
        others = [
            self._pool.submit(lambda each: [*each], self._depths(search, 1 + number % 2))
            for number, search in enumerate(self._searches[1:], start=1)
        ]
        depths = self._depths(self._first)
        try:
            if self.game.has_chance:  # depth 1 takes a millisecond; without it, moves are random
                depths = chain(tuple(islice(depths, 1)), depths)
            with self._stopped_after(limit.seconds):
                for depth, is_complete in depths:
                    self._reached = depth
                    if not is_complete:
                        return
                    yield True
                    used = (clock.perf_counter() - started) / (limit.seconds or float("inf"))
                    if limit.time_carries_over and (self._count == 1 or used > _MOST_USED):
                        return
        finally:
            self._stop()
            wait(others)

    def _depths(self, search: Any, first: int = 1) -> Iterator[tuple[int, bool]]:
        """Search the root deeper and deeper until `_stop`, the limit of nodes, or a certain result.

        Yields the depth, and whether all actions were searched to it.
        """
        n, wanted, certain = (
            self._count,
            min(self._count, self._candidates),
            self._functions.certain,
        )
        arguments = search, *self._arguments, n
        if self._functions.first_look is not None:  # the next search might not end in time
            self._functions.first_look(*arguments, 1, wanted)
        for depth in range(first, self._depth + 1):
            searched = self._functions.search_root(*arguments, depth, wanted)
            if searched == n or (searched and depth > 1):
                yield depth, searched == n
            if searched < n or abs(int(search.scores[0, 0])) > certain:
                return

    def _info(self, position: Position, seconds: float) -> Info:
        """Return the analysis; a better action has at least as many visits as those behind it."""
        nodes = sum(int(search.state[NODES]) for search in self._searches)
        wanted, visits = min(self._count, self._candidates), 1
        found: list[ActionStats] = []
        for place in reversed(range(wanted)):
            action = int(self._first.actions[0, place])
            score = int(self._first.scores[0, place])
            visits = max(visits, int(self._first.history[ROOT, action]))
            found.insert(0, self._stats(action, visits, score))
        best = found[0]
        return Info(
            simulations=nodes,
            seconds=seconds,
            depth=self._reached,
            win_rate=best.win_rate,
            pv=tuple(self._line(position.state, best.action)),
            actions=tuple(found) if self._reached else (),
            proven=best.proven,
        )

    def _line(self, state: State, action: int) -> Iterator[int]:
        """Yield an action, then the moves that the table has after it."""
        for _ in range(_LONGEST_LINE):
            if action not in self.game.legal_actions(state):
                return
            yield action
            state = self.game.next_state(state, action)
            found = self._functions.best_action(self._first, self._rules.board(state))
            if found is None:
                return
            action = found

    def _stats(self, action: int, visits: int, value: int) -> ActionStats:
        """Return what the search found about an action of the root."""
        proven = (1 if value > 0 else -1) if abs(value) > self._functions.certain else None
        win_rate = (1 + self._functions.expected_of(value)) / 2
        return ActionStats(action, visits, visits * win_rate, proven=proven)
