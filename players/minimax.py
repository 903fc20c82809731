"""Minimax: alpha-beta with iterative deepening and a transposition table, without an evaluation.

Positions beyond the horizon count as ties. So it plays at random far from the end of the game, and
perfectly where the search reaches the end.
"""

from __future__ import annotations

import time as clock
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from playout.games import Game, Option, Position, SpecError, State
from playout.players.core.player import (
    ActionStats,
    Info,
    Limit,
    Seed,
    Time,
)
from playout.players.core.rules import rules_of
from playout.players.depth_first import null_window
from playout.players.depth_first.deepening import DeepeningSearch

#: Seconds that the compiled search runs before it reads the clock again.
SLICE_S = 0.001
#: Most legal actions of a position for which the replies to each are examined, with compiled rules
#: and with rules in plain Python.
MAX_WIDTH, MAX_WIDTH_INTERPRETED = 10, 4
#: Searches to the end of the game get this multiple of the nodes of deepening searches, and start
#: after this many nodes, so that short wins are found first.
END_SHARE, END_AFTER = 10, 5_000


@dataclass
class NullWindowSearch:
    """A search whether `attacker` can force a win in `depth` plies, increased up to `max_depth`."""

    search: null_window.WindowSearch
    attacker: int
    depth: int
    max_depth: int
    share: int = 1
    head_start: int = 0

    @property
    def nodes(self) -> int:
        """Number of nodes searched so far."""
        return int(self.search.state[null_window.NODES])

    @property
    def cost(self) -> float:
        """Weighted number of nodes; the search with the lowest cost runs next."""
        return self.nodes / self.share + self.head_start

    @property
    def result(self) -> int:
        """WIN, or the number of plies within which `attacker` cannot win."""
        return int(self.search.state[null_window.RESULT])

    @property
    def action(self) -> int:
        """The root action that decided the result, or -1."""
        return int(self.search.state[null_window.MOVE])

    def deepen(self) -> bool:
        """Increase the depth by two plies, to the attacker's next move; False at `max_depth`."""
        if max(self.depth, self.result) >= self.max_depth:
            return False
        self.depth = min(max(self.depth, self.result) + 2, self.max_depth)
        return True


@dataclass
class ProvenBounds:
    """The results of the searches so far, for the player to move."""

    player: int
    action: int
    proven: int | None = None
    safe_for: int = 0
    cannot_win: bool = False

    def update(self, search: NullWindowSearch) -> None:
        """Include the result of a search: the shortest win, or the action that loses last."""
        if search.attacker == self.player:
            self.cannot_win |= search.result == null_window.NEVER
            if search.result == null_window.WIN:
                self.action, self.proven = search.action, 1
        elif search.result == null_window.WIN:
            self.proven = -1
        elif search.result > self.safe_for:
            self.action, self.safe_for = search.action, search.result
        if self.cannot_win and self.safe_for == null_window.NEVER:
            self.proven = 0


class Minimax(DeepeningSearch):
    """Searches until the result is proven or the time is over."""

    plays_chance = False

    def __init__(
        self,
        game: Game,
        time: Time = None,
        depth: Annotated[int, Option("maximum depth in plies; 0 for no limit", ge=0)] = 0,
        seed: Seed = None,
        memory_mb: Annotated[int, Option("memory of the transposition table, in MB", ge=1)] = 64,
    ) -> None:
        super().__init__(game, time, seed)
        if game.num_actions > null_window.MAX_MOVES:
            raise SpecError(f"minimax: {game} has too many actions")
        self._depth = depth
        self._rules = rules_of(game)
        self._kernels = null_window.kernels_of(self._rules)
        self._advance = null_window.advance if self._rules.compiled else null_window.interpreted()
        try:
            self._rows = null_window.new_table(memory_mb)
        except (MemoryError, OverflowError, ValueError) as error:
            text = f"minimax: cannot allocate memory_mb={memory_mb}: {error}"
            raise SpecError(text) from error
        self._history = null_window.new_history(game)
        self._actions = np.zeros(game.num_actions, dtype=np.int64)
        self._stacks = [
            null_window.new_search(game, self._rules, self._rows, self._history) for _ in range(4)
        ]
        self._generation = 0  # of the rows in the table

    def _start(self, position: Position, limit: Limit) -> None:
        """Begin a deepening search per player and, without a depth limit, two to the end."""
        state = position.state
        self._generation += 1
        self._history[:] = 0
        size = self.game.num_actions
        self._history[null_window.NOISE] = self._random.permutation(size) * null_window.ONE // size
        me, other = state[0], 3 - state[0]
        end = null_window.max_depth(self._stacks[0])
        max_depth = min(self._depth or end, end)
        first, second, third, fourth = self._stacks
        self._searches = [
            NullWindowSearch(first, me, 1, max_depth),
            NullWindowSearch(second, other, min(2, max_depth), max_depth),
        ]
        if not self._depth:
            self._searches += [
                NullWindowSearch(third, me, end, end, END_SHARE, END_AFTER),
                NullWindowSearch(fourth, other, end, end, END_SHARE, END_AFTER),
            ]
        board = self._rules.board(state)
        max_width = MAX_WIDTH if self._rules.compiled else MAX_WIDTH_INTERPRETED
        if self._rules.sorts_sensible:
            max_width = null_window.SORTED
        for each in self._searches:
            null_window.start(each.search, board, each.attacker, self._generation, max_width)
        self._found = ProvenBounds(me, int(self._random.choice(position.legal_actions)))
        self._nodes = 0

    def _deepen(self, limit: Limit, started: float) -> Generator[bool]:
        """Run the search with the lowest cost for a slice of the time, until all have ended."""
        deadline = started + (limit.seconds if limit.seconds is not None else float("inf"))
        max_nodes = limit.simulations if limit.simulations is not None else 2**62
        searches, now, count = self._searches, started, 1
        while searches and self._found.proven is None:
            search = min(searches, key=lambda each: each.cost)
            nodes, finished = self._run(search, count)
            if finished:
                self._found.update(search)
                searches = [each for each in searches if _continues(each, search)]
            self._nodes += nodes
            before, now = now, clock.perf_counter()
            yield finished
            if self._nodes >= max_nodes or now >= deadline:
                break
            rate = nodes / max(now - before, 1e-7)
            in_time = int(rate * min(SLICE_S, deadline - now))
            count = max(1, min(2 * count, in_time, max_nodes - self._nodes))

    def _run(self, search: NullWindowSearch, count: int) -> tuple[int, bool]:
        """Continue a search for about `count` nodes; return their number, and whether it ended."""
        before = search.nodes
        finished = self._advance(search.search, search.depth, count, self._kernels)
        return search.nodes - before, bool(finished)

    def _info(self, position: Position, seconds: float) -> Info:
        state, found = position.state, self._found
        win_rate = 0.5 if found.proven is None else (1 + found.proven) / 2
        return Info(
            simulations=self._nodes,
            seconds=seconds,
            depth=1 + max(int(stack.state[null_window.DEEPEST]) for stack in self._stacks),
            win_rate=win_rate,
            pv=tuple(self._line(state, found.action)),
            actions=self._action_stats(state, found.action, win_rate),
            proven=found.proven,
        )

    def _line(self, state: State, action: int) -> Iterator[int]:
        """Yield an action, then the moves that the table stores after it."""
        board = self._rules.board(state)
        while action in self._actions[: self._rules.legal(board, self._actions)]:
            yield action
            self._rules.play(board, action)
            action = null_window.move(self._table_entry(board))

    def _action_stats(self, state: State, chosen: int, win_rate: float) -> tuple[ActionStats, ...]:
        """Return all actions, the chosen one first, then by number of nodes."""
        rows = []
        for action in self.game.legal_actions(state):
            board = self._rules.board(state)
            self._rules.play(board, action)
            known = self._table_entry(board)
            winner = int(board[1]) or null_window.winner(known)
            rate = float(winner == state[0]) if winner > 0 else 0.5
            visits = null_window.effort(known) if known else 1
            rate = win_rate if action == chosen else rate
            rows.append(ActionStats(action, visits, visits * rate))
        return tuple(sorted(rows, key=lambda each: (each.action != chosen, -each.visits)))

    def _table_entry(self, board: Any) -> int:
        """Return the word that the table stores for a position, 0 for none."""
        return int(null_window.find(self._rows, self._rules.key(board) ^ self._generation))


def _continues(search: NullWindowSearch, finished: NullWindowSearch) -> bool:
    """Return whether `search` can add to the result of `finished`."""
    if search.attacker == finished.attacker and finished.result == null_window.NEVER:
        return False
    return search is not finished or search.deepen()
