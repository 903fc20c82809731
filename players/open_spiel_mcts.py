"""OpenSpiel's Monte Carlo tree search in C++, for the games of OpenSpiel."""

from __future__ import annotations

import secrets
import threading
from typing import Annotated, Any

from playout.games import Game, Option, Position, SpecError
from playout.games.open_spiel import OpenSpiel
from playout.players.core.player import (
    Cancelled,
    Exploration,
    Limit,
    Player,
    PlayResult,
    Report,
    Seed,
    Time,
    tighter,
)

MAX_MEMORY_MB = 10**6
MAX_SIMULATIONS = 2**31 - 1
#: Seconds between two looks at `cancelled`.
_POLL_S = 0.01
#: Seconds of the time for a move that are reserved to start the search and to notice its end.
_SPARE_S = 0.005


class OpenSpielMCTS(Player):
    """UCT with random playouts, from one position at a time (OpenSpiel's MCTSBot).

    `c` weighs exploration on the scale of `uct`.
    """

    def __init__(
        self,
        game: Game,
        c: Exploration = 0.7,
        time: Time = None,
        simulations: Annotated[
            int | None,
            Option(
                "maximum number of simulations for each move",
                ge=1,
                le=MAX_SIMULATIONS,
                default="no limit",
            ),
        ] = None,
        solver: Annotated[
            bool, Option("whether wins, ties and losses are proven in the tree")
        ] = True,
        seed: Seed = None,
        memory_mb: Annotated[
            int, Option("memory of the tree, in MB", ge=1, le=MAX_MEMORY_MB)
        ] = 256,
    ) -> None:
        super().__init__(game)
        if not isinstance(game, OpenSpiel):
            raise SpecError(
                f"open_spiel_mcts: it plays only the games open_spiel(game=...), not {game}"
            )
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
