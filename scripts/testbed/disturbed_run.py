"""Scripted clients play at a new server, while something disturbs it, until all matches end."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testbed.postgres import Postgres, postgres
from testbed.scripted_clients import ScriptedClients, WaitTimeout
from testbed.server_process import KillableServer, killable_server
from testbed.stored_matches import SQLITE, StoredRow, stored, violations

#: Sessions and matches never expire, and no limit applies: all clients have the same address.
_OPTIONS = (
    "--http=none",
    "--reconnect-s=600",
    "--restart-grace-s=600",
    "--registrations-per-hour=0",
    "--connections-per-address=0",
)


@dataclass(frozen=True)
class PlayedRun:
    """The clients at the end, the matches in the database by id, and a line for each fault."""

    clients: ScriptedClients
    found: dict[str, StoredRow]
    lost: list[str]

    @property
    def moves_stored(self) -> int:
        """Number of moves in the database."""
        return sum(len(match.moves) for match in self.found.values())


async def play(
    url: str,
    log: Path,
    clients_of: Callable[[int], ScriptedClients],
    disturb: Callable[[ScriptedClients, KillableServer], Awaitable[None]],
) -> PlayedRun:
    """Play at a server with an empty database and a new log, then compare clients and database.

    `clients_of` returns the clients for a port; `disturb` runs while they play.
    """
    lost: list[str] = []
    with killable_server([f"--database={url}", *_OPTIONS], log) as server:
        clients = clients_of(server.port)
        async with clients.playing():
            try:
                await disturb(clients, server)
                await clients.finish()
            except WaitTimeout as error:
                lost.append(f"{error}; the server's log ends:\n{server.log_tail()}")
        if code := server.stop():
            lost.append(f"the server exits with {code}:\n{server.log_tail()}")
    if fault := server.traceback():
        lost.append(f"the server logged:\n{fault}")
    found = stored(url)
    return PlayedRun(clients, found, [*lost, *clients.faults, *violations(found, clients.records)])


# A run in which a server and its storage process are paused while clients play with a clock.


#: The shortest and the longest pause.
SHORTEST_S, LONGEST_S = 0.05, 5.0
#: Longest delay of a move, and of a pause after the end of a match.
THINK_S, DELAY_S = 0.01, 0.1


@dataclass(frozen=True)
class StallPlan:
    """The clock of all matches, the numbers of clients and matches, and of pauses meanwhile."""

    clock: str
    clients: int
    matches: int
    stalls: int
    longest_s: float = LONGEST_S
    seed: int = 1


@dataclass(frozen=True)
class StallOutcome:
    """The counts of a run; `lost` has a line for each fault, matches lost on time included."""

    stalls_s: list[float]
    matches: int
    moves_stored: int
    lost_on_time: int
    lost: list[str]


def play_with_stalls(plan: StallPlan) -> StallOutcome:
    """Run a plan with a new SQLite database."""
    with tempfile.TemporaryDirectory(prefix="playout-stalls-") as folder:
        return asyncio.run(_play(plan, Path(folder)))


async def _play(plan: StallPlan, folder: Path) -> StallOutcome:
    stalls_s: list[float] = []

    def clients_of(port: int) -> ScriptedClients:
        numbers = plan.clients, plan.matches, plan.seed
        return ScriptedClients(port, *numbers, clock=plan.clock, think_s=THINK_S, calm=True)

    async def disturb(clients: ScriptedClients, server: KillableServer) -> None:
        await _pause_repeatedly(plan, clients, server, stalls_s)

    url = f"{SQLITE}{folder / 'stalls.db'}"
    run = await play(url, folder / "log", clients_of, disturb)
    return StallOutcome(
        stalls_s=stalls_s,
        matches=len(run.found),
        moves_stored=run.moves_stored,
        lost_on_time=sum(match.reason in ("time", "void") for match in run.found.values()),
        lost=run.lost,
    )


async def _pause_repeatedly(
    plan: StallPlan, clients: ScriptedClients, server: KillableServer, stalls_s: list[float]
) -> None:
    """Pause the server and its storage process in turns, for times of every magnitude."""
    draw = random.Random(plan.seed)
    for number in range(plan.stalls):
        await clients.until_ended(clients.ended + 1)
        await asyncio.sleep(draw.uniform(0, DELAY_S))
        share = draw.random()
        seconds = math.exp(math.log(SHORTEST_S) * (1 - share) + math.log(plan.longest_s) * share)
        with server.paused(storage=number % 2 == 1):
            await asyncio.sleep(seconds)
        stalls_s.append(seconds)


# A run in which a server is killed repeatedly while clients play, and a check of its database.


#: Longest delay of a kill after the end of the awaited match.
KILL_DELAY_S = 0.3
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
            await asyncio.sleep(self._draw.uniform(0, KILL_DELAY_S))
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
