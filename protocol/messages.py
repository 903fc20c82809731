"""Every message of the protocol, declared once: its fields, types, limits and senders.

On the wire a message is a map whose `type` is the name of its class in snake case. A field that
holds its default may be left out, and the server leaves it out.

Clients send a `Request`, the server an `Event`. A request declares its senders (`sent_by`,
`administrators_only`), an event whether it waits for storage (`durable`). `REQUESTS` and `EVENTS`
are derived from the classes.
"""

from __future__ import annotations

import enum
import re
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import Meta, Struct

from playout.protocol.names import HIDDEN
from playout.protocol.tournament_spec import Entrant, TournamentSpec

PROTOCOL = 1

ID_PATTERN = r"^[A-Za-z0-9_-]*\Z"
_VISIBLE_PATTERN = rf"^[^{HIDDEN}]*\Z"
_HEXADECIMAL_PATTERN = r"^[0-9a-f]{64}\Z"
_HTTP_PATTERN = r"^https?://[!-~]+\Z"
LINE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z"
#: What a text of each pattern is, for errors.
FORMS = {
    ID_PATTERN: "a text of letters A-Z, a-z, digits, - and _",
    _VISIBLE_PATTERN: "a text of visible characters, on one line",
    _HEXADECIMAL_PATTERN: "a text of 64 digits 0-9 and a-f",
    LINE_PATTERN: "a text on one line, without control characters",
    _HTTP_PATTERN: "an address that begins with http:// or https://",
}

#: The levels of the server's bots, from weak to strong.
Level = Literal["easy", "medium", "strong", "master", "max"]
Text = Annotated[str, Meta(max_length=500)]
Name = Annotated[str, Meta(min_length=1, max_length=32)]
Key = Annotated[str, Meta(max_length=64)]
Password = Annotated[str, Meta(min_length=1, max_length=200)]
NewPassword = Annotated[str, Meta(min_length=8, max_length=200)]
#: A secret in an address: 128 random bits have 22 of these characters, or 32 in hexadecimal.
Link = Annotated[str, Meta(min_length=22, max_length=64, pattern=ID_PATTERN)]
#: An address of a push service.
Address = Annotated[str, Meta(max_length=2000)]
Label = Annotated[str, Meta(max_length=64, pattern=_VISIBLE_PATTERN)]
Count = Annotated[int, Meta(ge=0, lt=2**53)]
#: Numbers with bounds, so that NaN and infinity are refused.
Fraction = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Speed = Annotated[float, Meta(gt=0, le=1e9)]
CoreSetNumber = Annotated[int, Meta(ge=1, le=10_000)]
#: A whole number that every database holds in a column of 32 bits.
Int32 = Annotated[int, Meta(ge=0, lt=2**31)]
Action = Int32
#: The whole numbers that a double holds exactly, as JSON in a browser has them.
MOST_EXACT = 2**53 - 1
RequestId = Annotated[int, Meta(ge=-MOST_EXACT, le=MOST_EXACT)] | Key
Seat = Literal[1, 2]
#: The player who makes a move: 0 is nature, whose moves are rolls.
Mover = Literal[0, 1, 2]
#: A SHA-256 or a key of 256 bits, in hexadecimal.
Digits = Annotated[str, Meta(pattern=_HEXADECIMAL_PATTERN)]
#: The offers that a player may make.
OfferKind = Literal["draw", "takeback", "score"]


class Code(enum.StrEnum):
    """The reason why a request was refused, for programs; the text of an error is for people."""

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
    NO_OFFER = "no_offer"
    NOT_YOUR_TURN = "not_your_turn"
    WRONG_PLY = "wrong_ply"
    ILLEGAL_ACTION = "illegal_action"
    MATCH_OVER = "match_over"
    CLOSING = "closing"
    INTERNAL = "internal"


class Reason(enum.StrEnum):
    """The reason for which a match ended."""

    RULES = "rules"
    AGREEMENT = "agreement"
    RESIGNATION = "resignation"
    TIME = "time"
    ABANDONMENT = "abandonment"
    ILLEGAL_MOVES = "illegal_moves"
    CRASH = "crash"
    ADJUDICATION = "adjudication"
    VOID = "void"
    ADMINISTRATOR = "administrator"
    ABORTED = "aborted"


class Sender(enum.StrEnum):
    """The kinds of connections, which decide the requests that they may send."""

    NEWCOMER = "before hello"
    PLAYER = "to players"
    SPECTATOR = "to spectators"


NEWCOMERS = frozenset({Sender.NEWCOMER})
PLAYERS = frozenset({Sender.PLAYER})
#: Every connection after its `hello`.
SESSIONS = frozenset({Sender.PLAYER, Sender.SPECTATOR})
ANYBODY = frozenset(Sender)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class TimeControl(Struct, frozen=True, gc=False, omit_defaults=True):
    """A time control in seconds; a match without clocks has none.

    A player has `main_s`, to which each move adds `increment_s`, and then `periods` periods of
    `period_s`; a move that ends within a period does not use it up. The first `delay_s` seconds of
    each turn do not count.
    """

    main_s: float
    increment_s: float
    periods: int
    period_s: float
    delay_s: float = 0.0


class ClockState(Struct, frozen=True, gc=False, omit_defaults=True):
    """The time that a player has left: main time or the rest of a period, and whole periods.

    `delay_s` is the rest of the delay before the main time runs.
    """

    main_s: float
    periods: int
    delay_s: float = 0.0


class Analysis(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A bot's analysis of the move that it sends, from its own side."""

    win_rate: Fraction | None = None
    simulations: Count | None = None
    seconds: Seconds | None = None
    depth: Count | None = None
    #: 1 for a win, 0 for a tie, -1 for a loss with best play.
    proven: Literal[1, 0, -1] | None = None
    pv: Annotated[tuple[Action, ...], Meta(max_length=100)] = ()
    #: Action, visits and win rate of the most visited actions.
    actions: Annotated[tuple[tuple[Action, Count, Fraction], ...], Meta(max_length=400)] = ()
    #: Action and the probability that a net gives it before the search.
    policy: Annotated[tuple[tuple[Action, Fraction], ...], Meta(max_length=400)] = ()


class Board(Struct, frozen=True, omit_defaults=True):
    """The board of a game: rows and columns of cells, which are numbered row by row."""

    rows: int
    columns: int
    geometry: Literal["grid", "columns", "heap", "hex", "pits", "points", "scores", "text"]
    piece: Literal["mark", "disc", "stone", "chip", "seeds", "figure"]
    #: A heavy line is drawn after every `block` cells, 0 for none.
    block: int
    column_labels: tuple[str, ...]
    row_labels: tuple[str, ...]
    #: The look of the board and the colours of the pieces, as in playout.games.core.view.
    surface: Literal["plain", "checkered", "wood", "green", "blue", "blank"] = "plain"
    #: Whether player 1 has the dark pieces of a checkered board.
    dark_begins: bool = False
    #: The names of cells that rows and columns do not name, "" for those that are not used.
    cell_labels: tuple[str, ...] = ()
    #: The players to whom the edges belong, from the top clockwise; empty for none.
    edges: tuple[int, ...] = ()
    #: The worth of each kind of piece that can be captured; empty in other games.
    material: dict[str, float] = {}
    #: The points of player 2 in advance, in a game whose score players may agree on.
    komi: float | None = None
    #: Whether dice are rolled.
    has_chance: bool = False


class Candidate(Struct, frozen=True, gc=False, omit_defaults=True):
    """One of the most visited moves of a bot: its name, and its cells on the board.

    `prior` is the probability that a net gave it before the search.
    """

    action: int
    name: str
    cells: tuple[int, ...]
    visits: int
    win_rate: float
    prior: float | None = None


class PositionView(Struct, frozen=True, omit_defaults=True, gc=False):
    """A position, to be drawn on a board: for each cell 0, or the player whose piece is there.

    `last` are the cells of the move that led here, after those of the moves that the same player
    made just before it, and `name` is its name. `pv`, the moves that the mover expected, and
    `candidates` come from the mover's analysis. `blocks` gives for each block of the board, row by
    row, the player that has won it, 0 for none. `kinds` gives for each cell the kind of its piece,
    "" for none, if a game has several, and `counts` the number of its pieces, if a cell can hold
    more than one. `text` is the position of a game without cells. `winning` are the cells by which
    a player has won, and `checked` those of pieces that must be saved at once. While a score is
    counted, and then at the end, `areas` gives for each cell without a living piece the player who
    has a point for it, 0 for none; pieces of the kind "dead stone" count as captured.
    """

    cells: tuple[int, ...]
    last: tuple[int, ...]
    note: str
    pv: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    name: str | None = None
    blocks: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    text: str = ""
    winning: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    checked: tuple[int, ...] = ()
    areas: tuple[int, ...] = ()
    dice: tuple[int, ...] = ()
    cube: tuple[int, ...] = ()


class MoveSequence(Struct, frozen=True, gc=False):
    """Several actions of a player in a row that are one move for people, such as a long capture.

    `cells` are those to click to choose it at once; `actions` follow the legal action.
    """

    name: str
    cells: tuple[int, ...]
    actions: tuple[int, ...]


class LegalMove(Struct, frozen=True, gc=False, omit_defaults=True):
    """A legal action: its name, and the cells to click for it, in order.

    `ways` are other such cells, such as those of the same checkers in another order. `sequences`
    begin with the action; they have other cells than all legal moves.
    """

    action: int
    name: str
    cells: tuple[int, ...]
    ways: tuple[tuple[int, ...], ...] = ()
    sequences: tuple[MoveSequence, ...] = ()


class OpenOffer(Struct, frozen=True, omit_defaults=True):
    """An open offer of a player: made after `ply` moves, neither answered nor withdrawn.

    A score is counted as if the pieces on the cells `dead` were captured; `lead` is by how many
    points player 1 is then ahead.
    """

    offer: OfferKind
    player: Seat
    ply: int
    dead: tuple[int, ...] = ()
    lead: float | None = None


# Requests, which clients send. An unknown field is an error, so that typing errors are noticed.


class Request(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
    tag=_snake,
):
    """A message of a client. The answer or error to a request with an `id` repeats it as `re`."""

    #: The connections that may send it.
    sent_by: ClassVar[frozenset[Sender]] = PLAYERS
    administrators_only: ClassVar[bool] = False

    id: RequestId | None = None

    @classmethod
    def tag(cls) -> str:
        """Its `type` on the wire."""
        return str(cls.__struct_config__.tag)


class Hello(Request, frozen=True, kw_only=True):
    """The first message of a connection: begins a session.

    `token` proves that the sender owns the name; without it a free name is registered, unless the
    sender is a `guest`. With `renew_token` the sender stores a new token, if `welcome` has one.
    `session` resumes an earlier session.
    """

    sent_by: ClassVar = NEWCOMERS

    protocol_min: Count
    protocol_max: Count
    name: Name
    role: Literal["bot", "human", "spectator"] = "bot"
    software: Label = ""
    token: Key | None = None
    renew_token: bool = False
    guest: bool = False
    session: Key | None = None
    legal_actions: bool = False
    views: bool = False


class LogIn(Request, frozen=True, kw_only=True):
    """Ask for a token of an account, with its password or a code, before `hello`.

    `software` names the device in the list of logins.
    """

    sent_by: ClassVar = NEWCOMERS

    name: Name
    secret: Password
    software: Label = ""


class SetPassword(Request, frozen=True, kw_only=True):
    """Set the password of the own account; None removes it."""

    sent_by: ClassVar = SESSIONS

    password: NewPassword | None = None


class MakeCode(Request, frozen=True, kw_only=True):
    """Ask for a code with which another device logs in once, in place of a password."""

    sent_by: ClassVar = SESSIONS


class ListLogins(Request, frozen=True, kw_only=True):
    """Ask for the devices that are logged in to the own account."""

    sent_by: ClassVar = SESSIONS


class EndLogins(Request, frozen=True, kw_only=True):
    """Log a device out; without `login` all others, and get a new token."""

    sent_by: ClassVar = SESSIONS

    login: Key | None = None


class Seek(Request, frozen=True, kw_only=True):
    """Seek opponents for `matches` matches; without `clock`, with the opponent's clock.

    With `link`, the seek has that identifier, and is open only to those who `accept` it.
    """

    game: Text
    clock: Key | None = None
    rated: bool = False
    opponent: Name | None = None
    seat: Seat | None = None
    matches: Annotated[int, Meta(ge=1, le=100)] = 1
    link: Link | None = None


class Accept(Request, frozen=True, kw_only=True):
    """Play a match on the terms of an open seek."""

    seek: Key


class SubscribePush(Request, frozen=True, kw_only=True):
    """Be sent notices through the push service of a browser, while no session is connected.

    The fields are those of a `PushSubscription` of the browser, keys in base64url, and the
    language of the notices.
    """

    endpoint: Address
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]
    language: Annotated[str, Meta(max_length=20)] = "en"


class UnsubscribePush(Request, frozen=True, kw_only=True):
    """Be sent no more notices through a browser."""

    endpoint: Address


class ChallengeBot(Request, frozen=True, kw_only=True):
    """Start one of the server's bots, and play a match against it.

    `player` is the name or the player specification of a bot in `welcome`.
    """

    player: Text
    game: Text
    clock: Key | None = None
    rated: bool = False
    seat: Seat | None = None


class Cancel(Request, frozen=True, kw_only=True):
    """Close one of the session's open seeks."""

    seek: Key


class Move(Request, frozen=True, kw_only=True):
    """Play `action` as the match's move number `ply`, counted from 0."""

    match: Key
    ply: Count
    action: Action
    info: Analysis | None = None


class Resign(Request, frozen=True, kw_only=True):
    """Resign a match that the session plays; `crash` is the error of a program that failed."""

    match: Key
    crash: Label | None = None


class Offer(Request, frozen=True, kw_only=True):
    """Offer a draw, to take back the sender's last move, or a score; `ply` moves have been made.

    In a match where the opponent has offered a draw, the offer of a draw accepts it. A score is
    counted without the pieces on the cells `dead`.
    """

    match: Key
    offer: OfferKind
    ply: Count
    dead: Annotated[tuple[Count, ...], Meta(max_length=1000)] = ()


class AnswerOffer(Request, frozen=True, kw_only=True):
    """Accept or decline an open offer of the opponent, which was made after `ply` moves."""

    match: Key
    offer: OfferKind
    ply: Count
    accept: bool


class WithdrawOffer(Request, frozen=True, kw_only=True):
    """Withdraw the sender's open offer."""

    match: Key


class TakeOver(Request, frozen=True, kw_only=True):
    """Continue a match of the same account whose session is not connected."""

    match: Key


class Watch(Request, frozen=True, kw_only=True):
    """Watch a match: receive its position now, then every move.

    `preview`: for a small board among others; the sender does not count as a spectator.
    """

    sent_by: ClassVar = SESSIONS

    match: Key
    preview: bool = False


class Unwatch(Request, frozen=True, kw_only=True):
    """Stop watching a match: receive its moves no longer."""

    sent_by: ClassVar = SESSIONS

    match: Key


class Analyse(Request, frozen=True, kw_only=True):
    """Have a bot of the server analyse the position of `game` after `moves`.

    `bot` is the name or the player specification of a bot that the server offers, by default the
    strongest one. It thinks for `seconds`, at most as long as the server allows. `played` is an
    action that the analysis must include.
    """

    sent_by: ClassVar = SESSIONS

    game: Text
    moves: Annotated[tuple[Action, ...], Meta(max_length=10_000)] = ()
    bot: Text | None = None
    seconds: Seconds | None = None
    played: Action | None = None


class StopAnalysis(Request, frozen=True, kw_only=True):
    """End the session's own analysis before its time."""

    sent_by: ClassVar = SESSIONS

    analysis: Key


class AttemptPuzzle(Request, frozen=True, kw_only=True):
    """Report the first attempt of this account at a puzzle: the moves of the solver so far."""

    sent_by: ClassVar = SESSIONS

    puzzle: Key
    moves: Annotated[tuple[Action, ...], Meta(max_length=100)] = ()


class List(Request, frozen=True, kw_only=True):
    """Ask once for the players, open seeks and running matches."""

    sent_by: ClassVar = SESSIONS


class SubscribeLobby(Request, frozen=True, kw_only=True):
    """Subscribe to the lobby: receive an overview now, then the changes."""

    sent_by: ClassVar = SESSIONS


class Ping(Request, frozen=True, kw_only=True):
    """Ask for a `pong`; also the answer to the server's `ping`."""

    sent_by: ClassVar = ANYBODY


class Abort(Request, frozen=True, kw_only=True):
    """End a match without result: a player its own before its first move, an administrator any.

    `text` is an administrator's explanation.
    """

    sent_by: ClassVar = SESSIONS

    match: Key
    text: Label = ""


class Kick(Request, frozen=True, kw_only=True):
    """End every session of this name."""

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    name: Name
    text: Label = ""


class ListAccounts(Request, frozen=True, kw_only=True):
    """Ask for the accounts whose names contain a text, or look as if they did."""

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    search: Annotated[str, Meta(max_length=32)] = ""


class CreateAccounts(Request, frozen=True, kw_only=True):
    """Register all of these names, or none if one of them is not free."""

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    names: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=200)]


class ChangeAccount(Request, frozen=True, kw_only=True):
    """Rename an account, lock or unlock it, or replace its token.

    Accounts of administrators and of bots are not changed.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    name: Name
    new_name: Name | None = None
    locked: bool | None = None
    new_token: bool = False


class InspectServer(Request, frozen=True, kw_only=True):
    """Ask for the state of the server."""

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True


class OpenSession(Request, frozen=True, kw_only=True):
    """Prepare a session of a name, which a program of the administrator resumes with `hello`.

    A free name becomes an account to which nobody can log in. Only such sessions play on the
    ladders of competitions, and their seeks are paired with those of other such sessions only.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    name: Name


class Join(Request, frozen=True, kw_only=True):
    """Play the matches of one tournament, or of all, in which the session's name is an entrant.

    They begin without further requests, at most `matches` at once, as long as the connection lasts.
    A match of the same account whose session is not connected is taken over. By the number
    `process`, watchers of the tournament distinguish several sessions of an account. `core_set` is
    the number of the processor cores that the session thinks on: its opponents are sessions on the
    same cores, or on cores without a number, and one match is played at a time on these cores.
    """

    tournament: Key | None = None
    matches: Annotated[int, Meta(ge=0, le=100)] = 1
    process: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    core_set: CoreSetNumber | None = None


class EnterLadder(Request, frozen=True, kw_only=True):
    """Play rated matches on the ladder of a game, until it is left, as one version of the account.

    They begin without further requests, at most `matches` at once, as long as the connection lasts.
    `version` distinguishes the bot from the account's other versions, which are rated separately.
    """

    game: Text
    version: Label = ""
    matches: Annotated[int, Meta(ge=0, le=100)] = 1


class LeaveLadder(Request, frozen=True, kw_only=True):
    """Begin no more matches on the ladder of a game; running matches continue."""

    game: Text


class WatchLadder(Request, frozen=True, kw_only=True):
    """Watch the ladder of a game, in place of a ladder that was watched before.

    The answer is the current `ladder_news`; more follow when the ladder changes.
    """

    sent_by: ClassVar = SESSIONS

    game: Text


class CheckTournament(Request, frozen=True, kw_only=True):
    """Ask for the faults of a tournament that the server would host, without creating it.

    It is given as the text of a file, or as the values of one.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    toml: str = ""
    values: dict[str, Any] | None = None


class CreateTournament(Request, frozen=True, kw_only=True):
    """Begin a tournament, and watch it.

    `hosted`: the server starts the entrants with a `player`, each a player of one of its bots.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    spec: TournamentSpec
    hosted: bool = False


class ChangeTournament(Request, frozen=True, kw_only=True):
    """Pause a tournament or continue it, add rounds, replace an entrant, or add one.

    While it is paused, no match begins. `rounds` is the new number. `entrant` takes the place of
    the entrant called `replaced`, with its results so far; without that it joins as a late one.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    tournament: Key
    paused: bool | None = None
    rounds: int | None = None
    replaced: Name | None = None
    entrant: Entrant | None = None


class WatchTournament(Request, frozen=True, kw_only=True):
    """Watch a tournament: receive its state now, then its fixtures.

    `from_now`: of matches that have begun before, only the ends are sent.
    """

    sent_by: ClassVar = SESSIONS

    tournament: Key
    from_now: bool = False


class Withdraw(Request, frozen=True, kw_only=True):
    """Withdraw an entrant from a tournament, which continues without it."""

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    tournament: Key
    entrant: Name


class EndTournament(Request, frozen=True, kw_only=True):
    """End a tournament as it stands; its running matches are aborted."""

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    tournament: Key


class ClusterWorker(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A worker of a cluster: its host, its cores, and the core sets that run there.

    `speed` is that of one core, in calibrations per second; it serves to compare workers.
    """

    host: Label
    cores: Annotated[int, Meta(ge=0, le=10_000)] = 0
    speed: Speed | None = None
    core_sets: Annotated[tuple[CoreSetNumber, ...], Meta(max_length=1024)] = ()


class ReportCluster(Request, frozen=True, kw_only=True):
    """Report where the entrants of a tournament run, for its page and the records of its matches.

    `waiting` is the number of core sets without cores, `matches_per_hour` the rate so far, and
    `dashboard` the address of Dask's own pages. A report replaces the one before; it is forgotten
    when its session ends.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    tournament: Key
    workers: Annotated[tuple[ClusterWorker, ...], Meta(max_length=1024)]
    waiting: Count = 0
    matches_per_hour: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    dashboard: Annotated[str, Meta(max_length=300, pattern=_HTTP_PATTERN)] | None = None


class ReportMatches(Request, frozen=True, kw_only=True):
    """Report ended matches of a tournament that was played elsewhere, and at last the tournament.

    `tournament` is its id there, and `at` when it started, in seconds since 1970. `matches` are
    some of its matches, the first of which has the number `first`: JSON Lines as `playout-server
    export` writes them, compressed by zlib, in Base64. When all are reported, `whole` has the
    tournament: a `ReportedTournament` as JSON, likewise. With neither, the answer says how many
    matches are reported. `rated` is for administrators: the matches count as those of the server.
    """

    sent_by: ClassVar = SESSIONS

    tournament: Key
    at: Annotated[float, Meta(ge=0, le=1e11)]
    first: Count = 0
    matches: Annotated[str, Meta(max_length=60_000)] = ""
    whole: Annotated[str, Meta(max_length=60_000)] = ""
    rated: bool = False


class Adjudicate(Request, frozen=True, kw_only=True):
    """End a match of a tournament with its proven result.

    The proof is about the position before move number `ply`: `winner` 1 or 2, or -1 for a tie.
    """

    sent_by: ClassVar = SESSIONS
    administrators_only: ClassVar = True

    match: Key
    ply: Count
    winner: Literal[1, 2, -1]


# Events, which the server sends. A client should ignore fields that it does not know.


class Event(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type", tag=_snake
):
    """A message of the server. `re` repeats the `id` of the request that it answers."""

    #: Whether it waits until all records before it are stored.
    durable: ClassVar[bool] = False

    re: RequestId | None = None

    @classmethod
    def tag(cls) -> str:
        """Its `type` on the wire."""
        return str(cls.__struct_config__.tag)


class OfferedBot(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot of the server: its name, its player specification and its level.

    `players` has other specifications for some games, by the names of the games. `move_s`: the
    longest time for a move, in seconds, if its specifications limit it.
    """

    name: str
    player: str
    level: Level | None = None
    move_s: float | None = None
    players: dict[str, str] = {}


class Welcome(Event, frozen=True, kw_only=True):
    """The answer to `hello`. After a lost connection, `session` resumes the session.

    `token` is sent once: when the name was registered just now, or as a new token in place of one
    that expires. `token_left_s` is for how many seconds the token of the account is valid; None
    without a limit. `away` are matches of the account
    whose session is not connected; `take_over` takes one over. `frame_bytes` is sent to clients
    that may send longer frames than others. `bots` can be challenged with `challenge_bot`.
    `push_key` is the public key of the server for `subscribe_push`, if it sends such notices.
    """

    durable: ClassVar = True

    protocol: int
    session: str
    name: str
    token: str | None = None
    token_left_s: float | None = None
    guest: bool = False
    away: tuple[str, ...] = ()
    frame_bytes: int | None = None
    software: str
    games: tuple[str, ...]
    bots: tuple[OfferedBot, ...] = ()
    push_key: str | None = None


class LoggedIn(Event, frozen=True, kw_only=True):
    """The answer to `log_in`, and to `end_logins` for all: a token, sent once."""

    durable: ClassVar = True

    name: str
    token: str


class LoginCode(Event, frozen=True, kw_only=True):
    """The answer to `make_code`: the code is valid once, and for so many seconds."""

    code: str
    seconds: float


class LoginEntry(Struct, frozen=True, omit_defaults=True):
    """A device that is logged in; `own` is that of this session.

    The one with an empty `login` has the token of the account.
    """

    login: str
    at: float
    software: str = ""
    own: bool = False


class LoginList(Event, frozen=True, kw_only=True):
    """The answer to `list_logins`: whether a password is set, and the devices, the oldest first."""

    durable: ClassVar = True

    has_password: bool
    logins: tuple[LoginEntry, ...]


class Seeking(Event, frozen=True, kw_only=True):
    """A seek is open: the answer to `seek`, and what a challenged player is sent."""

    seek: str
    name: str
    game: str
    clock: str | None = None
    rated: bool = False
    opponent: str | None = None
    seat: Seat | None = None
    matches: int = 1


class Started(Event, frozen=True, kw_only=True):
    """A match begins, is resumed, or is watched; `seat` is None for spectators.

    `time_control` is the receiver's own, for spectators that of the first player; if the players
    have different ones, `time_controls` has both. In a game with chance, `moves` has the rolls,
    too, and `commitment` is the SHA-256 of the key from which they follow. Until the end, a
    spectator is sent all but the last `delay` moves.
    """

    durable: ClassVar = True

    match: str
    game: str
    players: tuple[str, str]
    seat: Seat | None = None
    clock: str
    time_control: TimeControl | None = None
    time_controls: tuple[TimeControl, TimeControl] | None = None
    clocks: tuple[ClockState, ClockState] | None = None
    rated: bool = False
    delay: int = 0
    commitment: str | None = None
    moves: tuple[int, ...]
    state: tuple[int, ...]
    to_move: int
    legal_actions: tuple[int, ...] | None = None
    board: Board | None = None
    view: PositionView | None = None
    legal_moves: tuple[LegalMove, ...] | None = None
    #: The open offers, for the players.
    offers: tuple[OpenOffer, ...] = ()
    spectators: int = 0

    @property
    def both_time_controls(self) -> tuple[TimeControl, TimeControl] | None:
        """The time controls of both players, None without clocks."""
        own = self.time_control
        return self.time_controls or (None if own is None else (own, own))


class Update(Event, frozen=True, kw_only=True):
    """Move number `ply` was played. `state` is the position after it and its rolls.

    `rolls` are the outcomes that followed in a game with chance: move number `ply + 1` and so on.
    `views` are the positions before each of them, for sessions with views.
    """

    durable: ClassVar = True

    match: str
    ply: int
    player: Seat
    action: int
    rolls: tuple[int, ...] = ()
    state: tuple[int, ...]
    to_move: int
    clocks: tuple[ClockState, ClockState] | None = None
    legal_actions: tuple[int, ...] | None = None
    view: PositionView | None = None
    views: tuple[PositionView, ...] = ()
    legal_moves: tuple[LegalMove, ...] | None = None

    @property
    def next_ply(self) -> int:
        """The number of the next move."""
        return self.ply + 1 + len(self.rolls)


class MoveAnalysis(Event, frozen=True, kw_only=True):
    """The analysis of move number `ply`, which spectators are sent some moves later.

    `pv` and `candidates` are the moves in the notation of people, for sessions with views.
    """

    durable: ClassVar = True

    match: str
    ply: int
    player: Seat
    info: Analysis
    pv: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()


class TakenBack(Event, frozen=True, kw_only=True):
    """`player` has taken moves back with the opponent's consent: the first `ply` moves are left.

    All offers are closed. `state` is the position now.
    """

    durable: ClassVar = True

    match: str
    ply: int
    player: Seat
    state: tuple[int, ...]
    to_move: int
    clocks: tuple[ClockState, ClockState] | None = None
    legal_actions: tuple[int, ...] | None = None
    view: PositionView | None = None
    legal_moves: tuple[LegalMove, ...] | None = None


class _OfferEvent(Event, frozen=True, kw_only=True):
    """An offer of `player` has changed; both players are sent it."""

    durable: ClassVar = True

    match: str
    offer: OfferKind
    player: Seat
    ply: int


class Offered(_OfferEvent, frozen=True, kw_only=True):
    """A player has made an offer; both players are sent it. See OpenOffer."""

    dead: tuple[int, ...] = ()
    lead: float | None = None


class OfferClosed(_OfferEvent, frozen=True, kw_only=True):
    """An offer of `player` was declined or withdrawn; both players are sent it."""

    how: Literal["declined", "withdrawn"]


class SpectatorCount(Event, frozen=True, kw_only=True):
    """The number of spectators of a match; sent to its players and spectators with views."""

    match: str
    spectators: int


class Presence(Event, frozen=True, kw_only=True):
    """Whether a player of a match is connected; sent to its players and spectators with views.

    A page that does not answer the server's pings counts as not connected. `seconds` is the time
    that the player has to come back, None if the match waits.
    """

    match: str
    player: Seat
    connected: bool
    seconds: float | None = None


class Ended(Event, frozen=True, kw_only=True):
    """A match is over: winner 1 or 2, -1 for a tie, 0 for no result.

    `key` is that of the rolls, in a game with chance.
    """

    durable: ClassVar = True

    match: str
    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str
    state: tuple[int, ...]
    key: str | None = None


class AnalysisQueued(Event, frozen=True, kw_only=True):
    """The answer to `analyse`, sent again when `place`, the number of analyses before it, changes.

    `bot` is the name of the bot that thinks, for `seconds` at most.
    """

    analysis: str
    bot: str
    seconds: float
    place: int = 0


Lines = tuple[tuple[Action, ...], ...]


class AnalysisUpdate(Event, frozen=True, kw_only=True):
    """The analysis so far, from the side of the player to move; `over` in the last update.

    `lines` are the moves that the bot expects after other actions than that of its `pv`.
    `text` says why an analysis has ended before its time.
    """

    analysis: str
    info: Analysis | None = None
    lines: Lines = ()
    over: bool = False
    text: str = ""


class Summary(Struct, frozen=True):
    """A match that is being played, in a list."""

    match: str
    game: str
    players: tuple[str, str]
    clock: str
    ply: int


class Person(Struct, frozen=True, omit_defaults=True):
    """A player or spectator that is connected."""

    name: str
    role: str
    guest: bool = False


class Listing(Event, frozen=True, kw_only=True):
    """The answer to `list`; each list has at most 200 entries."""

    durable: ClassVar = True

    players: tuple[Person, ...]
    seeks: tuple[Seeking, ...]
    matches: tuple[Summary, ...]


class Outcome(Struct, frozen=True):
    """The result of a match: winner 1 or 2, -1 for a tie, 0 for no result."""

    match: str
    game: str
    players: tuple[str, str]
    plies: int
    winner: int
    reason: Reason
    text: str


class LobbyTotals(Struct, frozen=True):
    """The number of entries of each kind, listed or not, and of matches by the name of the game."""

    humans: int
    bots: int
    spectators: int
    seeks: int
    matches: int
    games: dict[str, int]


class Overview(Event, frozen=True, kw_only=True):
    """The answer to `subscribe_lobby`; each list has at most 50 entries.

    Spectators are counted, and not listed.
    """

    durable: ClassVar = True

    players: tuple[Person, ...]
    seeks: tuple[Seeking, ...]
    matches: tuple[Summary, ...]
    outcomes: tuple[Outcome, ...]
    totals: LobbyTotals


class News(Event, frozen=True, kw_only=True):
    """The changes of the lobby since the overview and the last news; sent to subscribers.

    `came` are added to `players` and `left` removed; `opened` are added to `seeks`, or replace the
    same seek, and `closed` are removed; `began` are added to `matches` and `gone` removed.
    """

    durable: ClassVar = True

    came: tuple[Person, ...] = ()
    left: tuple[Person, ...] = ()
    opened: tuple[Seeking, ...] = ()
    closed: tuple[str, ...] = ()
    began: tuple[Summary, ...] = ()
    gone: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    totals: LobbyTotals | None = None


class Tournament(Event, frozen=True, kw_only=True):
    """A tournament: the answer to `create_tournament` and `watch_tournament`.

    Sent again when it is over, changed or paused, or loses an entrant. `withdrawn` are the places
    of the withdrawn entrants in the list of entrants, in the order of their withdrawal. The
    openings of `spec` are sent without their `lines`, which may be thousands. `hosted`: the server
    starts its entrants.
    """

    durable: ClassVar = True

    tournament: str
    spec: TournamentSpec
    over: bool = False
    withdrawn: tuple[int, ...] = ()
    paused: bool = False
    hosted: bool = False


class TournamentFault(Struct, frozen=True, omit_defaults=True):
    """A fault of a tournament: `path` leads to the value by keys and places, from 0, in lists.

    `line` is the line of the file, from 1.
    """

    path: tuple[str | int, ...]
    line: int
    text: str


class TournamentDraft(Event, frozen=True, kw_only=True):
    """The answer to `check_tournament`: the text of the file, its values, and its faults.

    Without faults, `spec` is the specification with which the tournament can be created.
    """

    toml: str
    values: dict[str, Any]
    faults: tuple[TournamentFault, ...] = ()
    spec: TournamentSpec | None = None


class Fixture(Event, frozen=True, kw_only=True):
    """A match of a tournament begins or has ended; new watchers are sent all fixtures so far.

    `round`, `board` and `number` are the place of its pair in the schedule, `leg` is 1 for the
    first match of the pair and 2 for the second. `attempt` grows when a pair is played again after
    one of its matches had no result: matches of earlier attempts do not count. Until the end
    `winner` and `reason` are missing, and `processes` are the numbers from the players' `join`.
    `repeated`: the same moves between the same two players as in an earlier pair of the schedule.
    `core_speed` is the speed of the cores that both players think on, if `report_cluster` has
    reported it. `error` is that of a program that crashed. `luck` is that of the first player in
    all rolls, in points. The fixture is sent again when `luck` or a repetition is known.
    """

    durable: ClassVar = True

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
    core_speed: float | None = None
    error: str = ""
    luck: float | None = None


class LadderNews(Event, frozen=True, kw_only=True):
    """The numbers of a ladder, at most a second after a change; sent to its watchers.

    They are zero for a ladder without entrants. `rated` is the number of matches on which the
    present ratings are based; `versions` have entered, and `present` of them are connected or play.
    """

    durable: ClassVar = True

    game: str
    matches: int = 0
    rated: int = 0
    playing: int = 0
    versions: int = 0
    present: int = 0


class SessionOpened(Event, frozen=True, kw_only=True):
    """The answer to `open_session`: what `hello` needs to resume the session."""

    durable: ClassVar = True

    session: str
    name: str


class AccountEntry(Struct, frozen=True, omit_defaults=True):
    """An account in a list; with its `token` if it is new. That of a bot has none."""

    name: str
    created_at: float
    administrator: bool = False
    locked: bool = False
    bot: bool = False
    token: str | None = None


class AccountList(Event, frozen=True, kw_only=True):
    """The accounts that an administrator has asked for, created or changed, of `total`."""

    durable: ClassVar = True

    accounts: tuple[AccountEntry, ...]
    total: int


class ServerValue(Struct, frozen=True, omit_defaults=True):
    """A limit or a metric of the server; `text` says what it means."""

    name: str
    value: float | str
    text: str = ""


class LogLine(Struct, frozen=True):
    """A warning or an error in the server's log; `at` is in seconds since 1970."""

    at: float
    level: str
    text: str


class ServerState(Event, frozen=True, kw_only=True):
    """The answer to `inspect_server`.

    `fault` is why the server is not healthy, `warning` what its operator should know, `jobs` what
    runs beside the matches, and `errors` the last warnings and errors of the log.
    """

    fault: str = ""
    warning: str = ""
    jobs: tuple[str, ...] = ()
    limits: tuple[ServerValue, ...] = ()
    metrics: tuple[ServerValue, ...] = ()
    errors: tuple[LogLine, ...] = ()


class Ok(Event, frozen=True, kw_only=True):
    """The answer to a request that has no other answer: it was carried out.

    The answer to `join` has the `games` of the tournaments that the session has joined, so that a
    player can prepare for them before it has a match.
    """

    durable: ClassVar = True

    games: tuple[str, ...] = ()


class MatchesReported(Event, frozen=True, kw_only=True):
    """The answer to `report_matches`: the id of the tournament on this server.

    `matches` is the number of its matches that are stored, and `over` whether it is reported
    completely.
    """

    durable: ClassVar = True

    tournament: str
    matches: int
    over: bool


class Pong(Event, frozen=True, kw_only=True):
    """The answer to a client's `ping`."""


class ServerPing(Event, frozen=True, kw_only=True, tag="ping"):
    """The client was silent for long: after `seconds` more of silence, the connection is closed."""

    seconds: float


class Notice(Event, frozen=True, kw_only=True):
    """News about the whole server, or about something that the session waits for."""

    code: Literal[
        "storage_down",
        "storage_up",
        "bot_queued",
        "bot_failed",
        "seeks_closed",
        "game_failed",
        "game_compiling",
        "tournament_failed",
        "proof_failed",
        "luck_unknown",
        "ladder_unplayed",
        "ladder_left",
        "ladder_closed",
        "ladder_alone",
        "analysis_dropped",
    ]
    text: str


class Closing(Event, frozen=True, kw_only=True):
    """The server will stop within `seconds`.

    With `kept`, matches that are not over by then continue when it is started again; otherwise they
    are aborted.
    """

    seconds: float
    kept: bool = False


class Error(Event, frozen=True, kw_only=True):
    """A request was refused; `seconds`, if given, is the time after which it may be sent again."""

    code: Code
    text: str
    seconds: float | None = None


K = TypeVar("K")


def _kinds_of(base: type[K]) -> tuple[type[K], ...]:
    """Return the public messages of this module that are derived from `base`, as declared."""
    return tuple(
        kind
        for name, kind in globals().items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
        if not name.startswith("_")
    )


#: All messages that clients send, and all that the server sends.
REQUESTS: tuple[type[Request], ...] = _kinds_of(Request)
EVENTS: tuple[type[Event], ...] = _kinds_of(Event)
