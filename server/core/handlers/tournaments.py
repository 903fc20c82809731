"""Tournaments held here: who is there for them, which match begins next, who follows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

import games
from server.core.match import Match, Refused, Status, Terms
from server.core.match_room import MatchRoom
from server.core.sessions import Session
from server.model.messages import Code, Fixture, Join, Reason, Tournament
from server.model.names import skeleton
from server.model.records import EntrantWithdrawn, MatchEnded, TournamentCreated, TournamentEnded
from server.model.time_control import parse_time_control
from server.model.tournament_spec import TournamentSpec, dumps
from server.tournament import spec_validation
from server.tournament.openings import OpeningError
from server.tournament.state import DueMatch, TournamentState

if TYPE_CHECKING:
    from server.core.hub import Hub


@dataclass(frozen=True)
class _Presence:
    """A session that is there for matches, and how it has entered."""

    session: Session
    request: Join


class TournamentDirector:
    """The tournaments of a hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._contests: dict[str, TournamentState] = {}
        self._present: dict[str, _Presence] = {}
        self._followers: dict[str, dict[str, Session]] = {}

    def take_up(self, contest: TournamentState) -> None:
        """One from before the server was started."""
        self._contests[contest.id] = contest

    def organize(self, spec: TournamentSpec, now: float) -> TournamentState:
        """A tournament begins. Raises Refused."""
        hub = self._hub
        tournament = hub.new_id()
        try:
            spec_validation.check(spec)
            contest = TournamentState(tournament, spec)
        except (games.SpecError, OpeningError) as error:
            raise Refused(Code.BAD_TOURNAMENT, str(error)) from error
        self._contests[tournament] = contest
        at = now + hub.epoch
        hub.store(TournamentCreated(tournament=tournament, name=spec.name, spec=dumps(spec), at=at))
        hub.log("tournament {tournament} begins: {name}", _about(contest))
        self._go_on(contest, now)
        return contest

    def contest(self, tournament: str) -> TournamentState:
        """The one of that id. Raises Refused."""
        if contest := self._contests.get(tournament):
            return contest
        text = f"there is no tournament {tournament!r}, or it was over long ago"
        raise Refused(Code.UNKNOWN_TOURNAMENT, text)

    def enter(self, session: Session, request: Join, now: float) -> None:
        """A session is there for matches. Raises Refused."""
        if request.tournament is not None:
            contest = self.contest(request.tournament)
            if session.skeleton not in contest.entrants:
                text = f"{session.name!r} is not among the entrants of {contest.spec.name!r}"
                raise Refused(Code.NOT_ALLOWED, text)
        self._present[session.key] = _Presence(session, request)
        self.go_on(now)

    def leave(self, session: Session, now: float) -> None:
        """A session is there no more, for matches or to follow."""
        self._present.pop(session.key, None)
        for followers in self._followers.values():
            followers.pop(session.key, None)
        if session.matches:
            self.go_on(now)

    def follow(self, session: Session, contest: TournamentState) -> None:
        """Tell a session all that has happened so far, and from now on what happens."""
        self._followers.setdefault(contest.id, {})[session.key] = session
        for fixture in contest.fixtures.values():
            self._hub.tell(session, self._with_processes(fixture))

    def suspend(self, contest: TournamentState, name: str, now: float) -> None:
        """Go on without an entrant. Raises Refused."""
        place = contest.entrants.get(skeleton(name))
        if place is None:
            raise Refused(Code.INVALID, f"{name!r} is not among the entrants")
        if place in contest.withdrawn or contest.over:
            return
        contest.withdraw(place)
        number, at = len(contest.withdrawn), now + self._hub.epoch
        record = EntrantWithdrawn(tournament=contest.id, number=number, entrant=place, at=at)
        self._hub.store(record)
        self._hub.log("tournament {tournament} goes on without {entrant}",
                      _about(contest) | {"entrant": name})  # fmt: skip
        self._tell(contest, told(contest))
        self._go_on(contest, now)

    def conclude(self, contest: TournamentState, now: float) -> None:
        """It is over."""
        if contest.over:
            return
        contest.over = True
        self._abort(contest.running, "the tournament is over", now)
        self._hub.store(TournamentEnded(tournament=contest.id, at=now + self._hub.epoch))
        self._hub.log("tournament {tournament} is over: {name}", _about(contest))
        self._tell(contest, told(contest))

    def ended(self, table: MatchRoom, finished: MatchEnded, now: float) -> None:
        """A match of a tournament has ended."""
        contest = self._contests.get(table.tournament or "")
        if contest is None or finished.match not in contest.running:
            return
        self._tell(contest, contest.ended(finished, table.match.moves))
        if not contest.over:
            self._go_on(contest, now)

    def lost(self, match_id: str, tournament: str | None, now: float) -> None:
        """A match of a tournament cannot go on after a restart: its pair is played again."""
        contest = self._contests.get(tournament or "")
        if contest and match_id in contest.running:
            text = "it could not go on after a restart"
            self._hub.store(end := void(match_id, text, now + self._hub.epoch))
            contest.ended(end, ())

    def go_on(self, now: float) -> None:
        """Somebody is there, or free, or has been away for long: begin what can begin."""
        for contest in list(self._contests.values()):
            if not contest.over:
                self._go_on(contest, now)

    # The rest.

    def _go_on(self, contest: TournamentState, now: float) -> None:
        self._abort(contest.in_vain(), "the other match of the pair has no result", now)
        if contest.over:  # by the end of one of those
            return
        if contest.is_decided():
            self.conclude(contest, now)
        elif not self._hub.closing:
            self._hand_over(contest, now)
            self._pair_up(contest, now)

    def _pair_up(self, contest: TournamentState, now: float) -> None:
        """Begin the first matches of the schedule whose players are both free."""
        most = contest.spec.concurrency or len(self._present)
        free = self._free(contest)
        for due in contest.due():
            if len(free) < 2 or len(contest.running) >= most:
                return
            first, second = due.entrants
            if free.get(first) and free.get(second):
                sessions = free[first].pop(0), free[second].pop(0)
                free = {place: some for place, some in free.items() if some}
                self._begin(contest, due, sessions, now)

    def _free(self, contest: TournamentState) -> dict[int, list[Session]]:
        """Sessions that could play now, for each entrant."""
        free: dict[int, list[Session]] = {}
        for presence in self._present.values():
            session = presence.session
            place = contest.entrants.get(session.skeleton)
            request = presence.request
            if place is not None and request.tournament in (None, contest.id):
                room = request.matches - len(session.matches)
                if room > 0:
                    free.setdefault(place, []).extend([session] * room)
        return free

    def _begin(
        self, contest: TournamentState, due: DueMatch, sessions: tuple[Session, Session], now: float
    ) -> None:
        hub, spec = self._hub, contest.spec
        first, second = (spec.entrants[place].name for place in due.entrants)
        terms = Terms(
            time_control=parse_time_control(spec.clock),
            rated=True,
            illegal_moves=0,
            credit_cap_s=hub.policy.credit_cap_s,
            max_plies=spec.adjudication.max_plies,
        )
        match = Match(hub.new_id(), games.load(due.game), (first, second), terms)
        match.open(due.opening)
        table = MatchRoom(
            match,
            sessions,
            tournament=contest.id,
            fixture=str(due.slot),
            opening=len(due.opening),
        )
        fixture = contest.began(table.begun(now + hub.epoch))
        hub.begin(table, now)
        self._tell(contest, fixture)

    def _hand_over(self, contest: TournamentState, now: float) -> None:
        """Who has been away for long is replaced by another session of the same account."""
        for table, session in list(self._deserted(contest, now)):
            place = contest.entrants.get(session.skeleton, -1)
            heirs = [s for s in self._free(contest).get(place, ()) if s.is_of(session.account)]
            seat = table.seat_of(session)
            if heirs and seat:
                self._hub.reseat(table, seat, heirs[0], now)
                self._hub.tell(heirs[0], table.started(heirs[0], now))

    def _deserted(
        self, contest: TournamentState, now: float
    ) -> Iterator[tuple[MatchRoom, Session]]:
        """Seats whose session has been away for long; of others, the hub is asked to look again."""
        for match_id in contest.running:
            if table := self._hub.tables.get(match_id):
                for session in table.seats:
                    if session.connection is None:
                        at = session.left_at + self._hub.policy.claim_after_s
                        if now >= at:
                            yield table, session
                        else:
                            self._hub.look_at_tournaments(at)

    def _abort(self, matches: Iterable[str], text: str, now: float) -> None:
        for match_id in list(matches):
            table = self._hub.tables.get(match_id)
            if table and table.match.status is not Status.ENDED:
                table.match.abort(text)
                self._hub.settle(table, now)

    def _tell(self, contest: TournamentState, event: Fixture | Tournament) -> None:
        followers = self._followers.get(contest.id)
        if followers:
            if isinstance(event, Fixture):
                event = self._with_processes(event)
            self._hub.tell_all(followers.values(), event)

    def _with_processes(self, fixture: Fixture) -> Fixture:
        """As long as it is played, it is known by whom."""
        table = self._hub.tables.get(fixture.match)
        if table is None or fixture.winner is not None:
            return fixture
        first, second = (self._present.get(session.key) for session in table.seats)
        numbers = (first and first.request.process, second and second.request.process)
        return structs.replace(fixture, processes=numbers)


def told(contest: TournamentState) -> Tournament:
    """What those who follow a tournament are told of it."""
    return Tournament(
        tournament=contest.id,
        spec=contest.outline,
        over=contest.over,
        withdrawn=tuple(contest.withdrawn),
    )


def void(match_id: str, text: str, at: float) -> MatchEnded:
    """The end of a match without a result."""
    return MatchEnded(
        match=match_id, winner=0, returns=(0.0, 0.0), reason=Reason.ABORTED, text=text, at=at
    )


def _about(contest: TournamentState) -> dict[str, object]:
    return {"tournament": contest.id, "name": contest.spec.name}
