"""Flat Monte Carlo: the same number of playouts after each action, and the best mean."""

from __future__ import annotations

from playout.games import Game
from playout.players.core.player import Seed, Simulations, Threads, Time
from playout.players.mcts.searcher import PlayoutSearch
from playout.players.mcts.selection import FLAT, UNTRIED_FIRST, Selection


class Flat(PlayoutSearch):
    """Plays the action with the best mean of its playouts; a baseline for tree searches."""

    plays_chance = True

    def __init__(
        self,
        game: Game,
        /,
        time: Time = None,
        simulations: Simulations = None,
        threads: Threads = 1,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            game,
            Selection(FLAT, 0.0, UNTRIED_FIRST),
            time=time,
            simulations=simulations,
            max_depth=1,
            decisive=False,
            reuse=False,
            threads=threads,
            seed=seed,
            memory_mb=1 + threads * game.num_actions // 2**13,
        )
