"""Keeps the hub and the database consistent: restores what is stored, ends what cannot be stored.

When the server starts, matches, tournaments and ladders from before continue. While it runs, the
database may reject a record. Every value that a client or an operator can choose has bounds that
all databases can hold, so this happens only for values that were overlooked, and for games of third
parties. The match, tournament or session that lacks the record ends; everything else continues.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from playout import games
from playout.protocol.messages import PROTOCOL, Ended, Event, Hello, Reason, Seat, TakenBack, Update
from playout.protocol.names import skeleton
from playout.protocol.time_control import parse_time_controls
from playout.server.core.guarded_game import GameFault, faults_of
from playout.server.core.handlers.bots import BotManager
from playout.server.core.handlers.ladders import Ladders
from playout.server.core.handlers.tournaments import MOST_ATTEMPTS, Tournaments
from playout.server.core.match import Match, Result, Terms
from playout.server.core.match_room import FeatureContext, MatchRoom
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import Session
from playout.server.ladder.state import StoredLadder
from playout.server.model.records import (
    NOT_STORED,
    Account,
    AccountRenamed,
    EntrantWithdrawn,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    StoredMatch,
    StoredTournament,
    TournamentChanged,
    TournamentCreated,
)
from playout.server.tournament.ledger import UNREADABLE, parse_slot
from playout.server.tournament.state import TournamentState


class Recovery:
    """Restores matches, tournaments and ladders, and ends those that cannot be stored."""

    def __init__(
        self,
        context: FeatureContext,
        sessions: SessionManager,
        bots: BotManager,
        tournaments: Tournaments,
        ladders: Ladders,
    ) -> None:
        self._context = context
        self._accounts = context.accounts
        self._sessions = sessions
        self._bots = bots
        self._tournaments = tournaments
        self._ladders = ladders
        #: The ids of stored tournaments that cannot continue; their matches do.
        self._unrestored: set[str] = set()

    # What an earlier server has stored.

    def tournaments(self, stored: Iterable[StoredTournament]) -> None:
        """Add tournaments; their matches are restored after them."""
        for each in stored:
            try:
                with faults_of("one of its games", "a function called for a check", but=UNREADABLE):
                    self._tournaments.restore(TournamentState.restored(each))
            except (*UNREADABLE, GameFault) as error:
                text = "tournament {tournament} cannot continue, and stays as it is: {why}"
                self._context.log(
                    text, {"tournament": each.created.tournament, "why": _details(error)}
                )
                self._unrestored.add(each.created.tournament)

    def ladders(self, stored: Iterable[StoredLadder]) -> None:
        """Add ladders; their matches are restored after them."""
        self._ladders.restore(stored)

    def matches(self, stored: Iterable[StoredMatch], now: float) -> None:
        """Continue matches, whose players are expected back.

        The players of matches that have ended are sent the result when they come back.
        """
        for each in stored:
            match_id = each.started.match
            try:
                room = self._room_of(each)
            except (games.SpecError, games.IllegalAction, GameFault) as error:
                text = "match {match} cannot continue, and stays as it is: {why}"
                self._context.log(text, {"match": match_id, "why": _details(error)})
                self._tournaments.match_lost(match_id, each.started.tournament, now)
                continue
            for session in room.seats:
                self._sessions.expect(session, now)
            if each.ended:
                room.restore_ended(each.ended.at - self._context.epoch)
            else:
                self._ladders.restore_match(room)
                grace_s = self._tournaments.grace_s(each.started.tournament)
                room.restore(each.moves[each.started.opening :], now, grace_s)
                self._tournaments.restore_match(room)
                self._bots.restore(room, now)
                self._abort_if_left(room, now)
        self._tournaments.start_due_matches(now)
        self._tournaments.start_organizers(now)

    def _abort_if_left(self, room: MatchRoom, now: float) -> None:
        """Abort a match whose tournament has ended, or has replaced one of its players.

        That is stored before the ends of such matches.
        """
        tournament = room.record.tournament
        if tournament is None or tournament in self._unrestored:
            return
        if not self._tournaments.is_running(tournament):
            room.abort("the tournament is over", now)
        elif spec := self._tournaments.spec_of(tournament):
            entrants = {skeleton(each.name) for each in spec.entrants}
            if not entrants.issuperset(map(skeleton, room.record.players)):
                room.abort("its entrant was replaced", now)

    def _room_of(self, stored: StoredMatch) -> MatchRoom:
        """The room of a stored match, with the sessions of its players, known or new.

        Raises games.SpecError or games.IllegalAction if the rules have changed since; GameFault.
        """
        started = stored.started
        spec = self._tournaments.spec_of(started.tournament)
        return MatchRoom(
            self._context,
            _match_of(stored),
            (self._session(started, 1), self._session(started, 2)),
            started,
            draws=spec.draw_offers if spec else not (started.tournament or started.ladder_pair),
            adjudication=spec.adjudication if spec else None,
        )

    def _session(self, started: MatchStarted, seat: Seat) -> Session:
        key, name = started.sessions[seat - 1], started.players[seat - 1]
        hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=name)
        account = self._accounts.get(started.accounts[seat - 1])
        known = self._context.registry.sessions.get(key)
        return known or Session(key, name, hello, account, is_restored=True, login=None)

    # Records that the database rejects.

    def rejected(self, record: Record, now: float) -> None:
        """End the match, tournament or session of a record that the database cannot hold."""
        match record:
            case Account():
                self._forget(record, now)
            case AccountRenamed():
                if account := self._accounts.get(record.account):
                    before = structs.replace(account, name=record.before)
                    self._sessions.account_changed(self._accounts.put(before), before, now)
            case TournamentCreated() | TournamentChanged() | EntrantWithdrawn():
                self._tournaments.end_failed(record.tournament, NOT_STORED, now)
            case MatchStarted() | MovePlayed() | MovesTakenBack() | SeatTakenOver() | MatchEnded():
                self._end_match(record, now)

    def _forget(self, account: Account, now: float) -> None:
        if self._accounts.get(account.id):
            self._accounts.remove(account)
        for session in list(self._context.registry.sessions.values()):
            if session.is_of(account):
                self._sessions.kick(session, f"your account cannot be used: {NOT_STORED}", now)

    def _end_match(
        self,
        record: MatchStarted | MovePlayed | MovesTakenBack | SeatTakenOver | MatchEnded,
        now: float,
    ) -> None:
        """End a match without result; moves and results that are not stored are never announced."""
        match_id = record.match
        ply = record.ply if isinstance(record, MovePlayed) else None

        def corrected(message: Event) -> Event | None:
            if isinstance(message, Update) and message.match == match_id:
                return message if ply is None or message.next_ply <= ply else None
            if isinstance(message, TakenBack) and message.match == match_id:
                return None
            if isinstance(message, Ended) and message.match == match_id:
                return _without_result(message)
            return message

        self._context.revise(corrected)
        fixture = self._tournaments.fixture_of(match_id)
        room = self._context.rooms.running.get(match_id)
        # Another attempt is useless if the result counts already, or if the start cannot be stored.
        hopeless = room is None or isinstance(record, MatchStarted)
        if fixture and (hopeless or fixture.attempt >= MOST_ATTEMPTS):
            self._tournaments.end_failed(fixture.tournament, NOT_STORED, now)
        elif room:
            if ply is not None:
                room.spectators.drop_moves(ply)
            room.abort(NOT_STORED, now)


def _details(error: Exception) -> str:
    return error.details if isinstance(error, GameFault) else str(error)


def _match_of(stored: StoredMatch) -> Match:
    started, controls = stored.started, parse_time_controls(stored.started.clock)
    game = games.load(started.game)
    if game.has_chance and started.dice_key is None:
        raise games.SpecError("the key of its rolls is not stored")
    match = Match(
        started.match,
        game,
        started.players,
        Terms(
            time_control=controls[0] if controls else None,
            second_time_control=controls[1] if controls else None,
            rated=started.rated,
            illegal_moves=started.illegal_moves,
            credit_cap_s=started.credit_cap_s,
            void_unmoved=started.tournament is None,
            void_late_start=started.fixture is not None
            and parse_slot(started.fixture).is_first_attempt,
            max_plies=started.max_plies,
        ),
        started.dice,
    )
    moves = ((played.action, played.clocks) for played in stored.moves)
    end = stored.ended
    result = Result(end.winner, end.returns, end.reason, end.text) if end else None
    match.restore(moves, started.opening, result)
    return match


def _without_result(ended: Ended) -> Ended:
    return structs.replace(
        ended, winner=0, returns=(0.0, 0.0), reason=Reason.ABORTED, text=NOT_STORED
    )
