"""A run in which a server is killed repeatedly while clients play, and a check of its database."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testbed.disturbed_run import PlayedRun, play
from testbed.killable_server import KillableServer
from testbed.postgres import Postgres, postgres
from testbed.scripted_clients import ScriptedClients
from testbed.stored_matches import SQLITE

#: Longest delay of a kill after the end of the awaited match.
DELAY_S = 0.3
#: Probability that the server is killed once more during its start, and the latest moment.
AGAIN, START_S = 0.2, 1.5
#: Duration of the outage of the database.
OUTAGE_S = 1.0


@dataclass(frozen=True)
class FaultPlan:
    """The numbers of clients, of matches, and of kills of the server meanwhile."""

    clients: int
    matches: int
    kills: int
    seed: int = 1


@dataclass
class FaultOutcome:
    """The counts of a run; `lost` has a line for each fault."""

    outages: int = 0
    #: Running matches at each kill, without the kills during a start, which `again` counts.
    running: list[int] = field(default_factory=list)
    again: int = 0
    restarts_s: list[float] = field(default_factory=list)
    cuts: int = 0
    twice: int = 0
    matches: int = 0
    moves_told: int = 0
    moves_stored: int = 0
    lost: list[str] = field(default_factory=list)


def with_sqlite(plan: FaultPlan) -> FaultOutcome:
    """Run a plan with a new SQLite database."""
    with _folder() as folder:
        return asyncio.run(KillRun(plan, folder, f"{SQLITE}{folder / 'faults.db'}").run())


def with_postgres(plan: FaultPlan, cluster: Postgres) -> FaultOutcome:
    """Run a plan with an empty PostgreSQL database, which is stopped once in the middle."""
    with _folder() as folder:
        return asyncio.run(KillRun(plan, folder, cluster.url, cluster).run())


def with_new_postgres(plan: FaultPlan) -> FaultOutcome:
    """Run a plan with a new PostgreSQL cluster. Raises PostgresMissing."""
    with postgres() as cluster:
        return with_postgres(plan, cluster)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="playout-faults-") as name:
        yield Path(name)


class KillRun:
    """The execution of a plan."""

    def __init__(
        self, plan: FaultPlan, folder: Path, url: str, cluster: Postgres | None = None
    ) -> None:
        self._plan = plan
        self._url = url
        self._cluster = cluster
        self._log = folder / "log"
        self._draw = random.Random(plan.seed)
        self._outcome = FaultOutcome()

    async def run(self) -> FaultOutcome:
        """Play, kill the server meanwhile, and check the database at the end."""
        plan = self._plan

        def clients_of(port: int) -> ScriptedClients:
            return ScriptedClients(port, plan.clients, plan.matches, plan.seed)

        self._count(await play(self._url, self._log, clients_of, self._kill_repeatedly))
        return self._outcome

    async def _kill_repeatedly(self, clients: ScriptedClients, server: KillableServer) -> None:
        """Kill the server as often as planned, and stop its database once."""
        plan = self._plan
        moments = sorted(self._draw.uniform(0, 0.9 * plan.matches) for _ in range(plan.kills))
        for number, moment in enumerate(moments):
            await clients.until_ended(moment)
            if self._cluster and number == plan.kills // 2:
                await self._interrupt_storage(clients, self._cluster)
            await asyncio.sleep(self._draw.uniform(0, DELAY_S))
            self._outcome.running.append(clients.running)
            server.kill()
            server.start()
            if self._draw.random() < AGAIN:
                await asyncio.sleep(self._draw.uniform(0, START_S))
                server.kill()
                server.start()
                self._outcome.again += 1
            self._outcome.restarts_s.append(await clients.until_welcomed(server.started_at))

    async def _interrupt_storage(self, clients: ScriptedClients, cluster: Postgres) -> None:
        """Stop the database for a while; the server must notify all clients of both changes."""
        await asyncio.to_thread(cluster.stop)
        try:
            await clients.until_all(
                lambda client: client.storage_down, "to be notified that storage is down"
            )
            await asyncio.sleep(OUTAGE_S)
        finally:
            await asyncio.to_thread(cluster.start)
        await clients.until_all(
            lambda client: not client.storage_down, "to be notified that storage is up"
        )
        self._outcome.outages += 1

    def _count(self, run: PlayedRun) -> None:
        outcome, clients = self._outcome, run.clients
        outcome.cuts, outcome.twice = clients.cuts, clients.twice
        outcome.matches = len(run.found)
        outcome.moves_told = len(
            {(each.match, ply) for each in clients.records for ply in range(len(each.moves))}
        )
        outcome.moves_stored = run.moves_stored
        outcome.lost = run.lost
