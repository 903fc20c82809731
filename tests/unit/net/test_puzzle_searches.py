"""Searches for puzzles while nobody plays."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from twisted.internet.task import Clock

from playout.protocol.messages import Ended, Resign
from playout.server.net import puzzle_searches
from playout.server.net.puzzle_searches import PuzzleSearches
from support.hub_harness import HubHarness, match_between


class Searches:
    """Searches whose command is another, and the arguments of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.command = ["sleep", "60"]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.arguments: list[tuple[str, ...]] = []
        harness = HubHarness()
        self.players = [harness.client(each, guest=False, role="human") for each in ("Ann", "Bob")]
        monkeypatch.setattr(puzzle_searches, "start_own", self.start)
        self.clock = Clock()
        self.searches = PuzzleSearches(self.clock, "sqlite://", harness.hub.rooms)
        self.clock.advance(0)

    def start(self, _: str, *arguments: str, **__: Any) -> subprocess.Popen[bytes]:
        self.arguments.append(arguments)
        self.processes.append(subprocess.Popen(self.command, process_group=0))
        return self.processes[-1]

    def begin(self, clock: str) -> str:
        """Begin a match, and return its id."""
        ann, bob = self.players
        return match_between(ann, bob, clock=clock)

    def end(self, match: str) -> None:
        self.players[0].ask(Resign(match=match), Ended)

    def second(self) -> None:
        self.clock.advance(1)


def test_a_search_ends_when_somebody_plays_and_begins_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each = Searches(monkeypatch)
    assert each.arguments == [("puzzles",)]
    match = each.begin("300+3")
    each.second()
    assert each.processes[0].poll() is not None
    each.second()
    assert len(each.processes) == 1
    each.end(match)
    each.second()
    assert each.arguments[1:] == [("puzzles",)]
    each.searches.close()
    assert each.processes[1].poll() is not None


def test_a_search_goes_on_beside_matches_by_correspondence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each = Searches(monkeypatch)
    each.begin("259200/move")
    each.second()
    assert each.processes[0].poll() is None
    other = each.begin("300+3")
    each.second()
    assert each.processes[0].poll() is not None
    each.end(other)
    each.second()
    assert len(each.processes) == 2
    each.searches.close()


def test_after_a_search_the_next_has_the_new_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    each = Searches(monkeypatch)
    match = each.begin("300+3")
    each.second()
    each.end(match)
    each.command = ["true"]
    each.second()
    each.processes[-1].wait()
    each.command = ["false"]
    each.second()
    each.clock.advance(3599)
    assert len(each.processes) == 2
    each.second()
    assert each.arguments[2][:2] == ("puzzles", "--since")
    each.processes[-1].wait()
    each.second()
    each.clock.advance(3600)
    assert each.arguments[3] == each.arguments[2]  # the one before has failed
    each.searches.close()
