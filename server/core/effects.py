"""The effects that the hub returns; `playout.server.net.driver` carries them out.

They are structs, because a move makes a dozen, and dataclasses take six times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from playout.protocol.analyst import Work
from playout.protocol.messages import Event, ReportMatches, ServerState
from playout.protocol.tournament_spec import TournamentSpec
from playout.ratings.bradley_terry import RatingProblem
from playout.server.model.records import Record


class Send(Struct, frozen=True, gc=False):
    """Send a message on these connections."""

    connections: tuple[int, ...]
    message: Event


class SendToSpectators(Struct, frozen=True, gc=False):
    """Send messages on these connections of spectators when nothing else is to be done."""

    connections: tuple[int, ...]
    messages: tuple[Event, ...]


class Close(Struct, frozen=True, gc=False):
    """Close a connection after all that was sent on it, and report it with `disconnect`.

    With `at_once`, output is dropped that the system does not accept now.
    """

    connection: int
    at_once: bool = False


class SetFrameLimit(Struct, frozen=True, gc=False):
    """Set the maximum frame size of a connection, for an administrator or another client."""

    connection: int
    administrator: bool


class PauseReading(Struct, frozen=True, gc=False):
    """Read nothing from a connection for some seconds."""

    connection: int
    seconds: float


class Store(Struct, frozen=True, gc=False):
    """Store a record, and call `committed` with its number when it is stored.

    Numbers grow by one; records are stored in their order.
    """

    number: int
    record: Record


class StartBot(Struct, frozen=True, gc=False):
    """Start this player for this game, under a name and with the token of its session.

    `bot` is its id in the core: call `bot_ended` with it when its process has exited.
    """

    bot: str
    name: str
    player: str
    game: str
    token: str


class EndBot(Struct, frozen=True, gc=False):
    """Kill the process of a bot at any time."""

    bot: str


class StartOrganizer(Struct, frozen=True, gc=False):
    """Start the process that starts the entrants of a tournament, and call `organizer_ended` later.

    It logs in with the `token` of a session called `name`. `players` are those that entrants may
    have; with the `key`, `accounts.entrant_token` makes the tokens of entrants.
    """

    tournament: str
    spec: TournamentSpec
    players: tuple[str, ...]
    name: str
    token: str
    key: str


class OrganizerFault(Struct, frozen=True, gc=False):
    """Why an organizer exits, in words: its message to the server."""

    text: str


class CheckFile(Struct, frozen=True, gc=False):
    """Check the file of a tournament, which takes seconds, and call `file_checked` with the result.

    `check` is the number of the check. The file is given by its `values`, or by its text `toml` if
    they are None. `players` are those that entrants may have.
    """

    check: int
    toml: str
    values: dict[str, Any] | None
    players: tuple[str, ...]


class StartAnalysis(Struct, frozen=True, gc=False):
    """Let an analyst work on this order, and call `analysis_reported` with each of its reports."""

    order: Work


class EndAnalysis(Struct, frozen=True, gc=False):
    """End the work on an analysis: its last report follows."""

    analysis: str


class RateLadder(Struct, frozen=True, gc=False):
    """Solve this problem of the ladder of a game, and call `ladder_rated` with the ratings.

    It takes seconds, in which requests must be handled. None stands for ratings that failed.
    """

    game: str
    problem: RatingProblem


class UpdateRatings(Struct, frozen=True, gc=False):
    """Update the ratings of games soon: the end of a match is stored."""


class KeepPush(Struct, frozen=True, gc=False):
    """Keep the subscription of an account to a push service; forget it without `fields`.

    These are the keys `p256dh` and `auth` of the browser, and the `language` of its notices.
    """

    account: str
    endpoint: str
    fields: Mapping[str, str] | None


class PushNotice(Struct, frozen=True, gc=False):
    """Send a notice to the browsers of an account, which are given `notice` as JSON."""

    account: str
    notice: Mapping[str, str]


class CheckPassword(Struct, frozen=True, gc=False):
    """Compare a password with its hash, or hash a new one if there is no hash, which takes time.

    Then call `password_checked` with the number of the `check`, and the hash, or an empty text for
    a wrong password.
    """

    check: int
    password: str
    hashed: str = ""


class CheckReport(Struct, frozen=True, gc=False):
    """Check reported matches by the rules, which takes time; then call `report_checked`.

    `account` is the id of the reporter, empty for matches that are rated with those of the server;
    `now` is the time in seconds since 1970.
    """

    check: int
    account: str
    request: ReportMatches
    now: float


class SendServerState(Struct, frozen=True, gc=False):
    """Send the state of the server on a connection; the driver adds its own numbers."""

    connection: int
    state: ServerState


class WakeAt(Struct, frozen=True, gc=False):
    """Call `wake` at that time, not before; it replaces the time of an earlier `WakeAt`."""

    at: float | None


class CallWhenIdle(Struct, frozen=True, gc=False):
    """Call `show` when nothing else is to be done, and repeat it while `has_pending_moves`."""


class TellDisconnection(Struct, frozen=True, gc=False):
    """Tell other programs that a player was disconnected during its `matches`, given by their ids.

    `at` is the time in seconds since 1970; a guest has no account.
    """

    at: float
    name: str
    guest: bool
    matches: tuple[str, ...]


class Log(Struct, frozen=True, gc=False):
    """Write a line to the operator's log; `text` is a format of `fields`."""

    text: str
    fields: Mapping[str, object]


class Stopped(Struct, frozen=True, gc=False):
    """End the process: nothing is left to be done."""


Effect = (
    Send
    | SendToSpectators
    | Close
    | SetFrameLimit
    | PauseReading
    | Store
    | StartBot
    | EndBot
    | StartOrganizer
    | CheckFile
    | StartAnalysis
    | EndAnalysis
    | RateLadder
    | UpdateRatings
    | KeepPush
    | PushNotice
    | CheckPassword
    | CheckReport
    | TellDisconnection
    | SendServerState
    | WakeAt
    | CallWhenIdle
    | Log
    | Stopped
)
