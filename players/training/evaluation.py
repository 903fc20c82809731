"""Scores of a net or an evaluation against a player.

They come from pairs of matches, from random openings, with colours swapped. The statistics are
those of tournaments (`playout.ratings.evidence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from playout import games, players
from playout.games import Game, Position, SpecError
from playout.games.core import spec
from playout.players import Limit, Player, Resigned
from playout.players.training.record import NetScore
from playout.protocol.tournament_spec import Openings
from playout.ratings.book import Book
from playout.ratings.evidence import evidence, pentanomial
from playout.ratings.pairs import Pair, PairScore

#: The player that uses a file, and its option for the file, by the suffix.
PLAYERS = {".onnx": ("alphazero", "net"), ".npz": ("alphabeta", "evaluation")}


@dataclass(frozen=True)
class EvaluatedPlayer:
    """The description of a player, and the file of what it has learned.

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
        yield from pool.map(lambda opening: played_pair(terms, opening), openings(terms, pairs))


def openings(terms: EvaluationTerms, pairs: int) -> list[Sequence[int]]:
    """Return an opening for each pair. Raises OpeningError if none has the length of the terms."""
    book = Book(str(terms.game), Openings(plies=terms.plies), terms.seed)
    return [book[number] for number in range(pairs)]


def score(pairs: Sequence[PairScore]) -> NetScore:
    """Return the score of the first player in one or more pairs."""
    pair = Pair((1, 1, 1), "", (0, 1), 0)
    found = evidence(pentanomial(0, [(pair, each) for each in pairs]))
    points = Counter(each for both in pairs for each in both)
    return NetScore(
        pairs=len(pairs),
        won=points[1.0],
        tied=points[0.5],
        lost=points[0.0],
        share=found.score or 0.0,
        low=_share_at(found.elo_low, 0.0),
        high=_share_at(found.elo_high, 1.0),
        elo=found.elo,
        elo_low=found.elo_low,
        elo_high=found.elo_high,
    )


def _share_at(elo: float | None, unknown: float) -> float:
    """Return the expected share of the points at a difference in Elo."""
    return unknown if elo is None else 1 / (1 + 10 ** (-elo / 400))


def played_pair(terms: EvaluationTerms, opening: Sequence[int]) -> PairScore:
    """Play both matches of an opening with new players, so that pairs are independent.

    Returns the points of the first player.
    """
    first, second = (each.make(terms.game) for each in terms.players)
    try:
        return PairScore(
            _match(terms, (first, second), opening)[0],
            _match(terms, (second, first), opening)[1],
        )
    finally:
        first.close()
        second.close()


def _match(
    terms: EvaluationTerms, seats: tuple[Player, Player], opening: Sequence[int]
) -> tuple[float, float]:
    """Play a match with notifications as from a server; return the points of both seats."""
    position = Position(terms.game)
    for number, seat in enumerate(seats, start=1):
        seat.started(number, "opponent", position)
    prepared = iter(opening)
    while not (winner := position.winner):
        mover = position.to_move
        action = next(prepared, None)
        if action is None:
            try:
                action = seats[mover - 1].choose(position, terms.limit).action
            except Resigned:
                winner = 3 - mover
                break
        position = position.play(action)
        for seat in seats:
            seat.moved(mover, position)
    for seat in seats:
        seat.ended(winner, "")
    return games.RETURNS[winner]
