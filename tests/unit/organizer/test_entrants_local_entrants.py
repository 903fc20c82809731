"""How many processes of each entrant are started first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playout.commands.child import Child, LogFolder
from playout.protocol.messages import Tournament
from playout.protocol.tournament_spec import Entrant
from playout.server.organizer.entrants import LocalEntrants, RunnerCalls, initial_processes
from support.fixtures import fixture, spec


def test_as_many_processes_at_first_as_are_surely_of_use() -> None:
    assert set(initial_processes(spec(concurrency=4)).values()) == {4}
    assert set(initial_processes(spec("round_robin", 6, concurrency=4)).values()) == {2}
    assert initial_processes(spec("gauntlet", 3, concurrency=3)) == {"Ann": 3, "Bob": 2, "Cem": 2}


def test_the_first_match_waits_for_one_process_of_each(logs: LogFolder) -> None:
    def start(entrant: Entrant, number: int, log: Path) -> Child:
        raise AssertionError("it is started by a poll")

    played = spec("gauntlet", 3, concurrency=3)
    entrants = tuple(replace(each, player="random") for each in played.entrants)
    event = Tournament(tournament="t", spec=replace(played, entrants=entrants))
    calls = RunnerCalls(*[lambda *_: None] * 4)
    local = LocalEntrants(event, start, logs, calls)
    counts = [local._supervisor.count(each.name) for each in entrants]
    assert counts == [1, 1, 1]
    local.place(fixture((1, 1, 1), 1, None))
    counts = [local._supervisor.count(each.name) for each in entrants]
    assert counts == [3, 2, 2]
