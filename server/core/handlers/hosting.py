"""The tournaments that the server hosts: it starts their entrants that have a player.

Their players are those of the server's bots, which the operator chose, so that nobody starts other
programs through a tournament. For each tournament with such entrants an *organizer* runs, a process
of the server. It follows from what is stored: it is started when the tournament is stored, after a
restart of the server, and again when it has exited, after a pause that grows with each failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from playout.commands.restarts import BackOff, Restarts
from playout.games import SpecError
from playout.protocol.messages import PROTOCOL, Code, Hello
from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.core.accounts import digest
from playout.server.core.effects import StartOrganizer
from playout.server.core.handlers.bots import BotManager
from playout.server.core.handlers.hello import Greeting
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import Session
from playout.server.model.records import Account
from playout.server.tournament.spec_validation import hosted_faults
from playout.server.tournament.state import TournamentState

#: The pauses before an organizer that has exited is started again.
BACK_OFF = BackOff(2.0, 300.0)
#: Seconds after whose start an organizer counts as working.
WORKS_S = 60.0
#: The largest error of a sum of shares.
_ROUNDING = 1e-9
#: The name of the organizers, and the beginning of the ids of entrants' accounts.
_NAME, _ENTRANT = "organizer", "entrant-"


@dataclass
class _Organizer:
    """The process of a tournament: whether it runs, since when, and why the last one exited.

    The `fault` is empty while the process works: from the time when it watches its tournament.
    """

    restarts: Restarts = field(default_factory=lambda: Restarts(BACK_OFF))
    runs: bool = False
    started_at: float = 0.0
    fault: str = ""


class CoreShares:
    """Shares the cores among the tournaments that the server hosts, by their weights.

    A match uses 1 / concurrency of the cores, so that matches of all tournaments together use at
    most all. The tournament that is next has used the fewest seconds of all cores, divided by its
    weight. It need not make up for more than `LAG_S` of these in which it had no match to begin.
    """

    LAG_S = 60.0

    def __init__(self) -> None:
        #: The seconds of all cores that each tournament has used, divided by its weight.
        self._used: dict[str, float] = {}
        self._at = 0.0
        #: The tournaments that had no match to begin when they were next.
        self.idle: set[str] = set()

    def count(self, hosted: Iterable[TournamentState], now: float) -> None:
        """Count the use of running matches; to be called before one begins or has ended."""
        elapsed, self._at = now - self._at, now
        used = {
            each.id: self._used[each.id] + elapsed * _load(each) / each.spec.weight
            for each in hosted
            if each.id in self._used
        }
        lowest = max(used.values(), default=0.0) - self.LAG_S
        self._used = {name: max(lowest, each) for name, each in used.items()}

    def next(
        self, hosted: Sequence[TournamentState], ready: Iterable[TournamentState], now: float
    ) -> TournamentState | None:
        """Return the tournament that may begin a match; None while the cores are in use.

        Those that are `ready` are neither paused nor planned for later.
        """
        self.count(hosted, now)
        least = min(self._used.values(), default=0.0)
        self._used = {each.id: self._used.get(each.id, least) for each in ready}

        def used(each: TournamentState) -> float:
            """Return what it has used, with a second for each running match: these go on."""
            return self._used[each.id] + _load(each) / each.spec.weight

        able = (each for each in ready if each.id not in self.idle)
        found = min(able, key=used, default=None)
        if found is None or sum(map(_load, hosted)) + 1 / found.spec.concurrency > 1 + _ROUNDING:
            return None
        return found


def _load(tournament: TournamentState) -> float:
    """Return the share of all cores that its running matches use."""
    return len(tournament.running) / tournament.spec.concurrency


class Hosting:
    """The accounts of entrants that the server starts, and the organizers of their tournaments."""

    def __init__(
        self,
        context: FeatureContext,
        sessions: SessionManager,
        bots: BotManager,
        greeting: Greeting,
        version_of: Callable[[str], str],
    ) -> None:
        """`version_of` returns the version of a player."""
        self._context = context
        self._sessions = sessions
        self._bots = bots
        self._greeting = greeting
        self._version_of = version_of
        #: The organizers of the running tournaments that have had one.
        self._organizers: dict[str, _Organizer] = {}

    @property
    def players(self) -> dict[str, str]:
        """The players that entrants may have, each with the name of its bot."""
        offered = self._bots.offered
        return {
            player: each.name
            for each in reversed(offered)
            for player in (*each.players.values(), each.player)
        }

    def require(self, spec: TournamentSpec, before: TournamentSpec | None = None) -> None:
        """Raise SpecError if the server does not host a tournament, or not after a change.

        Entrants that it had `before` may have a player that is no longer offered.
        """
        known = before.entrants if before else ()
        for fault in hosted_faults(spec, self.players):
            if not (len(fault.path) > 1 and spec.entrants[int(fault.path[1])] in known):
                raise SpecError(str(fault))
        if not spec.concurrency:
            raise SpecError("concurrency: must be 1 or more in a tournament that the server hosts")

    def with_version(self, entrant: Entrant) -> Entrant:
        """Return an entrant with the version of its player, if it has none."""
        if entrant.version or not entrant.player:
            return entrant
        return replace(entrant, version=self._version_of(entrant.player))

    def add_accounts(self, spec: TournamentSpec, now: float) -> None:
        """Make the missing accounts of entrants with a player. Raises Refused, and makes none then.

        Nobody can log in to them but the processes of the server.
        """
        started = [each for each in spec.entrants if each.player]
        if started and not self._context.policy.bots:
            raise Refused(Code.BAD_TOURNAMENT, "this server runs no bots (--bots)")
        new = [each for each in started if not self._has_account(each, now)]
        for each in new:
            self._greeting.require_free(each.name, now)
            self._greeting.require_unreserved(each.name)
        for each in new:
            at, key = now + self._context.epoch, f"{_ENTRANT}{digest(skeleton(each.name))[:12]}"
            account = Account(id=key, name=each.name, digest="", created_at=at)
            self._context.accounts.put(account)
            self._context.store(account)

    def _has_account(self, entrant: Entrant, now: float) -> bool:
        """Return whether the account of an entrant with a player exists. Raises Refused."""
        if bot := self._bots.accounts.named(entrant.name):
            if entrant.player not in (bot.player, *bot.players.values()):
                text = f"{bot.name!r} is a bot of this server with the player {bot.player!r}"
                raise Refused(Code.NAME_TAKEN, f"{text}: name the entrant otherwise")
            self._bots.accounts.account(bot, now)
            return True
        account = self._context.accounts.like(entrant.name)
        return account is not None and account.id.startswith(_ENTRANT)

    def starts_at(self, tournament: TournamentState) -> float:
        """Return the time before which no match of a tournament begins, on the clock of `now`."""
        return tournament.spec.starts_at - self._context.epoch

    def start(self, tournament: TournamentState, now: float) -> None:
        """Start the organizer of a stored tournament, if it needs one and has none."""
        players = self.players
        is_needed = any(each.player in players for each in tournament.spec.entrants)
        is_over = tournament.over or self._context.closing or not self._context.policy.bots
        is_later = self.starts_at(tournament) > now
        if is_over or is_later or not (is_needed and tournament.hosted):
            return
        organizer = self._organizers.setdefault(tournament.id, _Organizer())
        if organizer.runs or not organizer.restarts.is_due(now):
            return
        organizer.runs, organizer.started_at = True, now
        token = self._context.new_token()
        hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=_NAME, role="spectator")
        account = Account(id=_NAME, name=_NAME, digest="", created_at=0.0, administrator=True)
        session = Session(digest(token), _NAME, hello, account, opened=True)
        self._sessions.expect(session, now)
        order = StartOrganizer(
            tournament=tournament.id,
            spec=tournament.spec,
            players=tuple(map(self._bots.accounts.given, players)),
            name=_NAME,
            token=token,
            key=self._context.entrants_key,
        )
        self._context.do(order)

    def works(self, tournament: TournamentState, session: Session) -> bool:
        """Note that a session watches a tournament; return whether a fault is over with that."""
        organizer = self._organizers.get(tournament.id)
        if organizer is None or session.account is None or session.account.id != _NAME:
            return False
        had_fault, organizer.fault = bool(organizer.fault), ""
        return had_fault

    def ended(self, tournament: TournamentState, why: str, now: float) -> float:
        """Note that an organizer has exited; return the pause in seconds before the next one."""
        if tournament.over:
            self._organizers.pop(tournament.id, None)
            return 0.0
        organizer = self._organizers[tournament.id]
        organizer.runs, organizer.fault = False, why
        if now > organizer.started_at + WORKS_S:
            organizer.restarts.succeeded()
        return organizer.restarts.failed(now)

    def faults(self, tournament: TournamentState) -> Iterator[str]:
        """Yield why entrants of a running tournament are not started."""
        if not tournament.hosted or tournament.over:
            return
        entrants = [each for each in tournament.spec.entrants if each.player]
        if entrants and not self._context.policy.bots:
            yield "this server runs no bots (--bots)"
            return
        for each in entrants:
            if each.player not in self.players:
                text = "no bot of this server has its player any more: replace it"
                yield f"{each.name}: {text}"
        organizer = self._organizers.get(tournament.id)
        if organizer and organizer.fault:
            pause_s = organizer.restarts.wait_s
            text = f"{organizer.fault}; the next attempt follows after {pause_s:g} s"
            yield f"the program that starts the entrants {text}"
