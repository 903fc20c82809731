"""Work of analysts: analyses of positions for people, proofs for tournaments, luck of matches.

At most `Policy.analyses` analyses run at once. The others wait: addresses take turns, and the
analyses of an address start in the order of their requests; while some wait, each has a short turn.
A person has one at a time. Nobody gets help in a match: while an account plays a game, no position
of this game is analysed for it, by whatever name and with whatever parameters: see `Game.family`.
Nor is one for the spectator of a match whose players could gain.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from playout import games
from playout.commands.restarts import BackOff, Restarts
from playout.protocol.analyst import AnalysisOrder, AnalysisReport, LuckOrder, ProofOrder
from playout.protocol.messages import (
    Analyse,
    AnalysisQueued,
    AnalysisUpdate,
    AttemptPuzzle,
    Code,
    Notice,
    OfferedBot,
    Ok,
    StopAnalysis,
)
from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import TournamentSpec, without_folders
from playout.server.core.effects import EndAnalysis, StartAnalysis
from playout.server.core.fair_shares import in_turns
from playout.server.core.handlers.bots import names_of
from playout.server.core.handlers.ladders import Ladders
from playout.server.core.handlers.seeks import normalised_game
from playout.server.core.handlers.tournaments import Tournaments
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext, MatchOver, MatchRoom, TurnBegan
from playout.server.core.rate_limits import Quota, network
from playout.server.core.session_manager import SessionClosed, SessionDisconnected
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.core.timers import Timer
from playout.server.model.offered_bots import by_strength, for_game
from playout.server.model.records import (
    NO_EVALUATION,
    LuckMeasured,
    MatchStarted,
    PuzzleAttempted,
    StoredMatch,
    spelled_luck,
)

#: Seconds that an analysis has while others wait.
TURN_S = 2.0
#: Seconds after its time limit at which an analysis is ended: before its first report, as the
#: process may have to start and to compile, and after it. The process has the lowest priority.
LATE_S = 60.0
LATE_AFTER_REPORT_S = 5.0
#: Seconds for which a position of a tournament is searched for a proof.
PROOF_S = 0.05
#: Number of times that the luck of a match is tried to be measured, until the server starts again.
LUCK_TRIES = 3
_BACK_OFF = BackOff(first_s=0.5, longest_s=30.0)


@dataclass(eq=False)
class _Analysis:
    """An analysis that waits, or runs since `started_at`."""

    session: Session
    address: str
    bot: str
    order: AnalysisOrder
    timer: Timer
    started_at: float | None = None
    #: The time of its first report: the process may have had to start before.
    reported_at: float | None = None
    #: Whether its session was sent that it is over, or is gone.
    is_over: bool = False

    @property
    def id(self) -> str:
        return self.order.analysis


class Analyses:
    """Passes the positions that people ask about to analysts, and the reports back."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        #: By id, in the order of their requests.
        self._waiting: dict[str, _Analysis] = {}
        self._running: dict[str, _Analysis] = {}
        #: The last turn of each address with analyses that has had one.
        self._turns: dict[str, int] = {}
        self._started = 0
        self._quota = Quota(context.policy.analyses_per_hour, "have {} positions analysed")

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running)

    @handles(Analyse)
    def analyse(self, request: Analyse, origin: RequestContext) -> None:
        """Have a position analysed after those that were requested before."""
        session, policy = origin.session, self._context.policy
        game = normalised_game(request.game)
        bot = for_game(self._bot(request.bot), game)
        if self._plays(session, game):
            text = f"you play a match of {game}: its positions are analysed for you when it is over"
            raise Refused(Code.NOT_ALLOWED, text)
        if self._watches(session, game):
            text = (
                f"you watch a running match of {game}, whose players could gain by an analysis: "
                "its positions are analysed when it is over"
            )
            raise Refused(Code.NOT_ALLOWED, text)
        address = network(origin.connection.address)
        self._replace(session)
        self._require_allowed(address, origin.now)
        seconds = min(request.seconds or policy.analysis_s, policy.analysis_s)
        order = AnalysisOrder(
            self._context.new_id(), game, request.moves, bot.player, seconds, request.played
        )
        timer = self._context.timers.new(partial(self._time_is_up, order.analysis))
        analysis = _Analysis(session, address, bot.name, order, timer)
        waits = len(self._running) >= policy.analyses
        self._waiting[order.analysis] = analysis
        place = self._in_turn().index(analysis) + 1 if waits else 0
        self._context.send_to(session, _queued(analysis, place, re=request.id))
        self._start_next(origin.now)

    @handles(StopAnalysis)
    def stop_analysis(self, request: StopAnalysis, origin: RequestContext) -> None:
        """End an analysis of the session; one that is already over is no error."""
        analysis = self._find(request.analysis)
        if analysis and analysis.session is origin.session:
            self._end(analysis, "")
        self._context.send_to(origin.session, Ok(re=request.id))

    def reported(self, report: AnalysisReport, now: float) -> None:
        """Pass on a report of an analyst."""
        analysis = self._running.get(report.analysis)
        if analysis is None:
            return
        if not report.over and self._plays(analysis.session, analysis.order.game):
            self._end(analysis, "you play a match of this game")
        if not analysis.is_over:
            update = AnalysisUpdate(
                analysis=analysis.id,
                info=report.info,
                lines=report.lines,
                over=report.over,
                text=without_folders(report.error),
            )
            self._context.send_to(analysis.session, update)
        if analysis.reported_at is None:
            analysis.reported_at = now
            self._set_timer(analysis, now)
        if report.over:
            analysis.timer.stop()
            del self._running[analysis.id]
            self._start_next(now)

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """End the analyses of a session that has lost its connection."""
        self._forget(event.session)

    def session_closed(self, event: SessionClosed, now: float) -> None:
        """End the analyses of a session that is over."""
        self._forget(event.session)

    def _bot(self, wanted: str | None) -> OfferedBot:
        """The bot that a request names, or the strongest one. Raises Refused."""
        policy = self._context.policy
        if not policy.analyses or not policy.offered:
            raise Refused(Code.NOT_ALLOWED, "this server analyses no positions")
        if wanted is None:
            return by_strength(policy.offered)[0]
        for bot in policy.offered:
            if bot.player == wanted or skeleton(bot.name) == skeleton(wanted):
                return bot
        text = f"{wanted!r} is not among the bots here (there are: {names_of(policy.offered)})"
        raise Refused(Code.NOT_ALLOWED, text)

    def _plays(self, session: Session, game: str) -> bool:
        """Whether the session's account, or a name that looks like it, plays this game now."""
        family = games.load(game).family
        return any(
            each.skeleton == session.skeleton and room.match.game.family == family
            for room in self._context.rooms.running.values()
            for each in room.seats
        )

    def _watches(self, session: Session, game: str) -> bool:
        """Whether the session watches a match of this game that nobody may have analysed yet."""
        family = games.load(game).family
        rooms = (self._context.rooms.running[each] for each in session.watching)
        return any(room.is_withheld and room.match.game.family == family for room in rooms)

    def _require_allowed(self, address: str, now: float) -> None:
        """Raise Refused unless another position can be analysed now for this address.

        If too many wait, the last one of the address with the most of them is ended, unless that is
        this address.
        """
        policy = self._context.policy
        if self._context.closing:
            raise Refused(Code.CLOSING, "the server is about to stop")
        is_full = 0 < policy.analyses_waiting <= len(self._waiting)
        counts = Counter(each.address for each in self._waiting.values())
        largest, count = counts.most_common(1)[0] if counts else ("", 0)
        text = f"{len(self._waiting)} analyses wait, and the queue is full: try again in a minute"
        if is_full and counts[address] + 1 >= count:
            raise Refused(Code.TOO_MANY, text)
        self._quota.require(address, now)
        if is_full:
            self._end(
                [each for each in self._waiting.values() if each.address == largest][-1], text
            )

    def _in_turn(self) -> list[_Analysis]:
        """Return the waiting analyses in the order in which they start."""
        by_address: dict[str, list[_Analysis]] = {}
        for each in self._waiting.values():
            by_address.setdefault(each.address, []).append(each)
        kept = {*by_address, *(each.address for each in self._running.values())}
        self._turns = {each: turn for each, turn in self._turns.items() if each in kept}
        addresses = sorted(by_address, key=lambda each: self._turns.get(each, 0))
        return list(in_turns(by_address[each] for each in addresses))

    def _replace(self, session: Session) -> None:
        """End the analysis of a person, which a new one replaces."""
        for each in [*self._waiting.values(), *self._running.values()]:
            if each.session.skeleton == session.skeleton:
                self._end(each, "another analysis of yours has begun")

    def _start_next(self, now: float) -> None:
        """Start waiting analyses up to the limit, and send the others their places in the queue."""
        started = False
        while self._waiting and len(self._running) < self._context.policy.analyses:
            analysis = self._waiting.pop(self._in_turn()[0].id)
            analysis.started_at, started = now, True
            self._started += 1
            self._turns[analysis.address] = self._started
            self._running[analysis.id] = analysis
            self._context.do(StartAnalysis(analysis.order))
        for running in self._running.values():
            self._set_timer(running, now)
        for place, each in enumerate(self._in_turn() if started else (), start=1):
            self._context.send_to_spectators([each.session], _queued(each, place), after=0)

    def _set_timer(self, analysis: _Analysis, now: float) -> None:
        """Set the time at which an analysis is ended: after a short turn if others wait."""
        assert analysis.started_at is not None
        if analysis.is_over:
            return
        seconds = analysis.order.seconds
        at = analysis.started_at + seconds + LATE_S
        if analysis.reported_at is not None:
            at = analysis.reported_at + (TURN_S if self._waiting else seconds + LATE_AFTER_REPORT_S)
        analysis.timer.set(max(at, now))

    def _find(self, analysis: str) -> _Analysis | None:
        return self._waiting.get(analysis) or self._running.get(analysis)

    def _time_is_up(self, analysis_id: str, now: float) -> None:
        analysis = self._find(analysis_id)
        assert analysis is not None
        if self._waiting:
            self._end(analysis, f"others wait: each analysis has {TURN_S:g} seconds")
        else:
            self._end(analysis, "the server is too busy: try again later")

    def _end(self, analysis: _Analysis, text: str) -> None:
        """Send a session that its analysis is over, and end the work on it."""
        if not analysis.is_over:
            over = AnalysisUpdate(analysis=analysis.id, over=True, text=text)
            self._context.send_to(analysis.session, over)
            self._stop(analysis)

    def _stop(self, analysis: _Analysis) -> None:
        analysis.is_over = True
        analysis.timer.stop()
        if self._waiting.pop(analysis.id, None) is None:
            self._context.do(EndAnalysis(analysis.id))

    def _forget(self, session: Session) -> None:
        for each in [*self._waiting.values(), *self._running.values()]:
            if each.session is session and not each.is_over:
                self._stop(each)


def _queued(analysis: _Analysis, place: int, re: int | str | None = None) -> AnalysisQueued:
    return AnalysisQueued(
        re=re,
        analysis=analysis.id,
        bot=analysis.bot,
        seconds=analysis.order.seconds,
        place=place,
    )


class Puzzles:
    """Stores attempts. The database keeps an account's first attempt at a known puzzle."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context

    @handles(AttemptPuzzle)
    def attempt(self, request: AttemptPuzzle, origin: RequestContext) -> None:
        """Store an attempt. Guests are not rated."""
        account = origin.session.account
        if account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "guests solve puzzles without a rating")
        self._context.store(
            PuzzleAttempted(
                puzzle=request.puzzle,
                account=account.id,
                moves=",".join(map(str, request.moves)),
                at=origin.now + self._context.epoch,
            )
        )
        self._context.send_to(origin.session, Ok(re=request.id))


class Proofs:
    """Passes positions of tournaments to an analyst, and ends the matches that are decided.

    Each position of a match with `MatchRoom.proofs` is searched, when its last move is stored, by
    one analyst for all of these matches. While it works, only the matches that wait are kept: the
    position is the latest one when its turn comes.
    """

    def __init__(self, context: FeatureContext, tournaments: Tournaments) -> None:
        self._context = context
        self._tournaments = tournaments
        #: The ids of the matches whose position is to be searched, in the order of their moves.
        self._waiting: dict[str, None] = {}
        #: The match whose position is being searched, and the order.
        self._searched: tuple[MatchRoom, ProofOrder] | None = None
        self._restarts = Restarts(_BACK_OFF)
        self._timer = context.timers.new(self._start_next)
        #: The last error of an analyst, which may repeat for every position.
        self._error = ""

    def turn_began(self, event: TurnBegan, now: float) -> None:
        """Have the new position of a match searched."""
        if event.room.proofs:
            self._waiting[event.room.match.id] = None
            self._start_next(now)

    def reported(self, report: AnalysisReport, now: float) -> None:
        """End a match whose result is proven, and go on with the next one."""
        if self._searched is None or report.analysis != self._searched[1].analysis:
            return
        room, order = self._searched
        self._searched = None
        if report.error:
            self._failed(room, report.error, now)
        else:
            self._restarts.succeeded()
        if report.winner is not None:
            with contextlib.suppress(Refused):  # the match has gone on, or has ended
                room.adjudicate(len(order.moves), report.winner, now)
        self._start_next(now)

    def _start_next(self, now: float) -> None:
        while self._waiting and self._searched is None and self._restarts.is_due(now):
            match_id = next(iter(self._waiting))
            del self._waiting[match_id]
            if room := self._context.rooms.running.get(match_id):
                match = room.match
                moves = match.position.moves
                order = ProofOrder(self._context.new_id(), str(match.game), moves, PROOF_S)
                self._searched = room, order
                self._context.do(StartAnalysis(order))

    def _failed(self, room: MatchRoom, error: str, now: float) -> None:
        """Have the match searched again after a pause, and send a new error to the watchers."""
        self._waiting[room.match.id] = None
        self._timer.set(now + self._restarts.failed(now))
        if error != self._error:
            self._error = error
            text = f"the result of match {room.match.id} cannot be proven: {error}"
            self._context.log("{text}", {"text": text})
            if room.record.tournament:
                notice = Notice(code="proof_failed", text=without_folders(text))
                self._tournaments.notify(room.record.tournament, notice)


class Luck:
    """Has an analyst measure the luck of each ended match with rolls, and stores it.

    One match is measured after the other, those of running tournaments first. After a failure it
    is tried again after a pause.
    """

    def __init__(self, context: FeatureContext, tournaments: Tournaments, ladders: Ladders) -> None:
        self._context = context
        self._tournaments = tournaments
        self._ladders = ladders
        #: The matches that wait, by id; one of them is being measured.
        self._waiting: dict[str, _Unmeasured] = {}
        self._measured: str | None = None
        self._restarts = Restarts(_BACK_OFF)
        self._timer = context.timers.new(self._start_next)

    def match_over(self, event: MatchOver, now: float) -> None:
        """Have the luck of a match measured, if it has rolls and a result."""
        room, position = event.room, event.room.match.position
        if position.game.has_chance and event.record.winner:
            self._add(room.record, event.record.winner, position.moves, now)

    def restore(self, stored: Iterable[StoredMatch], now: float) -> None:
        """Have the luck of matches measured that ended before the server was started."""
        for each in stored:
            if each.ended:
                moves = tuple(move.action for move in each.moves)
                self._add(each.started, each.ended.winner, moves, now)

    def _add(self, started: MatchStarted, winner: int, moves: tuple[int, ...], now: float) -> None:
        match, spec = started.match, self._tournaments.spec_of(started.tournament)
        evaluation = spec.evaluation if spec else TournamentSpec.evaluation
        order = LuckOrder(match, started.game, moves, started.opening, evaluation)
        self._waiting[match] = _Unmeasured(started, winner, order)
        self._tournaments.await_luck(started.tournament, match)
        self._start_next(now)

    def awaits(self, match: str) -> bool:
        """Return whether the luck of an ended match is still to be measured."""
        return match in self._waiting

    def reported(self, report: AnalysisReport, now: float) -> None:
        """Store the luck of a match, and go on with the next one."""
        if self._measured is None or report.analysis != self._measured:
            return
        self._measured = None
        match = self._waiting.pop(report.analysis)
        match.tries += 1
        if report.luck is None and match.tries < LUCK_TRIES:
            self._waiting[report.analysis] = match
            self._timer.set(now + self._restarts.failed(now))
            return
        self._restarts.succeeded()
        luck = None
        if report.luck is None:
            text = f"the luck of match {report.analysis} cannot be measured: {report.error}"
            self._context.log("{text}", {"text": text})
        else:
            luck = NO_EVALUATION if report.error else spelled_luck(report.luck)
            self._context.store(LuckMeasured(match=report.analysis, luck=luck))
        self._tournaments.luck_measured(match.started, luck, report.error, now)
        self._ladders.luck_measured(match.started, match.winner, luck)
        self._start_next(now)

    def _start_next(self, now: float) -> None:
        if self._waiting and self._measured is None and self._restarts.is_due(now):
            awaited = (
                match
                for match, each in self._waiting.items()
                if self._tournaments.is_running(each.started.tournament or "")
            )
            self._measured = next(awaited, next(iter(self._waiting)))
            self._context.do(StartAnalysis(self._waiting[self._measured].order))


@dataclass
class _Unmeasured:
    """An ended match whose luck is to be measured."""

    started: MatchStarted
    winner: int
    order: LuckOrder
    tries: int = 0
