"""Whether anything is lost when server, clients and database are killed in the middle.

Clients play at random, send moves twice, are cut off at random and come back. The server is killed
with SIGKILL at random moments, sometimes once more while it starts, and started again; PostgreSQL
is stopped once, as if the plug were pulled, while the server goes on, and started again. At the end
the database is read with plain SQL. *Lost* counts what is not as it must be: every match has a
result that its moves lead to by the rules, every move that any client was told of is there, at its
ply, none twice, and both players of every match were told of its start and of the end that is
stored. A line for each says what.

*Playing* is the fewest matches that ran at a kill. A restart takes from the start of the process to
the first `welcome`, with all matches restored.
"""

from __future__ import annotations

import click
from testbed.bench import Bench
from testbed.kill_run import FaultOutcome, FaultPlan, with_new_postgres, with_sqlite
from testbed.measure import Sample
from testbed.postgres import PostgresMissing
from testbed.result_table import Column, ResultTable, Target

TARGET = Target("lost", at_most=0)

COLUMNS = (
    Column("database", "database"),
    Column("kills", "kills"),
    Column("running", "playing"),
    Column("outages", "outages"),
    Column("cuts", "cuts"),
    Column("matches", "matches"),
    Column("told", "moves told"),
    Column("stored", "moves stored"),
    Column("twice", "sent twice"),
    Column("restart_s", "restart, s", ".2f"),
    Column("worst_s", "worst", ".2f"),
    Column("lost", "lost"),
)


def run(bench: Bench) -> list[ResultTable]:
    """A row a database."""
    table = ResultTable("What is lost", COLUMNS)
    plan = bench.pick(FaultPlan(clients=40, matches=200, kills=20), FaultPlan(24, 60, 5))
    databases = {"SQLite": with_sqlite, "PostgreSQL": with_new_postgres}
    for name in bench.track(list(databases)):
        try:
            outcome = databases[name](plan)
        except PostgresMissing as lacking:
            click.echo(f"{bench.name}: {name} is left out: {lacking}", err=True)
            continue
        for line in outcome.lost:
            click.echo(f"{name}: {line}", err=True)
        table.add(TARGET, database=name, **_cells(outcome))
    return [table]


def _cells(outcome: FaultOutcome) -> dict[str, int | float | Sample]:
    return {
        "kills": len(outcome.running) + outcome.again,
        "running": min(outcome.running),
        "outages": outcome.outages,
        "cuts": outcome.cuts,
        "matches": outcome.matches,
        "told": outcome.moves_told,
        "stored": outcome.moves_stored,
        "twice": outcome.twice,
        "restart_s": Sample(outcome.restarts_s),
        "worst_s": max(outcome.restarts_s),
        "lost": len(outcome.lost),
    }
