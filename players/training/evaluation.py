"""Plays pairs of matches with a net or an evaluation, for its score against a player."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from playout import players
from playout.games import Game, SpecError
from playout.games.core import spec
from playout.players import Limit, Player
from playout.players.comparison.pairs import openings, play_pair
from playout.ratings.pairs import PairScore

#: The player that uses a file, and its option for the file, by the suffix.
PLAYERS = {".onnx": ("alphazero", "net"), ".npz": ("alphabeta", "evaluation")}


@dataclass(frozen=True)
class EvaluatedPlayer:
    """The description of a player, and the file of its net or evaluation.

    The file is the net of `alphazero`, or the evaluation (.npz) of `alphabeta`.
    """

    description: str
    learned: Path | None = None

    def make(self, game: Game) -> Player:
        """Return a new player. Raises SpecError."""
        given = spec.parse(self.description)
        if self.learned is None:
            return players.load(given, game)
        _, option = PLAYERS[self.learned.suffix]
        if option in given.options:
            raise SpecError(
                f"the {option} is {self.learned}; "
                f"leave out the option {option}={given.options[option]}"
            )
        options = {**given.options, option: str(self.learned)}
        return players.load(spec.Spec(given.name, options), game)


@dataclass(frozen=True)
class EvaluationTerms:
    """Two players, the limit of a move, and the length of the random openings."""

    game: Game
    players: tuple[EvaluatedPlayer, EvaluatedPlayer]
    limit: Limit
    plies: int
    seed: int


def played(terms: EvaluationTerms, pairs: int, threads: int) -> Iterator[PairScore]:
    """Play pairs, `threads` at a time; yield the points of the first player in each.

    Raises OpeningError if no opening has the length of the terms.
    """
    with ThreadPoolExecutor(threads) as pool:
        found = openings(terms.game, terms.plies, terms.seed, pairs)
        yield from pool.map(lambda opening: played_pair(terms, opening), found)


def played_pair(terms: EvaluationTerms, opening: Sequence[int]) -> PairScore:
    """Play both matches of an opening; return the points of the first player."""
    first, second = terms.players
    return play_pair(terms.game, (first.make, second.make), terms.limit, opening).score
