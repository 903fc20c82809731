"""The records that the core stores, and restores after a restart: the one declaration of each.

The fields of a record are columns of the database, by their encoded names: the field `match` of the
start of a match is the column `id` of `matches`. From them follow the tables
(`playout.server.storage.schema`), the statements that write them, and the fields of equal names in
JSON Lines and in the data of pages: see `converted`. What belongs to both players is two columns,
which a property of the record joins: see `PAIRS`.

Times are seconds since 1970. A session is stored as its key, which is a digest of its token. Whole
numbers have the bounds of the columns in which they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from playout.protocol.dice import Dice
from playout.protocol.messages import Analysis, ClockState, Int32, Mover, Reason, Seat

T = TypeVar("T")

#: The columns that have a value for each player, by the name of the property that joins them.
PAIRS = {
    "players": ("first", "second"),
    "accounts": ("first_account", "second_account"),
    "sessions": ("first_session", "second_session"),
    "bots": ("first_bot", "second_bot"),
    "versions": ("first_version", "second_version"),
    "returns": ("first_return", "second_return"),
}

_encode = msgspec.json.Encoder().encode
#: Returns an analysis from its JSON.
decoded_analysis = msgspec.json.Decoder(Analysis).decode


def flat(**fields: Any) -> dict[str, Any]:
    """Return the fields with each pair, and the clocks of a move, as the columns of a record."""
    for name in PAIRS.keys() & fields.keys():
        first, second = PAIRS[name]
        fields[first], fields[second] = fields.pop(name)
    if clocks := fields.pop("clocks", None):
        for seat, left in zip(("first", "second"), clocks, strict=True):
            fields |= {f"{seat}_main_s": left.main_s, f"{seat}_periods": left.periods}
    return fields


def converted(kind: type[T], source: object, **others: Any) -> T:
    """Return a struct of a type with the attributes of `source` that have the names of its fields.

    `others` are its other fields. Raises TypeError for a field that neither has.
    """
    names = kind.__struct_fields__  # type: ignore[attr-defined]
    return kind(**{name: getattr(source, name) for name in names if hasattr(source, name)} | others)


def stored_analysis(info: Analysis) -> str:
    """Return an analysis as it is stored: as JSON."""
    return _encode(info).decode()


class Account(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A registered name; `digest` is the SHA-256 of its token in hexadecimal.

    `token_at` is when the token was issued, None if at registration. `renewal` is the digest of the
    token that replaces it when it is used for the first time; empty for none. The account of a bot
    that the server offers has no token: its digest is empty. `password` is the Argon2id hash of a
    password, empty for none. `logins` are the devices that are logged in, as JSON: see
    `playout.server.core.accounts.DeviceLogin`.
    """

    id: str
    name: str
    digest: str
    created_at: float
    token_at: float | None = None
    renewal: str = ""
    administrator: bool = False
    revoked: bool = False
    password: str = ""
    logins: str = ""


class TokenRenewed(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An account gets new tokens, if the digest of its token is still `before`."""

    account: str
    before: str
    digest: str
    token_at: float | None
    renewal: str


def token_change(before: Account, account: Account) -> TokenRenewed:
    """Return the record of the change of an account's tokens."""
    return converted(TokenRenewed, account, account=account.id, before=before.digest)


class SecretsChanged(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An account has other tokens, another password or other logins.

    `before` is as in TokenRenewed.
    """

    account: str
    before: str
    digest: str
    token_at: float | None
    renewal: str
    password: str
    logins: str


def secrets_change(before: Account, account: Account) -> SecretsChanged:
    """Return the record that changes the secrets of an account from those `before`."""
    return converted(SecretsChanged, account, account=account.id, before=before.digest)


class AccountLocked(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Nobody can use an account any more, or its owner can again."""

    account: str
    revoked: bool


class AccountRenamed(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An account has another name than `before`."""

    account: str
    before: str
    name: str


class MatchStarted(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    tag=True,
    rename={"match": "id", "at": "started_at"},
):
    """A match has started, under these terms. A guest has no account.

    `opening` is the number of moves that were made for the players; after `max_plies` moves the
    match is a tie, 0 for never. `fixture` is the slot of the match in the schedule of its
    `tournament`. The bots are the player specifications of those that the server has started.
    From `dice_key`, in hexadecimal, follow the rolls of a game with chance: it is secret until the
    match has ended.

    A match of a ladder has the versions of its players, and as `ladder_pair` the id of the first
    match of its pair: its own id, or that of the match with the same opening and the colours
    swapped. `core_speed` is the speed of the processor cores that both players run on, in
    calibrations per second; None if it is unknown.

    `reporter` is the account that has reported a match that was played elsewhere.
    """

    match: str
    game: str
    first: str
    second: str
    first_account: str | None = None
    second_account: str | None = None
    first_session: str
    second_session: str
    clock: str
    rated: bool
    illegal_moves: Int32
    credit_cap_s: float
    at: float
    opening: Int32 = 0
    max_plies: Int32 = 0
    tournament: str | None = None
    fixture: str | None = None
    first_bot: str | None = None
    second_bot: str | None = None
    ladder_pair: str | None = None
    first_version: str | None = None
    second_version: str | None = None
    core_speed: float | None = None
    dice_key: str | None = None
    reporter: str | None = None

    @property
    def players(self) -> tuple[str, str]:
        """The names of the players."""
        return self.first, self.second

    @property
    def accounts(self) -> tuple[str | None, str | None]:
        """The ids of the players' accounts."""
        return self.first_account, self.second_account

    @property
    def sessions(self) -> tuple[str, str]:
        """The keys of the players' sessions."""
        return self.first_session, self.second_session

    @property
    def bots(self) -> tuple[str | None, str | None]:
        """The player specifications of the players that the server has started."""
        return self.first_bot, self.second_bot

    @property
    def dice(self) -> Dice | None:
        """The dice of a match with chance: secret until the match has ended."""
        return Dice(self.match, self.dice_key) if self.dice_key else None

    @property
    def versions(self) -> tuple[str, str]:
        """The versions of the players of a match of a ladder."""
        return self.first_version or "", self.second_version or ""


class MovePlayed(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """A move was played; seat 0 is nature, whose moves are rolls. The analysis `info` is JSON.

    The times are those that both players had left after the move, before the next player's clock
    runs; None without clocks.
    """

    match: str
    ply: Int32
    seat: Mover
    action: Int32
    first_main_s: float | None = None
    first_periods: int | None = None
    second_main_s: float | None = None
    second_periods: int | None = None
    info: str | None = None
    at: float

    @property
    def clocks(self) -> tuple[ClockState, ClockState] | None:
        """The time that both players had left; None without clocks."""
        if self.first_main_s is None or self.second_main_s is None:
            return None
        return (
            ClockState(self.first_main_s, self.first_periods or 0),
            ClockState(self.second_main_s, self.second_periods or 0),
        )

    @property
    def analysis(self) -> Analysis | None:
        """The analysis that was sent with the move."""
        return decoded_analysis(self.info) if self.info else None


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


class MatchEnded(
    Struct, frozen=True, kw_only=True, gc=False, tag=True, rename={"match": "id", "at": "ended_at"}
):
    """A match has ended: winner 1 or 2, -1 for a tie, 0 for no result.

    `missing` is the seat that never made a first move, if the match ended for that. `luck` is that
    of player 1 in each roll, as text of `spelled_luck`: None until it is measured, and in a game
    without chance; NO_EVALUATION if it cannot be measured.
    """

    match: str
    winner: Annotated[int, Meta(ge=-1, le=2)]
    first_return: float
    second_return: float
    reason: Reason
    text: str
    missing: Seat | None = None
    at: float
    luck: str | None = None

    @property
    def luck_of_rolls(self) -> tuple[float, ...] | None:
        """The luck of player 1 in each roll, in points; None if it is not known."""
        return luck_from(self.luck)

    @property
    def returns(self) -> tuple[float, float]:
        """The returns of the players."""
        return self.first_return, self.second_return


#: The luck of a match whose rolls no evaluation values.
NO_EVALUATION = "none"


class LuckMeasured(Struct, frozen=True, kw_only=True, gc=False, tag=True, rename={"match": "id"}):
    """The `luck` of the rolls of an ended match is known: see `MatchEnded`."""

    match: str
    luck: str


def spelled_luck(rolls: Iterable[float]) -> str:
    """Return the luck of rolls as it is stored: numbers with four digits, and spaces."""
    return " ".join(f"{each:.4f}" for each in rolls)


def luck_from(stored: str | None) -> tuple[float, ...] | None:
    """Return the luck of rolls from its stored text; None if it is not known."""
    if stored is None or stored == NO_EVALUATION:
        return None
    return tuple(map(float, stored.split()))


def total_luck(stored: str | None) -> float | None:
    """Return the luck of player 1 in all rolls from its stored text; None if it is not known."""
    rolls = luck_from(stored)
    return None if rolls is None else sum(rolls)


def match_without_result(match: str, text: str, at: float) -> MatchEnded:
    """The record of a match that was aborted; `text` says why."""
    return MatchEnded(
        match=match,
        winner=0,
        first_return=0.0,
        second_return=0.0,
        reason=Reason.ABORTED,
        text=text,
        at=at,
    )


#: The text of the end of a match that lacks a record.
NOT_STORED = "the server could not store it; its operator finds why in the log"


class TournamentCreated(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    tag=True,
    rename={"tournament": "id", "at": "started_at"},
):
    """A tournament was created; `spec` is its specification as JSON.

    `hosted`: whether the server starts its entrants. `paused`: see `TournamentChanged`.
    """

    tournament: str
    name: str
    spec: str
    at: float
    hosted: bool | None = None
    paused: bool | None = None


class TournamentChanged(
    Struct, frozen=True, kw_only=True, gc=False, tag=True, rename={"tournament": "id"}
):
    """A tournament has another specification, or was paused, so that no match begins."""

    tournament: str
    spec: str
    paused: bool


class EntrantWithdrawn(Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """An entrant was withdrawn from a tournament; `number` counts the withdrawals from 1."""

    tournament: str
    number: Int32
    entrant: Int32
    at: float


class TournamentEnded(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    tag=True,
    rename={"tournament": "id", "at": "ended_at"},
):
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
    """The ratings of a game on a scale, as JSON, and the numbers of matches in them.

    `scale` is that of `playout.ratings.leaderboard`. `ended` matches of the game had ended, the
    last one at `last_at`; `rated` of them count.
    """

    game: str
    scale: str
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
    """An account has solved a puzzle or failed; only the first attempt counts.

    `moves` are its moves, separated by commas, up to the first mistake, the end, or where it asked
    for the solution.
    """

    puzzle: str
    account: str
    moves: str
    at: float


Record = (
    Account
    | TokenRenewed
    | SecretsChanged
    | AccountLocked
    | AccountRenamed
    | MatchStarted
    | MovePlayed
    | MovesTakenBack
    | SeatTakenOver
    | MatchEnded
    | LuckMeasured
    | TournamentCreated
    | TournamentChanged
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
