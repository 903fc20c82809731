"""Players that fail in one way each; started by servers as processes, so this imports little."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from playout import players
from playout.games import Game, Position


class ExitingPlayer(players.Player):
    """Ends its process when it has to move."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        os._exit(3)


class ResigningPlayer(players.Player):
    """Resigns when it has to move."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        raise players.Resigned


class StuckPlayer(players.Player):
    """Never moves."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        signal.pause()
        raise AssertionError


class EndlessPlayer(players.Player):
    """Thinks for ever, in Python. `once` names a file: only before this file exists."""

    def __init__(self, game: Game, once: str = "") -> None:
        super().__init__(game)
        self._once = Path(once) if once else None

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        if self._once is None or not self._once.exists():
            if self._once:
                self._once.touch()
            print("thinking", flush=True)
            while True:
                pass
        return players.PlayResult(position.legal_actions[0])


class EndlessListener(players.Player):
    """Never returns from the notification that a match starts."""

    def started(self, seat: int, opponent: str, position: Position) -> None:
        print("thinking", flush=True)
        while True:
            pass

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        raise AssertionError


class LockingPlayer(players.Player):
    """Thinks for ever in a function of C that keeps Python's global lock."""

    def choose(
        self, position: Position, limit: players.Limit, report: players.Report | None = None
    ) -> players.PlayResult:
        print("thinking", flush=True)
        re.match("(a+)+$", "a" * 80 + "b")  # it takes years
        raise AssertionError
