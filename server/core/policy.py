"""The operator's settings: terms of matches, registration, and limits for each peer.

A limit of 0 means no limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from playout.protocol.messages import OfferedBot
from playout.protocol.time_control import parse_time_control
from playout.server.core.match import Terms
from playout.server.ladder.hours import LadderHours

#: The push services of Chrome, Firefox, Safari and Edge.
PUSH_SERVICES = (
    "https://fcm.googleapis.com",
    "https://updates.push.services.mozilla.com",
    "https://web.push.apple.com",
    "https://*.notify.windows.com",
)

Registration = Literal["open", "guests", "closed"]


@dataclass(frozen=True)
class Policy:
    """Each field is an option of `playout-server`, whose help describes it."""

    default_clock: str = "300+3"
    illegal_moves: int = 3
    credit_cap_s: float = 0.1

    reconnect_s: float = 60.0
    restart_grace_s: float = 10.0
    take_over_after_s: float = 10.0

    registration: Registration = "open"
    registrations_per_hour: int = 100
    logins_per_hour: int = 60
    token_days: float = 0.0

    connections: int = 10_000
    connections_per_address: int = 256
    hello_s: float = 10.0
    idle_s: float = 300.0
    messages_per_s: float = 50.0
    sessions_per_account: int = 32
    seeks_per_account: int = 100
    seeks_per_address: int = 200
    seek_days: float = 14.0
    matches_per_session: int = 100
    matches_per_account: int = 200
    matches_per_address: int = 1000

    #: Millions of bytes that are stored: in an hour for an address or an account, as analysis of a
    #: match, and in the whole database.
    stored_mb_per_hour: float = 72.0
    analysis_mb_per_match: float = 1.0
    database_mb: float = 10_000.0

    #: Maximum number of bots that the server runs at once, 0 for none; and the bots that it offers.
    bots: int = 0
    offered: tuple[OfferedBot, ...] = ()
    bots_per_account: int = 2
    bot_challenges_per_hour: int = 100
    bot_minutes: float = 60.0

    #: Maximum number of positions that bots of the server analyse at once for people; 0 for none.
    analyses: int = 1
    analysis_s: float = 10.0
    analyses_waiting: int = 100
    analyses_per_hour: int = 1000

    #: Maximum number of matches of ladders at once, and their clock. `ladders` has the games with a
    #: ladder, each with its own clock or None; if it is None, every game has a ladder.
    ladder_matches: int = 16
    #: The new versions that an account may enter in an hour, and an address four times as many.
    versions_per_hour: int = 30
    ladder_clock: str = "0.5/move"
    ladders: Mapping[str, str | None] | None = None
    #: The games whose ladders belong to competitions, for sessions that administrators have opened.
    closed_ladders: frozenset[str] = frozenset()
    #: The skeletons of the names in competitions, which nobody registers and no guest has.
    reserved: frozenset[str] = frozenset()
    #: When ladders pair matches; None for always.
    ladder_hours: LadderHours | None = None

    #: The public key for push services of browsers, empty without notices; and the addresses of the
    #: services, whose hosts may begin with `*.`.
    push_key: str = ""
    push_services: tuple[str, ...] = PUSH_SERVICES

    #: Whether matches are stored, so that they continue after a restart.
    stored: bool = False

    def terms(self, clock: str, *, rated: bool) -> Terms:
        """The terms of a match that belongs to no tournament. Raises TimeControlError."""
        return Terms(
            time_control=parse_time_control(clock),
            rated=rated,
            illegal_moves=self.illegal_moves,
            credit_cap_s=self.credit_cap_s,
            void_unmoved=True,
        )
