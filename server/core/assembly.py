"""Puts a hub together: its features, the events that each listens for, the handlers of requests."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from playout.server.core.accounts import BotAccounts, Directory
from playout.server.core.context import Context, FeatureEvent
from playout.server.core.handlers.analyses import Analyses
from playout.server.core.handlers.bots import BotManager
from playout.server.core.handlers.feeds import LadderFeed, LobbyFeed
from playout.server.core.handlers.hello import Greeting
from playout.server.core.handlers.ladders import Ladders
from playout.server.core.handlers.play import Play
from playout.server.core.handlers.seeks import Lobby, Pairing, SeekClosed, Seeks
from playout.server.core.handlers.tournament_director import TournamentDirector, TournamentOver
from playout.server.core.handlers.tournaments import TournamentRequests
from playout.server.core.hub import Hub, Listener
from playout.server.core.match_room import MatchOver
from playout.server.core.policy import Policy
from playout.server.core.recovery import Recovery
from playout.server.core.rooms import Rooms
from playout.server.core.session_manager import (
    SessionClosed,
    SessionDisconnected,
    SessionManager,
)
from playout.server.core.sessions import SessionRegistry, handlers_of
from playout.server.model.records import Account


def make_hub(
    policy: Policy | None = None,
    source: random.Random | None = None,
    software: str = "",
    accounts: Iterable[Account] = (),
    epoch: float = 0.0,
    started_at: float = 0.0,
) -> Hub:
    """A hub with all its features. `software` is the server's name and version for `welcome`.

    In seconds since 1970: `epoch` is when `now` was 0, `started_at` is the time now.
    """
    context = Context(policy, source, epoch, started_at)
    directory, registry, lobby, rooms = (
        Directory(accounts),
        SessionRegistry(),
        Lobby(),
        Rooms(context),
    )
    sessions = SessionManager(context, registry, rooms)
    pairing = Pairing(context, lobby, rooms)
    seeks = Seeks(context, registry, lobby, pairing)
    bot_accounts = BotAccounts(context, directory)
    bots = BotManager(context, bot_accounts, sessions, lobby, rooms, seeks, pairing)
    feed = LobbyFeed(context, registry, lobby, rooms)
    director = TournamentDirector(context, rooms, sessions)
    ladders = Ladders(context, directory, sessions, rooms)
    ladder_feed = LadderFeed(context, ladders)
    analyses = Analyses(context, rooms)
    features = (
        Greeting(context, directory, sessions, lobby, rooms, bots, bot_accounts, software),
        seeks,
        bots,
        Play(context, rooms, sessions),
        feed,
        TournamentRequests(context, director),
        ladders,
        ladder_feed,
        analyses,
    )
    # In the order in which they are called.
    listeners: Mapping[type[FeatureEvent], Sequence[Listener]] = {
        MatchOver: (
            seeks.match_over,
            feed.match_over,
            bots.match_over,
            director.match_over,
            ladders.match_over,
        ),
        SessionDisconnected: (
            seeks.session_disconnected,
            director.session_disconnected,
            ladders.session_disconnected,
            ladder_feed.session_disconnected,
            feed.session_disconnected,
            bots.session_disconnected,
            analyses.session_disconnected,
        ),
        SessionClosed: (bots.session_closed, analyses.session_closed),
        SeekClosed: (bots.seek_closed,),
        TournamentOver: (director.tournament_over,),
    }
    return Hub(
        context,
        accounts=directory,
        sessions=sessions,
        rooms=rooms,
        lobby=lobby,
        seeks=seeks,
        bots=bots,
        feed=feed,
        ladders=ladders,
        ladder_feed=ladder_feed,
        analyses=analyses,
        clusters=director.clusters,
        recovery=Recovery(context, directory, sessions, rooms, bots, director, ladders),
        handlers=handlers_of(features),
        listeners=listeners,
    )
