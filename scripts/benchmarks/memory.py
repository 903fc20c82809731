"""Memory and speed over a whole match of gomoku that `uct` plays against itself.

Each side has its own player, which gets the match so far with each move, as from a server. Resident
memory is that of this process (VmRSS), minus its value before the players were created, when
everything else was loaded. Both trees may become full, so the target is twice `memory_mb` and a
small margin: nothing else may grow with the match. The other target is that the search does not
become slower as the tree fills: the last quarter of the moves against the first. Moves that ended
before their time limit, with a proven result, do not count there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import click

from playout import games, players
from playout.games import Game, Position
from playout.players import Limit
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import resident_kib

PLAYED = "gomoku"
MEMORY_MB = 256
OURS = f"uct(seed=1,memory_mb={MEMORY_MB})"
#: Margin for everything but the trees: the match so far, the reports of both players.
BESIDE_MB = 32

MEMORY_TARGET = Target("value", at_most=2 * MEMORY_MB + BESIDE_MB)
SPEED_TARGET = Target("value", at_least=0.667)
#: A move counts for speed if it used at least this share of its time.
FULL = 0.9

PLIES = (
    Column("ply", "ply"),
    Column("simulations", "simulations/s"),
    Column("resident_mb", "resident, MB"),
)
WHOLE = (Column("what", "the whole match"), Column("value", "", ".2f"))


class Ply(NamedTuple):
    """The measurements after a move."""

    simulations_a_second: float
    resident_mb: float
    took_all: bool


def run(bench: Bench) -> list[ResultTable]:
    """Return a row per ply, then a row for memory and one for speed."""
    seconds, most = bench.pick(2.0, 0.3), bench.pick(10**6, 12)
    plies = _match(bench, games.load(PLAYED), seconds, most)
    each = ResultTable(f"A match of {PLAYED} at {seconds:g} s per move", PLIES)
    for number, ply in enumerate(plies, start=1):
        each.add(ply=number, simulations=ply.simulations_a_second, resident_mb=ply.resident_mb)
    whole = ResultTable("Memory and speed", WHOLE)
    resident = max(ply.resident_mb for ply in plies)
    whole.add(MEMORY_TARGET, what="most resident, MB", value=resident)
    whole.add(SPEED_TARGET, what="speed, last quarter / first", value=_slowdown(plies))
    return [each, whole]


def _match(bench: Bench, game: Game, seconds: float, most: int) -> list[Ply]:
    """Play a match, or at most `most` plies of it."""
    _warm_up(game)
    before = resident_kib() / 1024
    seats = [players.load(OURS, game) for _ in (1, 2)]
    position, plies = Position(game), list[Ply]()
    for number, player in enumerate(seats, start=1):
        player.started(number, "itself", position)
    while not position.winner and len(plies) < most:
        mover = position.to_move
        started = time.perf_counter()
        choice = seats[mover - 1].choose(position, Limit(seconds=seconds))
        took = time.perf_counter() - started
        assert choice.info is not None
        simulations_a_second = choice.info.simulations / took
        resident_mb = resident_kib() / 1024 - before
        plies.append(Ply(simulations_a_second, resident_mb, took >= FULL * seconds))
        position = position.play(choice.action)
        _tell(bench, position, plies)
        for player in seats:
            player.moved(mover, position)
    for player in seats:
        player.close()
    return plies


def _warm_up(game: Game) -> None:
    """Load everything that a first choice loads, with a minimal tree."""
    player = players.load("uct(seed=1,memory_mb=1)", game)
    player.choose(Position(game), Limit(simulations=1000))
    player.close()


def _tell(bench: Bench, position: Position, plies: Sequence[Ply]) -> None:
    """Print the progress of the match, without a bar because its length is unknown."""
    speed, resident_mb, _ = plies[-1]
    click.echo(
        f"{bench.name}: ply {len(plies)}, {position.move_name()}, "
        f"{speed:,.0f} simulations/s, {resident_mb:,.0f} MB",
        err=True,
    )


def _slowdown(plies: Sequence[Ply]) -> float:
    """Return the median speed of the last quarter of the moves, divided by that of the first."""
    speeds = [ply.simulations_a_second for ply in plies if ply.took_all]
    quarter = max(1, len(speeds) // 4)
    return statistics.median(speeds[-quarter:]) / statistics.median(speeds[:quarter])
