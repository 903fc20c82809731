"""Players that fail in one way each; started by servers as processes, so this imports little."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from playout import players
from playout.games import State


class ExitingPlayer(players.Player):
    """Ends its process when it has to move."""

    def choose(self, states: Sequence[State], limit: players.Limit) -> players.PlayResult:
        os._exit(3)


class StuckPlayer(players.Player):
    """Never moves."""

    def choose(self, states: Sequence[State], limit: players.Limit) -> players.PlayResult:
        signal.pause()
        raise AssertionError
