"""By how much `uct` exceeds its time limit for a move, idle and with all cores busy.

**In process**: overshoot is the time of a call of `choose` minus the limit, over successive moves
of matches against itself. The lower bound, measured after every move, is the overshoot of
`time.sleep(limit)`: the time that the system takes to wake a process. Both are measured on an idle
machine, and again with a busy process on each core.

**Over TCP**, with all cores busy: two `playout-player` processes play at a `playout-server` with
exactly that time for each move. Matches lost on time are counted from the players' output.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from playout import games, players
from playout.games import Game, State
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import busy_cores
from testbed.measure import percentile
from testbed.server_process import NOTHING_STORED, PLAYOUT, serving

# Two player processes at a server process: how many of their matches are lost on time.


PLAYER = str(Path(sys.executable).with_name("playout-player"))

#: The output of a player about its own move, and about the end of a match.
MOVED = re.compile(r"[\d,]+ simulations in ")
ENDED = re.compile(r"Match (\w+): .*\((\w+)\)\.$")
#: The reasons that are counted.
ON_TIME, RESIGNED = "time", "resignation"

#: Longest time without a move before the run fails.
SILENCE_S = 20.0
#: Time that a player has to exit after SIGTERM.
PATIENCE_S = 10.0


@dataclass
class LossCounts:
    """Counts from the output of both players, each read by its own thread."""

    wanted: int
    moves: int = 0
    #: The reason of the end of each match; both players print it.
    reasons: dict[str, str] = field(default_factory=dict)
    last_words: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def matches(self) -> int:
        """Number of ended matches, without the one resigned when the players had to exit."""
        return len(self.reasons) - self._count(RESIGNED)

    @property
    def lost_on_time(self) -> int:
        """Number of matches lost on time."""
        return self._count(ON_TIME)

    def read(self, process: subprocess.Popen[str]) -> None:
        """Read the output of a player to its end."""
        assert process.stdout is not None
        for line in process.stdout:
            with self._changed:
                self.last_words = [*self.last_words[-20:], line]
                if MOVED.match(line):
                    self.moves += 1
                    self._changed.notify()
                elif ended := ENDED.match(line.strip()):
                    self.reasons[ended[1]] = ended[2]

    def wait(self) -> None:
        """Wait until enough moves were made. Raises ClickException after SILENCE_S without one."""
        with self._changed:
            while self.moves < self.wanted:
                if not self._changed.wait(SILENCE_S):
                    said = "".join(self.last_words)
                    raise click.ClickException(f"the players make no moves; their output:\n{said}")

    def _count(self, reason: str) -> int:
        return list(self.reasons.values()).count(reason)


def play(game: str, clock: str, moves: int) -> LossCounts:
    """Let two `uct` players play over TCP with that clock until they have made `moves` moves."""
    tally = LossCounts(moves)
    with serving([*PLAYOUT, NOTHING_STORED]) as server, contextlib.ExitStack() as stack:
        for name in ("first", "second"):
            command = [PLAYER, game, "uct", f"--port={server.port}", f"--clock={clock}"]
            stack.enter_context(_player([*command, f"--name={name}", "--matches=1000000"], tally))
        tally.wait()
    return tally


@contextlib.contextmanager
def _player(command: list[str], tally: LossCounts) -> Iterator[None]:
    """Run a player and read its output; at the end of the block it gets SIGTERM."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"COLUMNS": "200"},  # so that no line of output wraps
        start_new_session=True,
    ) as process:
        listener = threading.Thread(target=tally.read, args=(process,))
        listener.start()
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            process.kill()
            listener.join()


PLAYED = ("connect_four", "othello", "gomoku")
#: Limits in milliseconds, with the number of moves, in full and with --quick.
LIMITS = {20: (200, 15), 100: (200, 8), 500: (30, 2)}
#: 99 % of the moves may exceed a limit by at most this, on an idle machine.
TARGET_MS = {100: Target("p99_ms", at_most=5.0)}
#: The game over TCP; the reports of its searches take longest.
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
        tally = play(SERVED, clock, bench.pick(*SERVED_MOVES))
        table.add(
            NO_LOSS,
            clock=clock,
            game=SERVED,
            moves=tally.moves,
            matches=tally.matches,
            lost=tally.lost_on_time,
            p99_ms=busy_ms[SERVED, clocks[clock]],
        )


def overshoots(game: Game, limit_s: float, moves: int) -> tuple[list[float], list[float]]:
    """Return by how many seconds each move, and the sleep after it, exceeded the limit."""
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
    """Play match after match, and yield the seconds that each move took."""
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
