"""How many processes of each entrant are started first."""

from __future__ import annotations

from playout.server.organizer.entrants import initial_processes
from support.fixtures import spec


def test_as_many_processes_at_first_as_are_surely_of_use() -> None:
    assert set(initial_processes(spec(concurrency=4)).values()) == {4}
    assert set(initial_processes(spec("round_robin", 6, concurrency=4)).values()) == {2}
    assert initial_processes(spec("gauntlet", 3, concurrency=3)) == {"Ann": 3, "Bob": 2, "Cem": 2}
