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

import asyncio
import contextlib
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from testbed.bench import Bench
from testbed.crowd import Crowd, CrowdStuck
from testbed.measure import Sample
from testbed.mortal import KillableServer, mortal
from testbed.postgres import Postgres, PostgresMissing, postgres
from testbed.stored import SQLITE, StoredRow, stored, violations
from testbed.table import Column, ResultTable, Target

TARGET = Target("lost", at_most=0)

#: Nobody is given up, and nobody is sent away: all clients have the same address.
OPTIONS = (
    "--http=none",
    "--reconnect-s=600",
    "--restart-grace-s=600",
    "--registrations-per-hour=0",
    "--connections-per-address=0",
)
#: At most, from the match whose end is waited for to the kill.
DELAY_S = 0.3
#: How likely the server is killed once more while it starts, and until when.
AGAIN, START_S = 0.2, 1.5
#: How long the database is away.
OUTAGE_S = 1.0

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


@dataclass(frozen=True)
class FaultPlan:
    """How many clients play how many matches, and how often the server is killed meanwhile."""

    clients: int
    matches: int
    kills: int
    seed: int = 1


@dataclass
class FaultOutcome:
    """What happened; `lost` has a line for each thing that is not as it must be."""

    outages: int = 0
    #: How many matches, at each kill but those `again`, of a server that had just been started.
    running: list[int] = field(default_factory=list)
    again: int = 0
    restarts_s: list[float] = field(default_factory=list)
    cuts: int = 0
    twice: int = 0
    matches: int = 0
    moves_told: int = 0
    moves_stored: int = 0
    lost: list[str] = field(default_factory=list)


def run(bench: Bench) -> list[ResultTable]:
    """A row a database."""
    table = ResultTable("What is lost", COLUMNS)
    plan = bench.pick(FaultPlan(clients=40, matches=200, kills=20), FaultPlan(24, 60, 5))
    databases = {"SQLite": with_sqlite, "PostgreSQL": _with_new_postgres}
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


def with_sqlite(plan: FaultPlan) -> FaultOutcome:
    """Carry it out with a new file."""
    with _folder() as folder:
        return asyncio.run(KillRun(plan, folder, f"{SQLITE}{folder / 'faults.db'}").endure())


def with_postgres(plan: FaultPlan, cluster: Postgres) -> FaultOutcome:
    """Carry it out with an empty database, which is stopped in the middle."""
    with _folder() as folder:
        return asyncio.run(KillRun(plan, folder, cluster.url, cluster).endure())


def _with_new_postgres(plan: FaultPlan) -> FaultOutcome:
    with postgres() as cluster:
        return with_postgres(plan, cluster)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="playout-faults-") as name:
        yield Path(name)


class KillRun:
    """A plan while it is carried out."""

    def __init__(
        self, plan: FaultPlan, folder: Path, url: str, cluster: Postgres | None = None
    ) -> None:
        self._plan = plan
        self._url = url
        self._cluster = cluster
        self._log = folder / "log"
        self._draw = random.Random(plan.seed)
        self._outcome = FaultOutcome()

    async def endure(self) -> FaultOutcome:
        """Play, disturb, and look at what is left."""
        plan, outcome = self._plan, self._outcome
        with mortal([f"--database={self._url}", *OPTIONS], self._log) as server:
            crowd = Crowd(server.port, plan.clients, plan.matches, plan.seed)
            async with crowd.playing():
                try:
                    await self._disturb(crowd, server)
                    await crowd.finish()
                except CrowdStuck as stuck:
                    outcome.lost.append(f"{stuck}; the server's last words:\n{server.last_words()}")
            if code := server.stop():
                outcome.lost.append(f"the server exits with {code}:\n{server.last_words()}")
        if fault := server.traceback():
            outcome.lost.append(f"the server logged:\n{fault}")
        self._count(crowd, stored(self._url))
        return outcome

    async def _disturb(self, crowd: Crowd, server: KillableServer) -> None:
        """Kill the server again and again, and stop its database once."""
        plan = self._plan
        moments = sorted(self._draw.uniform(0, 0.9 * plan.matches) for _ in range(plan.kills))
        for number, moment in enumerate(moments):
            if self._cluster and number == plan.kills // 2:
                await self._pull_the_plug(crowd, self._cluster)
            await crowd.until_ended(moment)
            await asyncio.sleep(self._draw.uniform(0, DELAY_S))
            self._outcome.running.append(crowd.running)
            server.kill()
            server.start()
            if self._draw.random() < AGAIN:
                await asyncio.sleep(self._draw.uniform(0, START_S))
                server.kill()
                server.start()
                self._outcome.again += 1
            self._outcome.restarts_s.append(await crowd.until_welcomed(server.started_at))

    async def _pull_the_plug(self, crowd: Crowd, cluster: Postgres) -> None:
        """Stop the database for a while; everybody is told, those too who come back meanwhile."""
        await asyncio.to_thread(cluster.stop)
        try:
            await crowd.until_all(lambda client: client.down, "to be told that storage is down")
            await asyncio.sleep(OUTAGE_S)
        finally:
            await asyncio.to_thread(cluster.start)
        await crowd.until_all(lambda client: not client.down, "to be told that storage is up")
        self._outcome.outages += 1

    def _count(self, crowd: Crowd, found: dict[str, StoredRow]) -> None:
        outcome, told = self._outcome, crowd.told
        outcome.cuts, outcome.twice = crowd.cuts, crowd.twice
        outcome.matches = len(found)
        outcome.moves_told = len(
            {(each.match, ply) for each in told for ply in range(len(each.moves))}
        )
        outcome.moves_stored = sum(len(match.moves) for match in found.values())
        outcome.lost += [*crowd.faults, *violations(found, told)]
