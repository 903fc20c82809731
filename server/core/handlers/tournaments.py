"""Tournaments: requests about them, and their matches, between the sessions that have joined."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from msgspec import structs

from playout import games
from playout.games.core import spec as notation
from playout.protocol.messages import (
    ChangeTournament,
    CheckTournament,
    Code,
    CreateTournament,
    EndTournament,
    Fixture,
    Join,
    Notice,
    Ok,
    ReportCluster,
    Request,
    RequestId,
    TournamentDraft,
    WatchTournament,
    Withdraw,
)
from playout.protocol.names import skeleton
from playout.protocol.time_control import parse_time_control, scaled
from playout.protocol.tournament_spec import Openings, TournamentSpec, dumps, without_folders
from playout.ratings.pairs import OpeningError
from playout.server.core.context import FeatureEvent
from playout.server.core.effects import CheckFile
from playout.server.core.guarded_game import GameFault, faults_of
from playout.server.core.handlers.feeds import TournamentFeed, to_message
from playout.server.core.handlers.hosting import CoreShares, Hosting
from playout.server.core.joined_sessions import ClusterReports, FreeSessions, JoinedSessions
from playout.server.core.match import Refused, Terms
from playout.server.core.match_room import FeatureContext, MatchOver, MatchRoom, started_record
from playout.server.core.session_manager import SessionDisconnected, SessionManager
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.model.records import (
    EntrantWithdrawn,
    MatchStarted,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
    match_without_result,
)
from playout.server.tournament import spec_validation
from playout.server.tournament.state import DueMatch, TournamentState

#: The cost of a slice of work, in plies: playing one takes 20 to 60 microseconds.
SLICE = 200
#: The cost of a step of a creation or of an opening, and of a match without its opening.
STEP_COST = 100
MATCH_COST = 40
#: The matches that are aborted in a slice, 0.2 milliseconds each.
ENDS_A_SLICE = 30
#: The largest factor by which clocks are scaled on slower and on faster cores.
_MOST_SCALED = 4.0
#: Attempts at a pair; if the last one fails for a move that cannot be stored, or for a fault of the
#: game, the tournament ends. Bots that repeat their moves would fail again.
MOST_ATTEMPTS = 3

#: Maximum number of files that are checked at once.
MOST_CHECKS = 4
#: Seconds for entrants that the server starts to come back after a restart, without their clocks.
HOSTED_GRACE_S = 60.0

_Sessions = tuple[Session, Session]
T = TypeVar("T")


@dataclass(frozen=True)
class TournamentOver(FeatureEvent):
    """A tournament is over, by its id; all its matches have ended."""

    tournament: str


class Tournaments:
    """The tournaments of a hub, and the sessions that play in them."""

    def __init__(self, context: FeatureContext, sessions: SessionManager, hosting: Hosting) -> None:
        self._context = context
        self._hosting = hosting
        #: The sessions that wait for checks of files, and the ids of their requests, by number.
        self._checks: dict[int, tuple[Session, RequestId | None]] = {}
        self._check_numbers = itertools.count(1)
        self._rooms = context.rooms
        self._sessions = sessions
        self._joined = JoinedSessions()
        self._feed = TournamentFeed(context, self._joined)
        self._tournaments: dict[str, TournamentState] = {}
        #: Where the entrants run, for the pages.
        self.clusters = ClusterReports()
        #: The tournaments whose pairs are being made, in slices.
        self._pairing: set[str] = set()
        #: The tournaments with more matches to begin.
        self._beginning: set[str] = set()
        #: The ended matches of each tournament whose luck is being measured.
        self._unmeasured: dict[str, set[str]] = {}
        #: Sessions that lost their connection while they played matches of tournaments, by key.
        self._away: dict[str, Session] = {}
        #: Due when a seat that its session has left may be given to another session.
        self._timer = context.timers.new(self.start_due_matches)
        #: Due when the next planned tournament starts.
        self._start_timer = context.timers.new(self._start_planned)
        self._shares = CoreShares()

    def restore(self, tournament: TournamentState) -> None:
        """Add a tournament from before the server was started."""
        self._tournaments[tournament.id] = tournament

    def restore_match(self, room: MatchRoom) -> None:
        """Note that the players of a match from before a restart are not connected yet."""
        for session in room.seats:
            self._note_away(session)

    # Requests.

    @handles(Join)
    def join(self, request: Join, origin: RequestContext) -> None:
        """Let a session play matches of tournaments."""
        session = origin.session
        if session.account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "only registered players join tournaments")
        if request.tournament is not None:
            tournament = self._get(request.tournament)
            if session.skeleton not in tournament.entrants:
                text = f"{session.name!r} is not an entrant of {tournament.spec.name!r}"
                raise Refused(Code.NOT_ALLOWED, text)
        self._joined.put(session, request)
        for tournament in self.running():
            if session.skeleton in tournament.entrants:
                self._continue(tournament, origin.now)
        entered = [
            each.spec.games
            for each in self.running()
            if session.skeleton in each.entrants and request.tournament in (None, each.id)
        ]
        played = tuple(dict.fromkeys(itertools.chain.from_iterable(entered)))
        self._context.send_to(session, Ok(re=request.id, games=played))

    @handles(WatchTournament)
    def watch_tournament(self, request: WatchTournament, origin: RequestContext) -> None:
        """Send a tournament: its state, then its events."""
        tournament = self._get(request.tournament)
        if self._hosting.works(tournament, origin.session):
            self._feed.announce(tournament, to_message(tournament))
        self._send(tournament, request, origin.session, origin.now, from_now=request.from_now)

    @handles(CreateTournament)
    def create_tournament(self, request: CreateTournament, origin: RequestContext) -> None:
        """Begin a tournament and send it, in slices: its specification is checked first."""
        session = origin.session
        _require_ready(request.spec.games)

        def begin(tournament: TournamentState, now: float) -> None:
            tournament.hosted = request.hosted
            if request.hosted:
                self._hosting.add_accounts(request.spec, now)
            self._begin_tournament(tournament, now)
            self._send(tournament, request, session, now)

        self._do_in_slices(self._steps(request), begin, request, origin)

    @handles(CheckTournament)
    def check_tournament(self, request: CheckTournament, origin: RequestContext) -> None:
        """Have the file of a tournament checked, and send its faults."""
        if len(self._checks) >= MOST_CHECKS:
            raise Refused(Code.TOO_MANY, "other files are being checked: try again in a minute")
        number = next(self._check_numbers)
        self._checks[number] = origin.session, request.id
        players = tuple(self._hosting.players)
        self._context.do(CheckFile(number, request.toml, request.values, players))

    def file_checked(self, number: int, draft: TournamentDraft) -> None:
        """Send the result of a check."""
        session, request_id = self._checks.pop(number)
        if session.connection is not None:
            self._context.send_to(session, structs.replace(draft, re=request_id))

    @handles(ChangeTournament)
    def change_tournament(self, request: ChangeTournament, origin: RequestContext) -> None:
        """Pause or continue a tournament, add rounds, replace an entrant or add one."""
        tournament = self._get(request.tournament)
        if tournament.hosted and request.entrant:
            entrant = self._hosting.with_version(request.entrant)
            request = structs.replace(request, entrant=entrant)
        session, changed = origin.session, _changed(tournament, request)

        def steps() -> Iterator[TournamentSpec | None]:
            if changed is not tournament.spec:
                yield from spec_validation.check(replace(changed, openings=Openings()))
                if tournament.hosted:
                    self._hosting.require(changed, tournament.spec)
                elif request.entrant and (request.entrant.player or request.entrant.command):
                    text = "its organizer starts the entrants: the new one has to log in by itself"
                    raise Refused(Code.INVALID, text)
            yield changed

        def change(spec: TournamentSpec, now: float) -> None:
            if _changed(tournament, request) != spec:
                raise Refused(Code.INVALID, "the tournament has changed meanwhile: try again")
            if tournament.hosted and request.entrant:
                self._hosting.add_accounts(spec, now)
            self._change(tournament, spec, request, now)
            if session.connection is not None:
                self._context.send_to(session, Ok(re=request.id))

        self._do_in_slices(steps(), change, request, origin)

    def _change(
        self,
        tournament: TournamentState,
        spec: TournamentSpec,
        request: ChangeTournament,
        now: float,
    ) -> None:
        names = [each.name for each in tournament.spec.entrants]
        if spec is not tournament.spec:
            tournament.change(spec)
        if request.paused is not None:
            tournament.paused = request.paused
        self._context.store(
            TournamentChanged(tournament=tournament.id, spec=dumps(spec), paused=tournament.paused)
        )
        entrant = request.entrant and request.entrant.name
        fields = {"paused": request.paused, "rounds": request.rounds,
                  "replaced": request.replaced, "entrant": entrant}  # fmt: skip
        text = "tournament {tournament} is changed: " + ", ".join(
            f"{key} {{{key}}}" for key, value in fields.items() if value is not None
        )
        self._context.log(text, _log_fields(tournament) | fields)
        self._feed.announce(tournament, to_message(tournament))
        if request.replaced is not None:
            place = next(i for i, name in enumerate(names) if _alike(name, request.replaced))
            left = [key for key, each in tournament.running.items() if names[place] in each.players]
            self._abort(left, "its entrant was replaced", now)
        self._context.when_stored(partial(self._hosting.start, tournament))
        self._continue(tournament, now)

    def _do_in_slices(
        self,
        steps: Iterator[T | None],
        finish: Callable[[T, float], None],
        request: Request,
        origin: RequestContext,
    ) -> None:
        """Do steps until one yields a value, and call `finish` with it; decline errors."""
        session = origin.session

        def do_some(now: float) -> bool:
            try:
                for _ in range(SLICE // STEP_COST):
                    if result := next(steps):
                        finish(result, now)
                        return False
                return True
            except (games.SpecError, OpeningError) as error:
                refused = Refused(Code.BAD_TOURNAMENT, str(error))
            except GameFault as fault:
                text = "a tournament is not created, for its game has failed: {fault}"
                self._context.log(text, {"fault": fault.details})
                refused = Refused(Code.BAD_TOURNAMENT, str(fault))
            except Refused as error:
                refused = error
            if session.connection is not None:
                self._context.decline(session.connection, refused, request.id)
            return False

        self._context.jobs.add(do_some, origin.now)

    @handles(Withdraw)
    def withdraw(self, request: Withdraw, origin: RequestContext) -> None:
        """Continue a tournament without one of its entrants."""
        tournament, name = self._get(request.tournament), request.entrant
        index = tournament.entrants.get(skeleton(name))
        if index is None:
            raise Refused(Code.INVALID, f"{name!r} is not an entrant")
        if index not in tournament.withdrawn and not tournament.over:
            tournament.withdraw(index)
            number, at = len(tournament.withdrawn), origin.now + self._context.epoch
            self._context.store(
                EntrantWithdrawn(tournament=tournament.id, number=number, entrant=index, at=at)
            )
            self._context.log("tournament {tournament} continues without {entrant}",
                              _log_fields(tournament) | {"entrant": name})  # fmt: skip
            self._feed.announce(tournament, to_message(tournament))
            self._continue(tournament, origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(EndTournament)
    def end_tournament(self, request: EndTournament, origin: RequestContext) -> None:
        """End a tournament with its results so far."""
        self._end(self._get(request.tournament), origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(ReportCluster)
    def report_cluster(self, request: ReportCluster, origin: RequestContext) -> None:
        """Note where the entrants of a tournament run."""
        if not self._get(request.tournament).over:
            self.clusters.put(request, origin.session)
        self._context.send_to(origin.session, Ok(re=request.id))

    def _send(
        self,
        tournament: TournamentState,
        request: WatchTournament | CreateTournament,
        session: Session,
        now: float,
        *,
        from_now: bool = False,
    ) -> None:
        if session.connection is not None:  # it may have been lost since the request
            self._context.send_to(session, structs.replace(to_message(tournament), re=request.id))
            self._feed.watch(session, tournament, now, from_now=from_now)

    def _steps(self, request: CreateTournament) -> Iterator[TournamentState | None]:
        """Yields None after each step, and at the end the tournament.

        Raises Refused, SpecError, OpeningError, GameFault.
        """
        spec = request.spec
        answers = games.SpecError, OpeningError
        with faults_of(" or ".join(spec.games), "a function called for a check", but=answers):
            yield from spec_validation.check(spec)
            if request.hosted:
                self._hosting.require(spec)
            tournament = TournamentState(self._context.new_id(), spec)
            yield from tournament.prepare()
        self._context.require_open("tournaments")
        yield tournament

    def _begin_tournament(self, tournament: TournamentState, now: float) -> None:
        context, spec = self._context, tournament.spec
        self._tournaments[tournament.id] = tournament
        at = now + context.epoch
        context.store(
            TournamentCreated(
                tournament=tournament.id,
                name=spec.name,
                spec=dumps(spec),
                at=at,
                hosted=tournament.hosted,
            )
        )
        context.log("tournament {tournament} begins: {name}", _log_fields(tournament))
        context.when_stored(partial(self._hosting.start, tournament))
        self._continue(tournament, now)

    def _get(self, tournament_id: str) -> TournamentState:
        """The tournament of this id. Raises Refused."""
        if tournament := self._tournaments.get(tournament_id):
            return tournament
        text = f"there is no tournament {tournament_id!r}, or it ended long ago"
        raise Refused(Code.UNKNOWN_TOURNAMENT, text)

    def _end(self, tournament: TournamentState, now: float) -> None:
        """End a tournament with its results so far; running matches are aborted."""
        if tournament.over:
            return
        tournament.over = True
        self.clusters.forget(tournament.id)
        at = now + self._context.epoch
        self._context.store(TournamentEnded(tournament=tournament.id, at=at))
        self._context.log("tournament {tournament} is over: {name}", _log_fields(tournament))
        running = deque(tournament.running)

        def abort_some(now: float) -> bool:
            some = [running.popleft() for _ in range(min(ENDS_A_SLICE, len(running)))]
            self._abort(some, "the tournament is over", now)
            if not running:
                self._context.queue(TournamentOver(tournament.id))
            return bool(running)

        self._context.jobs.start(abort_some, now)

    def end_failed(self, tournament_id: str, why: str, now: float) -> None:
        """End a tournament that cannot continue, and send its watchers the reason."""
        tournament = self._tournaments.get(tournament_id)
        if tournament and not tournament.over:
            text = f"tournament {tournament_id} ends: {why}"
            self.notify(tournament_id, Notice(code="tournament_failed", text=text))
            self._end(tournament, now)

    def notify(self, tournament_id: str, notice: Notice) -> None:
        """Send a notice to the watchers of a tournament."""
        self._feed.notify(tournament_id, notice)

    def fixture_of(self, match_id: str) -> Fixture | None:
        """The fixture of a match; None if it belongs to no tournament."""
        found = (each.fixtures.get(match_id) for each in self._tournaments.values())
        return next(filter(None, found), None)

    def running(self) -> list[TournamentState]:
        """Return the tournaments that are not over."""
        return [each for each in self._tournaments.values() if not each.over]

    def is_running(self, tournament_id: str) -> bool:
        """Return whether there is a tournament of this id that is not over."""
        tournament = self._tournaments.get(tournament_id)
        return tournament is not None and not tournament.over

    def spec_of(self, tournament_id: str | None) -> TournamentSpec | None:
        """The specification of a tournament; None if there is none of this id."""
        tournament = self._tournaments.get(tournament_id or "")
        return tournament.spec if tournament else None

    def grace_s(self, tournament_id: str | None) -> float:
        """The shortest time for the entrants to come back after a restart, in seconds."""
        tournament = self._tournaments.get(tournament_id or "")
        return HOSTED_GRACE_S if tournament and tournament.hosted else 0.0

    def start_organizers(self, now: float) -> None:
        """Start the entrants of the tournaments that the server hosts."""
        for tournament in self.running():
            self._hosting.start(tournament, now)

    def _start_planned(self, now: float) -> None:
        """Start the tournaments whose time has come."""
        self.start_organizers(now)
        self.start_due_matches(now)

    def organizer_ended(self, tournament_id: str, why: str, now: float) -> None:
        """Start an organizer that has exited again, unless its tournament is over."""
        tournament = self._tournaments[tournament_id]
        pause_s = self._hosting.ended(tournament, why, now)
        if not tournament.over:
            text = (
                "the organizer of tournament {tournament} {why}; it starts again in {pause_s:g} s"
            )
            self._context.log(text, _log_fields(tournament) | {"why": why, "pause_s": pause_s})
            self._context.timers.new(self.start_organizers).set(now + pause_s)
            self._feed.announce(tournament, to_message(tournament))

    def faults(self, tournament_id: str) -> list[str]:
        """Return why entrants that the server should start do not play, for the pages."""
        tournament = self._tournaments.get(tournament_id)
        return list(self._hosting.faults(tournament)) if tournament else []

    def match_lost(self, match_id: str, tournament_id: str | None, now: float) -> None:
        """Note that a match cannot continue after a restart: its pair is played again."""
        tournament = self._tournaments.get(tournament_id or "")
        if tournament and match_id in tournament.running:
            text, at = "it could not continue after a restart", now + self._context.epoch
            record = match_without_result(match_id, text, at)
            self._context.store(record)
            tournament.match_ended(record, ())

    def await_luck(self, tournament_id: str | None, match_id: str) -> None:
        """Note that the luck of a match is being measured: a tournament does not end before."""
        if self.is_running(tournament_id or ""):
            self._unmeasured.setdefault(tournament_id or "", set()).add(match_id)

    def luck_measured(
        self, started: MatchStarted, luck: str | None, error: str, now: float
    ) -> None:
        """Count the luck of a match; without it, a tournament whose test needs it ends.

        `luck` is as it is stored, None if it could not be measured.
        """
        error = without_folders(error)
        match_id, tournament = started.match, self._tournaments.get(started.tournament or "")
        if tournament is None or match_id not in tournament.fixtures:
            return
        waiting = self._unmeasured.get(tournament.id, set())
        waiting.discard(match_id)
        if fixture := tournament.luck_measured(match_id, luck):
            self._feed.announce(tournament, fixture)
        if error and tournament.spec.tests_without_luck:
            self.end_failed(tournament.id, f"its test needs the luck of matches: {error}", now)
        elif luck is None:
            self.notify(tournament.id, Notice(code="luck_unknown", text=error))
        if not tournament.over:
            self._continue(tournament, now)

    def start_due_matches(self, now: float) -> None:
        """Begin the matches of all tournaments that can begin now."""
        for tournament in self.running():
            if not tournament.over:  # the end of another one may have ended it
                self._continue(tournament, now)

    # Events.

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Remove a session that has lost its connection, as player, watcher and organizer."""
        self._joined.remove(event.session)
        self.clusters.session_ended(event.session)
        self._feed.remove(event.session)
        if event.session.matches:
            self._note_away(event.session)
            self.start_due_matches(now)

    def match_over(self, event: MatchOver, now: float) -> None:
        """Count the result of a match that belongs to a tournament."""
        self._joined.match_over(event.room.seats)
        tournament = self._tournaments.get(event.room.record.tournament or "")
        if tournament is None or event.record.match not in tournament.running:
            return
        self._shares.count(self._hosted(), now)
        changed = tournament.match_ended(event.record, event.room.match.position.moves)
        for fixture in changed:
            self._feed.announce(tournament, fixture)
        if event.room.game_failed and changed[0].attempt >= MOST_ATTEMPTS:
            self.end_failed(tournament.id, event.record.text, now)
        if not tournament.over:
            self._continue(tournament, now)

    def tournament_over(self, event: TournamentOver, now: float) -> None:
        """Send the watchers of a tournament that it is over, after the ends of its matches."""
        tournament = self._tournaments[event.tournament]
        self._feed.announce(tournament, to_message(tournament))
        self.start_due_matches(now)  # its cores are free

    # The rest.

    def _continue(self, tournament: TournamentState, now: float) -> None:
        if pointless := tournament.void_matches:
            # The event of each end calls this method again.
            self._abort(pointless, "the other match of the pair has no result", now)
        elif tournament.needs_pairs:
            self._prepare_pairs(tournament, now)
        elif tournament.is_decided:
            if not self._unmeasured.get(tournament.id):
                self._end(tournament, now)
        elif (at := self._hosting.starts_at(tournament)) > now:
            self._start_timer.set(min(at, self._start_timer.due_at))
        elif not self._context.closing:
            self._hand_over_seats(tournament, now)
            self._begin_matches(tournament, now)

    def _prepare_pairs(self, tournament: TournamentState, now: float) -> None:
        """Make the pairs that follow from the results, in slices, and then continue."""
        if tournament.id in self._pairing:
            return
        self._pairing.add(tournament.id)

        def prepare_some(now: float) -> bool:
            for _ in range(SLICE // STEP_COST):
                if tournament.over or not tournament.needs_pairs:
                    break
                tournament.prepare_pairs()
            else:
                return True
            self._pairing.discard(tournament.id)
            if not tournament.over:
                self._continue(tournament, now)
            return False

        self._context.jobs.add(prepare_some, now)

    def _begin_matches(self, tournament: TournamentState, now: float) -> None:
        """Begin the matches that can begin: the first ones at once, the rest in slices."""
        self._shares.idle.discard(tournament.id)
        if tournament.id not in self._beginning:
            self._beginning.add(tournament.id)
            self._context.jobs.start(lambda now: self._begin_some(tournament, now), now)

    def _begin_some(self, tournament: TournamentState, now: float) -> bool:
        """Begin the first matches of the schedule for which both players are free.

        Returns whether there may be more.
        """
        if tournament.needs_pairs:  # a result has come between two slices
            self._beginning.discard(tournament.id)
            self._continue(tournament, now)
            return False
        cost, most = 0, tournament.spec.concurrency or len(self._joined)
        for core_set, free in self._joined.groups(tournament):
            due = tournament.due(free)
            while self._may_begin(tournament, most, now) and len(free) > 1:
                if cost >= SLICE:
                    return True
                if match := next(due, None):
                    self._begin(tournament, match, _taken(free, match.entrants), now)
                    cost += MATCH_COST + len(match.opening)
                    if core_set is not None:
                        break
                elif tournament.needs_opening:
                    self._prepare_opening(tournament, now)
                    cost += STEP_COST
                    due = tournament.due(free)
                else:
                    break
        self._beginning.discard(tournament.id)
        if tournament.hosted and not self._context.closing:
            if self._next_hosted(now) is tournament:
                self._shares.idle.add(tournament.id)  # it has no match that could begin
            if other := self._next_hosted(now):
                self._begin_matches(other, now)
        return False

    def _may_begin(self, tournament: TournamentState, most: int, now: float) -> bool:
        if tournament.over or tournament.paused or self._context.closing:
            return False
        if tournament.hosted:
            return self._next_hosted(now) is tournament
        return len(tournament.running) < most

    def _hosted(self) -> list[TournamentState]:
        return [each for each in self.running() if each.hosted]

    def _next_hosted(self, now: float) -> TournamentState | None:
        """Return the tournament that may begin a match among those that share the cores."""
        hosted = self._hosted()
        ready = [
            each for each in hosted if not each.paused and self._hosting.starts_at(each) <= now
        ]
        return self._shares.next(hosted, ready, now)

    def _prepare_opening(self, tournament: TournamentState, now: float) -> None:
        """Do a step of the search for an opening; end the tournament if none exists."""
        games_ = " or ".join(tournament.spec.games)
        try:
            with faults_of(games_, "a function called for an opening", but=(OpeningError,)):
                tournament.prepare_opening()
        except (OpeningError, GameFault) as error:
            self._cannot_continue(tournament, error, now)

    def _cannot_continue(self, tournament: TournamentState, error: Exception, now: float) -> None:
        """End a tournament whose game has failed, or whose rules have changed since its begin."""
        why = error.details if isinstance(error, GameFault) else str(error)
        text = "tournament {tournament} cannot continue: {why}"
        self._context.log(text, _log_fields(tournament) | {"why": why})
        self.end_failed(tournament.id, str(error), now)

    def _begin(
        self,
        tournament: TournamentState,
        due: DueMatch,
        sessions: _Sessions,
        now: float,
    ) -> None:
        context, spec = self._context, tournament.spec
        first, second = (spec.entrants[index].name for index in due.entrants)
        core_speed = self._core_speed(tournament, sessions)
        factor = _clock_factor(spec, core_speed)
        controls = tuple(
            scaled(parse_time_control(spec.clock_of(index)), factor) for index in due.entrants
        )
        terms = Terms(
            time_control=controls[0],
            second_time_control=controls[1],
            # Ratings use only matches in which both had the same time, and no first position that
            # an opening has set up: each would be another game.
            rated=controls[0] == controls[1] and not due.fen,
            illegal_moves=0,
            void_late_start=due.slot.is_first_attempt,
            credit_cap_s=context.policy.credit_cap_s,
            max_plies=spec.adjudication.max_plies,
        )
        try:
            game = games.load(due.game)
            game = games.beginning_at(game, due.fen) if due.fen else game
            match = context.new_match(game, (first, second), terms, due.opening)
        except (GameFault, games.IllegalAction, games.SpecError) as error:
            self._cannot_continue(tournament, error, now)
            return
        record = started_record(
            match,
            sessions,
            now + context.epoch,
            tournament=tournament.id,
            fixture=str(due.slot),
            core_speed=core_speed,
            delay=spec.delay,
        )
        room = MatchRoom(
            context,
            match,
            sessions,
            record,
            draws=spec.draw_offers,
            adjudication=spec.adjudication,
        )
        fixture = due.slot.fixture(record)
        tournament.put(fixture)
        room.begin(now)
        self._feed.announce(tournament, fixture)

    def _core_speed(self, tournament: TournamentState, sessions: _Sessions) -> float | None:
        """The speed of the cores that both sessions run on; None if it is unknown."""
        first, second = map(self._joined.core_set_of, sessions)
        return self.clusters.speed(tournament.id, first) if first == second else None

    def _hand_over_seats(self, tournament: TournamentState, now: float) -> None:
        """Give the seats of absent sessions to other sessions of the same account."""
        for room, session in list(self._abandoned_seats(tournament, now)):
            heir = self._joined.heir(tournament, session, room.match.id)
            seat = room.seat_of(session)
            if heir and seat:
                self._sessions.reseat(room, seat, heir, now)
                self._context.send_to(heir, room.started(heir, now))

    def _abandoned_seats(
        self, tournament: TournamentState, now: float
    ) -> Iterator[tuple[MatchRoom, Session]]:
        """The seats of sessions that were away for the required time; sets the timer for others."""
        for key, session in list(self._away.items()):
            if session.connection is not None or not session.matches:
                del self._away[key]
                continue
            at = session.left_at + self._context.policy.take_over_after_s
            for match_id in session.matches & tournament.running.keys():
                if now >= at:
                    yield self._rooms.running[match_id], session
                elif at < self._timer.due_at:
                    self._timer.set(at)

    def _note_away(self, session: Session) -> None:
        rooms = (self._rooms.running.get(match_id) for match_id in session.matches)
        if session.connection is None and any(room and room.record.tournament for room in rooms):
            self._away[session.key] = session

    def _abort(self, matches: Iterable[str], text: str, now: float) -> None:
        for match_id in list(matches):
            if room := self._rooms.running.get(match_id):
                room.abort(text, now)


def _alike(name: str, other: str) -> bool:
    return skeleton(name) == skeleton(other)


def _changed(tournament: TournamentState, request: ChangeTournament) -> TournamentSpec:
    """Return the specification of a running tournament after a change. Raises Refused."""
    spec = tournament.spec
    if tournament.over:
        raise Refused(Code.INVALID, "the tournament is over")
    if request.rounds is not None:
        if not tournament.format.takes_more_rounds:
            text = f"the format {spec.format!r} takes no more rounds"
            raise Refused(Code.INVALID, text)
        if not spec.rounds:
            raise Refused(Code.INVALID, "rounds: their number has no limit already")
        if request.rounds <= spec.rounds:
            text = f"rounds: must be more than {spec.rounds}, not {request.rounds}"
            raise Refused(Code.INVALID, text)
        spec = replace(spec, rounds=request.rounds)
    if request.entrant is None:
        if request.replaced is not None:
            raise Refused(Code.INVALID, "an entrant must take the place of the replaced one")
        return spec
    entrants = list(spec.entrants)
    if request.replaced is None:
        if not tournament.format.takes_late_entrants:
            raise Refused(Code.INVALID, f"the format {spec.format!r} takes no late entrants")
        follows = tournament.format.depends_on_results
        since = tournament.latest_round + 1 if follows else 2
        if follows and 0 < spec.rounds < since:
            text = "the last round is being played: add a round first"
            raise Refused(Code.INVALID, text)
        entrants.append(replace(request.entrant, since=since))
        return replace(spec, entrants=tuple(entrants))
    place = tournament.entrants.get(skeleton(request.replaced))
    if place is None or place in tournament.withdrawn:
        text = f"{request.replaced!r} is no entrant, or is withdrawn: add a late entrant"
        raise Refused(Code.INVALID, text)
    entrants[place] = replace(request.entrant, since=entrants[place].since)
    anchor = spec.anchor if spec.anchor != spec.entrants[place].name else request.entrant.name
    return replace(spec, entrants=tuple(entrants), anchor=anchor)


def _clock_factor(spec: TournamentSpec, core_speed: float | None) -> float:
    """Return how many times as long clocks are on cores of this speed, within bounds."""
    if not spec.core_speed or not core_speed:
        return 1.0
    return min(max(spec.core_speed / core_speed, 1 / _MOST_SCALED), _MOST_SCALED)


def _taken(free: FreeSessions, entrants: tuple[int, int]) -> _Sessions:
    """Take a session of each entrant from the free ones."""
    first, second = (free[index].pop(0) for index in entrants)
    for index in entrants:
        if not free[index]:
            del free[index]
    return first, second


def _log_fields(tournament: TournamentState) -> dict[str, object]:
    return {"tournament": tournament.id, "name": tournament.spec.name}


def _require_ready(texts: Sequence[str]) -> None:
    """Raise NotReady if one of these games is being compiled."""
    for text in texts:
        with contextlib.suppress(games.SpecError):  # checked with the specification
            games.describe(notation.parse(text).name)
