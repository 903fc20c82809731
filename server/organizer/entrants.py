"""The processes of entrants: the interface for the runner, and the processes on this machine.

`LocalEntrants` run on this machine, those of `cluster_entrants` on the workers of a Dask cluster.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from playout.commands.child import Child, LogFolder
from playout.commands.cores import Cores, move
from playout.protocol.messages import Fixture, Reason, ReportCluster, Tournament
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer import estimate
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.supervisor import Start, Supervisor
from playout.server.tournament import formats

#: The reasons of a loss after which the player's process may have crashed.
_ABSENT = (Reason.TIME, Reason.ABANDONMENT)


@dataclass(frozen=True)
class RunnerCalls:
    """The functions of the runner that `Entrants` may call.

    `show` shows a line to the user; `withdraw` withdraws an entrant that keeps crashing, by name;
    `abort` ends a match without a result, for a reason, so that its pair is played again;
    `report_cluster` reports to the server where the entrants run.
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
        """Forget the crashes of a match's players, unless one may have crashed in it."""

    def poll(self, progress: TournamentProgress, now: float, *, reachable: bool) -> None:
        """Start the processes that are due; to be called often.

        `reachable`: whether the runner is connected to the server.
        """

    def add(self, entrant: Entrant) -> None:
        """Start an entrant that has joined late or replaces the one of its name."""

    def remove(self, name: str) -> None:
        """End the processes of an entrant that is withdrawn or replaced."""

    def stop(self) -> None:
        """End the processes of all entrants."""

    def description(self, progress: TournamentProgress, now: float) -> str:
        """Return a line about the machines for the display; it may be empty."""


#: Makes the entrants of a tournament that was created or resumed.
EntrantsFactory = Callable[[Tournament, RunnerCalls], Entrants]


def remaining(event: Tournament) -> list[Entrant]:
    """Return the entrants that are not withdrawn."""
    entrants = enumerate(event.spec.entrants)
    return [each for place, each in entrants if place not in event.withdrawn]


def may_have_crashed(fixture: Fixture, seat: int) -> bool:
    """Return whether the player in a seat, 1 or 2, lost on time or by leaving, or never moved."""
    lost = fixture.reason in _ABSENT and fixture.winner == 3 - seat
    return lost or fixture.reason is Reason.VOID


class TournamentCores:
    """Gives each running match cores of its own, if the tournament keeps all cores busy.

    Otherwise the system chooses: other programs may be using the machine.
    """

    def __init__(self, spec: TournamentSpec) -> None:
        self._cores = Cores()
        each = estimate.match_cores(spec)
        is_busy = len(self._cores.usable) // each == spec.concurrency > 1
        #: The number of cores of a match; 0 leaves the choice to the system.
        self._number = each if is_busy else 0
        self._taken: dict[str, Collection[int]] = {}
        #: The cores of each process, by its id: the same two players often play the next match.
        self._assigned: dict[int, Collection[int]] = {}

    def match_started(self, match: str, processes: Iterable[Child]) -> None:
        """Move the processes that play a match to its cores."""
        if self._number and match not in self._taken:
            self._taken[match] = self._cores.take(match, self._number, shared=False)
        if share := self._taken.get(match):
            for process in processes:
                if self._assigned.get(process.pid) != share:
                    self._assigned[process.pid] = share
                    move(process.pid, share)

    def match_ended(self, match: str) -> None:
        """Free the cores of a match for the next one."""
        if match in self._taken:
            del self._taken[match]
            self._cores.give_back(match)


class LocalEntrants:
    """Keeps enough processes running for each entrant, and assigns cores to their matches."""

    def __init__(
        self,
        event: Tournament,
        start: Start,
        logs: LogFolder,
        runner: RunnerCalls,
        *,
        shares_cores: bool = False,
    ) -> None:
        """`start` starts a process; its output is written to a file in `logs`.

        With `shares_cores`, other programs use the cores: the system assigns them to matches.
        """
        spec = event.spec
        entrants = remaining(event)
        self._supervisor = Supervisor(entrants, start, logs, runner.show, runner.withdraw)
        self._logs, self._show = logs, runner.show
        #: The entrants whose logs were shown.
        self._crashed: set[str] = set()
        self._cores = TournamentCores(replace(spec, concurrency=0) if shares_cores else spec)
        self._at_once = spec.concurrency
        #: The processes that are started when the first match has begun: they would delay it.
        self._later = Counter(initial_processes(spec))
        for name in list(self._later):
            self._later[name] -= 1
            self._supervisor.add(name)

    def place(self, fixture: Fixture) -> None:
        """Give a started match cores of its own, or free those of an ended one."""
        if fixture.winner is not None:
            self._cores.match_ended(fixture.match)
            return
        later, self._later = self._later, Counter()
        for name in later.elements():
            self._supervisor.add(name)
        players = zip(fixture.players, fixture.processes, strict=True)
        found = [self._supervisor.process(name, number) for name, number in players]
        self._cores.match_started(fixture.match, [each for each in found if each])

    def match_played(self, fixture: Fixture) -> None:
        """Forget the crashes of a match's players, unless one may have crashed in it."""
        if fixture.reason is Reason.CRASH and fixture.winner:
            self._show_log(fixture.players[2 - fixture.winner])
        for seat, name in enumerate(fixture.players, 1):
            if not may_have_crashed(fixture, seat):
                self._supervisor.match_played(name)

    def _show_log(self, name: str) -> None:
        """Show once where the output of an entrant that crashed is, and keep it."""
        if name not in self._crashed:
            self._crashed.add(name)
            self._logs.wanted = True
            logs = ", ".join(map(str, self._supervisor.logs_of(name)))
            self._show(f"The output of {name}, with its errors, is in {logs}")

    def poll(self, progress: TournamentProgress, now: float, *, reachable: bool) -> None:
        """Add useful processes, and start exited ones again.

        An exit while the server is not `reachable` does not count as a crash.
        """
        if progress.is_caught_up:
            self._reinforce(progress)
        self._supervisor.poll(now, reachable=reachable)

    def add(self, entrant: Entrant) -> None:
        """Start an entrant that has joined late or replaces the one of its name."""
        self._supervisor.put(entrant)
        self._supervisor.add(entrant.name)

    def remove(self, name: str) -> None:
        """End the processes of an entrant that is withdrawn or replaced."""
        self._supervisor.remove(name)

    def stop(self) -> None:
        """End the processes of all entrants."""
        self._supervisor.stop()

    def description(self, progress: TournamentProgress, now: float) -> str:
        """Return an empty line: the display has no further facts about one machine."""
        return ""

    def _reinforce(self, progress: TournamentProgress) -> None:
        """Add a process for each entrant whose processes all play, if more matches are possible."""
        running = progress.ledger.running
        limit = self._at_once
        total = progress.matches or math.inf
        if len(running) >= limit or total <= progress.ledger.ended + len(running):
            return
        busy = Counter(name for each in running.values() for name in each.players)
        for name, matches in busy.items():
            if matches >= self._supervisor.count(name) < limit:
                self._supervisor.add(name)


def initial_processes(spec: TournamentSpec) -> Mapping[str, int]:
    """Return how many processes of each entrant are started at first, all of them useful."""
    names = [each.name for each in spec.entrants]
    return dict(zip(names, formats.load(spec).processes(), strict=True))
