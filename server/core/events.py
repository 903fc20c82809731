"""What happened during a call of the hub.

A feature that changes something queues one of these with `Context.queue`. The hub hands each to the
features that listen for it when the request's handler has returned, so that no handler re-enters
another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from playout.server.core.match_room import MatchRoom
from playout.server.core.seeks import OpenSeek
from playout.server.core.sessions import Session
from playout.server.model.records import MatchEnded


@dataclass(frozen=True)
class MatchOver:
    """A match has ended; `record` is what is stored of its end."""

    room: MatchRoom
    record: MatchEnded


@dataclass(frozen=True)
class SessionDisconnected:
    """A session has lost its connection; it may come back."""

    session: Session


@dataclass(frozen=True)
class SessionClosed:
    """A session is over, and nothing can be sent to it any more."""

    session: Session


@dataclass(frozen=True)
class SeekClosed:
    """A seek was closed before all its matches were begun."""

    seek: OpenSeek


@dataclass(frozen=True)
class TournamentOver:
    """A tournament has ended, by its id."""

    tournament: str


HubEvent = MatchOver | SessionDisconnected | SessionClosed | SeekClosed | TournamentOver
