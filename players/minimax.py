"""Minimax: alpha-beta with iterative deepening and a transposition table, and no evaluation.

It knows what is won, tied and lost, and takes what lies beyond its horizon for a tie. So it plays
at random where nothing is near, and without a fault where the end can be seen.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from games import Game, SpecError, State
from players.alphabeta import search as core
from players.alphabeta import transposition
from players.core.player import ActionStats, Cancelled, Info, Limit, Player, PlayResult
from players.core.rules import rules_of

#: How long the compiled search runs before it looks at the clock again.
SLICE_S = 0.001
DEFAULT_S = 1.0
#: With at most so many legal actions, the replies to each are looked at; in plain Python, fewer.
WIDEST, WIDEST_INTERPRETED = 10, 4
#: Tests to the end of the game get ten times the nodes of those that deepen, and begin after so
#: many nodes: what is near is found first.
END_SHARE, END_AFTER = 10, 5_000


@dataclass
class NullWindowSearch:
    """Whether `attacker` can force a win, within `depth` plies first and at most `most`."""

    search: core.WindowSearch
    attacker: int
    depth: int
    most: int
    share: int = 1
    head_start: int = 0

    @property
    def nodes(self) -> int:
        """So far."""
        return int(self.search.state[core.NODES])

    @property
    def cost(self) -> float:
        """Of all tests, the one with the least goes on."""
        return self.nodes / self.share + self.head_start

    @property
    def result(self) -> int:
        """WIN, or for how many plies `attacker` does not win."""
        return int(self.search.state[core.RESULT])

    @property
    def action(self) -> int:
        """What decided at the root, -1 if nothing did."""
        return int(self.search.state[core.MOVE])

    def deepen(self) -> bool:
        """Look two plies further, on to the attacker's next move; False if that is too far."""
        if max(self.depth, self.result) >= self.most:
            return False
        self.depth = min(max(self.depth, self.result) + 2, self.most)
        return True


@dataclass
class ProvenBounds:
    """What the tests say of the position so far, for the player to move."""

    action: int
    proven: int | None = None
    safe_for: int = 0
    cannot_win: bool = False

    def take(self, test: NullWindowSearch, player: int) -> None:
        """Take in the result of a test: the shortest win, or what loses last."""
        if test.attacker == player:
            self.cannot_win |= test.result == transposition.NEVER
            if test.result == transposition.WIN:
                self.action, self.proven = test.action, 1
        elif test.result == transposition.WIN:
            self.proven = -1
        elif test.result > self.safe_for:
            self.action, self.safe_for = test.action, test.result
        if self.cannot_win and self.safe_for == transposition.NEVER:
            self.proven = 0


class Minimax(Player):
    """Searches until the result is proven, or for `time` seconds, or as the clock allows.

    `depth` bounds the plies that it looks ahead, 0 does not; `seed` is for the choice among equal
    moves; `memory_mb` bounds the table.
    """

    def __init__(
        self,
        game: Game,
        time: float | None = None,
        depth: int = 0,
        seed: int | None = None,
        memory_mb: int = 64,
    ) -> None:
        super().__init__(game)
        _require(time is None or time > 0, f"time must be above 0 seconds, not {time}")
        _require(depth >= 0, "depth must not be negative")
        _require(memory_mb > 0, "memory_mb must be above 0")
        _require(game.num_actions <= transposition.MOST_MOVES, f"{game} has too many actions")
        self._time = time
        self._depth = depth
        self._rules = rules_of(game)
        self._advance = core.advance if self._rules.compiled else core.interpreted()
        self._random = np.random.default_rng(None if seed is None else seed % 2**64)
        try:
            self._rows = transposition.new_table(memory_mb)
        except (MemoryError, OverflowError, ValueError) as error:
            text = f"minimax: there is no memory_mb={memory_mb} to be had: {error}"
            raise SpecError(text) from error
        self._history = core.new_history(game)
        self._actions = np.zeros(game.num_actions, dtype=np.int64)
        self._searches = [
            core.new_search(game, self._rules, self._rows, self._history) for _ in range(4)
        ]
        self._choices = 0

    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        state = states[-1]
        if self.game.winner(state):
            raise ValueError("there is nothing to choose: the game is over")
        info = self._search(state, self._tighter(limit))
        return PlayResult(info.pv[0], info)

    def _tighter(self, limit: Limit) -> Limit:
        seconds = min((s for s in (limit.seconds, self._time) if s is not None), default=None)
        if seconds is None and limit.simulations is None:
            seconds = DEFAULT_S
        return Limit(seconds, limit.simulations)

    def _search(self, state: State, limit: Limit) -> Info:
        started = now = clock.perf_counter()
        deadline = started + (limit.seconds if limit.seconds is not None else float("inf"))
        most = limit.simulations if limit.simulations is not None else 2**62
        tests = self._tests(state)
        found = ProvenBounds(int(self._random.choice(self.game.legal_actions(state))))
        done, count = 0, 1
        while tests and found.proven is None and (done == 0 or (done < most and now < deadline)):
            if self.cancelled.is_set():
                raise Cancelled
            test = min(tests, key=lambda test: test.cost)
            nodes, finished = self._run(test, count)
            if finished:
                found.take(test, state[0])
                tests = [t for t in tests if _goes_on(t, test)]
            done += nodes
            before, now = now, clock.perf_counter()
            rate = nodes / max(now - before, 1e-7)
            in_time = int(rate * min(SLICE_S, deadline - now))
            count = max(1, min(2 * count, in_time, most - done))
        return self._info(state, found, done, now - started)

    def _tests(self, state: State) -> list[NullWindowSearch]:
        """Those that deepen, and without a bound on the depth, those to the end of the game."""
        self._choices += 1
        self._history[:] = 0
        size = self.game.num_actions
        self._history[core.NOISE] = self._random.permutation(size) * core.ONE // size
        me, other = state[0], 3 - state[0]
        end = core.deepest(self._searches[0])
        most = min(self._depth or end, end)
        first, second, third, fourth = self._searches
        tests = [
            NullWindowSearch(first, me, 1, most),
            NullWindowSearch(second, other, min(2, most), most),
        ]
        if not self._depth:
            tests.append(NullWindowSearch(third, me, end, end, END_SHARE, END_AFTER))
            tests.append(NullWindowSearch(fourth, other, end, end, END_SHARE, END_AFTER))
        board = self._rules.board(state)
        widest = WIDEST if self._rules.compiled else WIDEST_INTERPRETED
        if self._rules.sensible:
            widest = core.SORTED
        for test in tests:
            core.begin(test.search, board, test.attacker, self._choices, widest)
        return tests

    def _run(self, test: NullWindowSearch, count: int) -> tuple[int, bool]:
        """Go on with a test for about `count` nodes: how many it were, and is there a result?"""
        rules, nodes = self._rules, test.nodes
        legal = rules.sensible or rules.legal
        finished = self._advance(test.search, test.depth, count, legal, rules.play, self._rules.key)
        return test.nodes - nodes, bool(finished)

    def _info(self, state: State, found: ProvenBounds, nodes: int, seconds: float) -> Info:
        win_rate = 0.5 if found.proven is None else (1 + found.proven) / 2
        return Info(
            simulations=nodes,
            seconds=seconds,
            depth=1 + max(int(search.state[core.DEEPEST]) for search in self._searches),
            win_rate=win_rate,
            pv=tuple(self._line(state, found.action)),
            actions=self._considered(state, found.action, win_rate),
            proven=found.proven,
        )

    def _line(self, state: State, action: int) -> Iterator[int]:
        """An action, and those that the table has after it."""
        board = self._rules.board(state)
        while action in self._actions[: self._rules.legal(board, self._actions)]:
            yield action
            self._rules.play(board, action)
            action = transposition.move(self._known(board))

    def _considered(self, state: State, chosen: int, win_rate: float) -> tuple[ActionStats, ...]:
        """All actions, the chosen one first, then those that took most nodes."""
        rows = []
        for action in self.game.legal_actions(state):
            board = self._rules.board(state)
            self._rules.play(board, action)
            known = self._known(board)
            winner = int(board[1]) or transposition.winner(known)
            rate = float(winner == state[0]) if winner > 0 else 0.5
            visits = transposition.effort(known) if known else 1
            rate = win_rate if action == chosen else rate
            rows.append(ActionStats(action, visits, visits * rate))
        return tuple(sorted(rows, key=lambda each: (each.action != chosen, -each.visits)))

    def _known(self, board: Any) -> int:
        """The table's word about a position."""
        return int(transposition.find(self._rows, self._rules.key(board) ^ self._choices))


def _goes_on(test: NullWindowSearch, finished: NullWindowSearch) -> bool:
    """Is there more to find out by `test`, after `finished` has come to a result?"""
    if test.attacker == finished.attacker and finished.result == transposition.NEVER:
        return False
    return test is not finished or test.deepen()


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise SpecError(f"minimax: {message}")
