"""Tells those that watch a ladder that something has changed on it, once a second at most."""

from __future__ import annotations

from msgspec import structs

from server.core.context import Context
from server.core.dispatch import handles
from server.core.events import SessionDisconnected
from server.core.handlers.ladders import Ladders
from server.core.handlers.seeks import normalised_game
from server.core.sessions import RequestContext, Session
from server.model.messages import LadderNews, WatchLadder

INTERVAL_S = 1.0


class LadderFeed:
    """Sends news of ladders to their watchers; nothing is computed while there are none."""

    def __init__(self, context: Context, ladders: Ladders) -> None:
        self._context = context
        self._ladders = ladders
        #: The watchers of each ladder by the keys of their sessions, by game.
        self._watchers: dict[str, dict[str, Session]] = {}
        #: What the watchers of a ladder were told last.
        self._told: dict[str, LadderNews] = {}
        self._timer = context.timers.new(self._send_news)

    @handles(WatchLadder)
    def watch(self, request: WatchLadder, origin: RequestContext) -> None:
        """Send a session news of a ladder, and of no other one."""
        session, game = origin.session, normalised_game(request.game)
        self._forget(session)
        if not self._watchers:
            self._timer.set(origin.now + INTERVAL_S)
        self._watchers.setdefault(game, {})[session.key] = session
        news = self._told.setdefault(game, self.news(game))
        self._context.tell(session, structs.replace(news, re=request.id))

    def news(self, game: str) -> LadderNews:
        """The present state of a ladder, by the name of its game with parameters."""
        ladder = self._ladders.get(game)
        if ladder is None:
            return LadderNews(game=game)
        return LadderNews(
            game=game,
            matches=ladder.state.matches,
            rated=ladder.state.rated_matches,
            playing=len(ladder.running),
            versions=len(ladder.state.entries),
            present=len(ladder.present),
        )

    # Events.

    def session_disconnected(self, event: SessionDisconnected, now: float) -> None:
        """Remove a watcher that has lost its connection."""
        self._forget(event.session)

    def _forget(self, session: Session) -> None:
        for game, watchers in list(self._watchers.items()):
            if watchers.pop(session.key, None) and not watchers:
                del self._watchers[game], self._told[game]
        if not self._watchers:
            self._timer.stop()

    def _send_news(self, now: float) -> None:
        for game, watchers in self._watchers.items():
            news = self.news(game)
            if news != self._told[game]:
                self._told[game] = news
                self._context.tell_spectators(watchers.values(), news)
        self._timer.set(now + INTERVAL_S)
