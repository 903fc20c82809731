"""Checks of reports in a thread."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playout import games
from playout.games import NotReady
from playout.protocol.messages import ReportMatches
from playout.server.core.effects import CheckReport
from playout.server.core.handlers.reports import CheckedReport
from playout.server.net.report_checks import ReportChecks
from playout.server.storage import Database
from playout.server.tournament.reported import lines_of
from support.reports import ID, START, changed, tournament
from support.tournaments import stored_tournament
from support.waiting import PATIENCE_S


class DirectReactor:
    """Starts threads at once, and does in them what they pass on."""

    def __init__(self) -> None:
        self.at_end: list[Callable[[], object]] = []

    def callWhenRunning(self, function: Callable[[], object]) -> None:
        function()

    def addSystemEventTrigger(self, phase: str, event: str, function: Any) -> None:
        self.at_end.append(function)

    def callFromThread(self, function: Callable[..., object], *arguments: object) -> None:
        function(*arguments)


def test_a_report_of_a_game_that_is_being_compiled_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list(lines_of(stored_tournament(tournament())))[:1]
    matches = changed(lines, lambda each: each.update(game="nim(chips=77)"))  # not loaded before

    def check(name: str) -> None:
        raise NotReady(name, lambda: f"{name} is being compiled")

    monkeypatch.setattr(games, "_checks", [check])
    url = f"sqlite:///{tmp_path}/playout.db"
    with contextlib.closing(Database(url)) as database:
        database.migrate()
    found, reactor = queue.Queue[CheckedReport](), DirectReactor()
    checks = ReportChecks(url, reactor, found.put)
    request = ReportMatches(id=1, tournament=ID, at=START, matches=matches)
    checks.start(CheckReport(1, "ann", request, START + 999))
    assert found.get(timeout=PATIENCE_S).fault == "nim is being compiled"
    for each in reactor.at_end:
        each()
