"""Pairs of matches between two players in this process, and the score of the first one.

A pair is two matches from one random opening, with colours swapped. The openings and the statistics
are those of tournaments (`playout.ratings`).
"""

from __future__ import annotations

import functools
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import msgspec

from playout import games, players
from playout.commands.interrupts import exit_as
from playout.games import Game, Position
from playout.players import Limit, Player, PlayerError, Resigned
from playout.players.evaluations import files
from playout.protocol.tournament_spec import Openings
from playout.ratings.book import Book
from playout.ratings.evidence import evidence, pentanomial
from playout.ratings.luck import Expectation
from playout.ratings.luck import luck as luck_of
from playout.ratings.pairs import Opening, Pair, PairScore

#: Makes a new player of a game. Raises SpecError.
Maker = Callable[[Game], Player]


class PlayedPair(NamedTuple):
    """The points of the first player, and the resource usage of both in the two matches.

    `moves` and `seconds` are numbers of moves and thinking times, of the first and the second
    player. `luck` is the first player's in the rolls of both matches, as points; None without an
    evaluation that values rolls.
    """

    score: PairScore
    moves: tuple[int, int]
    seconds: tuple[float, float]
    luck: float | None = None

    @property
    def without_luck(self) -> float | None:
        """The share of the first player in the points less its luck; it may be out of 0 to 1."""
        return None if self.luck is None else self.score.share_without_luck(self.luck)


@dataclass(frozen=True)
class PairTask:
    """A pair to play: the game, both players with their options, the limit, and the opening.

    `seed` is that of the moves of nature, in a game with chance. `evaluation` values its rolls: a
    file, or "shipped" for the one that comes with the game, if there is one.
    """

    game: str
    players: tuple[str, str]
    limit: Limit
    opening: Opening
    seed: int | None = None
    evaluation: str = files.SHIPPED

    def __str__(self) -> str:
        return " against ".join(self.players)


class Score(msgspec.Struct, frozen=True):
    """The results of the first player: shares from 0 to 1 and Elo, with 95 % intervals.

    `los` is the likelihood that it is stronger. None stands for an unknown or infinite number.
    """

    pairs: int
    won: int
    tied: int
    lost: int
    share: float
    low: float
    high: float
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    los: float | None = None

    def __str__(self) -> str:
        """Return the score and the difference in Elo, each with its interval."""
        counts = f"+{self.won} ={self.tied} -{self.lost}"
        score = f"{self.share:.1%} ({self.low:.1%} to {self.high:.1%})"
        bounds = (self.elo_low, self.elo, self.elo_high)
        low, elo, high = ("unknown" if each is None else f"{each:+.0f}" for each in bounds)
        return f"{2 * self.pairs} games, {counts}: {score}, Elo {elo} ({low} to {high})"


def score(pairs: Sequence[PairScore]) -> Score:
    """Return the score of the first player in one or more pairs.

    The intervals are those of `playout.ratings.evidence`. In 1,000 simulated comparisons each, they
    contained the true score of players that score 50 to 97 % in 94 % of the cases with 100 pairs,
    and of those that score 50 % in 91 % with 10 pairs.
    """
    pair = Pair((1, 1, 1), "", (0, 1), 0)
    found = evidence(pentanomial(0, [(pair, each) for each in pairs]))
    points = Counter(each for both in pairs for each in both)
    return Score(
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
        los=found.los,
    )


def _share_at(elo: float | None, unknown: float) -> float:
    """Return the expected share of the points at a difference in Elo."""
    return unknown if elo is None else 1 / (1 + 10 ** (-elo / 400))


def openings(game: Game, plies: int, seed: int, pairs: int) -> list[Opening]:
    """Return an opening of `plies` random moves for each pair.

    Raises OpeningError if no opening has that length.
    """
    book = Book(str(game), Openings(plies=plies), seed)
    return [book[number] for number in range(pairs)]


def play_task(task: PairTask) -> PlayedPair:
    """Play the pair of a task. Raises SpecError, and what `play_pair` raises."""
    first, second = (partial(players.load, each) for each in task.players)
    game = games.load(task.game)
    return play_pair(game, (first, second), task.limit, task.opening, task.seed, task.evaluation)


def play_pair(
    game: Game,
    makers: tuple[Maker, Maker],
    limit: Limit,
    opening: Sequence[int],
    seed: int | None = None,
    evaluation: str = files.SHIPPED,
) -> PlayedPair:
    """Play both matches of an opening with new players, so that pairs are independent.

    In a game with chance, nature moves at random, by a `seed` if one is given; the matches of a
    pair share no rolls after the opening. A player that raises Resigned loses the match; its other
    exceptions are raised. `evaluation` is that of `PairTask`. Raises EvaluationError.
    """
    first, second = (_Seat(make(game)) for make in makers)
    below = random.Random(seed).randrange
    try:
        (one, _), end = _match(game, (first, second), limit, opening, below)
        (_, two), other_end = _match(game, (second, first), limit, opening, below)
    finally:
        first.player.close()
        second.player.close()
    luck = None
    if game.has_chance and (evaluation != files.SHIPPED or files.shipped(game)):
        expected, made = expectation_of(game, evaluation), len(opening)
        luck = luck_of(end, expected, made) - luck_of(other_end, expected, made)
    return PlayedPair(
        PairScore(one, two), (first.moves, second.moves), (first.seconds, second.seconds), luck
    )


@functools.cache
def expectation_of(game: Game, evaluation: str = files.SHIPPED) -> Expectation:
    """Return the expected result by the evaluation of a game with chance.

    `evaluation` is a file, or "shipped" for the one that comes with the game. Raises
    EvaluationError.
    """
    from playout.players.depth_first import expectiminimax  # compiled when it is needed

    return expectiminimax.expectation(game, files.load_net(game, evaluation))


@dataclass
class _Seat:
    """A player with its number of moves and its thinking time."""

    player: Player
    moves: int = 0
    seconds: float = 0.0

    def choose(self, position: Position, limit: Limit) -> int:
        began = time.perf_counter()
        try:
            with exit_as(lambda why: PlayerError(f"the player cannot go on: {why}")):
                return self.player.choose(position, limit).action
        finally:
            self.seconds += time.perf_counter() - began
            self.moves += 1


def _match(
    game: Game,
    seats: tuple[_Seat, _Seat],
    limit: Limit,
    opening: Sequence[int],
    below: Callable[[int], int],
) -> tuple[tuple[float, float], Position]:
    """Play a match with notifications as from a server.

    Returns the points of both seats, and the last position.
    """
    position = Position(game)
    for number, seat in enumerate(seats, start=1):
        seat.player.started(number, "opponent", position)
    prepared = iter(opening)
    while not (winner := position.winner):
        mover = position.to_move
        action = next(prepared, None)
        if action is None and mover == 0:
            action = game.roll(position.state, below)
        elif action is None:
            try:
                action = seats[mover - 1].choose(position, limit)
            except Resigned:
                winner = 3 - mover
                break
        position = position.play(action)
        for seat in seats:
            seat.player.moved(mover, position)
    for seat in seats:
        seat.player.ended(winner, "")
    return games.RETURNS[winner], position
