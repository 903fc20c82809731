"""Matches in process, at equal time or equal simulations per move, always in pairs.

A pair is two matches from one random opening, with colours swapped. Each worker process plays one
pair at a time on its own core, with new players for each pair.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import games
import players
from games import Game, State
from players import Limit, Player, Resigned
from testbed.positions import opening
from testbed.result_table import Cell, Column
from testbed.score import elo, score
from testbed.workers import run_on_cores


@dataclass(frozen=True)
class LocalPairing:
    """A pair to be played: the game, the players (as `players.load` reads them), and the limit."""

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


def played(
    wanted: Sequence[LocalPairing], cores: int = 1
) -> Iterator[tuple[LocalPairing, PlayedPair]]:
    """Play all pairs in processes with `cores` cores each; yield each result when it is done."""
    return run_on_cores(play_pair, wanted, cores)


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

    def choose(self, states: tuple[State, ...], limit: Limit) -> int:
        started = time.perf_counter()
        try:
            return self.player.choose(states, limit).action
        finally:
            self.seconds += time.perf_counter() - started
            self.moves += 1


def _match(
    game: Game, seats: tuple[_Seat, _Seat], moves: Sequence[int], limit: Limit
) -> tuple[float, float]:
    """Play a match; return the points of both seats. Players are notified as by a server."""
    states: tuple[State, ...] = (game.initial_state(),)
    for number, seat in enumerate(seats, start=1):
        seat.player.started(number, "opponent", states)
    prepared = iter(moves)
    while not (winner := game.winner(states[-1])):
        mover = game.current_player(states[-1])
        try:
            action = next(prepared, None)
            if action is None:
                action = seats[mover - 1].choose(states, limit)
        except Resigned:
            winner = 3 - mover
            break
        states = (*states, game.next_state(states[-1], action))
        for seat in seats:
            seat.player.moved(mover, action, states)
    for seat in seats:
        seat.player.ended(winner, "")
    return games.RETURNS[winner]
