"""Where the processes of entrants run: what the runner needs of such a place.

There are two: this machine (`local_entrants`) and the workers of a Dask cluster (`cluster`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from playout.commands.subprocesses import LogFolder
from playout.protocol.messages import Fixture, Reason, ReportCluster, Tournament
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer.cores import Cores
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.supervisor import Start, Supervisor
from playout.server.tournament import formats

#: The process of a player that loses for one of these reasons may have crashed.
_ABSENT = (Reason.TIME, Reason.ABANDONMENT)


@dataclass(frozen=True)
class RunnerCalls:
    """What a place of entrants may ask of the runner.

    `show` shows a line to the user; `withdraw` gets the name of an entrant that keeps crashing;
    `abort` ends a match without a result, for a reason, so that its pair is played again;
    `report_cluster` tells the server where the entrants run.
    """

    show: Callable[[str], None]
    withdraw: Callable[[str], None]
    abort: Callable[[str, str], None]
    report_cluster: Callable[[ReportCluster], None]


class Entrants(Protocol):
    """The processes of all entrants that the organizer starts."""

    def place(self, fixture: Fixture) -> None:
        """Note that a match has started or ended."""

    def match_played(self, fixture: Fixture) -> None:
        """Forget the crashes of a match's players, except of one that seems to have crashed."""

    def poll(self, progress: TournamentProgress, now: float, *, reachable: bool) -> None:
        """Start the processes that are due; to be called often.

        `reachable`: whether the runner is connected to the server.
        """

    def remove(self, name: str) -> None:
        """End the processes of an entrant that is withdrawn."""

    def stop(self) -> None:
        """End the processes of all entrants."""

    def description(self, progress: TournamentProgress, now: float) -> str:
        """A line about the place for the display; empty if there is nothing to say."""


#: Makes the place for a tournament that was created or resumed.
EntrantsFactory = Callable[[Tournament, RunnerCalls], Entrants]


def remaining(event: Tournament) -> list[Entrant]:
    """The entrants that are not withdrawn."""
    entrants = enumerate(event.spec.entrants)
    return [each for place, each in entrants if place not in event.withdrawn]


def may_have_crashed(fixture: Fixture, seat: int) -> bool:
    """Whether the player in a seat, 1 or 2, lost as one whose process has ended."""
    return fixture.reason in _ABSENT and fixture.winner == 3 - seat


# Entrants that are started on this machine: how many processes each has, and on which cores.


class LocalEntrants:
    """Keeps enough processes running for each entrant, and places them on cores."""

    def __init__(
        self,
        event: Tournament,
        start: Start,
        logs: LogFolder,
        runner: RunnerCalls,
    ) -> None:
        """`start` starts a process; its output is written to a file in `logs`."""
        spec = event.spec
        entrants = remaining(event)
        self._supervisor = Supervisor(entrants, start, logs, runner.show, runner.withdraw)
        self._cores = Cores(spec)
        for name, count in initial_processes(spec).items():
            for _ in range(count):
                self._supervisor.add(name)

    def place(self, fixture: Fixture) -> None:
        """Give a match that started cores of its own, or take them from one that ended."""
        if fixture.winner is not None:
            self._cores.match_ended(fixture.match)
            return
        players = zip(fixture.players, fixture.processes, strict=True)
        found = [self._supervisor.process(name, number) for name, number in players]
        self._cores.match_started(fixture.match, [each for each in found if each])

    def match_played(self, fixture: Fixture) -> None:
        """Forget the crashes of a match's players, except of one that seems to have crashed."""
        for seat, name in enumerate(fixture.players, 1):
            if not may_have_crashed(fixture, seat):
                self._supervisor.match_played(name)

    def poll(self, progress: TournamentProgress, now: float, *, reachable: bool) -> None:
        """Add processes that are of use, and start those that have exited.

        An exit while the server is not `reachable` does not count as a crash.
        """
        if progress.is_caught_up:
            self._reinforce(progress)
        self._supervisor.poll(now, reachable=reachable)

    def remove(self, name: str) -> None:
        """End the processes of an entrant that is withdrawn."""
        self._supervisor.remove(name)

    def stop(self) -> None:
        """End the processes of all entrants."""
        self._supervisor.stop()

    def description(self, progress: TournamentProgress, now: float) -> str:
        """Nothing: the runner shows all that there is to see on one machine."""
        return ""

    def _reinforce(self, progress: TournamentProgress) -> None:
        """Add a process for each entrant all of whose processes play, if it could play more."""
        running = progress.running
        limit = progress.spec.concurrency
        total = progress.matches or math.inf
        if len(running) >= limit or total <= progress.ended + len(running):
            return
        busy = Counter(name for each in running.values() for name in each.players)
        for name, matches in busy.items():
            if matches >= self._supervisor.count(name) < limit:
                self._supervisor.add(name)


def initial_processes(spec: TournamentSpec) -> Mapping[str, int]:
    """How many processes of each entrant are started at first: as many as are surely useful."""
    names = [each.name for each in spec.entrants]
    return dict(zip(names, formats.load(spec).processes(), strict=True))
