"""UCT: Monte Carlo tree search with UCB1, stopped by time or by a number of simulations."""

from __future__ import annotations

import secrets
import time as clock
from collections.abc import Sequence

import numpy as np

from games import Game, SpecError, State
from games.core.kernels import uncompiled
from games.core.random import seeded
from players.core.player import Cancelled, Choice, Considered, Info, Limit, Player
from players.search.loop import grow, new_scratch
from players.search.rules import rules_of
from players.search.tree import MOST_SIMULATIONS, ROOT, clear, new_tree

#: How long the compiled search runs before it looks at the clock again.
SLICE_S = 0.001
DEFAULT_S = 1.0


class UCT(Player):
    """Searches for `time` seconds a move, or as long as the clock allows.

    `simulations` stops it after so many; `c` weighs exploration; `max_plies` cuts playouts off
    and counts them as ties; with a seed and `simulations`, a search can be repeated exactly;
    `memory_mb` bounds the tree.
    """

    def __init__(
        self,
        game: Game,
        time: float | None = None,
        simulations: int | None = None,
        c: float = 0.5,
        max_plies: int = 0,
        seed: int | None = None,
        memory_mb: int = 256,
    ) -> None:
        super().__init__(game)
        _require(time is None or time > 0, f"time must be above 0 seconds, not {time}")
        _require(simulations is None or simulations > 0, "simulations must be above 0")
        _require(c >= 0, f"c must not be negative, as {c} is")
        _require(max_plies >= 0, f"max_plies must not be negative, as {max_plies} is")
        _require(memory_mb > 0, "memory_mb must be above 0")
        self._limit = Limit(time, simulations)
        self._c = c
        self._max_plies = max_plies
        self._rules = rules_of(game)
        self._grow = grow if self._rules.compiled else uncompiled(grow)
        self._rng = seeded(secrets.randbits(64) if seed is None else seed)
        try:
            self._tree = new_tree(memory_mb)
        except (OSError, OverflowError, ValueError) as error:
            raise SpecError(f"uct: there is no memory_mb={memory_mb} to be had: {error}") from error
        self._scratch = new_scratch(game)

    def choose(self, states: Sequence[State], limit: Limit) -> Choice:
        state = states[-1]
        if self.game.winner(state):
            raise ValueError("there is nothing to choose: the game is over")
        info = self._search(state, _tighter(limit, self._limit))
        return Choice(info.actions[0].action, info)

    def _search(self, state: State, limit: Limit) -> Info:
        started = clock.perf_counter()
        deadline = started + (limit.seconds if limit.seconds is not None else float("inf"))
        wanted = limit.simulations if limit.simulations is not None else MOST_SIMULATIONS
        most = min(wanted, MOST_SIMULATIONS)
        clear(self._tree)
        root, board = self._rules.board(state), self._rules.board(state)
        now, count, depth, done = started, 1, 0, 0
        while done == 0 or (done < most and now < deadline):
            if self.cancelled.is_set():
                raise Cancelled
            depth = max(depth, self._simulate(root, board, count))
            done += count
            before, now = now, clock.perf_counter()
            rate = count / max(now - before, 1e-7)
            in_time = int(rate * min(SLICE_S, deadline - now))
            count = max(1, min(2 * count, in_time, most - done))
        return self._info(done, now - started, depth)

    def _simulate(self, root: object, board: object, count: int) -> int:
        rules = self._rules
        return self._grow(
            self._tree,
            root,
            board,
            rules.legal,
            rules.play,
            rules.playout,
            self._rng,
            self._scratch,
            self._c,
            self._max_plies,
            count,
        )

    def _info(self, simulations: int, seconds: float, depth: int) -> Info:
        considered = self._considered()
        line, node = [], self._favourite(ROOT)
        while node != ROOT and self._tree.visits[node]:
            line.append(int(self._tree.action[node]))
            node = self._favourite(node)
        win_rate = considered[0].win_rate
        return Info(simulations, seconds, depth, win_rate, tuple(line), considered)

    def _children(self, node: int) -> slice:
        first = self._tree.first_child[node]
        return slice(first, first + self._tree.children[node])

    def _favourite(self, node: int) -> int:
        """The most visited child, ROOT if there is none."""
        if not self._tree.children[node]:
            return ROOT
        children = self._children(node)
        return int(children.start + np.argmax(self._tree.visits[children]))

    def _considered(self) -> tuple[Considered, ...]:
        """All actions of the root, the most visited first."""
        children = self._children(ROOT)
        tree = self._tree
        columns = (tree.action[children], tree.visits[children], tree.value[children] / 2)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return tuple(sorted((Considered(*row) for row in rows), key=lambda each: -each.visits))


def _tighter(given: Limit, own: Limit) -> Limit:
    """Both limits hold; with none at all, a second."""
    seconds = min((s for s in (given.seconds, own.seconds) if s is not None), default=None)
    simulations = min(
        (n for n in (given.simulations, own.simulations) if n is not None), default=None
    )
    if seconds is None and simulations is None:
        seconds = DEFAULT_S
    return Limit(seconds, simulations)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise SpecError(f"uct: {message}")
