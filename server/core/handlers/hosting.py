"""The tournaments that the server hosts: it starts their entrants that have a player.

Their players are those of the server's bots, which the operator chose, so that nobody starts other
programs through a tournament. For each tournament with such entrants an *organizer* runs, a process
of the server. It follows from what is stored: it is started when the tournament is stored, after a
restart of the server, and again when it has exited.
"""

from __future__ import annotations

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

#: Seconds after which an organizer that has exited is started again.
RESTART_S = 2.0
#: The name of the organizers, and the beginning of the ids of entrants' accounts.
_NAME, _ENTRANT = "organizer", "entrant-"


class Hosting:
    """The accounts of entrants that the server starts, and the organizers of their tournaments."""

    def __init__(
        self,
        context: FeatureContext,
        sessions: SessionManager,
        bots: BotManager,
        greeting: Greeting,
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._bots = bots
        self._greeting = greeting
        #: The tournaments that have an organizer.
        self._organized: set[str] = set()

    @property
    def players(self) -> dict[str, str]:
        """The players that entrants may have, each with the name of its bot."""
        offered = self._bots.offered
        return {
            player: each.name
            for each in reversed(offered)
            for player in (*each.players.values(), each.player)
        }

    def require(self, spec: TournamentSpec) -> None:
        """Raise SpecError if the server does not host a tournament."""
        if fault := next(hosted_faults(spec, self.players), None):
            raise SpecError(str(fault))
        if not spec.concurrency:
            raise SpecError("concurrency: must be 1 or more in a tournament that the server hosts")

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

    def start(self, tournament: TournamentState, now: float) -> None:
        """Start the organizer of a stored tournament, if it needs one and has none."""
        is_needed = tournament.hosted and any(each.player for each in tournament.spec.entrants)
        is_over = tournament.over or self._context.closing or not self._context.policy.bots
        if is_over or not is_needed or tournament.id in self._organized:
            return
        self._organized.add(tournament.id)
        token = self._context.new_token()
        hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=_NAME, role="spectator")
        account = Account(id=_NAME, name=_NAME, digest="", created_at=0.0, administrator=True)
        session = Session(digest(token), _NAME, hello, account, opened=True)
        self._sessions.expect(session, now)
        order = StartOrganizer(
            tournament=tournament.id,
            spec=tournament.spec,
            players=tuple(self.players),
            name=_NAME,
            token=token,
            key=self._context.entrants_key,
        )
        self._context.do(order)

    def ended(self, tournament: str) -> None:
        """Note that an organizer has exited."""
        self._organized.discard(tournament)
