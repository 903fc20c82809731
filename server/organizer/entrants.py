"""Where the processes of entrants run: what the runner needs of such a place.

There are two: this machine (`local_entrants`) and the workers of a Dask cluster (`cluster`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from server.model.messages import Fixture, Reason, ReportCluster, Tournament
from server.model.tournament_spec import Entrant
from server.organizer.progress import TournamentProgress

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
