"""Data lost when the server, clients and the database are killed during matches.

Clients play at random, send moves twice, are disconnected at random and reconnect. The server is
killed with SIGKILL at random moments, sometimes again during its start, and restarted; PostgreSQL
is stopped once without a shutdown, as in a power failure, while the server runs, and restarted. At
the end the database is read with plain SQL. *Lost* counts violations of these rules: every match
has the result that follows from its moves; every move that a client received is stored once, at its
ply; both players of every match received its start and the stored end. A line is printed for each
violation.

In a second table the server and its storage process are paused in turns, for 0.05 to 5 s, while
clients that answer within 10 ms play with a clock. There every match that does not end by the rules
is a violation, also a match lost on time.

*Playing* is the least number of matches that ran at a kill. A restart is the time from the start of
the process to the first `welcome`, with all matches restored.
"""

from __future__ import annotations

import click

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.disturbed_run import (
    FaultPlan,
    KillRun,
    StallPlan,
    play_with_kills,
    play_with_stalls,
    with_new_postgres,
)
from testbed.measure import Sample
from testbed.postgres import PostgresMissing

TARGET = Target("lost", at_most=0)

COLUMNS = (
    Column("database", "database"),
    Column("kills", "kills"),
    Column("running", "playing"),
    Column("outages", "outages"),
    Column("cuts", "cuts"),
    Column("matches", "matches"),
    Column("received", "moves received"),
    Column("stored", "moves stored"),
    Column("twice", "sent twice"),
    Column("restart_s", "restart, s", ".2f"),
    Column("worst_s", "worst", ".2f"),
    Column("lost", "lost"),
)

CLOCKS = ("0.05/move", "0.1/move", "1/move", "3+0", "10+0.1", "300+3")
STALL_COLUMNS = (
    Column("clock", "clock"),
    Column("stalls", "stalls"),
    Column("longest_s", "longest, s", ".2f"),
    Column("matches", "matches"),
    Column("stored", "moves stored"),
    Column("on_time", "lost on time"),
    Column("lost", "lost"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row per database, and a row per clock."""
    table = ResultTable("Lost data", COLUMNS)
    plan = bench.pick(FaultPlan(clients=40, matches=200, kills=20), FaultPlan(24, 60, 5))
    databases = {"SQLite": play_with_kills, "PostgreSQL": with_new_postgres}
    for name in bench.track(list(databases)):
        try:
            played = databases[name](plan)
        except PostgresMissing as error:
            click.echo(f"{bench.name}: {name} is omitted: {error}", err=True)
            continue
        for line in played.lost:
            click.echo(f"{name}: {line}", err=True)
        table.add(TARGET, database=name, **_cells(played))
    return [table, _stalls(bench)]


def _stalls(bench: Bench) -> ResultTable:
    table = ResultTable("Lost by stalls", STALL_COLUMNS)
    for clock in bench.track(list(CLOCKS)):
        plan = bench.pick(StallPlan(clock, 4, 60, 10), StallPlan(clock, 4, 10, 4))
        played = play_with_stalls(plan)
        for line in played.lost:
            click.echo(f"{clock}: {line}", err=True)
        table.add(
            TARGET,
            clock=clock,
            stalls=len(played.stalls_s),
            longest_s=max(played.stalls_s),
            matches=played.matches,
            stored=played.moves_stored,
            on_time=played.lost_on_time,
            lost=len(played.lost),
        )
    return table


def _cells(played: KillRun) -> dict[str, int | float | Sample]:
    return {
        "kills": len(played.running) + played.again,
        "running": min(played.running),
        "outages": played.outages,
        "cuts": played.clients.cuts,
        "matches": played.matches,
        "received": played.moves_received,
        "stored": played.moves_stored,
        "twice": played.clients.twice,
        "restart_s": Sample(played.restarts_s),
        "worst_s": max(played.restarts_s),
        "lost": len(played.lost),
    }
