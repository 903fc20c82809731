"""The sessions that play matches of tournaments, and the processor cores that they use.

A session may name the set of processor cores that it runs on. The players of a match take turns, so
that one set of cores is enough for both: a match is between sessions on the same set, and a set has
one match at a time. Sessions that name no set play against all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from playout.protocol.messages import Join, ReportCluster
from playout.server.core.sessions import Session
from playout.server.tournament.state import TournamentState

#: For each entrant, by its index, the sessions that could play, repeated for each match they could.
FreeSessions = dict[int, list[Session]]


class _Entered(NamedTuple):
    """A session that has joined, with the index of its entrant in a tournament."""

    entrant: int
    session: Session
    request: Join

    @property
    def core_set(self) -> int | None:
        """The number of its set of cores."""
        return self.request.core_set

    @property
    def room(self) -> int:
        """The number of further matches that it could play now."""
        return max(0, self.request.matches - len(self.session.matches))


class JoinedSessions:
    """The sessions that have sent `join` and are connected."""

    def __init__(self) -> None:
        self._joined: dict[str, tuple[Session, Join]] = {}
        #: The keys of the sessions on each set of cores, and of those without a set.
        self._on: dict[int | None, dict[str, None]] = {}
        #: The sets that may be idle; all others, often hundreds, have a match.
        self._maybe_idle: dict[int | None, None] = {}

    def __len__(self) -> int:
        return len(self._joined)

    def put(self, session: Session, request: Join) -> None:
        """Add a session; of several requests of a session, the last one counts."""
        self.remove(session)
        self._joined[session.key] = (session, request)
        self._on.setdefault(request.core_set, {})[session.key] = None
        self._maybe_idle[request.core_set] = None

    def remove(self, session: Session) -> None:
        """Remove a session that has lost its connection, if it has joined."""
        if joined := self._joined.pop(session.key, None):
            core_set = joined[1].core_set
            del self._on[core_set][session.key]
            self._maybe_idle[core_set] = None  # its match may have been on these cores

    def match_over(self, sessions: Iterable[Session]) -> None:
        """Note that a match between these sessions is over, whether or not they have joined."""
        for session in sessions:
            if joined := self._joined.get(session.key):
                self._maybe_idle[joined[1].core_set] = None

    def process_of(self, session: Session) -> int | None:
        """The number of a session's process; None if it has none, or has not joined."""
        joined = self._joined.get(session.key)
        return joined[1].process if joined else None

    def core_set_of(self, session: Session) -> int | None:
        """The number of a session's set of cores; None if it has named none."""
        joined = self._joined.get(session.key)
        return joined[1].core_set if joined else None

    def groups(self, tournament: TournamentState) -> Iterator[tuple[int | None, FreeSessions]]:
        """The free sessions for each set of cores without a match, and last those without a set.

        The group of a set has its own sessions first, then those without a set.
        """
        anywhere = list(self._entered(tournament, self._on.get(None, ())))
        for core_set in self._idle():
            if entered := list(self._entered(tournament, self._on[core_set])):
                yield core_set, _by_entrant([*entered, *anywhere])
        yield None, _by_entrant(anywhere)

    def heir(self, tournament: TournamentState, leaver: Session, match: str) -> Session | None:
        """A free session of the leaver's account for its seat in a match.

        It is on the cores of the opponent if possible, and never on those of another match.
        """
        played = self._played()
        found = None
        for each in self._entered(tournament, self._joined):
            if each.room and each.session.is_of(leaver.account):
                others = played.get(each.core_set, set())
                if match in others:
                    return each.session
                if not others:
                    found = found or each.session
        return found

    def _idle(self) -> list[int]:
        """The sets of cores without a match."""
        for core_set in list(self._maybe_idle):
            keys = self._on.get(core_set)
            if not keys:
                self._on.pop(core_set, None)
            if not keys or any(self._joined[key][0].matches for key in keys):
                del self._maybe_idle[core_set]
        return [core_set for core_set in self._maybe_idle if core_set is not None]

    def _entered(self, tournament: TournamentState, keys: Iterable[str]) -> Iterator[_Entered]:
        """The sessions of these keys that play in a tournament, free or not."""
        for session, request in map(self._joined.__getitem__, keys):
            index = tournament.entrants.get(session.skeleton)
            if index is not None and request.tournament in (None, tournament.id):
                yield _Entered(index, session, request)

    def _played(self) -> dict[int | None, set[str]]:
        """The matches on each set of cores that has some."""
        played: dict[int | None, set[str]] = {}
        for session, request in self._joined.values():
            if request.core_set is not None and session.matches:
                played.setdefault(request.core_set, set()).update(session.matches)
        return played


def _by_entrant(entered: Iterable[_Entered]) -> FreeSessions:
    """The free ones of these sessions."""
    free: FreeSessions = {}
    for each in entered:
        if each.room:
            free.setdefault(each.entrant, []).extend([each.session] * each.room)
    return free


@dataclass(frozen=True)
class _Reported:
    """A report, the session that has sent it, and the speed of each core set in it."""

    report: ReportCluster
    session: str
    speeds: Mapping[int, float]


class ClusterReports:
    """The last report about the cluster of each tournament that runs on one."""

    def __init__(self) -> None:
        self._reported: dict[str, _Reported] = {}

    def put(self, report: ReportCluster, session: Session) -> None:
        """Replace the report about a tournament."""
        speeds = {
            core_set: worker.speed
            for worker in report.workers
            if worker.speed is not None
            for core_set in worker.core_sets
        }
        self._reported[report.tournament] = _Reported(report, session.key, speeds)

    def of(self, tournament: str) -> ReportCluster | None:
        """The report about a tournament; None if there is none."""
        reported = self._reported.get(tournament)
        return reported.report if reported else None

    def speed(self, tournament: str, core_set: int | None) -> float | None:
        """The speed of a core set; None if it is unknown."""
        reported = self._reported.get(tournament)
        return reported.speeds.get(core_set) if reported and core_set is not None else None

    def forget(self, tournament: str) -> None:
        """Forget the report about a tournament that is over."""
        self._reported.pop(tournament, None)

    def session_ended(self, session: Session) -> None:
        """Forget the reports of a session that cannot correct them any more."""
        for tournament, each in list(self._reported.items()):
            if each.session == session.key:
                del self._reported[tournament]
