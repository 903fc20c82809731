"""A session: somebody who has said hello, connected or expected back."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from server.messages import Hello


class Stage(enum.Enum):
    """What a connection is, and so what it may ask for."""

    NEW = "has not said hello"
    PLAYER = "is a player"
    SPECTATOR = "is a spectator"


@dataclass(eq=False)
class Session:
    """`connection` is None while the line is broken."""

    token: str
    hello: Hello
    connection: int | None = None
    matches: set[str] = field(default_factory=set)
    watching: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What others know it by."""
        return self.hello.name

    @property
    def stage(self) -> Stage:
        """Players play and watch, spectators watch."""
        return Stage.SPECTATOR if self.hello.role == "spectator" else Stage.PLAYER


@dataclass(frozen=True)
class Asker:
    """Who asks for something, and when; `lag_s` is how long the network takes there and back."""

    connection: int
    known: Session | None
    now: float
    lag_s: float

    @property
    def session(self) -> Session:
        """The session of one who has said hello."""
        assert self.known is not None
        return self.known
