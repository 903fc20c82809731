"""Every message of the protocol, declared once: fields, types and limits.

On the wire a message is a map whose `type` is the name of its class in snake case. A field that
holds its default may be left out, and is left out by the server.
"""

from __future__ import annotations

import enum
import re
from typing import Annotated, Literal

from msgspec import Meta, Struct

from server.model.tournament_spec import TournamentSpec

PROTOCOL = 1

Text = Annotated[str, Meta(max_length=500)]
Name = Annotated[str, Meta(min_length=1, max_length=32)]
Key = Annotated[str, Meta(max_length=64)]
Label = Annotated[str, Meta(max_length=64, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z")]
Count = Annotated[int, Meta(ge=0, lt=2**53)]
#: Bounds that NaN and infinity do not pass.
Fraction = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Action = Annotated[int, Meta(ge=0, lt=2**31)]
RequestId = int | Key
Seat = Literal[1, 2]


class Code(enum.StrEnum):
    """What was wrong, for programs; the text of an error says it to people."""

    FRAME_TOO_LARGE = "frame_too_large"
    MALFORMED = "malformed"
    UNKNOWN_TYPE = "unknown_type"
    INVALID = "invalid"
    NOT_ALLOWED = "not_allowed"
    UNSUPPORTED_PROTOCOL = "unsupported_protocol"
    BAD_NAME = "bad_name"
    NAME_TAKEN = "name_taken"
    UNKNOWN_ACCOUNT = "unknown_account"
    BAD_TOKEN = "bad_token"
    REGISTRATION_CLOSED = "registration_closed"
    NOT_FOR_GUESTS = "not_for_guests"
    UNKNOWN_SESSION = "unknown_session"
    REPLACED = "replaced"
    KICKED = "kicked"
    BAD_GAME = "bad_game"
    BAD_CLOCK = "bad_clock"
    UNKNOWN_SEEK = "unknown_seek"
    TOO_MANY = "too_many"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNKNOWN_MATCH = "unknown_match"
    UNKNOWN_TOURNAMENT = "unknown_tournament"
    BAD_TOURNAMENT = "bad_tournament"
    NOT_YOUR_MATCH = "not_your_match"
    NOT_AWAY = "not_away"
    NOT_YOUR_TURN = "not_your_turn"
    WRONG_PLY = "wrong_ply"
    ILLEGAL_ACTION = "illegal_action"
    MATCH_OVER = "match_over"
    CLOSING = "closing"
    INTERNAL = "internal"


class Reason(enum.StrEnum):
    """Why a match ended."""

    RULES = "rules"
    RESIGNATION = "resignation"
    TIME = "time"
    ABANDONMENT = "abandonment"
    ILLEGAL_MOVES = "illegal_moves"
    ADJUDICATION = "adjudication"
    VOID = "void"
    ADMINISTRATOR = "administrator"
    ABORTED = "aborted"


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class TimeControl(Struct, frozen=True, gc=False):
    """A time control in numbers; a player without clock has none of them.

    Each move may use `main_s`, which grows by `increment_s` with each move, and then `periods`
    periods of `period_s`, of which those not used up are kept.
    """

    main_s: float
    increment_s: float
    periods: int
    period_s: float


class ClockState(Struct, frozen=True, gc=False):
    """What a player has left: main time, or the rest of a period that has begun; whole periods."""

    main_s: float
    periods: int


class Analysis(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a bot thinks of the move it sends, from its own point of view."""

    win_rate: Fraction | None = None
    simulations: Count | None = None
    seconds: Seconds | None = None
    depth: Count | None = None
    #: A win, a tie, a loss with best play.
    proven: Literal[1, 0, -1] | None = None
    pv: Annotated[tuple[Action, ...], Meta(max_length=100)] = ()
    #: For the most visited actions: action, visits, win rate.
    actions: Annotated[tuple[tuple[Action, Count, Fraction], ...], Meta(max_length=400)] = ()


class Board(Struct, frozen=True):
    """What a match is played on: rows and columns of cells, which count row by row."""

    rows: int
    columns: int
    geometry: Literal["grid", "columns", "heap"]
    piece: Literal["mark", "disc", "stone", "chip"]
    #: A heavy line after every so many cells, 0 for none.
    block: int
    column_labels: tuple[str, ...]
    row_labels: tuple[str, ...]


class Candidate(Struct, frozen=True, gc=False):
    """One of the moves that a bot has looked at most: how people write it, and where it is."""

    action: int
    name: str
    cells: tuple[int, ...]
    visits: int
    win_rate: float


class PositionView(Struct, frozen=True, omit_defaults=True):
    """A position, to be drawn on a board: for each cell 0, or the player whose piece is there.

    `last` are the cells of the move that led here, and `name` is how people write it. `line` and
    `tops` are what the one who made it thought of: the moves it expected, and those it looked at.
    `blocks` says of each block of the board, row by row, who has won it, 0 for nobody.
    """

    cells: tuple[int, ...]
    last: tuple[int, ...]
    note: str
    pv: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    name: str | None = None
    blocks: tuple[int, ...] = ()


class LegalMove(Struct, frozen=True, gc=False):
    """A legal action: how people write it, and the cells to click for it, in order."""

    action: int
    name: str
    cells: tuple[int, ...]


# From the client. A field that the protocol does not know is an error, so that a typo shows.


class Request(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
    tag=_snake,
):
    """The answer or error to a request with an `id` repeats it as `re`."""

    id: RequestId | None = None


class Hello(Request, frozen=True, kw_only=True):
    """The first message of a connection.

    `token` proves that the name is one's own; without it, a free name is registered, unless one
    comes as a `guest`. `session` takes an earlier session up again.
    """

    protocol_min: Count
    protocol_max: Count
    name: Name
    role: Literal["bot", "human", "spectator"] = "bot"
    software: Label = ""
    token: Key | None = None
    guest: bool = False
    session: Key | None = None
    legal_actions: bool = False
    views: bool = False


class Seek(Request, frozen=True, kw_only=True):
    """Look for opponents; without `clock`, whatever the other one wants."""

    game: Text
    clock: Key | None = None
    rated: bool = False
    opponent: Name | None = None
    seat: Seat | None = None
    matches: Annotated[int, Meta(ge=1, le=100)] = 1


class ChallengeBot(Request, frozen=True, kw_only=True):
    """Have the server start a bot, one of those in `welcome`, and play it when it is there."""

    player: Text
    game: Text
    clock: Key | None = None
    seat: Seat | None = None


class Cancel(Request, frozen=True, kw_only=True):
    """Stop looking."""

    seek: Key


class Move(Request, frozen=True, kw_only=True):
    """Play `action` as the match's move number `ply`, counted from 0."""

    match: Key
    ply: Count
    action: Action
    info: Analysis | None = None


class Resign(Request, frozen=True, kw_only=True):
    """Give a match up."""

    match: Key


class TakeOver(Request, frozen=True, kw_only=True):
    """Take over a match of one's own account whose session is gone."""

    match: Key


class Watch(Request, frozen=True, kw_only=True):
    """See a match's moves."""

    match: Key


class Unwatch(Request, frozen=True, kw_only=True):
    """See them no longer."""

    match: Key


class List(Request, frozen=True, kw_only=True):
    """Ask who and what is here."""


class SubscribeLobby(Request, frozen=True, kw_only=True):
    """See who and what is here: how it stands, then what is new."""


class Ping(Request, frozen=True, kw_only=True):
    """Ask for a sign of life, or give one: the answer to the server's `ping`."""


class Abort(Request, frozen=True, kw_only=True):
    """End a match without result. Administrators only."""

    match: Key
    text: Label = ""


class Kick(Request, frozen=True, kw_only=True):
    """Send somebody away: every session of this name. Administrators only."""

    name: Name
    text: Label = ""


class Join(Request, frozen=True, kw_only=True):
    """Be there for the matches of the tournaments in which one's name is entered, or of one.

    They begin by themselves, at most `matches` at once, as long as the connection lasts. A match
    of the same account whose session is gone is taken over. `process` is for those who follow: the
    number by which whoever has started several for an account tells them apart.
    """

    tournament: Key | None = None
    matches: Annotated[int, Meta(ge=1, le=100)] = 1
    process: Annotated[int, Meta(ge=1, le=10_000)] | None = None


class CreateTournament(Request, frozen=True, kw_only=True):
    """Hold a tournament. Administrators only."""

    spec: TournamentSpec


class WatchTournament(Request, frozen=True, kw_only=True):
    """See all of a tournament: how it stands, then what happens."""

    tournament: Key


class Withdraw(Request, frozen=True, kw_only=True):
    """Go on with a tournament without one of its entrants. Administrators only."""

    tournament: Key
    entrant: Name


class EndTournament(Request, frozen=True, kw_only=True):
    """End a tournament as it stands; what is being played is aborted. Administrators only."""

    tournament: Key


class Adjudicate(Request, frozen=True, kw_only=True):
    """End a match of a tournament with what is proven of it. Administrators only.

    The proof is of the position before move number `ply`: `winner` 1 or 2, or -1 for a tie.
    """

    match: Key
    ply: Count
    winner: Literal[1, 2, -1]


# From the server. A client should ignore fields that it does not know.


class Event(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type", tag=_snake
):
    """`re` repeats the `id` of the request that this answers."""

    re: RequestId | None = None


class Welcome(Event, frozen=True, kw_only=True):
    """The answer to `hello`. Who is cut off comes back with `session`.

    `token` is there when the name was registered just now, and never again. `away` are matches of
    the account whose session is gone: `claim` takes one over. `frame_bytes` is there for those who
    may send longer frames than others. `bots` are those to `summon`.
    """

    protocol: int
    session: str
    name: str
    token: str | None = None
    guest: bool = False
    away: tuple[str, ...] = ()
    frame_bytes: int | None = None
    software: str
    games: tuple[str, ...]
    bots: tuple[str, ...] = ()


class Seeking(Event, frozen=True, kw_only=True):
    """Somebody looks for an opponent: the answer to `seek`, and what a challenged player gets."""

    seek: str
    name: str
    game: str
    clock: str | None = None
    rated: bool = False
    opponent: str | None = None
    seat: Seat | None = None
    matches: int = 1


class Started(Event, frozen=True, kw_only=True):
    """A match begins, is taken up again, or is watched; `seat` is None for those who watch."""

    match: str
    game: str
    players: tuple[str, str]
    seat: Seat | None = None
    clock: str
    time_control: TimeControl | None = None
    clocks: tuple[ClockState, ClockState] | None = None
    rated: bool = False
    moves: tuple[int, ...]
    state: tuple[int, ...]
    to_move: int
    legal_actions: tuple[int, ...] | None = None
    board: Board | None = None
    view: PositionView | None = None
    legal_moves: tuple[LegalMove, ...] | None = None


class Update(Event, frozen=True, kw_only=True):
    """Move number `ply` was played. `state` is the position after it."""

    match: str
    ply: int
    player: Seat
    action: int
    state: tuple[int, ...]
    to_move: int
    clocks: tuple[ClockState, ClockState] | None = None
    info: Analysis | None = None
    legal_actions: tuple[int, ...] | None = None
    view: PositionView | None = None
    legal_moves: tuple[LegalMove, ...] | None = None


class Ended(Event, frozen=True, kw_only=True):
    """A match is over: winner 1 or 2, -1 for a tie, 0 for no result."""

    match: str
    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str
    state: tuple[int, ...]


class Summary(Struct, frozen=True):
    """A match that is being played."""

    match: str
    game: str
    players: tuple[str, str]
    clock: str
    ply: int


class Person(Struct, frozen=True, omit_defaults=True):
    """Somebody who is here."""

    name: str
    role: str
    guest: bool = False


class Listing(Event, frozen=True, kw_only=True):
    """The answer to `list`; each list is cut off at 200."""

    players: tuple[Person, ...]
    seeks: tuple[Seeking, ...]
    matches: tuple[Summary, ...]


class Outcome(Struct, frozen=True):
    """A match that has ended: winner 1 or 2, -1 for a tie, 0 for no result."""

    match: str
    game: str
    players: tuple[str, str]
    plies: int
    winner: int
    reason: Reason
    text: str


class LobbyTotals(Struct, frozen=True):
    """How many there are of each, listed or not."""

    humans: int = 0
    bots: int = 0
    spectators: int = 0
    seeks: int = 0
    matches: int = 0


class Overview(Event, frozen=True, kw_only=True):
    """The answer to `look`; each list is cut off at 50. Spectators are counted only."""

    players: tuple[Person, ...]
    seeks: tuple[Seeking, ...]
    matches: tuple[Summary, ...]
    outcomes: tuple[Outcome, ...]
    totals: LobbyTotals


class News(Event, frozen=True, kw_only=True):
    """What is other than in the overview, after all news before; sent to those who look.

    Those who `came` join `players`, those who `left` leave it; `opened` and `closed` are of
    `seeks`, where one that is there already is replaced; `began` and `gone` of `matches`.
    """

    came: tuple[Person, ...] = ()
    left: tuple[Person, ...] = ()
    opened: tuple[Seeking, ...] = ()
    closed: tuple[str, ...] = ()
    began: tuple[Summary, ...] = ()
    gone: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    totals: LobbyTotals | None = None


class Tournament(Event, frozen=True, kw_only=True):
    """The answer to `organize` and `follow`, and sent again when it is over or loses an entrant.

    `out` are the entrants that were suspended, in that order, as places in the list of entrants.
    The openings of `spec` are without their `lines`, of which there may be thousands.
    """

    tournament: str
    spec: TournamentSpec
    over: bool = False
    withdrawn: tuple[int, ...] = ()


class Fixture(Event, frozen=True, kw_only=True):
    """A match of a tournament begins or has ended; who follows gets one for each there was.

    `round`, `board` and `number` are the place of its pair in the schedule, `leg` is 1 for the
    first match of the pair and 2 for the second. `attempt` grows when a pair is played again after
    one of its matches came to no result: what is of earlier attempts does not count. Until the end
    `winner` and `reason` are missing, and `processes` are the numbers that those who play have said
    in `enter`. `repeated`: the same moves between the same two as before.
    """

    tournament: str
    round: int
    board: int
    number: int
    leg: Literal[1, 2]
    attempt: int = 1
    match: str
    game: str
    players: tuple[str, str]
    plies: int = 0
    winner: int | None = None
    reason: Reason | None = None
    processes: tuple[int | None, int | None] = (None, None)
    repeated: bool = False


class Ok(Event, frozen=True, kw_only=True):
    """Done, for a request that has no other answer."""


class Pong(Event, frozen=True, kw_only=True):
    """The answer to `ping`."""


class ServerPing(Event, frozen=True, kw_only=True, tag="ping"):
    """Nothing was heard for long; who says nothing for `seconds` more is taken for gone."""

    seconds: float


class Notice(Event, frozen=True, kw_only=True):
    """Something that concerns everybody who plays or watches, or what one waits for."""

    code: Literal["storage_down", "storage_up", "bot_failed", "seeks_closed"]
    text: str


class Closing(Event, frozen=True, kw_only=True):
    """The server will stop, in `seconds` at the latest.

    With `kept`, matches that are not over by then go on when it is back; otherwise they are
    aborted.
    """

    seconds: float
    kept: bool = False


class Error(Event, frozen=True, kw_only=True):
    """A request was refused; `seconds` says when it may be made again, where time is the matter."""

    code: Code
    text: str
    seconds: float | None = None


REQUESTS = (
    Hello
    | Seek
    | ChallengeBot
    | Cancel
    | Move
    | Resign
    | TakeOver
    | Watch
    | Unwatch
    | List
    | SubscribeLobby
    | Ping
    | Abort
    | Kick
    | Join
    | CreateTournament
    | WatchTournament
    | Withdraw
    | EndTournament
    | Adjudicate
)
EVENTS = (
    Welcome
    | Seeking
    | Started
    | Update
    | Ended
    | Listing
    | Overview
    | News
    | Tournament
    | Fixture
    | Ok
    | Pong
    | ServerPing
    | Notice
    | Closing
    | Error
)
