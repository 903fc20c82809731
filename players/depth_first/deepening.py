"""Iterative deepening: the driver of searches that can be ended after each step, with reports."""

from __future__ import annotations

import time as clock
from abc import abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial

import numpy as np

from playout.games import Game, Position, State
from playout.players.core.player import (
    Info,
    Limit,
    Player,
    PlayResult,
    Report,
    Reporter,
    tighter,
)


class DeepeningSearch(Player):
    """A player that searches a position deeper and deeper, until a result is proven or time is up.

    It is the base class of `minimax` and `alphabeta`, and so the search of the prover.
    """

    def __init__(self, game: Game, time: float | None, seed: int | None) -> None:
        super().__init__(game)
        self._limit = Limit(time)
        self._random = np.random.default_rng(None if seed is None else seed % 2**64)
        self._report_s = 0.0  # seconds of the last report, after its search

    @abstractmethod
    def _start(self, position: Position, limit: Limit) -> None:
        """Set the root of the search."""

    @abstractmethod
    def _deepen(self, limit: Limit, started: float) -> Generator[bool]:
        """Search until a limit or a proof; yield after each step whether a depth is new.

        `started` is the perf_counter() at which the time of the limit began.
        """

    def _stop(self) -> None:
        """Make a running step end soon, if steps are long; called in any thread."""

    @abstractmethod
    def _info(self, position: Position, seconds: float) -> Info:
        """Return the analysis of the root so far; its `pv` begins with the action to play."""

    @abstractmethod
    def _line(self, state: State, action: int) -> Iterator[int]:
        """Yield an action, then the moves that the search expects after it."""

    def cancel(self) -> None:
        super().cancel()
        self._stop()

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        if position.winner:
            raise ValueError("there is nothing to choose: the game is over")
        started, limit = clock.perf_counter(), tighter(limit, self._limit)
        self._search(position, limit, started, Reporter(report))
        searched = clock.perf_counter()
        info = self._info(position, searched - started)
        if report is not None:
            info = info.with_lines(partial(self._line, position.state))
        self._report_s = clock.perf_counter() - searched
        return PlayResult(info.pv[0], info)

    def ponder(self, position: Position) -> None:
        if not position.winner:
            self._search(position, Limit(), clock.perf_counter(), Reporter(None))

    def _search(self, position: Position, limit: Limit, started: float, reporter: Reporter) -> None:
        self._start(position, limit)
        if self.cancelled.is_set():  # before the root was set, which lets a search run
            self._stop()
        with closing(self._deepen(limit, started)) as steps:
            for is_new in steps:
                if is_new or reporter.is_due:
                    reporter(
                        lambda: self._info(position, clock.perf_counter() - started).with_lines(
                            partial(self._line, position.state)
                        )
                    )
                if self.cancelled.is_set():
                    break
