"""What the hub wants done, as values; `server.net.driver` does it.

Structs, because a dozen are made for each move, and dataclasses take six times as long.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from server.model.messages import Event
from server.model.records import Record


class Send(Struct, frozen=True, gc=False):
    """Say this on these connections."""

    connections: tuple[int, ...]
    message: Event


class SendToSpectators(Struct, frozen=True, gc=False):
    """Say these on connections of those who only look on, when nothing else is to be done."""

    connections: tuple[int, ...]
    messages: tuple[Event, ...]


class Close(Struct, frozen=True, gc=False):
    """End a connection, after what was sent on it."""

    connection: int


class SetFrameLimit(Struct, frozen=True, gc=False):
    """A connection has said who it is: it may send frames of the size that is allowed to it."""

    connection: int
    administrator: bool


class PauseReading(Struct, frozen=True, gc=False):
    """Do not listen to a connection for so long."""

    connection: int
    seconds: float


class Store(Struct, frozen=True, gc=False):
    """Keep this, and call `committed` with its number when it is safe.

    Numbers grow by one; what is stored is stored in their order.
    """

    number: int
    record: Record


class StartBot(Struct, frozen=True, gc=False):
    """Have this player come and play this game: by that name, with the token of its session.

    `bot` is what it is called here: call `bot_ended` with it when it has ended by itself.
    """

    bot: str
    name: str
    player: str
    game: str
    token: str


class EndBot(Struct, frozen=True, gc=False):
    """It is not wanted any more, wherever it is."""

    bot: str


class Wake(Struct, frozen=True, gc=False):
    """Call `wake` at that time, and not before; instead of any other time asked for."""

    at: float | None


class CallWhenIdle(Struct, frozen=True, gc=False):
    """Call `show` when nothing else is to be done, as long as something is `unshown`."""


class Log(Struct, frozen=True, gc=False):
    """Something that the operator may want to know; `text` is a format over `fields`."""

    text: str
    fields: Mapping[str, object]


class Stopped(Struct, frozen=True, gc=False):
    """Nothing is left to be done."""


Effect = (
    Send
    | SendToSpectators
    | Close
    | SetFrameLimit
    | PauseReading
    | Store
    | StartBot
    | EndBot
    | Wake
    | CallWhenIdle
    | Log
    | Stopped
)
