"""Positions with exact values: the measure of moves that keep the value with best play.

`exact_values.json.xz`, which `scripts/solve` makes, has positions of many games; those of variants
and of other sizes of boards are solved when they are needed. In each, at least one move preserves
the value (a win or a tie with best play) and at least one does not.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import lzma
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from playout import games, players
from playout.games import Game, KernelGame, Position, SpecError, State
from playout.players import Limit, Player
from playout.players.analyst.puzzles import match_with_mistakes

#: The file of the positions.
EXACT = Path(__file__).parent / "exact_values.json.xz"
#: The values of positions and actions by their signs.
VALUES = {"+": 1, "=": 0, "-": -1}
_SIGNS = {value: sign for sign, value in VALUES.items()}
#: The value for player 1 by the winner, which is -1 after a tie.
RESULTS = {1: 1, 2: -1, -1: 0}
#: The players whose moves lead to positions, and the one that solves these.
BOTS = ("uct(seed=1,memory_mb=16,reuse=false)", "rave(seed=1,memory_mb=16,reuse=false)")
SOLVER = "minimax(seed=1)"
#: Positions that `minimax` searches at most for the value of a move: of stored positions, and of
#: those that are solved when they are needed.
NODES, _FEWER_NODES = 400_000, 50_000
#: Plies of matches that are played for solved positions, and further ones for each that is found.
_FIRST_PLIES, _MORE_PLIES = 900, 300


@dataclass(frozen=True)
class SolvedPosition:
    """A position, and its value for the player to move: 1, 0 or -1.

    `values` are the values of the legal actions, for the same player. In a game with chance, they
    are 1 for the actions with the greatest expected result, and -1 for the others.
    """

    position: Position
    value: int
    values: Mapping[int, int]

    def kept_by(self, action: int) -> bool:
        """Return whether `action` is legal and preserves the value of the position."""
        return self.values.get(action) == self.value

    @property
    def chance(self) -> float:
        """The share of the legal actions that preserve the value."""
        return sum(map(self.kept_by, self.values)) / len(self.values)


class SolvedEntry(NamedTuple):
    """A stored position: the state it begins with and the moves; an empty state is the game's own.

    `signs` has +, = or - for the value of each legal action, see `SolvedPosition`.
    """

    start: list[int]
    moves: list[int]
    signs: str

    @classmethod
    def of_values(
        cls, start: Sequence[int], moves: Sequence[int], values: Sequence[int]
    ) -> SolvedEntry:
        """Return the position after some moves, with the values of its legal actions."""
        return cls(list(start), list(moves), "".join(_SIGNS[value] for value in values))

    def of(self, game: Game) -> SolvedPosition:
        """Return the position of a game with the values of its actions."""
        position = Position(game, self.moves, start=tuple(self.start) or None)
        signs = zip(position.legal_actions, self.signs, strict=True)
        values = {action: VALUES[sign] for action, sign in signs}
        return SolvedPosition(position, max(values.values()), values)


@functools.cache
def entries() -> dict[str, list[SolvedEntry]]:
    """Return the stored positions by the specification of their game."""
    stored = json.loads(lzma.decompress(EXACT.read_bytes()))
    return {game: [SolvedEntry(*each) for each in listed] for game, listed in stored.items()}


def exact() -> dict[str, list[SolvedPosition]]:
    """Return all positions by the specification of their game."""
    return {
        name: [entry.of(game) for entry in listed]
        for name, listed in entries().items()
        for game in [games.load(name)]
    }


def solve(game: Game, number: int) -> list[SolvedEntry]:
    """Return up to `number` positions, always the same ones; a greater number continues the list.

    They are near the ends of matches, at most one of each match. Games with chance and games
    without kernels have none.
    """
    if game.has_chance or not isinstance(game, KernelGame):
        return []
    try:
        return list(itertools.islice(_solved(game), number))
    except SpecError:  # one of the players does not play it
        return []


def _solved(game: Game) -> Iterator[SolvedEntry]:
    with (
        contextlib.closing(Mixture(game, seed=1)) as mixture,
        contextlib.closing(players.load(SOLVER, game)) as solver,
    ):
        found, plies = set[State](), 0
        while plies < _FIRST_PLIES + _MORE_PLIES * len(found):
            match = mixture.match(Position(game), game.max_plies)
            plies += match.ply
            proven = list(_proven_positions(match, solver))
            if proven:
                ply, values = mixture.random.choice(proven)
                if match.states[ply] not in found:
                    found.add(match.states[ply])
                    yield SolvedEntry.of_values((), match.moves[:ply], values)


def _proven_positions(match: Position, solver: Player) -> Iterator[tuple[int, list[int]]]:
    """Yield plies of a match with the values of the moves, back to the first unproven position."""
    for ply in reversed(range(match.ply)):
        values = proven_values(match.game, solver, match.states[ply], _FEWER_NODES)
        if values is None:
            return
        if tells(values):
            yield ply, values


class Mixture:
    """Plays matches with moves of several players; equal seeds give equal matches."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.random = game, random.Random(seed)
        playing = [text for text in BOTS if players.find(text.partition("(")[0]).plays_chance]
        self._bots = [players.load(text, game) for text in (playing if game.has_chance else BOTS)]

    def match(self, start: Position, most: int) -> Position:
        """Return the position after at most `most` moves from `start`."""
        return match_with_mistakes(start, self.random, self._bots, most=most)

    def close(self) -> None:
        """Release the memory of the players."""
        for bot in self._bots:
            bot.close()


def tells(values: Sequence[int] | None) -> bool:
    """Return whether at least one move preserves the value, and at least one does not."""
    return len(set(values or ())) > 1


def proven_values(game: Game, solver: Player, state: State, nodes: int = NODES) -> list[int] | None:
    """Return the values of the legal moves for the player to move; None if one is not proven."""
    values = list[int]()
    for action in game.legal_actions(state):
        value = _proven(game, solver, game.next_state(state, action), nodes)
        if value is None:
            return None
        values.append(value if game.current_player(state) == 1 else -value)
    return values


def _proven(game: Game, solver: Player, state: State, nodes: int) -> int | None:
    """Return the value of a position for player 1, None if it is not proven."""
    if winner := game.winner(state):
        return RESULTS[winner]
    info = solver.choose(Position(game, start=state), Limit(simulations=nodes)).info
    if info is None or info.proven is None:
        return None
    return info.proven if game.current_player(state) == 1 else -info.proven
