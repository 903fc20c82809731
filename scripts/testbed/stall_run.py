"""A run in which a server and its storage process are paused while clients play with a clock."""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from testbed.kill_run import OPTIONS
from testbed.killable_server import KillableServer, killable_server
from testbed.scripted_clients import ScriptedClients, WaitTimeout
from testbed.stored_matches import SQLITE, stored, violations

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


@dataclass
class StallOutcome:
    """The counts of a run; `lost` has a line for each fault, matches lost on time included."""

    stalls_s: list[float] = field(default_factory=list)
    matches: int = 0
    moves_stored: int = 0
    lost_on_time: int = 0
    lost: list[str] = field(default_factory=list)


def play_with_stalls(plan: StallPlan) -> StallOutcome:
    """Run a plan with a new SQLite database."""
    with tempfile.TemporaryDirectory(prefix="playout-stalls-") as folder:
        return asyncio.run(_play(plan, Path(folder)))


async def _play(plan: StallPlan, folder: Path) -> StallOutcome:
    outcome, url = StallOutcome(), f"{SQLITE}{folder / 'stalls.db'}"
    with killable_server([f"--database={url}", *OPTIONS], folder / "log") as server:
        clients = ScriptedClients(
            server.port,
            plan.clients,
            plan.matches,
            plan.seed,
            clock=plan.clock,
            think_s=THINK_S,
            calm=True,
        )
        async with clients.playing():
            try:
                await _pause_repeatedly(plan, clients, server, outcome)
                await clients.finish()
            except WaitTimeout as error:
                outcome.lost.append(f"{error}; the server's log ends:\n{server.log_tail()}")
        if code := server.stop():
            outcome.lost.append(f"the server exits with {code}:\n{server.log_tail()}")
    found = stored(url)
    outcome.matches = len(found)
    outcome.moves_stored = sum(len(match.moves) for match in found.values())
    outcome.lost_on_time = sum(match.reason in ("time", "void") for match in found.values())
    outcome.lost += [*clients.faults, *violations(found, clients.records)]
    return outcome


async def _pause_repeatedly(
    plan: StallPlan, clients: ScriptedClients, server: KillableServer, outcome: StallOutcome
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
        outcome.stalls_s.append(seconds)
