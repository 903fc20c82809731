"""Tournaments: data lost when processes are killed, and the overhead over thinking time.

*Lost data*: the runner, the server and entrants are killed with SIGKILL at random moments; a killed
runner is continued with `resume`. At the end, the matches in the database are compared with the
schedule of the same specification: no pair may be missing or double, or have other players or
another opening.

*Overhead*: two players think for a given time per move, in one match per core at once. The lower
bound is the thinking time that the players report, divided by the cores.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from playout.commands.cores import usable_cores
from playout.server.model.records import StoredMatch
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.killed_tournament import (
    VICTIMS,
    Start,
    play_tournament,
    start_tournament,
    violations,
)
from testbed.measure import lost_on_time, overhead

LOST = Target("lost", at_most=0)
OVERHEAD = Target("ratio", at_most=1.15)
GAME, THINKING_S = "connect_four", 0.01

FAULTS = (
    Column("matches", "matches"),
    Column("kills", "kills"),
    *(Column(victim.split()[-1], victim) for victim in VICTIMS),
    Column("again", "played again"),
    Column("seconds", "s", ".0f"),
    Column("lost", "lost"),
)
COSTS = (
    Column("game", "game"),
    Column("matches", "matches"),
    Column("moves", "moves"),
    Column("wall_s", "wall, s", ".1f"),
    Column("thinking_s", "thinking, s per core", ".1f"),
    Column("ratio", "ratio", ".3f"),
    Column("on_time", "lost on time"),
)

SIX = """
name = "six"
games = ["tic_tac_toe", "connect_four", "mnk(m=5,n=5,k=4)"]
format = "round_robin"
rounds = {rounds}
clock = "0.5/move"
concurrency = 2
seed = 7
openings = {{ plies = 2 }}
""" + "".join(
    f'[[entrants]]\nname = "{name}"\nplayer = "{player}"\n'
    for name, player in (
        ("uct", "uct(simulations=300)"),
        ("rave", "rave(simulations=300)"),
        ("flat", "flat(simulations=300)"),
        ("minimax", "minimax(time=0.005)"),
        ("greedy", "greedy"),
        ("random", "random"),
    )
)
TWO = """
name = "two"
games = ["{game}"]
format = "match"
rounds = {rounds}
clock = "0.1/move"
concurrency = {cores}
seed = 7
openings = {{ plies = 4 }}
[[entrants]]
name = "one"
player = "uct(time={seconds},solver=false)"
[[entrants]]
name = "other"
player = "uct(time={seconds},c=1.0,solver=false)"
"""


def run(bench: Bench) -> list[ResultTable]:
    """Return two tables: lost data, and overhead."""
    return bench.tables(lost_data=_faults, overhead=_overhead)


def _faults(bench: Bench) -> ResultTable:
    table = ResultTable("A tournament whose processes are killed", FAULTS)
    text = SIX.format(rounds=bench.pick(4, 1))
    with tempfile.TemporaryDirectory(prefix="playout-tournament-") as name:
        played = play_tournament(text, Path(name), kills=bench.pick(15, 4))
    lost = violations(played.stored)
    for line in lost:
        click.echo(f"{bench.name}: {line}", err=True)
    table.add(
        LOST,
        matches=len(played.stored.matches),
        kills=played.kills.total(),
        **{victim.split()[-1]: played.kills[victim] for victim in VICTIMS},
        again=sum(not (match.ended and match.ended.winner) for match in played.stored.matches),
        seconds=played.seconds,
        lost=len(lost),
    )
    return table


def _overhead(bench: Bench) -> ResultTable:
    table = ResultTable(f"Overhead of a tournament at {THINKING_S * 1000:g} ms per move", COSTS)
    matches = play_two(bench.pick(1000, 30))
    table.add(
        OVERHEAD,
        game=GAME,
        moves=sum(len(match.moves) - match.started.opening for match in matches),
        **overhead(matches, usable_cores()),
        on_time=lost_on_time(matches),
    )
    return table


def play_two(pairs: int, start: Start = start_tournament) -> Sequence[StoredMatch]:
    """Return the matches of a tournament of two players, one match per core at once."""
    text = TWO.format(game=GAME, rounds=pairs, cores=usable_cores(), seconds=THINKING_S)
    with tempfile.TemporaryDirectory(prefix="playout-tournament-") as name:
        return play_tournament(text, Path(name), start=start).stored.matches
