"""What is stored: values that the core wants kept, and finds again after a restart.

Times are seconds since 1970. A session is stored by its key, which is a digest of its token.
"""

from __future__ import annotations

from msgspec import Struct

from server.model.messages import Analysis, ClockState, Reason, Seat


class Account(Struct, frozen=True, kw_only=True, gc=False):
    """A name and whom it belongs to; of the token, only the SHA-256 in hexadecimal."""

    id: str
    name: str
    digest: str
    created_at: float
    administrator: bool = False
    revoked: bool = False


class MatchStarted(Struct, frozen=True, kw_only=True, gc=False):
    """A match has started, under these terms. Guests have no account.

    `opening`: so many of its moves were made for its players. `max_plies`: with so many it is tied.
    Of a `tournament`, `fixture` says which match it is. `bots`: the player, where it is a bot that
    the server has started.
    """

    match: str
    game: str
    players: tuple[str, str]
    accounts: tuple[str | None, str | None]
    sessions: tuple[str, str]
    clock: str
    rated: bool
    illegal_moves: int
    credit_cap_s: float
    opening: int = 0
    max_plies: int = 0
    tournament: str | None = None
    fixture: str | None = None
    bots: tuple[str | None, str | None] = (None, None)
    at: float


class MovePlayed(Struct, frozen=True, kw_only=True, gc=False):
    """A move was made; `clocks` as they stand after it, before the next player's runs."""

    match: str
    ply: int
    seat: Seat
    action: int
    clocks: tuple[ClockState, ClockState] | None
    info: Analysis | None
    at: float


class SeatTakenOver(Struct, frozen=True, kw_only=True, gc=False):
    """A seat has gone to another session of the same account."""

    match: str
    seat: Seat
    session: str


class MatchEnded(Struct, frozen=True, kw_only=True, gc=False):
    """A match has ended: winner 1 or 2, -1 for a tie, 0 for no result."""

    match: str
    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str
    at: float


class TournamentCreated(Struct, frozen=True, kw_only=True, gc=False):
    """A tournament is held; `spec` as JSON."""

    tournament: str
    name: str
    spec: str
    at: float


class EntrantWithdrawn(Struct, frozen=True, kw_only=True, gc=False):
    """A tournament goes on without an entrant; `number` counts them from 1."""

    tournament: str
    number: int
    entrant: int
    at: float


class TournamentEnded(Struct, frozen=True, kw_only=True, gc=False):
    """A tournament is over."""

    tournament: str
    at: float


Record = (
    Account
    | MatchStarted
    | MovePlayed
    | SeatTakenOver
    | MatchEnded
    | TournamentCreated
    | EntrantWithdrawn
    | TournamentEnded
)


class StoredMatch(Struct, frozen=True, kw_only=True, gc=False):
    """All that is stored of a match."""

    started: MatchStarted
    moves: tuple[MovePlayed, ...] = ()
    ended: MatchEnded | None = None


class StoredTournament(Struct, frozen=True, kw_only=True):
    """All that is stored of a tournament; its matches with their moves, oldest first."""

    created: TournamentCreated
    withdrawn: tuple[int, ...] = ()
    ended: TournamentEnded | None = None
    matches: tuple[StoredMatch, ...] = ()
