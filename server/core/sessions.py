"""A session: somebody who has said hello, connected or expected back."""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass, field

from msgspec import Struct

from server.core.rate_limits import TokenBucket
from server.model.messages import Ended, Hello, Person
from server.model.names import skeleton
from server.model.records import Account

#: Results that a session may be told again when it comes back, at most.
_RESULTS = 100


class Stage(enum.StrEnum):
    """What a connection is, and so what it may ask for."""

    NEW = "has not said hello"
    PLAYER = "is a player"
    SPECTATOR = "is a spectator"


@dataclass(eq=False)
class Session:
    """`key` is a digest of its token; `connection` is None while the line is broken.

    `name` is what others know it by; `account` is None for a guest.
    """

    key: str
    name: str
    hello: Hello
    account: Account | None = None
    connection: int | None = None
    left_at: float = 0.0
    matches: set[str] = field(default_factory=set)
    watching: set[str] = field(default_factory=set)
    #: What it may not have heard: when a match of its ended, and how.
    results: deque[tuple[float, Ended]] = field(default_factory=lambda: deque(maxlen=_RESULTS))

    def __post_init__(self) -> None:
        self.skeleton = skeleton(self.name)
        #: What others see of it.
        self.person = Person(name=self.name, role=self.hello.role, guest=self.account is None)

    @property
    def stage(self) -> Stage:
        """Players play and watch, spectators watch."""
        return Stage.SPECTATOR if self.hello.role == "spectator" else Stage.PLAYER

    @property
    def label(self) -> str:
        """What the log calls it: a part of the key, from which no token follows."""
        return self.key[:8]

    @property
    def is_administrators(self) -> bool:
        """May it do what others may not?"""
        return self.account is not None and self.account.administrator

    def is_of(self, account: Account | None) -> bool:
        """Does it belong to this account?"""
        return account is not None and self.account is not None and self.account.id == account.id

    def news(self, since: float) -> list[Ended]:
        """The results since then, oldest first; older ones are dropped."""
        while self.results and self.results[0][0] < since:
            self.results.popleft()
        return [ended for _, ended in self.results]


@dataclass(eq=False)
class Connection:
    """A connection: how much it says, where it comes from, and who it has turned out to be."""

    number: int
    bucket: TokenBucket
    heard_at: float
    address: str = ""
    session: Session | None = None


class RequestContext(Struct, frozen=True, gc=False):
    """Who asks for something, and when; `lag_s` is how long the network takes there and back."""

    caller: Connection
    now: float
    lag_s: float

    @property
    def connection(self) -> int:
        """The number of its connection."""
        return self.caller.number

    @property
    def session(self) -> Session:
        """The session of one who has said hello."""
        assert self.caller.session is not None
        return self.caller.session
