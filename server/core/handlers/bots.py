"""Bots that the server has started, each for one match against somebody who asked for it."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from games.core import spec
from server.core.accounts import digest
from server.core.effects import EndBot, StartBot
from server.core.handlers.pairing import pair
from server.core.match import Refused
from server.core.match_room import MatchRoom
from server.core.rate_limits import Quota, network
from server.core.seeks import OpenSeek
from server.core.sessions import RequestContext, Session
from server.model.messages import PROTOCOL, Code, Hello, Notice, Reason
from server.model.names import skeleton

if TYPE_CHECKING:
    from server.core.hub import Hub

#: How long one may take to come.
COMING_S = 30.0
#: Of the name of a player, so much is in that of a bot.
_STEM = 24


@dataclass(eq=False)
class _Bot:
    """`session` is made for it, and taken up by it when it comes: nobody else has its token.

    `rival` is who asked for it, with the `offer` that is open until it comes; if its match was
    begun before the server was started, there is none.
    """

    session: Session
    player: str
    rival: Session
    offer: OpenSeek | None
    here: bool = False


class BotManager:
    """The bots of a hub, by the keys of their sessions."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._bots: dict[str, _Bot] = {}
        self._quota = Quota(hub.policy.summons_per_hour)

    @property
    def offered(self) -> tuple[str, ...]:
        """The players that may be summoned."""
        return self._hub.policy.offered if self._hub.policy.bots else ()

    def player_of(self, session: Session) -> str | None:
        """The player of a bot, here or on its way; None if the session is none of those."""
        bot = self._bots.get(session.key)
        return bot.player if bot else None

    def admit(self, asker: RequestContext, player: str) -> None:
        """May it be summoned now? Raises Refused."""
        policy, session, bots = self._hub.policy, asker.session, self._bots.values()
        if not self.offered:
            raise Refused(Code.NOT_ALLOWED, "this server starts no bots")
        if player not in self.offered:
            listed = ", ".join(self.offered)
            raise Refused(Code.NOT_ALLOWED, f"{player!r} is not among the bots here: {listed}")
        if any(bot.rival is session and not bot.here for bot in bots):
            raise Refused(Code.TOO_MANY, "a bot is on its way to you already")
        most = policy.bots_per_account
        if 0 < most <= sum(bot.rival.skeleton == session.skeleton for bot in bots):
            text = f"the server starts at most {most} bots at once for one player, and has for you"
            raise Refused(Code.TOO_MANY, text)
        if policy.bots <= len(bots):
            text = f"the server starts at most {policy.bots} bots at once, and has: try again later"
            raise Refused(Code.TOO_MANY, text)
        if wait_s := self._quota.take(network(asker.caller.address), asker.now):
            text = f"your address has summoned {policy.summons_per_hour} bots of late; wait"
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    def name_of(self, player: str) -> str:
        """What the next bot of this player is called: a name that nobody has."""
        hub = self._hub
        stem = re.sub("[^A-Za-z0-9]", "", spec.parse(player).name.split(":")[-1])[:_STEM] or "bot"
        names = (f"{stem}-{number}" for number in itertools.count(1))
        return next(
            name
            for name in names
            if not hub.accounts.like(name) and not hub.people.like(skeleton(name))
        )

    def summon(self, rival: Session, offer: OpenSeek, player: str, now: float) -> None:
        """Have one come for the match that is offered to it by name."""
        name = offer.opponent
        assert name is not None
        session, token = self._session(name)
        self._start(_Bot(session, player, rival, offer), offer.game, token, now)

    def take_up(self, table: MatchRoom, now: float) -> None:
        """A match from before the server was started goes on: so do its bots, if there is room."""
        hub, match = self._hub, table.match
        for number, player in enumerate(table.bots if match.id in hub.tables else ()):
            if player in self.offered and len(self._bots) < hub.policy.bots:
                session, token = self._session(match.players[number])
                bot = _Bot(session, player, table.seats[1 - number], None)
                hub.reseat(table, 2 if number else 1, session, now)
                self._start(bot, str(match.game), token, now)

    def came(self, session: Session, now: float) -> None:
        """A session has said hello: if a match was waiting for it, that begins."""
        hub, bot = self._hub, self._bots.get(session.key)
        if bot is None or bot.here:
            return
        bot.here, minutes = True, hub.policy.bot_minutes
        hub.look_at_bot(session.key, now + minutes * 60 if minutes else None)
        if bot.offer:
            pair(hub, bot.offer, self._answer(bot.offer, session), now)

    def withdrawn(self, offer: OpenSeek, now: float) -> None:
        """A seek is closed; a bot that was on its way for it has nothing to come for."""
        for bot in list(self._bots.values()):
            if bot.offer is offer:
                self._hub.forget(bot.session, now)

    def over(self, table: MatchRoom, now: float) -> None:
        """A match has ended, and with it what its bots are there for."""
        for session in table.seats:
            if session.key in self._bots:
                self._hub.part_with(session, now)

    def ended(self, key: str, why: str, now: float) -> None:
        """A bot has ended by itself: it does not come, or does not come back."""
        if bot := self._bots.get(key):
            fields = {"bot": bot.session.name, "player": bot.player, "why": why}
            self._hub.log("{bot} ({player}) has failed: {why}", fields)
            self._hub.forget(bot.session, now)

    def time_is_up(self, key: str, now: float) -> None:
        """A bot has not come in time, or has been here for as long as it may."""
        hub, bot = self._hub, self._bots.get(key)
        if bot is None:
            return
        if not bot.here:
            self.ended(key, f"it did not come within {COMING_S:g} s", now)
            return
        for match_id in list(bot.session.matches):
            text = f"a bot may play for {hub.policy.bot_minutes:g} minutes, and these are over"
            table = hub.tables[match_id]
            table.match.abort(text, Reason.ABORTED)
            hub.settle(table, now)

    def left(self, session: Session) -> None:
        """A session is over: if it was a bot's, so is the bot, and nobody waits for it."""
        hub, bot = self._hub, self._bots.pop(session.key, None)
        if bot is None:
            return
        hub.look_at_bot(session.key, None)
        hub.do(EndBot(session.key))
        if bot.offer and hub.lobby.get(bot.offer.id):
            hub.lobby.remove(bot.offer.id)
            text = f"{session.name} has failed to come; the log of the server says why"
            hub.tell(bot.rival, Notice(code="bot_failed", text=text))

    def __len__(self) -> int:
        return len(self._bots)

    def _session(self, name: str) -> tuple[Session, str]:
        """One for a bot to take up, and its token."""
        token = self._hub.new_token()
        hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=name)
        session = Session(digest(token), name, hello)
        self._hub.people.add(session)
        return session, token

    def _start(self, bot: _Bot, game: str, token: str, now: float) -> None:
        hub, key, name = self._hub, bot.session.key, bot.session.name
        self._bots[key] = bot
        hub.look_at_bot(key, now + COMING_S)
        fields = {"bot": name, "player": bot.player}
        hub.log("{bot} ({player}) is started for {name}",
                fields | {"name": bot.rival.name, "session": bot.rival.label})  # fmt: skip
        hub.do(StartBot(key, name, bot.player, game, token))

    def _answer(self, offer: OpenSeek, session: Session) -> OpenSeek:
        """What a bot offers to who has asked for it."""
        return OpenSeek(
            id=self._hub.new_id(),
            session=session.key,
            name=session.name,
            likeness=session.skeleton,
            game=offer.game,
            opponent=offer.name,
        )
