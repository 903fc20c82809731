"""Scripted clients play at a new server, while something disturbs it, until all matches end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.killable_server import KillableServer, killable_server
from testbed.scripted_clients import ScriptedClients, WaitTimeout
from testbed.stored_matches import StoredRow, stored, violations

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
