"""The whole server without its sockets: each call takes the time and returns effects.

Effects are to be carried out in the order in which they are returned. Durable messages wait until
the records before them are stored: see `committed`.

The time of a request is that of its arrival: after a stall it may be a few milliseconds before the
time of the last call. The times of other calls never decrease.

Features do the work. The hub makes them, receives calls, finds the handler of a request, and passes
the events that features have queued to the features that listen for them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from playout.protocol.analyst import AnalysisReport
from playout.protocol.messages import Closing, Code, Request, RequestId, Sender, TournamentDraft
from playout.ratings.bradley_terry import Ratings
from playout.server.core.context import FeatureEvent
from playout.server.core.effects import Effect, TellDisconnection
from playout.server.core.handlers.administration import Administration
from playout.server.core.handlers.analyses import Analyses, Luck, Proofs, Puzzles
from playout.server.core.handlers.bots import BotManager
from playout.server.core.handlers.feeds import LadderFeed, LobbyFeed
from playout.server.core.handlers.hello import Greeting
from playout.server.core.handlers.hosting import Hosting
from playout.server.core.handlers.ladders import Ladders
from playout.server.core.handlers.logins import Logins
from playout.server.core.handlers.play import Play
from playout.server.core.handlers.push import PushNotices
from playout.server.core.handlers.reports import CheckedReport, Reports
from playout.server.core.handlers.seeks import SeekClosed, Seeks
from playout.server.core.handlers.tournaments import TournamentOver, Tournaments
from playout.server.core.match import Refused
from playout.server.core.match_room import (
    BotAwaited,
    FeatureContext,
    MatchOver,
    MatchRoom,
    TurnBegan,
)
from playout.server.core.policy import Policy
from playout.server.core.recovery import Recovery
from playout.server.core.session_manager import (
    SeatTaken,
    SessionClosed,
    SessionDisconnected,
    SessionManager,
)
from playout.server.core.sessions import RequestContext, handlers_of
from playout.server.core.view import GameFailed
from playout.server.ladder.state import StoredLadder
from playout.server.model.records import Account, Record, StoredMatch, StoredTournament

Listener = Callable[[Any, float], None]


class Hub:
    """The entry of the core: receives calls, finds handlers, and returns effects."""

    def __init__(
        self,
        policy: Policy | None = None,
        source: random.Random | None = None,
        software: str = "",
        accounts: Iterable[Account] = (),
        epoch: float = 0.0,
        started_at: float = 0.0,
        version_of: Callable[[str], str] = lambda player: "",
    ) -> None:
        """`software` is the name of the server with its version; `version_of` returns a player's.

        In seconds since 1970: `epoch` is when `now` was 0, `started_at` is the time now, or a later
        one, so that new ids come after the stored ones.
        """
        self._context = context = FeatureContext(policy, source, epoch, started_at, accounts)
        self.accounts = context.accounts
        self.registry = context.registry
        self.lobby = context.lobby
        self._sessions = sessions = SessionManager(context)
        self._seeks = seeks = Seeks(context)
        self.bots = bots = BotManager(context, sessions, seeks)
        self.lobby_feed = feed = LobbyFeed(context)
        greeting = Greeting(context, sessions, bots, software)
        hosting = Hosting(context, sessions, bots, greeting, version_of)
        self.tournaments = tournaments = Tournaments(context, sessions, hosting)
        self._proofs = proofs = Proofs(context, tournaments)
        self.ladders = ladders = Ladders(context, sessions)
        self._luck = luck = Luck(context, tournaments, ladders)
        self.ladder_feed = ladder_feed = LadderFeed(context, ladders)
        self.analyses = analyses = Analyses(context)
        push = PushNotices(context)
        self._recovery = Recovery(context, sessions, bots, tournaments, ladders)
        administration = Administration(context, sessions, greeting, bots, analyses, tournaments)
        play = Play(context, sessions)
        self._logins = logins = Logins(context, sessions)
        subjects = (greeting, logins, administration, seeks, bots, play, feed, tournaments, ladders)
        self._reports = reports = Reports(context)
        more = (ladder_feed, analyses, push, Puzzles(context), reports)
        handlers = handlers_of((*subjects, *more))
        self._handlers = {
            (sender, kind): handler for kind, handler in handlers.items() for sender in kind.sent_by
        }
        #: The methods that each event calls, in this order.
        self._listeners: dict[type[FeatureEvent], tuple[Listener, ...]] = {
            MatchOver: (
                seeks.match_over,
                feed.match_over,
                bots.match_over,
                luck.match_over,
                tournaments.match_over,
                ladders.match_over,
                push.match_over,
                self._stop_after_last_match,
            ),
            SessionDisconnected: (
                seeks.session_disconnected,
                tournaments.session_disconnected,
                ladders.session_disconnected,
                ladder_feed.session_disconnected,
                feed.session_disconnected,
                bots.session_disconnected,
                analyses.session_disconnected,
                self._tell_disconnection,
            ),
            SeatTaken: (bots.seat_taken,),
            BotAwaited: (bots.bot_awaited,),
            SessionClosed: (seeks.session_closed, bots.session_closed, analyses.session_closed),
            SeekClosed: (bots.seek_closed,),
            TurnBegan: (push.turn_began, proofs.turn_began),
            GameFailed: (self._game_failed,),
            TournamentOver: (tournaments.tournament_over,),
        }
        self._stopped = False
        self._stop_timer = context.timers.new(self._stop_now)

    @property
    def policy(self) -> Policy:
        """The operator's settings, which do not change."""
        return self._context.policy

    @property
    def rooms(self) -> Mapping[str, MatchRoom]:
        """The matches that are being played, by id."""
        return self._context.rooms.running

    @property
    def analyses_dropped(self) -> int:
        """How many analyses of moves were not stored because of a limit."""
        return self._context.budget.dropped

    # Connections.

    def connect(
        self, connection: int, address: str | None, now: float, *, is_own: bool = False
    ) -> list[Effect]:
        """Note a new connection, by a number that is not used again.

        `address` is None until a proxy has announced it: see `locate`. `is_own`: the connection of
        a process of the server, such as a bot, which counts towards no limit.
        """
        self._sessions.connect(connection, address, now, is_own=is_own)
        return self._finish_call(now)

    def locate(self, connection: int, address: str, now: float) -> list[Effect]:
        """Note the address of a connection."""
        self._sessions.locate(connection, address, now)
        return self._finish_call(now)

    def receive(
        self, connection: int, request: Request, now: float, lag_s: float = 0.0
    ) -> list[Effect]:
        """Handle a request; `lag_s` is the network's round trip in seconds."""
        origin = self.registry.connections.get(connection)
        if origin is None:  # closed after the request was sent
            return []
        session = origin.session
        sender = session.sender if session else Sender.NEWCOMER
        try:
            self._sessions.count_message(origin, now)
            handler = self._handlers.get((sender, type(request)))
            if handler is None:
                raise Refused(Code.NOT_ALLOWED, f"{request.tag()} is not allowed {sender.value}")
            if request.administrators_only and not (session and session.is_administrators):
                raise Refused(Code.NOT_ALLOWED, f"{request.tag()} is for administrators")
            handler(request, RequestContext(origin, now, lag_s))
        except Refused as refused:
            self._context.decline(connection, refused, request.id)
        return self._finish_call(now)

    def refuse(
        self, connection: int, code: Code, text: str, now: float, re: RequestId | None = None
    ) -> list[Effect]:
        """Answer a frame that could not be decoded with an error."""
        if origin := self.registry.connections.get(connection):
            refused = Refused(code, text)
            try:
                self._sessions.count_message(origin, now)
            except Refused as limited:
                refused = limited
            self._context.decline(connection, refused, re)
        return self._finish_call(now)

    def disconnect(self, connection: int, now: float, *, left: bool = False) -> list[Effect]:
        """Remove a connection whose file is closed; a session with matches may come back.

        `left`: whether a page has closed it, which loses no connection otherwise.
        """
        self._sessions.closed(connection, now, left=left)
        return self._finish_call(now)

    def is_playing(self, connection: int) -> bool:
        """Return whether the session of a connection plays a match."""
        known = self.registry.connections.get(connection)
        return bool(known and known.session and known.session.matches)

    def silent(self, connection: int, left_s: float | None, now: float) -> list[Effect]:
        """Note that a client does not answer, and that its connection ends in `left_s` seconds.

        None: it answers again.
        """
        self._sessions.silent(connection, left_s, now)
        return self._finish_call(now)

    # Storage.

    def committed(self, number: int, now: float) -> list[Effect]:
        """Release the messages and matches that waited for the records up to `number`."""
        self._context.release(number, now)
        return self._finish_call(now)

    def record_rejected(self, record: Record, now: float) -> list[Effect]:
        """End the match, tournament or session of a record that cannot be stored.

        The caller then calls `committed` with the number of the record.
        """
        self._recovery.rejected(record, now)
        return self._finish_call(now)

    def storage_fails(self, fails: bool, now: float) -> list[Effect]:
        """Tell all sessions that storage fails, or that it works again."""
        self._sessions.storage_fails(fails)
        return self._finish_call(now)

    def database_measured(self, size: int, now: float) -> list[Effect]:
        """Note how many bytes the database has: above its limit it stores less, see `Policy`."""
        budget, most_mb = self._context.budget, self.policy.database_mb
        full = 0 < most_mb * 1e6 <= size
        if full != budget.is_full:
            budget.is_full = full
            fields = {"size_mb": round(size / 1e6), "database_mb": most_mb, "full": full}
            text = "the database has {size_mb} of {database_mb:g} MB: " + (
                "no analysis is stored and no match begins" if full else "all is stored again"
            )
            self._context.log(text, fields)
            self.ladders.start_due_matches(now)
        return self._finish_call(now)

    def restore_tournaments(self, stored: Iterable[StoredTournament]) -> None:
        """Add the tournaments from before the server was started; then call `restore_matches`."""
        self._recovery.tournaments(stored)

    def restore_ladders(self, stored: Iterable[StoredLadder], now: float) -> list[Effect]:
        """Add the ladders from before the server was started; then call `restore_matches`."""
        self._recovery.ladders(stored)
        return self._finish_call(now)

    def restore_matches(self, stored: Iterable[StoredMatch], now: float) -> list[Effect]:
        """Continue the matches from before the server was started."""
        self._recovery.matches(stored, now)
        return self._finish_call(now)

    def organizer_ended(self, tournament: str, why: str, now: float) -> list[Effect]:
        """Note that the organizer of a tournament has exited."""
        self.tournaments.organizer_ended(tournament, why, now)
        return self._finish_call(now)

    def file_checked(self, check: int, draft: TournamentDraft, now: float) -> list[Effect]:
        """Send the result of the check of a tournament's file."""
        self.tournaments.file_checked(check, draft)
        return self._finish_call(now)

    def awaits_luck(self, match: str) -> bool:
        """Return whether the luck of an ended match is still to be measured."""
        return self._luck.awaits(match)

    def measure_luck(self, stored: Iterable[StoredMatch], now: float) -> list[Effect]:
        """Have the luck of matches measured that ended before the server was started.

        Call it before `restore_matches`, so that tournaments wait for it.
        """
        self._luck.restore(stored, now)
        return self._finish_call(now)

    def account_changed(self, account: Account, now: float) -> list[Effect]:
        """Use an account that an operator has changed or added."""
        self._sessions.account_changed(self.accounts.put(account), account, now)
        return self._finish_call(now)

    # Time.

    def stalled(self, seconds: float) -> None:
        """Note a stall of `seconds`, during which `now` did not advance.

        So clocks and timers did not run; only the time of day went on.
        """
        self._context.epoch += seconds

    def wake(self, now: float) -> list[Effect]:
        """Call the timers that are due, at the time of the last `WakeAt`."""
        self._context.woken()
        for timer in self._context.timers.due(now):
            timer.call(now)
            self._handle_events(now)
        return self._finish_call(now)

    @property
    def has_pending_moves(self) -> bool:
        """Whether moves wait to be sent to spectators: see `show`."""
        return self._context.has_idle_work

    def show(self, now: float) -> list[Effect]:
        """Send spectators some moves; the driver calls it when nothing else is to be done."""
        self._context.work_idly()
        return self._finish_call(now)

    def password_checked(self, check: int, result: str, now: float) -> list[Effect]:
        """Use the result of a check that `CheckPassword` has asked for."""
        self._logins.password_checked(check, result, now)
        return self._finish_call(now)

    def report_checked(self, found: CheckedReport, now: float) -> list[Effect]:
        """Use the result of a check that `CheckReport` has asked for."""
        self._reports.checked(found, now)
        return self._finish_call(now)

    def ladder_rated(self, game: str, ratings: Ratings | None, now: float) -> list[Effect]:
        """Use the ratings of a ladder that `RateLadder` has asked for.

        None if they cannot be computed: the ladder is rated again after its next match.
        """
        self.ladders.rated(game, ratings, now)
        return self._finish_call(now)

    def analysis_reported(self, report: AnalysisReport, now: float) -> list[Effect]:
        """Pass on an analyst's report of a position."""
        self.analyses.reported(report, now)
        self._proofs.reported(report, now)
        self._luck.reported(report, now)
        return self._finish_call(now)

    def store(self, records: Iterable[Record], now: float) -> list[Effect]:
        """Store records that were computed outside of the hub, such as ratings."""
        for each in records:
            self._context.store(each)
        return self._finish_call(now)

    def bot_ended(self, bot: str, why: str, now: float) -> list[Effect]:
        """Note that the process of a bot has exited, by itself or after `EndBot`."""
        self.bots.process_ended(bot, why, now)
        return self._finish_call(now)

    def bot_starting(self, bot: str, what: str, now: float) -> list[Effect]:
        """Note what the process of a bot does that has not connected yet."""
        self.bots.process_starting(bot, what, now)
        return self._finish_call(now)

    def stop(self, now: float, grace_s: float) -> list[Effect]:
        """Start no new matches; running matches have `grace_s` seconds to end.

        The server does not wait for stored matches that may last for days.
        """
        self._context.closing = True
        self._seeks.close_all()
        closing = Closing(seconds=grace_s, kept=self.policy.stored)
        self._context.send(tuple(self.registry.connections), closing)
        if self._awaits_matches and grace_s > 0:
            self._stop_timer.set(now + grace_s)
        else:
            self._stop_now(now)
        return self._finish_call(now)

    @property
    def _awaits_matches(self) -> bool:
        """Whether matches are being played whose end a stopping server waits for."""
        return any(not (self.policy.stored and room.may_take_days) for room in self.rooms.values())

    def _stop_now(self, now: float) -> None:
        """Leave stored matches for the next start; without storage, abort them."""
        if self.policy.stored or not self.rooms:
            self._close_connections(now)
            return
        for room in list(self.rooms.values()):  # the end of the last one closes the connections
            room.abort("the server stopped", now)

    def _game_failed(self, event: GameFailed, now: float) -> None:
        # A fault before it in this call may have ended the match.
        if room := self.rooms.get(event.match):
            room.failed(event, now)

    def _tell_disconnection(self, event: SessionDisconnected, now: float) -> None:
        session, context = event.session, self._context
        if session.matches and not context.closing:
            terms = session.name, session.account is None, tuple(session.matches)
            context.do(TellDisconnection(now + context.epoch, *terms))

    def _stop_after_last_match(self, event: MatchOver, now: float) -> None:
        # Several matches may have ended in one call.
        if self._context.closing and not self._awaits_matches and not self._stopped:
            self._close_connections(now)

    def _close_connections(self, now: float) -> None:
        self._stopped = True
        self._sessions.close_all(now)
        self._stop_timer.stop()
        self._context.stop()

    # The end of each call.

    def _finish_call(self, now: float) -> list[Effect]:
        if self._context.events:
            self._handle_events(now)
        return self._context.take_effects()

    def _handle_events(self, now: float) -> None:
        events = self._context.events
        while events:
            event = events.popleft()
            for listener in self._listeners[type(event)]:
                listener(event, now)
