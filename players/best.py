"""Best: for each game, the player that is the strongest by docs/players.md."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Struct

from playout import players
from playout.games import Game, Option, Position, SpecError
from playout.games.core import spec
from playout.players.core.player import (
    Candidates,
    Limit,
    Node,
    Player,
    PlayResult,
    Report,
    Seed,
    Simulations,
    Time,
    tighter,
)

#: For each game the strongest player, then those for parameters of the game that it cannot play.
#: It follows "Which player for which game" in docs/players.md.
STRONGEST = {
    "amazons": ("alphabeta",),
    "ataxx": ("alphabeta",),
    "backgammon": ("alphabeta",),
    "breakthrough": ("alphabeta",),
    "checkers": ("alphabeta",),
    "chess": ("alphabeta", "uct(heavy=true)"),
    "chong": ("alphabeta",),
    "clobber": ("alphabeta",),
    "dots_and_boxes": ("alphabeta",),
    "draughts": ("alphabeta",),
    "einstein_wurfelt_nicht": ("alphabeta",),
    "go": ("rave(heavy=true)",),
    "gomoku": ("rave",),
    "hex": ("rave(evaluation=shipped)", "rave"),
    "kalah": ("alphabeta",),
    "lines_of_action": ("alphabeta",),
    "othello": ("alphabeta", "alphazero"),
    "mnk": ("alphabeta",),
    "oware": ("alphabeta",),
    "pentago": ("alphabeta",),
    "pig": ("alphabeta",),
    "ultimate_tic_tac_toe": ("alphazero",),
    "y": ("rave(evaluation=shipped)",),
}


class Strength(Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a level: simulations or positions a move, and the share of random moves."""

    simulations: int
    mistakes: float = 0.0


Level = Literal["easy", "medium", "strong", "master"]
LEVELS: tuple[Level, ...] = get_args(Level)


#: Prepared before threads use it: players are loaded in several at a time.
_decode_levels = msgspec.json.Decoder(dict[str, dict[str, Strength]]).decode


@functools.cache
def levels() -> Mapping[str, Mapping[str, Strength]]:
    """Return the strength of each level in each game, as `scripts/levels` has found them."""
    text = (files("playout.players") / "levels.json").read_bytes()
    return _decode_levels(text)


class Best(Player):
    """The strongest player of each game: alphabeta, alphazero, rave or uct.

    For alphabeta, `simulations` limits the number of positions. A `level` sets limits that make it
    about equally strong in every game.
    """

    def __init__(
        self,
        game: Game,
        time: Time = None,
        simulations: Simulations = None,
        level: Annotated[
            Level | None, Option("strength, by limits measured for each game", default="no limits")
        ] = None,
        mistakes: Annotated[
            float, Option("share of moves that are drawn from all legal ones", ge=0, le=1)
        ] = 0.0,
        seed: Seed = None,
        candidates: Candidates = 1,
    ) -> None:
        super().__init__(game)
        self._limit, self._mistakes = Limit(time, simulations), mistakes
        if level:
            strength = _strength(game, level)
            self._limit = tighter(self._limit, Limit(simulations=strength.simulations))
            self._mistakes = max(mistakes, strength.mistakes)
        self._draw = random.Random(seed)
        self._player = _strongest(game, seed, candidates)
        self._player.cancelled = self.cancelled

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        if self._mistakes and self._draw.random() < self._mistakes:
            return PlayResult(self._draw.choice(position.legal_actions))
        return self._player.choose(position, tighter(limit, self._limit), report)

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


def _strength(game: Game, level: Level) -> Strength:
    known = levels()
    return known.get(spec.parse(str(game)).name, known["other"])[level]


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
