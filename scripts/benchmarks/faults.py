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

A third table has peers that hold sockets: TLS without a handshake, answers and pages that nobody
reads, half requests, all from one address that opens another socket for each one that is closed. It
shows the most open files of the server, and in how many seconds after the last new socket they are
as many as before. It also shows the slowest move of two honest players, and the slowest /healthz.

A fourth table has two guests at two addresses whose moves carry as much analysis as is allowed, and
what the database grows by; the target is what the limits of the two addresses allow in that time.

*Playing* is the least number of matches that ran at a kill. A restart is the time from the start of
the process to the first `welcome`, with all matches restored.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from playout.server.core.policy import Policy
from playout.server.core.rate_limits import STORAGE_BURST_S
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.disturbed_run import (
    FaultPlan,
    KillRun,
    StallPlan,
    play_with_kills,
    play_with_stalls,
    with_new_postgres,
)
from testbed.full_disk import store_much
from testbed.held_sockets import INPUTS, hold_sockets
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
FACTS = (Column("what", "what"), Column("value", "", ",.4g"))
NONE = Target("value", at_most=0)
BACK_S = Target("value", at_most=10)
LONGEST_MS = Target("value", at_most=20)

DISK_COLUMNS = (
    Column("seconds", "s"),
    Column("moves", "moves"),
    Column("notified", "notified"),
    Column("grown_mb", "grown, MB", ".1f"),
)
#: The journal of SQLite, which does not grow with the number of records.
JOURNAL_MB = 6


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
    return [table, _stalls(bench), *_sockets(bench), _disk(bench)]


def _sockets(bench: Bench) -> Iterator[ResultTable]:
    count, seconds = bench.pick((500, 30.0), (300, 5.0))
    for name in bench.track(list(INPUTS)):
        seen = hold_sockets(name, count, seconds)
        if seen.honest.fault:
            click.echo(f"{name}: the honest players: {seen.honest.fault}", err=True)
        table = ResultTable(f"Sockets that are held: {name}", FACTS)
        table.add(what="sockets opened", value=seen.opened)
        table.add(what="most files", value=seen.most_files)
        table.add(BACK_S, what="files back at their level, s", value=seen.back_s)
        table.add(NONE, what="health: unanswered", value=seen.unanswered)
        table.add(LONGEST_MS, what="health: worst, ms", value=1e3 * max(seen.health_s))
        latencies_s = seen.honest.latencies_s
        table.add(NONE, what="honest players: wrong messages", value=int(bool(seen.honest.fault)))
        table.add(what="honest players: moves", value=len(latencies_s))
        table.add(LONGEST_MS, what="honest players: worst, ms", value=1e3 * max(latencies_s))
        yield table


def _disk(bench: Bench) -> ResultTable:
    table = ResultTable("Two guests at their limits", DISK_COLUMNS)
    seconds = bench.pick(180.0, 20.0)
    stored = store_much(seconds)
    allowed_mb = 2 * Policy().stored_mb_per_hour * (STORAGE_BURST_S + seconds) / 3600
    table.add(
        Target("grown_mb", at_most=round(allowed_mb + JOURNAL_MB)),
        seconds=seconds,
        moves=stored.moves,
        notified="yes" if stored.notified else "no",
        grown_mb=stored.grown / 1e6,
    )
    return table


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
