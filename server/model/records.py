"""The records that the core stores, and restores after a restart.

Times are seconds since 1970. A session is stored as its key, which is a digest of its token. Whole
numbers have the bounds of the columns in which they are stored.
"""

from __future__ import annotations

from msgspec import Struct

from playout.protocol.messages import Action, Analysis, ClockState, Int32, Reason, Seat


class Account(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A registered name; `digest` is the SHA-256 of its token in hexadecimal.

    `token_at` is when the token was issued, None if at registration. `renewal` is the digest of the
    token that replaces it when it is used for the first time; empty for none. The account of a bot
    that the server offers has no token: its digest is empty.
    """

    id: str
    name: str
    digest: str
    created_at: float
    token_at: float | None = None
    renewal: str = ""
    administrator: bool = False
    revoked: bool = False


class TokenRenewed(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An account has other tokens, unless its digest is no longer `before`."""

    account: str
    before: str
    digest: str
    token_at: float | None
    renewal: str


class AccountLocked(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Nobody can use an account any more, or its owner can again."""

    account: str
    revoked: bool


class AccountRenamed(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An account has another name than `before`."""

    account: str
    before: str
    name: str


class LadderMatch(Struct, frozen=True, gc=False):
    """The pair of a match on the ladder of its game, and the versions of its players.

    `pair` is the id of the first match of its pair: its own id, or that of the match with the same
    opening and the colours swapped.
    """

    pair: str
    versions: tuple[str, str]


class MatchStarted(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A match has started, under these terms. A guest has no account.

    `opening` is the number of moves that were made for the players; after `max_plies` moves the
    match is a tie, 0 for never. `fixture` is the slot of the match in the schedule of its
    `tournament`. `bots` has the player specification of each bot that the server has started.
    `ladder` is None for a match outside ladders. `core_speed` is the speed of the processor cores
    that both players run on, in calibrations per second; None if it is unknown.
    """

    match: str
    game: str
    players: tuple[str, str]
    accounts: tuple[str | None, str | None]
    sessions: tuple[str, str]
    clock: str
    rated: bool
    illegal_moves: Int32
    credit_cap_s: float
    opening: Int32 = 0
    max_plies: Int32 = 0
    tournament: str | None = None
    fixture: str | None = None
    bots: tuple[str | None, str | None] = (None, None)
    ladder: LadderMatch | None = None
    core_speed: float | None = None
    at: float


class MovePlayed(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A move was played; `clocks` are those after it, before the next player's clock runs."""

    match: str
    ply: Int32
    seat: Seat
    action: Action
    clocks: tuple[ClockState, ClockState] | None
    info: Analysis | None
    at: float


class MovesTakenBack(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Moves were taken back: move number `ply` and those after it are not part of the match."""

    match: str
    ply: Int32
    at: float


class SeatTakenOver(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Another session of the same account has taken over a seat of a match."""

    match: str
    seat: Seat
    session: str


class MatchEnded(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A match has ended: winner 1 or 2, -1 for a tie, 0 for no result.

    `missing` is the seat that never made a first move, if the match ended for that.
    """

    match: str
    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str
    missing: Seat | None = None
    at: float


def match_without_result(match: str, text: str, at: float) -> MatchEnded:
    """The record of a match that was aborted; `text` says why."""
    return MatchEnded(
        match=match, winner=0, returns=(0.0, 0.0), reason=Reason.ABORTED, text=text, at=at
    )


#: The text of the end of a match that lacks a record.
NOT_STORED = "the server could not store it; its operator finds why in the log"


class TournamentCreated(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A tournament was created; `spec` is its specification as JSON."""

    tournament: str
    name: str
    spec: str
    at: float


class EntrantWithdrawn(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An entrant was withdrawn from a tournament; `number` counts the withdrawals from 1."""

    tournament: str
    number: Int32
    entrant: Int32
    at: float


class TournamentEnded(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A tournament is over: no match of it follows."""

    tournament: str
    at: float


class LadderRating(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """The rating of a version of an account on a ladder after `matches` of its matches.

    `error` is half of its 95 % interval. The average rating of the ladder was 1500.
    """

    game: str
    account: str
    version: str
    matches: Int32
    rating: float
    error: float
    at: float


class StoredLeaderboard(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """The ratings of a game, as JSON, and the numbers of matches in them.

    `ended` matches of the game had ended, the last one at `last_at`; `rated` of them count.
    """

    game: str
    ended: Int32
    last_at: float
    rated: Int32
    data: str


class StoredRatingPoint(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """The rating of a version of a player after `matches` rated matches of a game.

    It is relative to the anchor at that time, in `anchor` and `anchor_version`. `error`
    is half of its 95 % interval. `at` is when the last of the matches ended.
    """

    game: str
    name: str
    version: str
    matches: Int32
    rating: float
    error: float
    anchor: str
    anchor_version: str
    at: float


class PuzzleAttempted(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An account has solved a puzzle or failed, with these moves; only the first attempt counts."""

    puzzle: str
    account: str
    moves: tuple[Action, ...]
    at: float


Record = (
    Account
    | TokenRenewed
    | AccountLocked
    | AccountRenamed
    | MatchStarted
    | MovePlayed
    | MovesTakenBack
    | SeatTakenOver
    | MatchEnded
    | TournamentCreated
    | EntrantWithdrawn
    | TournamentEnded
    | LadderRating
    | StoredLeaderboard
    | StoredRatingPoint
    | PuzzleAttempted
)


class StoredMatch(Struct, frozen=True, kw_only=True, gc=False):
    """The stored records of one match: its start, its moves, and its end if it has ended."""

    started: MatchStarted
    moves: tuple[MovePlayed, ...] = ()
    ended: MatchEnded | None = None


class StoredTournament(Struct, frozen=True, kw_only=True):
    """The stored records of one tournament; its matches with their moves, oldest first."""

    created: TournamentCreated
    withdrawn: tuple[int, ...] = ()
    ended: TournamentEnded | None = None
    matches: tuple[StoredMatch, ...] = ()
