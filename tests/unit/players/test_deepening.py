"""The driver of iterative deepening: it ends, reports and can be cancelled after each step."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from playout import games
from playout.games import Position, State
from playout.players import Info, Limit
from playout.players.depth_first.deepening import DeepeningSearch

START = Position(games.load("tic_tac_toe"))


class CountingSearch(DeepeningSearch):
    """Reaches a depth in every second step; a step takes no time."""

    def __init__(self, steps: int, cancel_after: int = 0) -> None:
        super().__init__(START.game, time=None, seed=1)
        self._steps, self._cancel_after = steps, cancel_after
        self.step, self.closed, self.stopped = 0, False, False

    def _start(self, position: Position, limit: Limit) -> None:
        self.step, self.stopped = 0, False

    def _deepen(self, limit: Limit, started: float) -> Generator[bool]:
        try:
            while self.step < min(self._steps, limit.simulations or self._steps):
                self.step += 1
                if self.step == self._cancel_after:
                    self.cancel()
                yield self.step % 2 == 0
        finally:
            self.closed = True

    def _stop(self) -> None:
        self.stopped = True

    def _line(self, state: State, action: int) -> Iterator[int]:
        yield action

    def _info(self, position: Position, seconds: float) -> Info:
        return Info(self.step, seconds, depth=self.step // 2, pv=(position.legal_actions[0],))


def test_each_new_depth_is_reported_and_the_line_begins_with_the_choice() -> None:
    reports = list[Info]()
    found = CountingSearch(6).choose(START, Limit(seconds=60), reports.append)
    assert [each.depth for each in reports] == [1, 2, 3]
    assert found.info
    assert (found.action, found.info.depth) == (0, 3)


def test_a_search_that_is_cancelled_returns_what_it_has_after_its_step() -> None:
    search = CountingSearch(1000, cancel_after=5)
    found = search.choose(START, Limit(seconds=60))
    assert (search.step, search.stopped, search.closed) == (5, True, True)
    assert found.info
    assert found.info.simulations == 5


def test_a_search_that_was_cancelled_before_ends_after_its_first_step() -> None:
    search = CountingSearch(1000)
    search.cancel()
    search.choose(START, Limit(seconds=60))
    assert (search.step, search.stopped) == (1, True)
    search.ready()
    search.choose(START, Limit(simulations=7))
    assert (search.step, search.stopped) == (7, False)


def test_a_search_that_ponders_neither_reports_nor_has_a_limit() -> None:
    search = CountingSearch(9)
    search.ponder(START)
    assert (search.step, search.closed) == (9, True)
