"""Requests about tournaments: playing in them, watching them, creating and ending them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec import structs

from playout import games
from playout.games.core import spec
from playout.protocol.messages import (
    Code,
    CreateTournament,
    EndTournament,
    Join,
    Ok,
    ReportCluster,
    WatchTournament,
    Withdraw,
)
from playout.server.core.context import Context
from playout.server.core.handlers.feeds import TournamentFeed, to_message
from playout.server.core.handlers.tournament_director import TournamentDirector
from playout.server.core.match import Refused
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.tournament.state import TournamentState


class TournamentRequests:
    """Passes requests about tournaments to the director."""

    def __init__(
        self, context: Context, director: TournamentDirector, feed: TournamentFeed
    ) -> None:
        self._context = context
        self._director = director
        self._feed = feed

    @handles(Join)
    def join(self, request: Join, origin: RequestContext) -> None:
        """Let a session play matches of tournaments."""
        session = origin.session
        if session.account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "only registered players join tournaments")
        self._director.join(session, request, origin.now)
        self._context.send_to(session, Ok(re=request.id))

    @handles(WatchTournament)
    def watch_tournament(self, request: WatchTournament, origin: RequestContext) -> None:
        """Send a tournament: its state, then its events."""
        tournament = self._director.get(request.tournament)
        self._send(tournament, request, origin.session, origin.now, from_now=request.from_now)

    @handles(CreateTournament)
    def create_tournament(self, request: CreateTournament, origin: RequestContext) -> None:
        """Begin a tournament, and send it."""
        session = origin.session
        _require_ready(request.spec.games)  # the specification is checked later, in steps

        def refused(error: Refused) -> None:
            if session.connection is not None:
                self._context.decline(session.connection, error, request.id)

        self._director.create(
            request.spec,
            origin.now,
            created=lambda tournament, now: self._send(tournament, request, session, now),
            refused=refused,
        )

    @handles(Withdraw)
    def withdraw(self, request: Withdraw, origin: RequestContext) -> None:
        """Continue a tournament without one of its entrants."""
        tournament = self._director.get(request.tournament)
        self._director.withdraw(tournament, request.entrant, origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(EndTournament)
    def end_tournament(self, request: EndTournament, origin: RequestContext) -> None:
        """End a tournament with its results so far."""
        self._director.end(self._director.get(request.tournament), origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(ReportCluster)
    def report_cluster(self, request: ReportCluster, origin: RequestContext) -> None:
        """Note where the entrants of a tournament run."""
        self._director.report_cluster(request, origin.session)
        self._context.send_to(origin.session, Ok(re=request.id))

    def _send(
        self,
        tournament: TournamentState,
        request: WatchTournament | CreateTournament,
        session: Session,
        now: float,
        *,
        from_now: bool = False,
    ) -> None:
        if session.connection is not None:  # it may have been lost since the request
            self._context.send_to(session, structs.replace(to_message(tournament), re=request.id))
            self._feed.watch(session, tournament, now, from_now=from_now)


def _require_ready(texts: Sequence[str]) -> None:
    """Raise NotReady if one of these games is being compiled."""
    for text in texts:
        with contextlib.suppress(games.SpecError):  # checked with the specification
            games.describe(spec.parse(text).name)
