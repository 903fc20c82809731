"""How much `uct` exceeds its time limit for a move, idle and with all cores busy.

**In process**: overshoot is the time of a call of `choose` minus the limit, over successive moves
of matches against itself. The lower bound, measured after every move, is the overshoot of
`time.sleep(limit)`: the time that the system takes to wake a process. Both are measured on an idle
machine, and again with a busy process on each core.

**Over TCP**, with all cores busy: two `playout-player` processes play at a `playout-server` with
exactly that time for each move. The players' output tells which matches were lost on time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from playout import games, players
from playout.games import Game, Position
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import busy_cores
from testbed.measure import percentile
from testbed.server_process import LONGEST_QUOTE, NOTHING_STORED, PLAYER, PLAYOUT, serving

PLAYED = ("connect_four", "othello", "gomoku")
#: Limits in milliseconds, with the number of moves, in full and with --quick.
LIMITS = {20: (200, 15), 100: (200, 8), 500: (30, 2)}
#: 99 % of the moves may exceed a limit by at most this, on an idle machine.
TARGET_MS = {100: Target("p99_ms", at_most=5.0)}
#: The game over TCP, in which the reports of searches take the longest time.
SERVED = "gomoku"
SERVED_MOVES = (500, 30)
NO_LOSS = Target("lost", at_most=0)

IN_PROCESS = (
    Column("game", "game"),
    Column("cores", "cores"),
    Column("limit_ms", "limit, ms"),
    Column("moves", "moves"),
    Column("p50_ms", "median over, ms", ".2f"),
    Column("p99_ms", "99 % over, ms", ".2f"),
    Column("max_ms", "most over, ms", ".2f"),
    Column("sleep_p50_ms", "sleep: median", ".2f"),
    Column("sleep_p99_ms", "sleep: 99 %", ".2f"),
    Column("sleep_max_ms", "sleep: most", ".2f"),
)
OVER_TCP = (
    Column("clock", "clock"),
    Column("game", "game"),
    Column("moves", "moves"),
    Column("matches", "matches ended"),
    Column("lost", "lost on time"),
    Column("p99_ms", "in process: 99 % over, ms", ".2f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each game and limit, idle and busy; over TCP a row per clock."""
    in_process = ResultTable("Milliseconds over the limit", IN_PROCESS)
    _in_process(bench, in_process, "idle")
    over_tcp = ResultTable("Matches lost on time with all cores busy", OVER_TCP)
    with busy_cores():
        busy_ms = _in_process(bench, in_process, "busy")
        _over_tcp(bench, over_tcp, busy_ms)
    return [in_process, over_tcp]


def _in_process(bench: Bench, table: ResultTable, cores: str) -> dict[tuple[str, int], float]:
    """Add the rows; return the 99th percentile of the overshoot by game and limit."""
    p99_ms = {}
    steps = itertools.product([cores], PLAYED, LIMITS)
    for _, spec, limit_ms in bench.track(list(steps)):
        moves = bench.pick(*LIMITS[limit_ms])
        over, sleep_over = overshoots(games.load(spec), limit_ms / 1000, moves)
        table.add(
            TARGET_MS.get(limit_ms) if cores == "idle" else None,
            game=spec,
            cores=cores,
            limit_ms=limit_ms,
            moves=moves,
            **_summary("", over),
            **_summary("sleep_", sleep_over),
        )
        p99_ms[spec, limit_ms] = percentile(over, 99) * 1e3
    return p99_ms


def _over_tcp(bench: Bench, table: ResultTable, busy_ms: dict[tuple[str, int], float]) -> None:
    clocks = {f"{limit_ms / 1000:g}/move": limit_ms for limit_ms in LIMITS}
    for clock in bench.track(list(clocks)):
        timed = play(SERVED, clock, bench.pick(*SERVED_MOVES))
        table.add(
            NO_LOSS,
            clock=clock,
            game=SERVED,
            moves=timed.moves,
            matches=timed.matches,
            lost=timed.lost_on_time,
            p99_ms=busy_ms[SERVED, clocks[clock]],
        )


def overshoots(game: Game, limit_s: float, moves: int) -> tuple[list[float], list[float]]:
    """Return the seconds by which each move, and the sleep after it, exceeded the limit."""
    player = players.load("uct(seed=1)", game)
    limit = players.Limit(seconds=limit_s)
    player.choose(Position(game), limit)
    over, sleep_over = [], []
    times = _match(game, lambda position: player.choose(position, limit).action)
    for _ in range(moves):
        over.append(next(times) - limit_s)
        started = time.perf_counter()
        time.sleep(limit_s)
        sleep_over.append(time.perf_counter() - started - limit_s)
    player.close()
    return over, sleep_over


def _match(game: Game, choose: Callable[[Position], int]) -> Iterator[float]:
    """Play match after match, and yield the seconds that each move took."""
    position = Position(game)
    while True:
        started = time.perf_counter()
        action = choose(position)
        yield time.perf_counter() - started
        position = position.play(action)
        if position.winner:
            position = Position(game)


def _summary(prefix: str, seconds: list[float]) -> dict[str, float]:
    return {
        f"{prefix}p50_ms": percentile(seconds, 50) * 1e3,
        f"{prefix}p99_ms": percentile(seconds, 99) * 1e3,
        f"{prefix}max_ms": max(seconds) * 1e3,
    }


# Two player processes at a server process, whose matches may be lost on time.


#: The output of a player about its own move, and about the end of a match, which both print.
MOVED = re.compile(r"^[\d,]+ simulations in ", re.MULTILINE)
ENDED = re.compile(r"^Match (\w+): .*\((\w+)\)\.$", re.MULTILINE)
#: Longest time without a move before the run fails.
SILENCE_S = 20.0
#: Time that a player has to exit after SIGTERM.
PATIENCE_S = 10.0
_POLL_S = 0.1


@dataclass(frozen=True)
class TimedMatches:
    """Moves, ended matches and matches lost on time, from the output of both players."""

    moves: int
    matches: int
    lost_on_time: int


def play(game: str, clock: str, moves: int) -> TimedMatches:
    """Let two `uct` players play over TCP with that clock until they have made `moves` moves.

    Raises ClickException if they make no more.
    """
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        logs = [Path(name, player) for player in ("first", "second")]
        server = stack.enter_context(serving([*PLAYOUT, NOTHING_STORED]))
        for log in logs:
            command = [PLAYER, game, "uct", f"--port={server.port}", f"--clock={clock}"]
            words = [*command, f"--name={log.name}", "--matches=1000000"]
            stack.enter_context(_player(words, log))
        made, moved_at = 0, time.monotonic()
        while made < moves:
            time.sleep(_POLL_S)
            output = _output(logs)
            if (now := len(MOVED.findall(output))) > made:
                made, moved_at = now, time.monotonic()
            elif time.monotonic() > moved_at + SILENCE_S:
                last = output[-LONGEST_QUOTE:]
                raise click.ClickException(f"the players make no moves; their output:\n{last}")
        stack.close()
        output = _output(logs)
    # A player that gets SIGTERM resigns its match.
    reasons = [reason for _, reason in {*ENDED.findall(output)} if reason != "resignation"]
    return TimedMatches(len(MOVED.findall(output)), len(reasons), reasons.count("time"))


def _output(logs: list[Path]) -> str:
    return "".join(log.read_text() for log in logs)


@contextlib.contextmanager
def _player(command: list[str], log: Path) -> Iterator[None]:
    """Run a player, whose output goes to a file; at the end of the block it gets SIGTERM."""
    wide = os.environ | {"COLUMNS": "200"}  # so that no line of output wraps
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=wide, start_new_session=True
        )
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        process.kill()
        process.wait()
