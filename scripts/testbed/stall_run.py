"""A run in which a server and its storage process are paused while clients play with a clock."""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed.disturbed_run import play
from testbed.killable_server import KillableServer
from testbed.scripted_clients import ScriptedClients
from testbed.stored_matches import SQLITE

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
