"""Runs the ladders of a hub: sessions that enter and leave, due matches, ratings.

A match of a ladder is a rated match like any other, and continues after a restart. Its pair and the
versions of its players are stored with it, and the ladder follows from the stored matches: see
`playout.server.ladder.state`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from playout import games
from playout.protocol.messages import Code, EnterLadder, LeaveLadder, Notice, Ok, Seat
from playout.protocol.names import BadName, checked_version
from playout.ratings.book import LadderOpenings
from playout.ratings.bradley_terry import AVERAGE, Ratings
from playout.ratings.pairing import Meeting, meeting
from playout.ratings.pairs import Opening
from playout.server.core.effects import RateLadder
from playout.server.core.guarded_game import GameFault, faults_of
from playout.server.core.handlers.seeks import normalised_game
from playout.server.core.match import Match, Refused
from playout.server.core.match_room import FeatureContext, MatchOver, MatchRoom, started_record
from playout.server.core.rate_limits import Quota
from playout.server.core.session_manager import SessionDisconnected, SessionManager
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.ladder.standings import LadderTable, ladder_table
from playout.server.ladder.state import (
    LadderPlayer,
    LadderState,
    OwedMatch,
    StoredLadder,
    StoredLuck,
    restore_ladder,
)
from playout.server.model.records import LadderRating, MatchEnded, MatchStarted, total_luck

#: Seconds in which an account that made no first move in a match does not enter the ladder again:
#: doubled for each further one in a row, up to the longest wait.
REENTER_S = 60.0
LONGEST_WAIT_S = 3600.0


@dataclass
class Absence:
    """The last matches in a row in which an account never made a first move."""

    matches: int = 0
    ends_at: float = 0.0

    def missed(self, now: float) -> None:
        """Count one more match, and begin the wait."""
        self.matches += 1
        self.ends_at = now + min(REENTER_S * 2 ** min(self.matches - 1, 10), LONGEST_WAIT_S)


@dataclass(eq=False)
class LadderSession:
    """A session on a ladder.

    `void` counts its last matches in a row without result, or without a first move of its own.
    """

    session: Session
    index: int
    matches: int
    void: int = 0

    @property
    def has_room(self) -> bool:
        """Whether it could play one more match now."""
        return len(self.session.matches) < self.matches


class Ladder:
    """The ladder of one game: its state, its sessions, and its running matches."""

    def __init__(self, state: LadderState, openings: LadderOpenings, clock: str) -> None:
        self.state = state
        self.clock = clock
        self.openings = openings
        self.sessions: dict[str, LadderSession] = {}
        #: The indices of the players of each running match, the first mover first.
        self.running: dict[str, tuple[int, int]] = {}
        #: By account, until it plays again.
        self._absences: dict[str, Absence] = {}
        #: Whether ratings are being computed.
        self.rating = False

    @property
    def is_unused(self) -> bool:
        """Whether it has no sessions, running matches and ended ones, so that nothing is lost."""
        return not (self.sessions or self.running or self.state.has_matches)

    # Matches without a first move.

    def excuse(self, match: Match) -> None:
        """Let a running match be void without a first move only of players that never missed one.

        The others lose it.
        """
        players = (self.state.entries[index].player for index in self.running[match.id])
        match.excused = frozenset(
            seat for seat, each in enumerate(players, 1) if self.state.is_excused(each.account)
        )

    def count_absence(
        self, ended: MatchEnded, players: tuple[LadderPlayer, LadderPlayer], now: float
    ) -> Seat | None:
        """Note the end of a match; return the seat that made no first move, if there is one."""
        for seat, player in enumerate(players, start=1):
            if seat != ended.missing and ended.winner:
                self._absences.pop(player.account, None)
        if ended.missing is not None:
            player = players[ended.missing - 1]
            self.state.count_unplayed(player, void=0 if ended.winner else 1)
            self._absences.setdefault(player.account, Absence()).missed(now)
        return ended.missing

    def require_no_absence(self, account: str, now: float) -> None:
        """Raise Refused while an account waits, after a match without its first move."""
        absence = self._absences.get(account)
        if absence and (wait_s := absence.ends_at - now) > 0:
            text = (
                f"you made no first move in your last match on the ladder of {self.state.game}: "
                f"enter it again in {wait_s:.0f} s"
            )
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    # Players and matches now.

    @property
    def present(self) -> set[int]:
        """The indices of the players that are connected, or play."""
        playing = {index for both in self.running.values() for index in both}
        return playing | {each.index for each in self.sessions.values()}

    def has_others(self, account: str) -> bool:
        """Return whether players of another account are connected, or play."""
        entries = self.state.entries
        return any(entries[index].player.account != account for index in self.present)

    @property
    def meetings(self) -> frozenset[Meeting]:
        """The two players of each running match."""
        return frozenset(meeting(*both) for both in self.running.values())

    def free(self) -> dict[int, LadderSession]:
        """A session of each player that could play one more match now."""
        return {each.index: each for each in self.sessions.values() if each.has_room}


#: Maximum number of ladders that a session is on at once.
MOST_LADDERS = 10
#: Maximum number of versions of an account on a ladder that have no match with a result.
MOST_WITHOUT_RESULT = 20
#: Matches in a row without result after which a session leaves the ladder.
MOST_VOID = 3
#: Begun matches and steps towards an opening in a slice.
STEPS_A_SLICE = 2
#: Seconds that are added to a timer for a time of day: more than the rounding of such times.
_ROUNDING_S = 0.001
#: Seconds in which a version that enters again is not counted again.
_HOUR_S = 3600.0


class Ladders:
    """The ladders of a hub by game."""

    def __init__(self, context: FeatureContext, sessions: SessionManager) -> None:
        self._context = context
        self._rooms = context.rooms
        self._sessions = sessions
        self._ladders: dict[str, Ladder] = {}
        self._beginning = False
        most = context.policy.versions_per_hour
        self._versions, self._versions_of_address = Quota(most, ""), Quota(4 * most, "")
        #: When versions were counted as new, by account, game and version.
        self._counted: dict[tuple[str, str, str], float] = {}
        #: Due when a seat that its session has left may be given to another session.
        self._timer = context.timers.new(self.start_due_matches)
        #: Due when the hours in which matches are paired begin or end, while a ladder has sessions.
        self._hours_timer = context.timers.new(self._hours_changed)

    @handles(EnterLadder)
    def enter(self, request: EnterLadder, origin: RequestContext) -> None:
        """Let a session play on a ladder as the version that the request names."""
        session = origin.session
        if session.account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "only registered players enter a ladder")
        game = normalised_game(request.game)
        if known := self._entered(session, game, request.version):
            known.matches = request.matches
            self._context.send_to(session, Ok(re=request.id))
            self.start_due_matches(origin.now)
        else:
            self._enter(game, request, origin)

    def _entered(self, session: Session, game: str, version: str) -> LadderSession | None:
        """The session on the ladder of a game, if it is there as this version."""
        ladder = self._ladders.get(game)
        known = ladder.sessions.get(session.key) if ladder else None
        if ladder is None or known is None:
            return None
        return known if ladder.state.entries[known.index].player.version == version else None

    def _enter(self, game: str, request: EnterLadder, origin: RequestContext) -> None:
        session = origin.session
        assert session.account
        self._context.require_open("matches")
        try:
            checked_version(request.version)
        except BadName as error:
            raise Refused(Code.INVALID, str(error)) from error
        clock = self._require_open(game)
        if game in self._context.policy.closed_ladders and not session.opened:
            text = f"the ladder of {game} here is for a competition: hand your bot in instead"
            raise Refused(Code.NOT_ALLOWED, text)
        others = sum(session.key in each.sessions for each in self._ladders.values())
        if game not in self._ladders and others >= MOST_LADDERS:
            text = f"a session may be on {MOST_LADDERS} ladders at once, and yours is"
            raise Refused(Code.TOO_MANY, text)
        ladder = self._ladders.get(game) or self._new(LadderState(game), clock)
        player = LadderPlayer(session.account.id, request.version)
        if session.key not in ladder.sessions:
            ladder.require_no_absence(player.account, origin.now)
        if ladder.state.without_result(player) >= MOST_WITHOUT_RESULT:
            most = MOST_WITHOUT_RESULT
            text = f"{most} versions of yours have not finished a match on this ladder yet"
            raise Refused(Code.TOO_MANY, text)
        if not (session.opened or ladder.state.knows(player)):
            self._count_version(session, game, request.version, origin.now)
        self._ladders[game] = ladder  # not before: a refused request leaves no ladder
        index = ladder.state.enter(player)
        ladder.sessions[session.key] = LadderSession(session, index, request.matches)
        self._context.send_to(session, Ok(re=request.id))
        if opens_at := self._opens_at(origin.now):
            self._context.send_to(session, self._closed_notice(opens_at))
        elif not ladder.has_others(player.account):
            self._context.send_to(session, _alone_notice(game))
        self._wait_for_hours(origin.now)
        self.start_due_matches(origin.now)

    def _count_version(self, session: Session, game: str, version: str, now: float) -> None:
        """Count a new version once in an hour. Raises Refused if there were too many.

        Its ladder is forgotten if it leaves without a match.
        """
        assert session.account
        self._counted = {each: at for each, at in self._counted.items() if at > now - _HOUR_S}
        counted = session.account.id, game, version
        if counted in self._counted:
            return
        limits = (
            (session.account.id, self._versions, "an account"),
            (session.network, self._versions_of_address, "an address"),
        )
        for number, (owner, quota, whose) in enumerate(limits):
            if wait_s := quota.take(owner, now):
                for earlier, before, _ in limits[:number]:
                    before.give_back(earlier)
                text = (
                    f"{whose} may enter {quota.per_hour:g} new versions on ladders in an hour; "
                    f"try again in {wait_s:.0f} s, or enter with an earlier version"
                )
                raise Refused(Code.RATE_LIMITED, text, wait_s)
        self._counted[counted] = now

    @handles(LeaveLadder)
    def leave(self, request: LeaveLadder, origin: RequestContext) -> None:
        """Begin no more matches of a session on a ladder."""
        ladder = self._ladders.get(normalised_game(request.game))
        if ladder:
            ladder.sessions.pop(origin.session.key, None)
            self._drop_unused(ladder)
        self._context.send_to(origin.session, Ok(re=request.id))

    def get(self, game: str) -> Ladder | None:
        """Return the ladder of a game, by its name with parameters; None if there is none."""
        return self._ladders.get(game)

    def tables(self, at: float) -> list[LadderTable]:
        """Return the tables of all ladders, those with the most matches first.

        `at`: the time in seconds since 1970.
        """
        ladders = sorted(
            self._ladders.values(), key=lambda each: (-each.state.matches, each.state.game)
        )
        return [self._table(each, at) for each in ladders if each.state.entries]

    def table(self, game: str, at: float) -> LadderTable | None:
        """Return the table of a game's ladder; None for a game without one.

        `at`: the time in seconds since 1970.
        """
        if ladder := self._ladders.get(game):
            return self._table(ladder, at)
        offered = self._context.policy.ladders
        if offered is not None and game not in offered:
            return None
        return self._table(self._new(LadderState(game), self._clock(game)), at)

    # After a restart.

    def restore(self, stored: Iterable[StoredLadder]) -> None:
        """Continue the ladders from before the server was started."""
        for each in stored:
            ladder = self._open(restore_ladder(each), self._clock(each.game))
            self._rate(ladder)

    def restore_match(self, room: MatchRoom) -> None:
        """Note a match of a ladder that continues after a restart."""
        if players := _players(room.record):
            game = str(room.match.game)
            ladder = self._ladders.get(game) or self._open(LadderState(game), self._clock(game))
            first, second = players
            indices = ladder.state.index_of(first), ladder.state.index_of(second)
            ladder.running[room.match.id] = indices
            ladder.excuse(room.match)

    # Events.

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Begin no more matches of a session that has lost its connection."""
        for ladder in list(self._ladders.values()):
            ladder.sessions.pop(event.session.key, None)
            self._drop_unused(ladder)

    def match_over(self, event: MatchOver, now: float) -> None:
        """Count the result of a ladder's match; the end of any match may make a player free."""
        room = event.room
        ladder = self._ladders.get(str(room.match.game)) if room.record.ladder_pair else None
        if ladder and ladder.running.pop(room.match.id, None):
            self._count(ladder, event, now)
            self._send_away(ladder, event)
            self._drop_unused(ladder)
        if self._ladders:
            self.start_due_matches(now)

    def luck_measured(self, started: MatchStarted, winner: int, luck: str | None) -> None:
        """Count the luck of a ladder's match, as it is stored; None if it is not known."""
        ladder, total = self._ladders.get(started.game), total_luck(luck)
        players = _players(started)
        if ladder and players and total is not None:
            ladder.state.count_luck(StoredLuck(players, winner, total))
            self._rate(ladder)

    def rated(self, game: str, ratings: Ratings | None, now: float) -> None:
        """Use the ratings that `RateLadder` has asked for; None if they cannot be computed."""
        ladder = self._ladders[game]
        ladder.rating = False
        if ratings:
            ladder.state.rated(ratings)
            self._store_points(ladder, now)
        self._rate(ladder)

    def _store_points(self, ladder: Ladder, now: float) -> None:
        """Store the new points of the histories of ratings."""
        for each in ladder.state.take_points():
            self._context.store(
                LadderRating(
                    game=ladder.state.game,
                    account=each.player.account,
                    version=each.player.version,
                    matches=each.matches,
                    rating=AVERAGE + each.rating,
                    error=each.error or 0.0,
                    at=now + self._context.epoch,
                )
            )

    # Matches.

    def start_due_matches(self, now: float) -> None:
        """Begin the matches that can begin: the first ones at once, the rest in slices.

        Before that, seats of absent sessions are given to other sessions of the same player.
        """
        for ladder in self._ladders.values():
            self._hand_over_seats(ladder, now)
        if not self._beginning:
            self._beginning = True
            self._context.jobs.start(self._begin_some, now)

    def _begin_some(self, now: float) -> bool:
        """Begin some matches; returns whether there may be more."""
        for _ in range(STEPS_A_SLICE):
            if not any(self._step(each, now) for each in self._by_load(now)):
                self._beginning = False
                return False
        return True

    def _by_load(self, now: float) -> list[Ladder]:
        """The ladders, those with the fewest running matches first; none if no match may begin."""
        most = self._context.policy.ladder_matches
        running = sum(len(each.running) for each in self._ladders.values())
        closed = self._context.closing or self._context.budget.is_full
        if closed or self._opens_at(now) is not None or 0 < most <= running:
            return []
        return sorted(self._ladders.values(), key=lambda each: len(each.running))

    def _step(self, ladder: Ladder, now: float) -> bool:
        """Begin a match, or do a step towards its opening; return whether that was possible.

        If the game fails, the ladder begins no matches until somebody enters again.
        """
        try:
            return self._step_by_the_rules(ladder, now)
        except (GameFault, games.IllegalAction) as fault:
            self._fail(ladder, fault)
            return True

    def _step_by_the_rules(self, ladder: Ladder, now: float) -> bool:
        """Do the work of `_step`.

        Raises GameFault, and IllegalAction for an opening of earlier rules.
        """
        state = ladder.state
        # A player whose process has crashed continues its match before it gets others.
        left = {ladder.running[room.match.id][seat - 1] for room, seat in self._left_seats(ladder)}
        free = {index: each for index, each in ladder.free().items() if index not in left}
        if len(free) < 2:
            return False
        if owed := state.due_owed(free):
            first, second = (state.index_of(each) for each in owed.players)
            self._begin(ladder, (free[first], free[second]), owed.opening, owed.pair, now)
            return True
        pair = state.due_pair(ladder.present, free, ladder.meetings)
        if pair is None:
            return False
        opening = ladder.openings.find()
        if opening is None:
            with faults_of(state.game, "a function called for an opening"):
                ladder.openings.prepare()
        else:
            ladder.openings.used()
            self._begin(ladder, (free[pair[0]], free[pair[1]]), opening, None, now)
        return True

    def _begin(
        self,
        ladder: Ladder,
        players: tuple[LadderSession, LadderSession],
        opening: Opening,
        pair: str | None,
        now: float,
    ) -> None:
        """Begin a match: the second of a pair, or the first without `pair`."""
        context = self._context
        first, second = players
        sessions, indices = (first.session, second.session), (first.index, second.index)
        terms = context.policy.terms(ladder.clock, rated=True)
        game = games.load(ladder.state.game)
        names = (sessions[0].name, sessions[1].name)
        match = context.new_match(game, names, terms, opening)
        first_version, second_version = (
            ladder.state.entries[index].player.version for index in indices
        )
        record = started_record(
            match,
            sessions,
            now + context.epoch,
            ladder_pair=pair or match.id,
            first_version=first_version,
            second_version=second_version,
        )
        ladder.running[match.id] = indices
        ladder.excuse(match)
        MatchRoom(context, match, sessions, record, draws=False).begin(now)

    def _fail(self, ladder: Ladder, fault: Exception) -> None:
        """Remove all sessions from the ladder of a game that has failed."""
        game = ladder.state.game
        details = fault.details if isinstance(fault, GameFault) else str(fault)
        text = "the ladder of {game} begins no matches, for the game has failed: {fault}"
        self._context.log(text, {"game": game, "fault": details})
        sessions = [each.session for each in ladder.sessions.values()]
        notice = Notice(code="ladder_left", text=f"you are not on the ladder of {game}: {fault}")
        self._context.send_to_all(sessions, notice)
        ladder.sessions.clear()
        ladder.openings = self._openings(game)
        self._drop_unused(ladder)

    # Hours.

    def _opens_at(self, now: float) -> float | None:
        """When matches begin again, in seconds since 1970; None while they do."""
        hours, at = self._context.policy.ladder_hours, now + self._context.epoch
        return None if hours is None else hours.opens_at(at)

    def _wait_for_hours(self, now: float) -> None:
        """Set the timer for the next begin or end of the hours."""
        hours, epoch = self._context.policy.ladder_hours, self._context.epoch
        if hours and (at := hours.next_change(now + epoch)):
            self._hours_timer.set(at - epoch + _ROUNDING_S)

    def _hours_changed(self, now: float) -> None:
        """Begin matches, or notify the sessions on ladders that none begin any more."""
        sessions = {
            key: each.session
            for ladder in self._ladders.values()
            for key, each in ladder.sessions.items()
        }
        if not sessions:
            return
        if opens_at := self._opens_at(now):
            self._context.send_to_all(sessions.values(), self._closed_notice(opens_at))
        self._wait_for_hours(now)
        self.start_due_matches(now)

    def _closed_notice(self, opens_at: float) -> Notice:
        hours = self._context.policy.ladder_hours
        at = datetime.fromtimestamp(opens_at, UTC)
        text = (
            f"the ladders of this server pair matches in the hours {hours} only: "
            f"your next one begins at {at:%H:%M} UTC"
        )
        return Notice(code="ladder_closed", text=text)

    # Processes that have crashed.

    def _hand_over_seats(self, ladder: Ladder, now: float) -> None:
        """Give the seats of absent sessions to other sessions of the same player."""
        for room, seat in list(self._left_seats(ladder)):
            heir = ladder.free().get(ladder.running[room.match.id][seat - 1])
            at = room.seats[seat - 1].left_at + self._context.policy.take_over_after_s
            if heir is None:
                continue
            if now < at:
                self._timer.set(min(at, self._timer.due_at))
            else:
                self._sessions.reseat(room, seat, heir.session, now)
                self._context.send_to(heir.session, room.started(heir.session, now))

    def _left_seats(self, ladder: Ladder) -> Iterator[tuple[MatchRoom, Seat]]:
        """The seats of matches on a ladder whose sessions are not connected."""
        for match_id in ladder.running:
            if room := self._rooms.running.get(match_id):
                first, second = room.seats
                if first.connection is None:
                    yield room, 1
                if second.connection is None:
                    yield room, 2

    # Results.

    def _count(self, ladder: Ladder, event: MatchOver, now: float) -> None:
        match, pair = event.room.match, event.room.record.ladder_pair
        players = _players(event.room.record)
        if players is None or pair is None:
            return
        self._count_absence(ladder, event, players, now)
        is_first = pair == match.id
        opening = tuple(match.position.moves[: match.opening_plies])
        if event.record.winner:
            ladder.state.count(players, event.record.winner, event.record.at)
            if is_first:
                ladder.state.owe(OwedMatch(match.id, (players[1], players[0]), opening))
            self._rate(ladder)
        elif not is_first:
            ladder.state.owe(OwedMatch(pair, players, opening))

    def _count_absence(
        self,
        ladder: Ladder,
        event: MatchOver,
        players: tuple[LadderPlayer, LadderPlayer],
        now: float,
    ) -> None:
        """Note a player that never made a first move: from then on it loses such matches."""
        missing = ladder.count_absence(event.record, players, now)
        if missing is None:
            return
        for match_id in ladder.running:
            if room := self._rooms.running.get(match_id):
                ladder.excuse(room.match)
        if not event.record.winner:
            text = (
                f"you made no first move in match {event.room.match.id}, which has no result: from "
                "now on you lose such matches on this ladder"
            )
            notice = Notice(code="ladder_unplayed", text=text)
            self._context.send_to(event.room.seats[missing - 1], notice)

    def _send_away(self, ladder: Ladder, event: MatchOver) -> None:
        """Remove sessions that do not play from the ladder, so that they spoil no more matches."""
        match = event.room.match
        for seat, session in enumerate(event.room.seats, start=1):
            each = ladder.sessions.get(session.key)
            if each is None:
                continue
            if match.missing == seat or (match.missing is None and not event.record.winner):
                each.void += 1
            elif event.record.winner:  # not void, for which the opponent was missing
                each.void = 0
            if each.void == MOST_VOID:
                del ladder.sessions[session.key]
                text = (
                    f"{MOST_VOID} of your matches in a row had no result or no move of yours, so "
                    f"you are no longer on the ladder of {match.game}: enter it again when you can "
                    "play"
                )
                self._context.send_to(session, Notice(code="ladder_left", text=text))

    def _rate(self, ladder: Ladder) -> None:
        """Have the ratings computed, unless nothing has changed or a computation is running."""
        if not ladder.rating and (problem := ladder.state.problem()):
            ladder.rating = True
            self._context.do(RateLadder(ladder.state.game, problem))

    # The rest.

    def _open(self, state: LadderState, clock: str) -> Ladder:
        ladder = self._ladders[state.game] = self._new(state, clock)
        return ladder

    def _new(self, state: LadderState, clock: str) -> Ladder:
        return Ladder(state, self._openings(state.game), clock)

    def _openings(self, game: str) -> LadderOpenings:
        return LadderOpenings(game, lambda: self._context.random.getrandbits(32))

    def _drop_unused(self, ladder: Ladder) -> None:
        """Forget a ladder without sessions, running matches and ended ones."""
        if ladder.is_unused:
            del self._ladders[ladder.state.game]

    def _require_open(self, game: str) -> str:
        """Return the clock of the ladder of a game. Raises Refused if there is none."""
        policy = self._context.policy
        if policy.ladders is not None and game not in policy.ladders:
            names = ", ".join(policy.ladders)
            text = f"the ladders of this server are {names}" if names else "this server has none"
            raise Refused(Code.NOT_ALLOWED, f"there is no ladder of {game} here: {text}")
        return self._clock(game)

    def _table(self, ladder: Ladder, at: float) -> LadderTable:
        hours = self._context.policy.ladder_hours
        return ladder_table(
            ladder.state,
            self._name_of,
            ladder.present,
            clock=ladder.clock,
            hours=str(hours or ""),
            opens_at=hours.opens_at(at) if hours else None,
            playing=len(ladder.running),
        )

    def _name_of(self, account_id: str) -> str:
        account = self._context.accounts.get(account_id)
        return account.name if account else account_id

    def _clock(self, game: str) -> str:
        policy = self._context.policy
        return (policy.ladders or {}).get(game) or policy.ladder_clock


def _alone_notice(game: str) -> Notice:
    text = (
        f"nobody else is on the ladder of {game} now: your first match begins when another bot "
        f'enters, such as one that you start with: playout-player any uct --ladder "{game}"'
    )
    return Notice(code="ladder_alone", text=text)


def _players(started: MatchStarted) -> tuple[LadderPlayer, LadderPlayer] | None:
    """The players of a ladder's match; None for another match, or without the account of one."""
    first, second = started.accounts
    if started.ladder_pair is None or first is None or second is None:
        return None
    return LadderPlayer(first, started.versions[0]), LadderPlayer(second, started.versions[1])
