"""Bots that the server starts: a process for each match against a player that challenged one.

While no process is free, challenges wait in a queue, behind the matches that continue with a bot.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from playout.commands.text import counted
from playout.games.core import spec
from playout.protocol.messages import (
    PROTOCOL,
    ChallengeBot,
    Code,
    Hello,
    Notice,
    OfferedBot,
    Seat,
    Seek,
)
from playout.protocol.names import LONGEST, skeleton
from playout.protocol.tournament_spec import without_folders
from playout.server.core.accounts import digest
from playout.server.core.effects import EndBot, StartBot
from playout.server.core.handlers.seeks import (
    SeekClosed,
    Seeks,
    begin_match,
    normalised,
    require_account,
)
from playout.server.core.lobby import OpenSeek
from playout.server.core.match import Refused, opponent_of
from playout.server.core.match_room import BotAwaited, FeatureContext, MatchOver, MatchRoom
from playout.server.core.rate_limits import Quota, network
from playout.server.core.session_manager import (
    SeatTaken,
    SessionClosed,
    SessionDisconnected,
    SessionManager,
)
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.core.timers import Timer
from playout.server.model.offered_bots import for_game, without_its_folders
from playout.server.model.records import Account, converted

#: Seconds in which a bot must connect after its start, or after its last report that it prepares.
CONNECT_S = 30.0
#: Seconds after which the process of a bot ends, if it can be started again in time: its challenger
#: has lost the connection, or has closed its page or loads another one. The match waits meanwhile.
RETURN_S, RELOAD_S = 5.0, 10.0
#: Seconds without a move after which a bot gives its process up, until its opponent acts. They are
#: counted in whole periods, so that it may take twice as long.
IDLE_S = 180.0
#: Seconds for which a match without a clock waits for a player who left after the first move.
AWAY_S = 7 * 86400.0


# The standing accounts of the bots that the server offers.
#
# The first challenge of a bot makes its account; each process of the bot is a session of it. The id
# of the account follows from the name under which the bot is offered, so that it is found again
# after a restart. The account has no token, so that nobody can log in to it.


class BotAccounts:
    """The bots that can be challenged, and their accounts."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._accounts = context.accounts
        offered = context.policy.offered if context.policy.bots else ()
        #: Each bot as it is offered, by the id of its account; files without their folders.
        self._offered = {_account_id(each.name): without_its_folders(each) for each in offered}
        #: The player specifications with which processes are started, by the public ones.
        self._given = {
            without_folders(player): player
            for each in offered
            for player in (each.player, *each.players.values())
        }

    @property
    def offered(self) -> tuple[OfferedBot, ...]:
        """The bots that can be challenged, by the names of their accounts."""
        named = ((self._name(key, each), each) for key, each in self._offered.items())
        return tuple(
            each if name == each.name else structs.replace(each, name=name) for name, each in named
        )

    def find(self, player: str) -> OfferedBot | None:
        """The bot of this name, or the first of this player specification."""
        public = without_folders(player)
        by_player = (each for each in self.offered if each.player == public)
        return next(by_player, None) or self.named(player)

    def named(self, name: str | None) -> OfferedBot | None:
        """The bot of this name, or one that looks like it."""
        wanted = skeleton(name or "")
        return next((each for each in self.offered if skeleton(each.name) == wanted), None)

    def offers(self, player: str) -> bool:
        """Whether a bot has this player specification."""
        return any(
            player in (each.player, *each.players.values()) for each in self._offered.values()
        )

    def given(self, player: str) -> str:
        """The specification of a player with the folders of its files, to start it."""
        return self._given.get(player, player)

    def reserves(self, name: str) -> bool:
        """Whether a bot without an account has this name, or one that looks like it."""
        wanted = skeleton(name)
        return any(
            skeleton(self._name(key, each)) == wanted
            for key, each in self._offered.items()
            if self._accounts.get(key) is None
        )

    def account(self, bot: OfferedBot, now: float) -> Account:
        """The account of one of the `offered` bots; the first call makes and stores it."""
        for key, each in self._offered.items():
            if self._name(key, each) == bot.name:
                return self._accounts.get(key) or self._new(key, bot.name, now)
        raise KeyError(bot.name)

    def _new(self, key: str, name: str, now: float) -> Account:
        account = Account(id=key, name=name, digest="", created_at=now + self._context.epoch)
        self._accounts.put(account)
        self._context.store(account)
        return account

    def _name(self, key: str, bot: OfferedBot) -> str:
        """The name of a bot's account; it ends in a number if the offered name is taken."""
        if account := self._accounts.get(key):
            return account.name
        return next(name for name in _names(bot.name) if not self._accounts.like(name))


def names_of(bots: Sequence[OfferedBot]) -> str:
    """The names of bots, separated by commas."""
    return ", ".join(each.name for each in bots)


def _names(name: str) -> itertools.chain[str]:
    """The name, then the same with 2, 3 and so on."""
    numbers = itertools.count(2)
    more = (f"{name[: LONGEST - len(f' {number}')]} {number}" for number in numbers)
    return itertools.chain([name], more)


def _account_id(name: str) -> str:
    """The id of a bot's account; those of people are hexadecimal."""
    return f"bot-{digest(skeleton(name))[:12]}"


@dataclass(eq=False)
class _Bot:
    """A process of a bot. Its `session` is made before it connects; only the process has the token.

    `rival` is the session that challenged it. `seek` is open until it connects; None if the match
    began before. `left_timer` is set when the rival loses its connection. At each `idle_timer`, the
    number of moves is compared to `plies`, the one at the timer before.
    """

    session: Session
    player: str
    rival: Session
    seek: OpenSeek | None
    timer: Timer
    left_timer: Timer
    idle_timer: Timer
    plies: int = -1
    connected: bool = False


@dataclass(eq=False)
class _Queued:
    """A challenge that waits for a free process: the open seek, the bot and its account."""

    seek: OpenSeek
    player: str
    account: Account


@dataclass(eq=False)
class _AwayBot:
    """A bot without a process, whose opponent is away or idle; `timer` ends the match."""

    room: MatchRoom
    seat: Seat
    player: str
    timer: Timer
    idle: bool

    @property
    def rival(self) -> Session:
        """The session of the opponent."""
        return self.room.seats[2 - self.seat]

    @property
    def is_awaited(self) -> bool:
        """Whether the opponent is back; one that was idle must have moved or offered something."""
        room = self.room
        is_connected = self.rival.connection is not None
        has_acted = room.match.to_move == self.seat or bool(room.offers.open)
        return is_connected and (has_acted or not self.idle)


class BotManager:
    """The processes of a hub's bots, by the keys of their sessions."""

    def __init__(
        self,
        context: FeatureContext,
        sessions: SessionManager,
        seeks: Seeks,
    ) -> None:
        self.accounts = BotAccounts(context)
        self._context = context
        self._rooms = context.rooms
        self._sessions = sessions
        self._seeks = seeks
        self._bots: dict[str, _Bot] = {}
        #: The bots whose processes were started and have not exited yet.
        self._processes: set[str] = set()
        #: The bots that are started when other processes have exited.
        self._unstarted: dict[str, StartBot] = {}
        #: The bots without a process, by the ids of their matches.
        self._away: dict[str, _AwayBot] = {}
        #: The challenges that wait for a free process, by the ids of their seeks, oldest first.
        self._queue: dict[str, _Queued] = {}
        #: The places in the queue that were sent to sessions, by the keys of these.
        self._places: dict[str, int] = {}
        self._quota = Quota(context.policy.bot_challenges_per_hour, "challenge {} bots")

    @property
    def offered(self) -> tuple[OfferedBot, ...]:
        """The bots that can be challenged."""
        return self.accounts.offered

    @handles(ChallengeBot)
    def challenge_bot(self, request: ChallengeBot, origin: RequestContext) -> None:
        """Start a bot; its match begins when it has connected."""
        self._challenge(self._requested(request), converted(Seek, request), origin)

    @handles(Seek)
    def seek(self, request: Seek, origin: RequestContext) -> None:
        """Start the bot that a seek names as its opponent; other seeks wait in the lobby."""
        bot = self.accounts.named(request.opponent)
        if bot is None:
            self._seeks.seek(request, origin)
            return
        if request.matches > 1:
            text = f"{bot.name} is a bot of this server, which plays one match for each seek"
            raise Refused(Code.INVALID, f"{text}: leave out matches")
        self._challenge(bot, request, origin)

    def _challenge(self, bot: OfferedBot, request: Seek, origin: RequestContext) -> None:
        """Start a bot for a session that seeks a match against it."""
        session = origin.session
        require_account(session, request.rated)
        clock = request.clock or self._context.policy.default_clock
        terms = normalised(structs.replace(request, clock=clock, opponent=bot.name))
        bot = for_game(bot, terms.game)
        self._seeks.require_room(session, 1)
        self._require_allowed(origin)
        account = self.accounts.account(bot, origin.now)
        seek = self._seeks.open(session, terms)
        self._queue[seek.id] = _Queued(seek, bot.player, account)
        self._start_waiting(origin.now)

    def restore(self, room: MatchRoom, now: float) -> None:
        """Start the bots of a match from before a restart, up to the limit of bots.

        A bot that can wait starts when the opponent is back.
        """
        match = room.match
        bots = room.record.bots if match.id in self._rooms.running else ()
        for number, player in enumerate(bots):
            player = player and without_folders(player)  # records of earlier versions have them
            if player is None or not self.accounts.offers(player):
                continue
            seat: Seat = 2 if number else 1
            if self._context.policy.bots and room.can_start_again(seat, now):
                self._wait_for_opponent(room, seat, player, now)
            elif len(self._bots) < self._context.policy.bots:
                self._start_again(room, seat, player, now)

    def connected(self, session: Session, now: float) -> None:
        """Begin the match that waits for this session, or start the bots that it plays."""
        bot = self._bots.get(session.key)
        if bot is None:
            self._start_waiting(now)
            return
        if bot.connected:
            return
        minutes = self._context.policy.bot_minutes
        bot.connected = True
        bot.timer.set(now + minutes * 60 if minutes else None)
        bot.idle_timer.set(now + IDLE_S)
        if bot.seek:
            terms = Seek(game=bot.seek.request.game, opponent=bot.rival.name)
            answer = OpenSeek(self._context.new_id(), session, terms)
            begin_match(self._context, bot.seek, answer, now)

    def process_ended(self, key: str, why: str, now: float) -> None:
        """Note that the process of a bot has exited; a bot that was not ended before has failed."""
        self._processes.discard(key)
        if bot := self._bots.get(key):
            self._fail(bot, why, now)
        self._start_processes()

    def process_starting(self, key: str, what: str, now: float) -> None:
        """Wait longer for a bot that is not ready yet, and notify its rival of the reason."""
        bot = self._bots.get(key)
        if bot is None or bot.connected:
            return
        bot.timer.set(now + CONNECT_S)
        if bot.rival.connection is not None:
            notice = Notice(code="game_compiling", text=f"{bot.session.name} {what}")
            self._context.send_to(bot.rival, notice)

    def __len__(self) -> int:
        return len(self._processes) + len(self._unstarted)

    # Events.

    def seek_closed(self, event: SeekClosed, now: float) -> None:
        """End a bot that was started for a seek, or take its challenge out of the queue."""
        if self._queue.pop(event.seek.id, None):
            self._send_places()
        for bot in list(self._bots.values()):
            if bot.seek is event.seek:
                self._sessions.forget(bot.session, now)

    def seat_taken(self, event: SeatTaken, now: float) -> None:
        """Start the bots of matches that another session of the opponent has taken over."""
        for bot in self._bots.values():
            if bot.session.matches & event.session.matches and bot.session is not event.session:
                bot.rival = event.session
        self._start_waiting(now)

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Set the timer of a challenger that leaves: it may come back within a few seconds."""
        self._places.pop(event.session.key, None)
        for bot in self._bots.values():
            if bot.rival is event.session:
                bot.left_timer.set(now + (RELOAD_S if event.left else RETURN_S))

    def bot_awaited(self, event: BotAwaited, now: float) -> None:
        """Start the bot of a match in which its opponent has acted."""
        self._start_waiting(now)

    def match_over(self, event: MatchOver, now: float) -> None:
        """End the bots of a match."""
        if away := self._away.pop(event.room.match.id, None):
            away.timer.stop()
            self._sessions.end(event.room.seats[away.seat - 1], now)
            self._send_places()
        for session in event.room.seats:
            if session.key in self._bots:
                self._sessions.end(session, now)

    def session_closed(self, event: SessionClosed, now: float) -> None:
        """End the process of a bot whose session is over, and notify a rival that still waits."""
        key = event.session.key
        bot = self._bots.pop(key, None)
        if bot is None:
            return
        self._end_process(bot)
        self._start_waiting(now)
        if bot.seek and self._context.lobby.get(bot.seek.id):
            self._context.lobby.remove(bot.seek.id)
            text = f"{bot.session.name} has failed to start; the log of the server says why"
            self._context.send_to(bot.rival, Notice(code="bot_failed", text=text))

    # The rest.

    def _requested(self, request: ChallengeBot) -> OfferedBot:
        """The bot that is challenged. Raises Refused."""
        offered = self.accounts.offered
        if not offered:
            raise Refused(Code.NOT_ALLOWED, "this server starts no bots: play against a player")
        bot = self.accounts.find(request.player)
        if bot is None:
            raise Refused(Code.NOT_ALLOWED, _not_offered(request.player, offered))
        return bot

    def _require_allowed(self, origin: RequestContext) -> None:
        """Raise Refused if this session has challenged as many bots as it may."""
        policy, session = self._context.policy, origin.session
        rivals = [bot.rival for bot in self._bots.values() if not bot.connected]
        if session in [*rivals, *(each.seek.session for each in self._queue.values())]:
            raise Refused(Code.TOO_MANY, "a bot is being started for you already")
        rivals = [bot.rival for bot in self._bots.values()]
        rivals += [each.seek.session for each in self._queue.values()]
        most = policy.bots_per_account
        if 0 < most <= sum(rival.skeleton == session.skeleton for rival in rivals):
            text = (
                f"you play against {counted(most, 'bot')} of this server, the most for one player: "
                "end one of these matches before you challenge another"
            )
            raise Refused(Code.TOO_MANY, text)
        self._quota.require(network(origin.connection.address), origin.now)

    @property
    def _share(self) -> int:
        """Maximum number of bots for one address: a quarter of all remains for others."""
        most = self._context.policy.bots
        return most - most // 4

    def _may_start(self, rival: Session) -> bool:
        """Whether a process is free, also for the address of a session."""
        near = (bot.rival.network == rival.network for bot in self._bots.values())
        return len(self._bots) < self._context.policy.bots and sum(near) < self._share

    def _new_session(self, name: str, account: Account | None, player: str) -> tuple[Session, str]:
        """A session that a bot will resume, and its token."""
        token = self._context.new_token()
        hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=name)
        session = Session(digest(token), name, hello, account, bot_player=player)
        self._context.registry.add(session)
        return session, token

    def _start(
        self,
        session: Session,
        player: str,
        rival: Session,
        seek: OpenSeek | None,
        game: str,
        token: str,
        now: float,
    ) -> None:
        key, name = session.key, session.name
        timer = self._context.timers.new(partial(self._time_is_up, key))
        timer.set(now + CONNECT_S)
        left_timer = self._context.timers.new(partial(self._end_left, key))
        idle_timer = self._context.timers.new(partial(self._end_idle, key))
        self._bots[key] = _Bot(session, player, rival, seek, timer, left_timer, idle_timer)
        fields = {"bot": name, "player": player, "name": rival.name, "session": rival.label}
        self._context.log("{bot} ({player}) is started for {name}", fields)
        self._unstarted[key] = StartBot(key, name, self.accounts.given(player), game, token)
        self._start_processes()

    def _start_again(self, room: MatchRoom, seat: Seat, player: str, now: float) -> None:
        """Start a new process of a bot, for a match that it has played before."""
        match = room.match
        account = room.seats[seat - 1].account
        session, token = self._new_session(match.players[seat - 1], account, player)
        self._sessions.reseat(room, seat, session, now)
        self._start(session, player, room.seats[2 - seat], None, str(match.game), token, now)

    def _wait_for_opponent(
        self, room: MatchRoom, seat: Seat, player: str, now: float, *, idle: bool = False
    ) -> None:
        """Have a match wait without its bot's process until the opponent is back, or acts."""
        match_id = room.match.id
        room.bot_is_away = True
        timer = self._context.timers.new(partial(self._end_waiting, match_id))
        timer.set(now + AWAY_S)
        self._away[match_id] = _AwayBot(room, seat, player, timer, idle)

    def _start_waiting(self, now: float) -> None:
        """Start the bots of matches that continue, then those of the queue, up to the limits."""
        for match_id, away in list(self._away.items()):
            if away.is_awaited and self._may_start(away.rival):
                del self._away[match_id]
                away.timer.stop()
                away.room.bot_is_away = False
                self._start_again(away.room, away.seat, away.player, now)
        for seek_id, each in list(self._queue.items()):
            seek = each.seek
            if self._context.lobby.get(seek_id) and self._may_start(seek.session):
                del self._queue[seek_id]
                session, token = self._new_session(each.account.name, each.account, each.player)
                game = seek.request.game
                self._start(session, each.player, seek.session, seek, game, token, now)
        self._send_places()

    def _send_places(self) -> None:
        """Send the sessions that wait for a free process their places in the queue, if new."""
        rivals = [away.rival for away in self._away.values() if away.is_awaited]
        rivals += [each.seek.session for each in self._queue.values()]
        before, self._places = self._places, {}
        for place, rival in enumerate(rivals, start=1):
            if rival.key in self._places:  # it waits for several
                continue
            self._places[rival.key] = place
            if place != before.get(rival.key):
                text = f"no bot is free for you yet: your place in the queue is {place}"
                self._context.send_to(rival, Notice(code="bot_queued", text=text))

    def _end_waiting(self, match_id: str, now: float) -> None:
        """End a match whose player was away for too long."""
        away = self._away[match_id]
        rival = opponent_of(away.seat)
        if away.room.seats[rival - 1].connection is not None:
            away.timer.set(now + AWAY_S)
        else:
            away.room.abandon(rival, now)

    def _end_process(self, bot: _Bot) -> None:
        """Stop the timers of a bot, and end its process."""
        key = bot.session.key
        bot.timer.stop()
        bot.left_timer.stop()
        bot.idle_timer.stop()
        self._unstarted.pop(key, None)
        if key in self._processes:
            self._context.do(EndBot(key))

    def _start_processes(self) -> None:
        """Start waiting bots while there are fewer processes than the limit."""
        while self._unstarted and len(self._processes) < self._context.policy.bots:
            key = next(iter(self._unstarted))
            self._processes.add(key)
            self._context.do(self._unstarted.pop(key))

    def _fail(self, bot: _Bot, why: str, now: float) -> None:
        fields = {"bot": bot.session.name, "player": bot.player, "why": why}
        self._context.log("{bot} ({player}) has failed: {why}", fields)
        self._sessions.forget(bot.session, now)

    def _end_left(self, key: str, now: float) -> None:
        """Free the bot of a challenger that is away, unless it has too little time to start again.

        The match waits, once it is the challenger's turn.
        """
        bot = self._bots[key]
        for match_id in list(bot.session.matches) if bot.rival.connection is None else ():
            room = self._rooms.running[match_id]
            seat = room.seat_of(bot.rival)
            if seat and room.match.to_move != seat:
                bot.left_timer.set(now + RELOAD_S)
            elif seat and room.can_start_again(opponent_of(seat), now):
                self._free(bot, room, now, idle=False)

    def _end_idle(self, key: str, now: float) -> None:
        """Free the bot of a match without a clock in which its opponent has not moved."""
        bot = self._bots[key]
        bot.idle_timer.set(now + IDLE_S)
        for match_id in list(bot.session.matches):
            room = self._rooms.running[match_id]
            plies, bot.plies = bot.plies, room.match.ply
            is_idle = plies == room.match.ply and room.match.to_move == room.seat_of(bot.rival)
            if (
                bot.rival.connection
                and is_idle
                and room.match.clock_states(now) is None
                and not room.offers.open
            ):
                self._free(bot, room, now, idle=True)

    def _free(self, bot: _Bot, room: MatchRoom, now: float, *, idle: bool) -> None:
        """End the process of a bot, whose match goes on without it."""
        seat = room.seat_of(bot.session)
        assert seat
        del self._bots[bot.session.key]
        self._end_process(bot)
        self._wait_for_opponent(room, seat, bot.player, now, idle=idle)
        if bot.session.connection is not None:
            self._sessions.close(bot.session.connection, now)
        self._start_waiting(now)

    def _time_is_up(self, key: str, now: float) -> None:
        """End a bot that did not connect in time, or the matches of one whose time is over."""
        bot = self._bots[key]
        if not bot.connected:
            self._fail(bot, f"it did not connect within {CONNECT_S:g} s", now)
            return
        for match_id in list(bot.session.matches):
            minutes = self._context.policy.bot_minutes
            text = f"a bot may play for {minutes:g} minutes, and these are over"
            self._rooms.running[match_id].abort(text, now)


def _not_offered(player: str, offered: Sequence[OfferedBot]) -> str:
    """The error for a bot that is not offered; suggests the weakest one of a similar name."""
    names = {spec.parse(each.player).name: each.name for each in reversed(offered)}
    names |= {each.name: each.name for each in offered}
    near = difflib.get_close_matches(player.partition("(")[0].strip(), names, n=1)
    hint = f"; did you mean {names[near[0]]!r}?" if near else ""
    return f"{player!r} is not among the bots here{hint} (there are: {names_of(offered)})"
