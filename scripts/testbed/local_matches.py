"""Matches in process, at equal time or equal simulations per move, always in pairs.

A pair is two matches from one random opening, with colours swapped. Each worker process plays one
pair at a time on its own core, with new players for each pair.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import random
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar

import click

from playout import games, players
from playout.games import Game, Position
from playout.players import Limit, Player, Resigned
from playout.ratings.evidence import elo
from testbed.bench import Cell, Column
from testbed.machine import piped_process
from testbed.positions import opening

# The score of a player in pairs of matches, with its confidence interval.


#: 95 % of a normal distribution is within this many standard deviations.
Z = 1.96
#: Two imagined pairs won and two lost (see `score`).
IMAGINED = (0.0, 0.0, 1.0, 1.0)


class Score(NamedTuple):
    """The share of the points, from 0 to 1, and its 95 % confidence interval."""

    share: float
    low: float
    high: float


def score(pairs: Sequence[float]) -> Score:
    """Compute the score from the share of the points in each pair: 0, 1/4, 1/2, 3/4 or 1.

    Matches of a pair share their opening and are not independent; pairs are. So the interval is
    that of the mean over pairs: mean ± 1.96 standard deviations / √pairs. If all pairs ended alike,
    its width would be zero; so two won and two lost pairs are added first, as Agresti & Coull
    (1998, The American Statistician 52:119-126) do for a proportion. If all pairs are won or lost
    completely, the result is their interval. With 4 to 50 simulated pairs and players that score
    from 50 to 97 %, the interval contained the true score in at least 93 % of the cases; Student's
    interval of the mean contained it in as little as 21 %.
    """
    counted = (*pairs, *IMAGINED)
    centre = statistics.fmean(counted)
    margin = Z * statistics.pstdev(counted) / math.sqrt(len(counted))
    share = statistics.fmean(pairs)
    return Score(share, max(0.0, centre - margin), min(1.0, centre + margin))


# A function that is applied to many things on all cores, by a worker process per group of cores.


T = TypeVar("T")
R = TypeVar("R")


class WorkerFailure(NamedTuple):
    """The answer of a worker whose function raised an exception."""

    trace: str


def run_on_cores(
    function: Callable[[T], R], things: Sequence[T], cores: int = 1
) -> Iterator[tuple[T, R]]:
    """Yield each thing with the result of `function(thing)`, in the order of completion.

    Each worker process runs on its own `cores` cores. The workers end with this iterator, also
    after Ctrl-C. Raises ClickException if one fails.
    """
    todo = iter(things)
    with contextlib.ExitStack() as stack:
        groups = _groups(cores)[: len(things)]
        start = partial(piped_process, _work, function, method="forkserver")
        pipes = [stack.enter_context(start(group)) for group in groups]
        busy: dict[Connection, T] = {}
        for pipe, thing in zip(pipes, todo, strict=False):
            pipe.send(thing)
            busy[pipe] = thing
        while busy:
            ready = wait(list(busy))
            for pipe in [pipe for pipe in busy if pipe in ready]:
                thing, result = busy.pop(pipe), _answer(pipe)
                for following in itertools.islice(todo, 1):
                    pipe.send(following)
                    busy[pipe] = following
                yield thing, result


def _groups(cores: int) -> list[set[int]]:
    """Return the cores of each worker; with too few cores, one worker with all of them."""
    mine = sorted(os.sched_getaffinity(0))
    starts = range(0, max(len(mine) - cores, 0) + 1, cores)
    return [set(mine[start : start + cores]) for start in starts]


def _work(function: Callable[[T], R], cores: set[int], pipe: Connection) -> None:
    os.sched_setaffinity(0, cores)
    with contextlib.suppress(EOFError, OSError):  # the parent process has ended
        while True:
            thing: T = pipe.recv()
            try:
                answer: R | WorkerFailure = function(thing)
            except Exception:  # the parent process reports it
                answer = WorkerFailure(traceback.format_exc())
            pipe.send(answer)


def _answer(pipe: Connection) -> Any:
    try:
        answer = pipe.recv()
    except EOFError:
        raise click.ClickException("a worker process ended before its work was done") from None
    if isinstance(answer, WorkerFailure):
        raise click.ClickException(f"a worker process failed:\n{answer.trace}")
    return answer


@dataclass(frozen=True)
class LocalPairing:
    """A pair to be played: the game, the specifications of the players, and the limit."""

    game: str
    players: tuple[str, str]
    limit: Limit
    #: Length of the opening.
    plies: int
    seed: int


@dataclass(frozen=True)
class PlayedPair:
    """The result of a pair: the first player's points (0, 0.5 or 1) moving first, moving second.

    `moves` and `seconds` are sums over both matches, for the first player and for the second.
    """

    points: tuple[float, float]
    moves: tuple[int, int]
    seconds: tuple[float, float]


#: The columns that `result` fills.
RESULT = (
    Column("games", "games"),
    Column("won", "won"),
    Column("tied", "tied"),
    Column("lost", "lost"),
    Column("score", "score", ".1%"),
    Column("low", "95 %: from", ".1%"),
    Column("high", "to", ".1%"),
    Column("elo", "Elo", "+.0f"),
    Column("ms", "ms a move", ".2f"),
    Column("other_ms", "the other's", ".2f"),
)


def pairings(
    game: str, both: tuple[str, str], limit: Limit, *, count: int, plies: int, seed: int
) -> list[LocalPairing]:
    """Return `count` pairs with independent random openings."""
    draw = random.Random(seed)
    return [LocalPairing(game, both, limit, plies, draw.getrandbits(32)) for _ in range(count)]


def play_pair(pairing: LocalPairing) -> PlayedPair:
    """Play the two matches of a pair.

    Resigned loses the match; any other exception of a player is raised.
    """
    game = games.load(pairing.game)
    first, second = (_Seat(players.load(text, game)) for text in pairing.players)
    moves = opening(game, pairing.plies, pairing.seed)
    points = (
        _match(game, (first, second), moves, pairing.limit)[0],
        _match(game, (second, first), moves, pairing.limit)[1],
    )
    for seat in (first, second):
        seat.player.close()
    return PlayedPair(points, (first.moves, second.moves), (first.seconds, second.seconds))


def result(pairs: Sequence[PlayedPair]) -> dict[str, Cell]:
    """Return the cells of a row under `RESULT`, from the first player's point of view."""
    points = [point for pair in pairs for point in pair.points]
    share, low, high = score([sum(pair.points) / 2 for pair in pairs])
    ms, other_ms = (
        1e3 * sum(pair.seconds[place] for pair in pairs) / sum(pair.moves[place] for pair in pairs)
        for place in (0, 1)
    )
    return {
        "games": len(points),
        "won": points.count(1.0),
        "tied": points.count(0.5),
        "lost": points.count(0.0),
        "score": share,
        "low": low,
        "high": high,
        "elo": elo(share),
        "ms": ms,
        "other_ms": other_ms,
    }


@dataclass
class _Seat:
    """A player with its number of moves and its thinking time."""

    player: Player
    moves: int = 0
    seconds: float = 0.0

    def choose(self, position: Position, limit: Limit) -> int:
        started = time.perf_counter()
        try:
            return self.player.choose(position, limit).action
        finally:
            self.seconds += time.perf_counter() - started
            self.moves += 1


def _match(
    game: Game, seats: tuple[_Seat, _Seat], moves: Sequence[int], limit: Limit
) -> tuple[float, float]:
    """Play a match and return the points of both seats; players are notified as by a server."""
    position = Position(game)
    for number, seat in enumerate(seats, start=1):
        seat.player.started(number, "opponent", position)
    prepared = iter(moves)
    while not (winner := position.winner):
        mover = position.to_move
        try:
            action = next(prepared, None)
            if action is None:
                action = seats[mover - 1].choose(position, limit)
        except Resigned:
            winner = 3 - mover
            break
        position = position.play(action)
        for seat in seats:
            seat.player.moved(mover, position)
    for seat in seats:
        seat.player.ended(winner, "")
    return games.RETURNS[winner]
