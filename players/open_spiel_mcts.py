"""OpenSpiel's Monte Carlo tree search in C++, for the games of OpenSpiel."""

from __future__ import annotations

import math
import secrets
import threading
from typing import Any, ClassVar

from playout.games import Game, Position, SpecError, checked
from playout.games.open_spiel import OpenSpiel
from playout.players.core.player import Cancelled, Limit, Player, PlayResult, Report, tighter

_NAME = "open_spiel_mcts"
MAX_MEMORY_MB = 10**6
MAX_SIMULATIONS = 2**31 - 1
#: Seconds between two looks at `cancelled`.
_POLL_S = 0.01
#: Seconds of the time for a move that are reserved to start the search and to notice its end.
_SPARE_S = 0.005


class OpenSpielMCTS(Player):
    """UCT with random playouts, from one position at a time (OpenSpiel's MCTSBot).

    Searches for `time` seconds per move, or as long as the clock allows; `simulations` limits the
    simulations per move. `c` weighs exploration, on the scale of `uct`. `solver` backs up proofs,
    `memory_mb` limits the memory of the tree. Equal seeds and simulations play equally.
    """

    about_options: ClassVar = {
        "c": "weight of exploration, 0 or more",
        "time": "seconds for each move, above 0; by default, as the clock allows",
        "simulations": "most simulations for each move, 1 or more; without it, no limit",
        "solver": "whether wins, ties and losses are proven in the tree",
        "seed": "whole number for repeatable searches; without it, random",
        "memory_mb": "memory of the tree in MB, 1 or more",
    }

    def __init__(
        self,
        game: Game,
        c: float = 0.7,
        time: float | None = None,
        simulations: int | None = None,
        solver: bool = True,
        seed: int | None = None,
        memory_mb: int = 256,
    ) -> None:
        super().__init__(game)
        if not isinstance(game, OpenSpiel):
            raise _error(f"it plays only the games open_spiel(game=...), not {game}")
        if not 0 <= c < math.inf:
            raise _error(f"c must be 0 or more, not {c}")
        if time is not None and not 0 < time < math.inf:
            raise _error(f"time must be above 0 seconds, not {time}")
        checked(_NAME, "simulations", 1 if simulations is None else simulations, 1, MAX_SIMULATIONS)
        checked(_NAME, "memory_mb", memory_mb, 1, MAX_MEMORY_MB)
        self._rules = game
        self._own = Limit(time, simulations)
        self._c, self._solver, self._memory_mb = c, solver, memory_mb
        self._seed = secrets.randbits(31) if seed is None else seed

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        if position.winner:
            raise ValueError("there is nothing to choose: the game is over")
        bot, peer = self._bot(tighter(limit, self._own)), self._rules.position(position.state)
        found: list[int] = []
        # The search cannot be stopped: after a cancellation, it ends in its thread. Of its methods
        # only `step` releases the interpreter; it returns the action without an analysis.
        thread = threading.Thread(target=lambda: found.append(bot.step(peer)), daemon=True)
        thread.start()
        while thread.is_alive():
            if self.cancelled.is_set():
                raise Cancelled
            thread.join(_POLL_S)
        return PlayResult(found[0])

    def longest_s(self, limit: Limit) -> float | None:
        return tighter(limit, self._own).seconds

    def _bot(self, limit: Limit) -> Any:
        """Return a new search. Results are from -1 to 1 in OpenSpiel, so its `c` is twice ours."""
        import pyspiel

        self._seed = (self._seed + 1) % 2**31
        seconds = -1.0 if limit.seconds is None else limit.seconds
        return pyspiel.MCTSBot(
            self._rules.peer,
            pyspiel.RandomRolloutEvaluator(1, self._seed),
            2 * self._c,
            limit.simulations or MAX_SIMULATIONS,
            self._memory_mb,
            solve=self._solver,
            seed=self._seed,
            verbose=False,
            max_wall_clock_time=max(seconds - _SPARE_S, seconds / 2),
        )


def _error(message: str) -> SpecError:
    return SpecError(f"{_NAME}: {message}")
