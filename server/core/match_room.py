"""A match with its players and spectators, from its start to its end.

The room owns its match: each change is made, stored and sent by a method of the room. Players are
sent a move when it is stored, and spectators when nothing else is to be done.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import structs

from playout.protocol.messages import (
    Analysis,
    ClockState,
    Code,
    Ended,
    LegalMove,
    Move,
    OfferClosed,
    Offered,
    OpenOffer,
    Presence,
    Reason,
    RequestId,
    Seat,
    Started,
    Summary,
)
from playout.protocol.time_control import is_correspondence
from playout.protocol.tournament_spec import Adjudication
from playout.server.core.agreements import AgreedScores, How, MatchOffers, decides
from playout.server.core.context import Context, FeatureEvent
from playout.server.core.effects import UpdateRatings
from playout.server.core.fair_shares import FairShares
from playout.server.core.guarded_game import GameFault
from playout.server.core.match import Match, Refused, Status
from playout.server.core.match_spectators import MatchSpectators
from playout.server.core.match_storage import MatchStorage
from playout.server.core.sessions import Session
from playout.server.core.timers import Timer
from playout.server.core.view import Audience, Clocks, GameFailed, MatchView
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    SeatTakenOver,
    converted,
    flat,
)

#: Why a match of a tournament has no result if both players are disconnected when it ends.
_DESERTED = "both players were disconnected"

#: Moves that spectators are sent at once: to draw one takes a third of a millisecond.
_MOVES_AT_ONCE = 4

#: The columns of a move without clocks are null.
_NO_CLOCKS: Any = (ClockState(None, None),) * 2  # type: ignore[arg-type]

#: Seconds in which changes of the number of spectators are collected.
_COUNT_S = 2.0

#: What a bot needs on its clock to be started again, while the opponent is to move.
_TIME_TO_START_S = 30.0

#: What a player by correspondence has at least after a restart of the server.
_LEFT_AFTER_RESTART_S = 3600.0


@dataclass(frozen=True)
class MatchOver(FeatureEvent):
    """A match has ended; `record` is the record of its end."""

    room: MatchRoom
    record: MatchEnded


@dataclass(frozen=True)
class TurnBegan(FeatureEvent):
    """The clock of a player runs, in a match by correspondence or with proofs."""

    room: MatchRoom


@dataclass(frozen=True)
class BotAwaited(FeatureEvent):
    """A player has acted in a match whose bot has no process."""

    room: MatchRoom


#: Ended matches whose ids are remembered, to distinguish them from unknown ones.
ENDED_KEPT = 1000


class Rooms:
    """The rooms of the matches that are being played, and the ids of the last ones that ended."""

    def __init__(self) -> None:
        self.running: dict[str, MatchRoom] = {}
        #: The running matches for lists, those whose bot was ended last.
        self.shares = FairShares[MatchRoom](ranks=2)
        self._ended: OrderedDict[str, None] = OrderedDict()

    def get(self, match_id: str) -> MatchRoom:
        """The room of a match that is being played. Raises Refused."""
        if room := self.running.get(match_id):
            return room
        if match_id in self._ended:
            raise Refused(Code.MATCH_OVER, f"match {match_id} is over")
        raise Refused(Code.UNKNOWN_MATCH, f"there is no match {match_id!r}")

    def played_by(self, match_id: str, session: Session) -> tuple[MatchRoom, Seat]:
        """The room of a running match that a session plays, and its seat. Raises Refused."""
        room = self.get(match_id)
        seat = room.seat_of(session)
        if seat is None:
            raise Refused(Code.NOT_YOUR_MATCH, f"you do not play in match {match_id}")
        return room, seat

    def add(self, room: MatchRoom) -> None:
        """Add the room of a match that begins or continues."""
        self.running[room.match.id] = room
        self.update_share(room)

    def update_share(self, room: MatchRoom) -> None:
        """Count a match in the share of its first player, which may have another address now."""
        if room.match.id not in self.running:
            return
        first = room.seats[0]
        self.shares.add(room, first.network, first.skeleton, int(room.bot_is_away))

    def remove(self, match_id: str) -> None:
        """Remove the room of a match that has ended, and remember its id for a while."""
        if room := self.running.pop(match_id, None):
            self.shares.remove(room)
        self._ended[match_id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)


class FeatureContext(Context):
    """The context with the rooms of the matches."""

    @cached_property
    def rooms(self) -> Rooms:
        """The rooms of the matches that are being played."""
        return Rooms()


class MatchRoom:
    """A match that is being played; `seats` are the sessions of player 1 and player 2."""

    def __init__(
        self,
        context: FeatureContext,
        match: Match,
        seats: tuple[Session, Session],
        record: MatchStarted,
        *,
        draws: bool,
        adjudication: Adjudication | None = None,
    ) -> None:
        """`record` is that of the match's start; `draws`: whether players may offer draws.

        `adjudication`: when a match of a tournament ends early.
        """
        self.match = match
        self.seats = seats
        self.record = record
        #: Whether two accounts play it that have days for a move.
        self.is_correspondence = (
            None not in record.accounts
            and not any(record.bots)
            and not self.is_assigned
            and is_correspondence(match.terms.time_control)
        )
        self._bot_is_away = False
        self.offers = MatchOffers(match, draws=draws, takebacks=not self.is_assigned)
        self._context = context
        #: The win rates of the players, if these may end the match.
        self.scores = AgreedScores(adjudication) if adjudication and decides(adjudication) else None
        #: Whether the match ends when its result is proven.
        self.proofs = adjudication is not None and adjudication.proofs
        self._view = MatchView(context, match)
        #: Whether the game has failed, so that the match ends without result.
        self.game_failed = False
        self.spectators = MatchSpectators(context, match, self._view, record.delay)
        self._storage = MatchStorage(context, record)
        self._clock_timer = _timer(context, match.id, MatchRoom._flag)
        self._count_timer = _timer(context, match.id, MatchRoom._send_spectator_count)
        #: The number of times that the match is held for records.
        self._holds = 0

    @property
    def is_assigned(self) -> bool:
        """Whether a tournament or a ladder has assigned the match to its players."""
        return self.record.tournament is not None or self.record.ladder_pair is not None

    @property
    def is_withheld(self) -> bool:
        """Whether bots may not analyse it yet, because a person who plays it could gain by that.

        Against a bot of the server nobody gains, unless the match is rated.
        """
        has_people = any(each.hello.role != "bot" for each in self.seats)
        return has_people and (self.record.rated or not any(self.record.bots))

    def can_start_again(self, bot: Seat, now: float) -> bool:
        """Whether the bot in this seat loses nothing while it has no process.

        So it is without clocks, and while the opponent's clock runs, if the bot has time to start.
        """
        clocks = self.match.clock_states(now)
        return clocks is None or (
            self.match.to_move != bot and clocks[bot - 1].main_s >= _TIME_TO_START_S
        )

    @property
    def bot_is_away(self) -> bool:
        """Whether the process of its bot was ended, because the opponent is away or idle."""
        return self._bot_is_away

    @bot_is_away.setter
    def bot_is_away(self, is_away: bool) -> None:
        self._bot_is_away = is_away
        self._context.rooms.update_share(self)

    @property
    def may_take_days(self) -> bool:
        """Whether it is played by correspondence, or its bot was ended until the opponent acts."""
        return self.is_correspondence or self.bot_is_away

    def waits_for(self, session: Session) -> bool:
        """Whether the match does not end while this player is disconnected.

        A match against a bot of the server waits after the opponent's first move, and ends by its
        clock, if it has one. A bot whose process was ended is waited for.
        """
        seat, bots = self.seat_of(session), self.record.bots
        if self.is_correspondence or seat is None:
            return self.is_correspondence
        if bots[seat - 1] is not None:
            return self.bot_is_away
        return bots[2 - seat] is not None and not self.is_assigned and self.match.has_moved(seat)

    def seat_of(self, session: Session) -> Seat | None:
        """The seat of a session; None if it does not play here."""
        return 1 if self.seats[0] is session else 2 if self.seats[1] is session else None

    # From the start to the end.

    def begin(self, now: float) -> None:
        """Start the match, store its opening, and send it to both players."""
        self._open()
        self.match.start(now)
        self._context.store(self.record)
        self._storage.begin(self.seats, now)
        for ply in range(self.match.ply):
            self._context.store(self._move_record(ply, self.match.clock_states(now), None, now))
        self._hold()
        self._log("match {match} started: {game}, {first} against {second}, clock {clock}")
        for session in self.seats:
            self._context.send_to(session, self.started(session, now))
        self.settle(now)

    def restore(self, moves: Iterable[MovePlayed], now: float, least_grace_s: float = 0.0) -> None:
        """Continue a match from before the server was started, after the grace period.

        `least_grace_s` is the shortest grace period, in seconds.
        `moves` are those that the players have made. The clock of a match by correspondence has run
        on meanwhile.
        """
        moved_at = self.record.at
        for move in moves:
            moved_at = move.at
            if self.scores and move.seat:  # otherwise no analysis is decoded
                self._count_score(move.seat, move.ply, move.analysis)
            self._storage.restore(move.info)
            if move.seat:  # rolls are sent with the move before them
                self.spectators.show_later(move)
        self._open()
        if self.is_correspondence:
            since = min(now, moved_at - self._context.epoch)  # the clock may have been set back
            self.match.resume(since, by=now + _LEFT_AFTER_RESTART_S)
        else:
            grace_s = max(self._context.policy.restart_grace_s, least_grace_s)
            self.match.resume(now + grace_s)
        if self.proofs:
            self._context.queue(TurnBegan(self))
        self._log("match {match} continues at ply {plies}")
        self.settle(now)

    def restore_ended(self, ended_at: float) -> None:
        """Keep the result of a match that ended before the server was started."""
        self._keep_result(self._ended(), ended_at)
        self._context.rooms.remove(self.match.id)

    def move(self, seat: Seat, request: Move, now: float, lag_s: float) -> bool:
        """Make a move; False if it repeats the move that was made then, and is only answered.

        No clock runs until the move is stored and announced. Raises Refused, as `Match.play`; the
        match may be lost then: call `settle`.
        """
        ply, mover, opponent = request.ply, self.seats[seat - 1], self.seats[2 - seat]
        try:
            played = self.match.play(seat, ply, request.action, now, lag_s)
        except GameFault as fault:
            self._context.queue(GameFailed(self.match.id, fault))
            raise Refused(Code.INTERNAL, str(fault)) from fault
        clocks = self.match.clock_states(now)
        if played:
            info = self._storage.move(mover, request.info, now)
            record = self._move_record(ply, clocks, info, now)
            self._context.store(record)
            for roll in range(ply + 1, self.match.ply):
                self._context.store(self._move_record(roll, clocks, None, now))
            self._hold()
            self.spectators.show_later(record, self._context.records)
            self._count_score(seat, ply, request.info)
            # First, so that the opponent thinks sooner, above all on a core that both share.
            self._send_update(opponent, ply, clocks, None)
        self._send_update(mover, ply, clocks, request.id)
        if played:
            for offer, how in self.offers.moved(seat):
                self._context.send_to_all(self.seats, self.offer_closed(offer, how))
        self.settle(now)
        if self.bot_is_away:
            self._context.queue(BotAwaited(self))
        return played

    def take_back(self, seat: Seat, now: float, origin: Session, re: RequestId | None) -> None:
        """Take moves back to before the last one of `seat`; the message to `origin` has `re`.

        No clock runs until that is stored.
        """
        self.spectators.show()
        ply = self.offers.first_taken_back(seat)
        assert ply is not None
        self.match.take_back(ply, now)
        self.spectators.drop_moves(ply)
        self.offers.taken_back(seat)
        self._view.moves_taken_back()
        at = now + self._context.epoch
        self._context.store(MovesTakenBack(match=self.match.id, ply=ply, at=at))
        self._hold()
        clocks = self.match.clock_states(now)
        for session in self.seats:
            own, legal = re if session is origin else None, self._legal_moves(session, ply)
            message = self._view.taken_back(seat, clocks, _audience(session), own, legal)
            self._context.send_to(session, message)
        self.spectators.send(lambda audience: [self._view.taken_back(seat, clocks, audience)])
        self.settle(now)

    def reseat(self, seat: Seat, session: Session) -> None:
        """Give a seat to another session of the same account."""
        first, second = self.seats
        self.seats[seat - 1].matches.discard(self.match.id)
        self.seats = (session, second) if seat == 1 else (first, session)
        session.matches.add(self.match.id)
        self.spectators.remove(session)
        session.watching.discard(self.match.id)
        self._context.store(SeatTakenOver(match=self.match.id, seat=seat, session=session.key))

    def resign(self, seat: Seat, now: float) -> None:
        """End the match as lost for `seat`. Raises Refused."""
        self.match.resign(seat)
        self.settle(now)

    def crash(self, seat: Seat, error: str, now: float) -> None:
        """End the match as lost for `seat`, whose program failed. Raises Refused."""
        self.match.crash(seat, error)
        self.settle(now)

    def agree_on_draw(self, now: float) -> None:
        """End the match as a tie, as both players want. Raises Refused."""
        self.match.agree_on_draw()
        self.settle(now)

    def agree_on_score(self, lead: float, now: float) -> None:
        """End the match with the score that both players have agreed on. Raises Refused."""
        self.match.agree_on_score(lead)
        self.settle(now)

    def adjudicate(self, ply: int, winner: int, now: float) -> None:
        """End the match with the result that is proven at this ply. Raises Refused."""
        self.match.adjudicate(ply, winner)
        self.settle(now)

    def abandon(self, seat: Seat, now: float) -> None:
        """End the match because a player has left and did not come back."""
        if self._is_deserted:
            self.match.abort(_DESERTED)
        else:
            self.match.abandon(seat)
        self.settle(now)

    def abort(self, text: str, now: float, reason: Reason = Reason.ABORTED) -> None:
        """End the match without result; nothing happens if it has ended."""
        if self.match.status is not Status.ENDED:
            self.match.abort(text, reason)
            self.settle(now)

    def settle(self, now: float) -> None:
        """After a change of the match: set the timer of its clock, or announce its end."""
        context, match = self._context, self.match
        if match.status is not Status.ENDED:
            self._clock_timer.set(match.deadline())
            return
        assert match.result
        record = MatchEnded(
            match=match.id,
            at=now + context.epoch,
            missing=match.missing,
            **flat(**vars(match.result)),
        )
        ended = self._ended()
        context.store(record)
        context.when_stored(lambda _: context.do(UpdateRatings()))
        self._keep_result(ended, now)
        context.send_to_all(self.seats, ended)
        self.spectators.show_all()
        context.send_to_spectators(self.spectators, ended)
        self._log("match {match} ended after {plies} plies: {result} ({reason})")
        self._close()
        context.queue(MatchOver(self, record))

    # Faults of the game.

    def failed(self, event: GameFailed, now: float) -> None:
        """Abort the match, so that nobody loses it by a fault of its game.

        After a fault of drawing it continues without views, unless a player needs them.
        """
        fields = {"fault": event.fault.details}
        if event.is_drawing and not any(each.has_views for each in self.seats):
            self._log("match {match} is not drawn, for its game has failed: {fault}", **fields)
            return
        self.game_failed = True
        self._log("match {match} is aborted, for its game has failed: {fault}", **fields)
        self.abort(str(event.fault), now)

    def _open(self) -> None:
        self._context.rooms.add(self)
        for session in self.seats:
            session.matches.add(self.match.id)

    def _close(self) -> None:
        self._context.rooms.remove(self.match.id)
        self._clock_timer.stop()
        self._count_timer.stop()
        for session in self.spectators:
            session.watching.discard(self.match.id)
        for session in self.seats:
            session.matches.discard(self.match.id)

    def _hold(self) -> None:
        """Hold the match until all records up to now are stored."""
        self.match.hold()
        self._holds += 1
        self._context.when_stored(self._stored)

    def _stored(self, now: float) -> None:
        """Continue the match, unless it waits for further records; show spectators its moves."""
        self._holds -= 1
        if not self._holds and self.match.status is not Status.ENDED:
            self.match.resume(now)
            self._clock_timer.set(self.match.deadline())
            if self.is_correspondence or self.proofs:
                self._context.queue(TurnBegan(self))
        if self.spectators.has_pending_moves:
            self._context.when_idle(self._show_moves)

    def _show_moves(self) -> bool:
        """Send spectators some moves; return whether others are left."""
        self.spectators.show(_MOVES_AT_ONCE)
        return self.spectators.has_pending_moves

    @property
    def _is_deserted(self) -> bool:
        """Whether it is a match of a tournament, and both players are disconnected."""
        left = [each.connection is None for each in self.seats]
        return self.record.tournament is not None and all(left)

    def _flag(self, now: float) -> None:
        deadline = self.match.deadline()
        if deadline is not None and now >= deadline and self._is_deserted:
            self.match.abort(_DESERTED)
        else:
            self.match.flag(now)
        self.settle(now)

    def _count_score(self, seat: Seat, ply: int, info: Analysis | None) -> None:
        """Note the win rate of a move; the match ends if both players agree on its result."""
        if self.scores is None:
            return
        self.scores.moved(seat, ply, info)
        winner = self.scores.winner()
        if winner is not None and self.match.status is Status.PLAYING:
            self.match.adjudicate(self.match.ply, winner, "by the win rates of both players")

    def _keep_result(self, ended: Ended, at: float) -> None:
        """Keep the result for players that are away, until they come back."""
        for session in self.seats:
            session.results_since(at - self._context.policy.reconnect_s)
            session.results.append((at, ended))

    # Spectators.

    @property
    def shown_ply(self) -> int:
        """The number of moves that spectators are shown."""
        return self.match.shown_ply(self.record.delay)

    def shown_clocks(self, now: float) -> Clocks | None:
        """The clocks that spectators are shown; None without clocks."""
        return self._clocks_at(self.shown_ply, now)

    def _clocks_at(self, ply: int, now: float) -> Clocks | None:
        match = self.match
        return match.clock_states(now) if ply == match.ply else match.clock_states_at(ply)

    def watch(self, session: Session, now: float, *, preview: bool) -> None:
        """Send the match to a session from now on; with `preview`, it is no spectator."""
        self.spectators.show()  # so that the session is not sent these moves twice
        hello, names = session.hello, [each.skeleton for each in self.seats]
        analysis = not preview and session.skeleton not in names
        audience = Audience(hello.legal_actions, hello.views, analysis)
        self.spectators.add(session, audience, preview=preview)
        session.watching.add(self.match.id)
        self._recount(now)

    def unwatch(self, session: Session, now: float) -> None:
        """Stop sending the match to a session."""
        self.spectators.remove(session)
        session.watching.discard(self.match.id)
        self._recount(now)

    def send_presence(self, session: Session, now: float) -> None:
        """Send to the others whether a player is connected."""
        if (seat := self.seat_of(session)) is None:
            return
        others = [each for each in self.seats if each is not session and each.has_views]
        views = [each for each in self.spectators if each.has_views]
        if others or views:
            presence = self._presence(seat, now)
            self._context.send_to_all(others, presence)
            self._context.send_to_spectators(views, presence)

    def send_absences(self, session: Session, now: float) -> None:
        """Send a session with views the players that are not connected."""
        seats: tuple[Seat, ...] = (1, 2)
        for seat in seats:
            player = self.seats[seat - 1]
            if session.has_views and player is not session and player.is_away:
                self._context.send_to(session, self._presence(seat, now))

    def _presence(self, seat: Seat, now: float) -> Presence:
        player = self.seats[seat - 1]
        ends_at = player.left_at if player.ends_at is None else player.ends_at
        left_s = ends_at + self._context.policy.reconnect_s - now
        is_limited = player.is_away and not self.waits_for(player)
        seconds = max(0.0, left_s) if is_limited else None
        connected = not player.is_away
        return Presence(match=self.match.id, player=seat, connected=connected, seconds=seconds)

    def _recount(self, now: float) -> None:
        """Send the number of spectators within a few seconds, if it has changed."""
        self._count_timer.set(min(self._count_timer.due_at, now + _COUNT_S))

    def _send_spectator_count(self, now: float) -> None:
        self.spectators.send_count(self.match.id, self.seats)

    # Messages.

    def started(self, session: Session, now: float, re: RequestId | None = None) -> Started:
        """The whole match as one session sees it; spectators are not shown its last moves."""
        match, hello = self.match, session.hello
        seat, views = self.seat_of(session), session.has_views
        ply = match.ply if seat else self.shown_ply
        moves = views and seat == match.to_move
        controls = match.terms.time_controls
        return Started(
            re=re,
            match=match.id,
            game=str(match.game),
            players=match.players,
            seat=seat,
            clock=match.clock_name,
            time_control=controls[(seat or 1) - 1] if controls else None,
            time_controls=controls if controls and controls[0] != controls[1] else None,
            clocks=self._clocks_at(ply, now),
            rated=match.terms.rated,
            delay=0 if seat else self.record.delay,
            commitment=match.dice.commitment if match.dice else None,
            moves=match.position.moves[:ply],
            state=match.position.states[ply],
            to_move=match.to_move if ply == match.ply else match.to_move_at(ply),
            legal_actions=self._view.legal_actions(ply) if hello.legal_actions else None,
            board=self._view.board() if views else None,
            view=self._view.position(ply) if views else None,
            legal_moves=self._view.legal_moves(match.ply) if moves else None,
            offers=self.offers.open if seat else (),
            spectators=self.spectators.count(self.seats) if views else 0,
        )

    def summary(self) -> Summary:
        """The match in one line of a list."""
        match = self.match
        return Summary(
            match=match.id,
            game=str(match.game),
            players=match.players,
            clock=match.clock_name,
            ply=self.shown_ply,
        )

    def offer_closed(self, offer: OpenOffer, how: How) -> OfferClosed:
        """The message about an offer that is open no longer."""
        return converted(OfferClosed, offer, match=self.match.id, how=how)

    def send_players(
        self, message: Offered | OfferClosed, origin: Session, re: RequestId | None
    ) -> None:
        """Send a message to both players; the one to `origin` has the id of its request."""
        if self.bot_is_away:
            self._context.queue(BotAwaited(self))
        for session in self.seats:
            own = structs.replace(message, re=re) if session is origin else message
            self._context.send_to(session, own)

    def _send_update(
        self, session: Session, ply: int, clocks: Clocks | None, re: RequestId | None
    ) -> None:
        legal = None
        if session.hello.views:
            legal = self._legal_moves(session, ply + 1 + len(self.match.rolls_after(ply)))
        update = self._view.update(ply, clocks, _audience(session), re, legal)
        self._context.send_to(session, update)

    def _legal_moves(self, session: Session, ply: int) -> tuple[LegalMove, ...] | None:
        """The legal moves before move number `ply`, for a player with views that makes it."""
        moves = session.has_views and self.seat_of(session) == self.match.to_move_at(ply)
        return self._view.legal_moves(ply) if moves else None

    def _ended(self) -> Ended:
        match = self.match
        assert match.result
        key = match.dice.key if match.dice else None
        return Ended(match=match.id, state=match.state, key=key, **vars(match.result))

    # Records and log lines.

    def _move_record(
        self, ply: int, clocks: Clocks | None, info: str | None, now: float
    ) -> MovePlayed:
        match = self.match
        first, second = clocks or _NO_CLOCKS
        return MovePlayed(  # in 0.4 µs; `flat` would take 4 more, a tenth of a move
            match=match.id,
            ply=ply,
            seat=match.mover(ply),
            action=match.position.moves[ply],
            first_main_s=first.main_s,
            first_periods=first.periods,
            second_main_s=second.main_s,
            second_periods=second.periods,
            info=info,
            at=now + self._context.epoch,
        )

    def _log(self, text: str, **more: object) -> None:
        match = self.match
        fields: dict[str, object] = {
            "match": match.id,
            "game": str(match.game),
            "first": match.players[0],
            "second": match.players[1],
            "clock": match.clock_name,
            "plies": match.ply,
        }
        if match.result:
            fields |= {"result": match.result.text, "reason": match.result.reason.value}
        self._context.log(text, fields | more)


def started_record(
    match: Match, seats: tuple[Session, Session], at: float, **fields: Any
) -> MatchStarted:
    """The record of the start of a match, after its opening; `at` in seconds since 1970.

    `fields` are those of a match of a tournament or a ladder.
    """
    first, second = seats
    terms = match.terms
    return MatchStarted(
        match=match.id,
        game=str(match.game),
        first=match.players[0],
        second=match.players[1],
        first_account=first.account.id if first.account else None,
        second_account=second.account.id if second.account else None,
        first_session=first.key,
        second_session=second.key,
        clock=match.clock_name,
        rated=terms.rated,
        illegal_moves=terms.illegal_moves,
        credit_cap_s=terms.credit_cap_s,
        opening=match.opening_plies,
        max_plies=terms.max_plies,
        dice_key=match.dice.key if match.dice else None,
        first_bot=first.bot_player,
        second_bot=second.bot_player,
        at=at,
        **fields,
    )


def _timer(context: FeatureContext, match: str, call: Callable[[MatchRoom, float], None]) -> Timer:
    """Return a timer that calls a method of the room of a match.

    It has the id of the match: without a cycle of references, an ended match is freed at once. The
    garbage collector rarely visits old objects.
    """
    return context.timers.new(lambda now: call(context.rooms.running[match], now))


def _audience(player: Session) -> Audience:
    """The parts of a position that a player is sent: never the opponent's analysis."""
    return Audience(player.hello.legal_actions, player.has_views, analysis=False)
