"""Best: for each game, the player that is the strongest by docs/players.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from playout import players
from playout.games import Game, SpecError, State
from playout.games.core import spec
from playout.players.core.player import Limit, Node, Player, PlayResult, tighter

#: For each game the strongest player, then those for parameters of the game that it cannot play.
#: It follows "Which player for which game" in docs/players.md.
STRONGEST = {
    "ataxx": ("alphabeta",),
    "breakthrough": ("alphabeta",),
    "checkers": ("alphabeta",),
    "chess": ("alphabeta", "uct(heavy=true)"),
    "chong": ("alphabeta",),
    "dots_and_boxes": ("alphabeta",),
    "draughts": ("alphabeta",),
    "go": ("rave(heavy=true)",),
    "gomoku": ("rave",),
    "hex": ("rave",),
    "kalah": ("alphabeta",),
    "lines_of_action": ("alphabeta",),
    "othello": ("alphabeta", "alphazero"),
    "oware": ("alphabeta",),
    "pentago": ("alphabeta",),
    "ultimate_tic_tac_toe": ("alphazero",),
}


class Best(Player):
    """The strongest player of each game: alphabeta, alphazero, rave or uct.

    `time`, `simulations` (positions for alphabeta) and `seed` are as for these. `candidates` is the
    number of moves that an analysis compares, if the player has to look for them.
    """

    about_options: ClassVar = {
        "time": "seconds for each move, above 0; by default, as the clock allows",
        "simulations": "most simulations or positions for each move; without it, no limit",
        "seed": "whole number for repeatable searches; without it, random",
        "candidates": "moves that an analysis compares, 1 or more",
    }

    def __init__(
        self,
        game: Game,
        time: float | None = None,
        simulations: int | None = None,
        seed: int | None = None,
        candidates: int = 1,
    ) -> None:
        super().__init__(game)
        given = {"time": time, "simulations": simulations, "candidates": candidates}
        for name, value in given.items():
            if value is not None and value <= 0:
                raise SpecError(f"best: {name} must be above 0, not {value}")
        self._limit = Limit(time, simulations)
        self._player = _strongest(game, seed, candidates)
        self._player.cancelled = self.cancelled

    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        return self._player.choose(states, tighter(limit, self._limit))

    def longest_s(self, limit: Limit) -> float | None:
        return self._player.longest_s(tighter(limit, self._limit))

    def tree(self, min_visits: int = 1) -> Node | None:
        return self._player.tree(min_visits)

    def cancel(self) -> None:
        self._player.cancel()

    def check(self) -> Iterator[str]:
        yield from self._player.check()

    def close(self) -> None:
        self._player.close()


def _strongest(game: Game, seed: int | None, candidates: int) -> Player:
    """Return the first player of the game's list that can play it, otherwise `uct`."""
    for text in (*STRONGEST.get(spec.parse(str(game)).name, ()), "uct"):
        wanted = spec.parse(text)
        options = {**wanted.options}
        if seed is not None:
            options["seed"] = str(seed)
        if wanted.name == "alphabeta":
            options["candidates"] = str(candidates)
        try:
            return players.load(spec.Spec(wanted.name, options), game)
        except SpecError as error:
            refusal = error
    raise refusal
