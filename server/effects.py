"""What the hub wants done, as values; `server.service` does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from server.messages import Event
from server.records import Record


@dataclass(frozen=True)
class Send:
    """Say this on these connections."""

    connections: tuple[int, ...]
    message: Event


@dataclass(frozen=True)
class Close:
    """End a connection, after what was sent on it."""

    connection: int


@dataclass(frozen=True)
class Trust:
    """A connection has said who it is: it may send frames of any size that is allowed."""

    connection: int


@dataclass(frozen=True)
class Pause:
    """Do not listen to a connection for so long."""

    connection: int
    seconds: float


@dataclass(frozen=True)
class Store:
    """Keep this, and call `committed` with its number when it is safe.

    Numbers grow by one; what is stored is stored in their order.
    """

    number: int
    record: Record


@dataclass(frozen=True)
class Wake:
    """Call `wake` at that time, and not before; instead of any other time asked for."""

    at: float | None


@dataclass(frozen=True)
class Log:
    """Something that the operator may want to know; `text` is a format over `fields`."""

    text: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Stopped:
    """Nothing is left to be done."""


Effect = Send | Close | Trust | Pause | Store | Wake | Log | Stopped
