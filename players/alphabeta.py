"""Alpha-beta: a search with an evaluation that was learned from games against itself."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from playout.games import Game, KernelGame, SpecError, State
from playout.players.core.player import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    Player,
    PlayResult,
    tighter,
)
from playout.players.depth_first import principal_variation as pv
from playout.players.evaluations import files

#: Nodes of the first searches, until the speed is known.
_FIRST_NODES = 20_000
#: A search to the next depth is begun if this part of the time is left.
_LEAST_LEFT = 0.3


class AlphaBeta(Player):
    """Principal-variation search, a ply deeper each time, with a learned evaluation.

    `evaluation` is a file made by `playout-train export`; some games come with one. `depth`
    limits the plies that it looks ahead, 0 means no limit. `seed` decides between equal moves.
    """

    about_options: ClassVar = {
        "evaluation": "file of the evaluation; by default the one that comes with the game",
        "time": "seconds for each move, above 0; by default, as the clock allows",
        "depth": "plies that it looks ahead before forcing moves; 0 for no limit",
        "seed": "whole number for the choice among equal moves; without it, random",
        "memory_mb": "memory of the transposition table in MB, 1 or more",
    }

    def __init__(
        self,
        game: Game,
        evaluation: str = "",
        time: float | None = None,
        depth: int = 0,
        seed: int | None = None,
        memory_mb: int = 64,
    ) -> None:
        super().__init__(game)
        _require(time is None or time > 0, f"time must be above 0 seconds, not {time}")
        _require(depth >= 0, f"depth must be 0 or more, not {depth}")
        _require(0 < memory_mb <= 1 << 16, "memory_mb must be from 1 to 65536")
        if not isinstance(game, KernelGame):
            raise SpecError(f"alphabeta: {game} has no compiled rules, which it needs")
        path = Path(evaluation) if evaluation else files.shipped(game)
        if path is None:
            raise SpecError(
                f"alphabeta: there is no evaluation of {game} yet; learn one: "
                f'playout-train new "{game}" DIR --evaluation, then run, export, and '
                "alphabeta(evaluation=FILE)"
            )
        try:
            self._tables, _ = files.read(path, game)
            rows = 1 << (memory_mb * 2**20 // 32).bit_length() - 1
            self._search = pv.new_search(game, self._tables, rows)
        except (files.EvaluationError, MemoryError) as error:
            raise SpecError(f"alphabeta: {error}") from error
        self._kernels = pv.kernels_of(game)
        self._board = game.board
        self._limit = Limit(time)
        self._depth = min(depth or pv.MOST_PLIES, pv.MOST_PLIES)
        self._random = np.random.default_rng(None if seed is None else seed % 2**64)
        self._rate = 0.0  # nodes a second

    def cancel(self) -> None:
        super().cancel()
        self._search.state[pv.LAST] = -1  # a running search stops at its next node

    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        state = states[-1]
        if self.game.winner(state):
            raise ValueError("there is nothing to choose: the game is over")
        limit = tighter(limit, self._limit)
        started = clock.perf_counter()
        deadline = started + (limit.seconds if limit.seconds is not None else float("inf"))
        pv.start(self._search, self._board(state))
        legal = self.game.legal_actions(state)
        noise = self._random.permutation(len(legal)) % 8
        self._search.history[state[0], list(legal)] = noise
        action, value, reached = int(self._random.choice(legal)), 0, 0
        for depth in range(1, self._depth + 1):
            found = self._deepened(depth, deadline, limit.simulations)
            if found is None:
                break
            value, reached = found, depth
            row = pv.row_of(self._search, self._board(state))
            action = int(row[3]) if row is not None and row[3] in legal else action
            left = (deadline - clock.perf_counter()) / (limit.seconds or 1.0)
            if abs(value) > pv.CERTAIN or left < _LEAST_LEFT or len(legal) == 1:
                break
        seconds = clock.perf_counter() - started
        return PlayResult(action, self._info(state, action, value, reached, seconds))

    def _deepened(self, depth: int, deadline: float, most: int | None) -> int | None:
        """Return the value of the root at a depth; None if the limits end the search before.

        The search of one ply always ends. Raises Cancelled.
        """
        numbers = self._search.state
        begun, before = clock.perf_counter(), int(numbers[pv.NODES])
        allowed = 2**62 if most is None else most
        if depth > 1:
            in_time = (deadline - begun) * self._rate if self._rate else _FIRST_NODES
            allowed = min(allowed, before + int(min(in_time, 2**60)))
        else:
            allowed = 2**62
        numbers[pv.LAST] = allowed
        if self.cancelled.is_set():
            raise Cancelled
        value = pv.value_of(
            self._search, self._kernels, self._tables, 0, depth, -(1 << 30), 1 << 30
        )
        nodes, seconds = int(numbers[pv.NODES]) - before, clock.perf_counter() - begun
        if nodes >= 1000:
            self._rate = nodes / max(seconds, 1e-6)
        if self.cancelled.is_set():
            raise Cancelled
        if numbers[pv.STOPPED]:
            return None
        return int(value)

    def _info(self, state: State, action: int, value: int, depth: int, seconds: float) -> Info:
        nodes = int(self._search.state[pv.NODES])
        proven = None
        if abs(value) > pv.CERTAIN:
            proven = 1 if value > 0 else -1
        win_rate = min(1.0, max(0.0, (1 + value / pv.CERTAIN) / 2))
        return Info(
            simulations=nodes,
            seconds=seconds,
            depth=depth,
            win_rate=win_rate,
            pv=tuple(self._line(state, action)),
            actions=(ActionStats(action, nodes, nodes * win_rate, proven=proven),),
            proven=proven,
        )

    def _line(self, state: State, action: int) -> Iterator[int]:
        """Yield an action, then the moves that the table has after it."""
        for _ in range(pv.MOST_PLIES):
            if action not in self.game.legal_actions(state):
                return
            yield action
            state = self.game.next_state(state, action)
            row = pv.row_of(self._search, self._board(state))
            if row is None:
                return
            action = int(row[3])


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise SpecError(f"alphabeta: {message}")
