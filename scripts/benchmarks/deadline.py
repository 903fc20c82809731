"""How much longer than its time limit `uct` takes for a move, against `time.sleep`.

Overshoot is the time from calling `choose` until it returns, less the limit, over successive moves
of matches that it plays against itself. The lower bound, after every move, is what
`time.sleep(limit)` overshoots: what the system takes to notice that a time has come.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import games
import players
from benchmarks._bench import Bench
from benchmarks._measure import percentile
from benchmarks._table import Column, Table, Target
from games import Game, State

PLAYED = ("connect_four", "othello", "gomoku")
#: Limits in milliseconds, and by how much at most 1 % of the moves may exceed them.
LIMITS: dict[int, float | None] = {100: 5.0, 20: None}

COLUMNS = (
    Column("game", "game"),
    Column("limit_ms", "limit, ms"),
    Column("moves", "moves"),
    Column("p50_ms", "median over, ms", ".2f"),
    Column("p99_ms", "99 % over, ms", ".2f"),
    Column("max_ms", "most over, ms", ".2f"),
    Column("sleep_p50_ms", "sleep: median", ".2f"),
    Column("sleep_p99_ms", "sleep: 99 %", ".2f"),
    Column("sleep_max_ms", "sleep: most", ".2f"),
)


def run(bench: Bench) -> list[Table]:
    """A row for each game and limit."""
    table = Table("Milliseconds over the limit", COLUMNS)
    moves = bench.pick(200, 15)
    for spec, limit_ms in bench.track(list(itertools.product(PLAYED, LIMITS))):
        over, sleep_over = overshoots(games.load(spec), limit_ms / 1000, moves)
        most = LIMITS[limit_ms]
        table.add(
            None if most is None else Target("p99_ms", at_most=most),
            game=spec,
            limit_ms=limit_ms,
            moves=moves,
            **_summary("", over),
            **_summary("sleep_", sleep_over),
        )
    return [table]


def overshoots(game: Game, limit_s: float, moves: int) -> tuple[list[float], list[float]]:
    """By how many seconds each move, and the sleep after it, exceeded the limit."""
    player = players.load("uct(seed=1)", game)
    limit = players.Limit(seconds=limit_s)
    player.choose([game.initial_state()], limit)
    over, sleep_over = [], []
    position = _match(game, lambda states: player.choose(states, limit).action)
    for _ in range(moves):
        over.append(next(position) - limit_s)
        started = time.perf_counter()
        time.sleep(limit_s)
        sleep_over.append(time.perf_counter() - started - limit_s)
    player.close()
    return over, sleep_over


def _match(game: Game, choose: Callable[[list[State]], int]) -> Iterator[float]:
    """Play one match after the other; the seconds that each move took."""
    states = [game.initial_state()]
    while True:
        started = time.perf_counter()
        action = choose(states)
        yield time.perf_counter() - started
        states.append(game.next_state(states[-1], action))
        if game.winner(states[-1]):
            states = [game.initial_state()]


def _summary(prefix: str, seconds: list[float]) -> dict[str, float]:
    return {
        f"{prefix}p50_ms": percentile(seconds, 50) * 1e3,
        f"{prefix}p99_ms": percentile(seconds, 99) * 1e3,
        f"{prefix}max_ms": max(seconds) * 1e3,
    }
