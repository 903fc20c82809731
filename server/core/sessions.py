"""Connections, and the sessions that they begin or take up.

A session outlives its connection: its matches go on, and its player may come back to it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from playout.protocol.messages import Ended, Hello, Person, Request, Sender
from playout.protocol.names import skeleton
from playout.server.core.rate_limits import TokenBucket, network
from playout.server.core.timers import Timer
from playout.server.model.records import Account

#: Results of matches that are kept for a session, at most.
_RESULTS = 100


#: The most matches of a session at once with views: one takes a millisecond to draw.
MATCHES_WITH_VIEWS = 10


@dataclass(eq=False)
class Session:
    """A player or spectator that has said hello, connected or expected back.

    `key` is the digest of its token; `connection` is None while it is not connected; `name` is the
    name that others see; `account` is None for a guest.
    """

    key: str
    name: str
    hello: Hello
    account: Account | None = None
    connection: int | None = None
    #: When its connection was lost.
    left_at: float = 0.0
    matches: set[str] = field(default_factory=set)
    watching: set[str] = field(default_factory=set)
    #: Results that its player may not have received: when each match ended, and how.
    results: deque[tuple[float, Ended]] = field(default_factory=lambda: deque(maxlen=_RESULTS))
    #: Which player it is, if the server has started it as a bot.
    bot_player: str | None = None
    #: Ends the session when it does not come back; None before it was ever needed.
    expiry: Timer | None = None

    def __post_init__(self) -> None:
        self.skeleton = skeleton(self.name)
        #: What others see of it in lists.
        self.person = Person(name=self.name, role=self.hello.role, guest=self.account is None)

    @property
    def sender(self) -> Sender:
        """What decides which requests it may send: players play and watch, spectators watch."""
        return Sender.SPECTATOR if self.hello.role == "spectator" else Sender.PLAYER

    @property
    def has_views(self) -> bool:
        """Whether its matches are drawn: those of a session with many are not."""
        return self.hello.views and len(self.matches) <= MATCHES_WITH_VIEWS

    @property
    def label(self) -> str:
        """A part of the key for the log; no token follows from it."""
        return self.key[:8]

    @property
    def is_administrators(self) -> bool:
        """Whether its account is an administrator's."""
        return self.account is not None and self.account.administrator

    def is_of(self, account: Account | None) -> bool:
        """Whether it belongs to this account; False for guests and for None."""
        return account is not None and self.account is not None and self.account.id == account.id

    def results_since(self, since: float) -> list[Ended]:
        """The results since then, oldest first; older ones are dropped."""
        while self.results and self.results[0][0] < since:
            self.results.popleft()
        return [ended for _, ended in self.results]


@dataclass(eq=False)
class Connection:
    """A connection: its message rate, its address, and its session after `hello`."""

    number: int
    bucket: TokenBucket
    #: When its last message came.
    heard_at: float
    address: str = ""
    session: Session | None = None
    #: Closes the connection if no `hello` comes.
    hello_timer: Timer | None = None
    #: Sends a ping when nothing was received for too long.
    idle_timer: Timer | None = None


class RequestContext(Struct, frozen=True, gc=False):
    """Where a request comes from, and when; `lag_s` is the round trip of the network in seconds."""

    connection: Connection
    now: float
    lag_s: float

    @property
    def session(self) -> Session:
        """The session of the connection. Only for requests that need a `hello` before."""
        assert self.connection.session is not None
        return self.connection.session


class SessionRegistry:
    """Connections by number, sessions by key and by the skeleton of their name."""

    def __init__(self) -> None:
        self.connections: dict[int, Connection] = {}
        self.sessions: dict[str, Session] = {}
        self._by_skeleton: dict[str, dict[str, Session]] = {}
        self._addresses: Counter[str] = Counter()

    def connect(self, connection: Connection) -> None:
        """Add a connection, by its number."""
        self.connections[connection.number] = connection

    def locate(self, connection: Connection, address: str) -> None:
        """Note the address of a connection, and count it there."""
        connection.address = address
        self._addresses[network(address)] += 1

    def disconnect(self, number: int) -> Connection | None:
        """Remove a connection and return it; None if it was removed before."""
        connection = self.connections.pop(number, None)
        if connection and connection.address:
            address = network(connection.address)
            self._addresses[address] -= 1
            if not self._addresses[address]:
                del self._addresses[address]
        return connection

    def connections_from(self, address: str) -> int:
        """How many connections an address has."""
        return self._addresses[network(address)]

    def add(self, session: Session) -> None:
        """Add a session, or one that is expected back."""
        self.sessions[session.key] = session
        self._by_skeleton.setdefault(session.skeleton, {})[session.key] = session

    def remove(self, session: Session) -> bool:
        """Remove a session. False if it was removed before."""
        if self.sessions.pop(session.key, None) is None:
            return False
        named = self._by_skeleton[session.skeleton]
        del named[session.key]
        if not named:
            del self._by_skeleton[session.skeleton]
        return True

    def like(self, skeleton: str) -> list[Session]:
        """The sessions with a name of this skeleton: the same name, or one that looks like it."""
        return list(self._by_skeleton.get(skeleton, {}).values())

    def present(self) -> Iterable[Session]:
        """The sessions that are connected."""
        return [each.session for each in self.connections.values() if each.session]


# Which method handles which request.
#
# A feature marks its methods with `handles`. What each request needs of its sender stands in the
# request's declaration, in `playout.protocol.messages`.


Handler = Callable[[Any, RequestContext], None]
M = TypeVar("M", bound=Callable[..., None])

_MARK = "_handled_request"


def handles(kind: type[Request]) -> Callable[[M], M]:
    """Mark a method `(self, request, origin)` as the handler of a request. It may raise Refused."""

    def mark(method: M) -> M:
        setattr(method, _MARK, kind)
        return method

    return mark


def handlers_of(features: Iterable[object]) -> dict[type[Request], Handler]:
    """The marked methods of these features, by the request that each handles.

    Raises TypeError if a request has two handlers.
    """
    found: dict[type[Request], Handler] = {}
    for feature in features:
        for name, method in vars(type(feature)).items():
            kind = getattr(method, _MARK, None)
            if kind in found:
                raise TypeError(f"{kind.__name__} is handled twice, also by {name}")
            if kind is not None:
                found[kind] = getattr(feature, name)
    return found
