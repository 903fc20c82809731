"""net.player_processes: searches for puzzles while nobody plays."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import LogEvent, formatEvent, globalLogPublisher

from playout.commands.child import Program
from playout.commands.subprocesses import is_ready
from playout.protocol.messages import Ended, Resign
from playout.server.net.player_processes import PuzzleSearches
from support.hub_harness import HubHarness, match_between
from support.waiting import wait_until


class LoopClock(Clock):
    """A clock that has the part of a reactor that children need."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: list[Any] = []
        self.addReader, self.removeReader = self.readers.append, self.readers.remove


class Searches:
    """Searches whose command is another, and the arguments of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell, self.script = "sh", "sleep 60"
        self.arguments: list[tuple[str, ...]] = []
        monkeypatch.setattr(Program, "own", self._program)
        harness = HubHarness()
        self.players = [harness.client(each, guest=False, role="human") for each in ("Ann", "Bob")]
        self.clock = LoopClock()
        self.searches = PuzzleSearches(self.clock, "sqlite://", harness.hub.rooms)
        self.clock.advance(0)

    def _program(self, _: str, *arguments: str, **__: Any) -> Program:
        self.arguments.append(arguments)
        return Program((self.shell, "-c", self.script), {})

    @property
    def running(self) -> bool:
        """Whether a search runs."""
        return bool(self.clock.readers)

    def wait_for_end(self) -> None:
        (reader,) = self.clock.readers
        wait_until(lambda: is_ready(reader.fileno(), 0.0))
        reader.doRead()

    def begin(self, clock: str) -> str:
        """Begin a match, and return its id."""
        ann, bob = self.players
        return match_between(ann, bob, clock=clock)

    def end(self, match: str) -> None:
        self.players[0].ask(Resign(match=match), Ended)

    def second(self) -> None:
        self.clock.advance(1)


@pytest.fixture
def each(monkeypatch: pytest.MonkeyPatch) -> Iterator[Searches]:
    made = Searches(monkeypatch)
    yield made
    made.searches.close()
    assert not made.running


def test_a_search_ends_when_somebody_plays_and_begins_again(each: Searches) -> None:
    assert each.arguments == [("puzzles",)]
    match = each.begin("300+3")
    each.second()
    each.wait_for_end()
    assert not each.running
    each.second()
    assert not each.running
    each.end(match)
    each.second()
    assert each.running
    assert each.arguments == [("puzzles",)] * 2


def test_a_search_goes_on_beside_matches_by_correspondence(each: Searches) -> None:
    each.begin("259200/move")
    each.second()
    assert each.running
    other = each.begin("300+3")
    each.second()
    each.wait_for_end()
    assert not each.running
    each.end(other)
    each.second()
    assert each.running


def test_after_a_search_the_next_has_the_new_matches(each: Searches) -> None:
    match = each.begin("300+3")
    each.second()
    each.wait_for_end()
    each.end(match)
    each.script = "exit 0"
    each.second()
    each.wait_for_end()
    each.script = "exit 1"
    each.clock.advance(3599)
    assert not each.running
    each.second()
    each.wait_for_end()
    assert each.arguments[2][:2] == ("puzzles", "--since")
    each.clock.advance(3600)
    assert each.running
    each.wait_for_end()
    assert each.arguments[3] == each.arguments[2]  # the one before has failed


def test_a_search_that_does_not_end_is_killed_and_keeps_nobody_waiting(each: Searches) -> None:
    match = each.begin("300+3")
    each.second()
    each.wait_for_end()
    each.end(match)
    with tempfile.NamedTemporaryFile() as ready:
        each.script = f"trap '' TERM; echo >{ready.name}; sleep 60"
        each.second()
        wait_until(lambda: os.stat(ready.name).st_size)
        each.begin("300+3")
        each.second()
        assert each.running, "it ignores SIGTERM"
        each.second()
        each.second()
        each.wait_for_end()
    assert not each.running


def test_a_search_that_cannot_be_started_is_tried_again_after_the_pause(each: Searches) -> None:
    match = each.begin("300+3")
    each.second()
    each.wait_for_end()
    each.end(match)
    each.shell = "/no/such/shell"
    events: list[LogEvent] = []
    observe = events.append
    globalLogPublisher.addObserver(observe)
    try:
        each.second()
    finally:
        globalLogPublisher.removeObserver(observe)
    assert "the search for puzzles cannot be started" in formatEvent(events[-1])
    each.shell = "sh"
    each.clock.advance(3599)
    assert not each.running
    each.second()
    assert each.running
