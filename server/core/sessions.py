"""Connections, and the sessions that they begin or resume.

A session outlives its connection: its matches continue, and its player may come back to it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct, structs

from playout.protocol.messages import Ended, Hello, Person, Request, Sender
from playout.protocol.names import skeleton
from playout.server.core.fair_shares import FairShares
from playout.server.core.rate_limits import TokenBucket, network
from playout.server.core.timers import Timer
from playout.server.model.records import Account

#: Maximum number of results of matches that are kept for a session.
_RESULTS = 100


#: Maximum number of matches that a session plays with views: to draw one takes a millisecond.
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
    #: The address of its last connection, as far as limits count it.
    network: str = ""
    #: When its connection was lost.
    left_at: float = 0.0
    #: When its connection ends, because its client does not answer; None while it answers.
    ends_at: float | None = None
    matches: set[str] = field(default_factory=set)
    #: The open seeks that stay open while it is not connected.
    lasting_seeks: set[str] = field(default_factory=set)
    #: Whether it has ended but for its seeks and the matches that wait for it.
    is_dormant: bool = False
    watching: set[str] = field(default_factory=set)
    #: Results that its player may not have received: when each match ended, and how.
    results: deque[tuple[float, Ended]] = field(default_factory=lambda: deque(maxlen=_RESULTS))
    #: The player specification, if the server has started it as a bot.
    bot_player: str | None = None
    #: Whether an administrator has opened it, for a program that plays with others of that kind.
    opened: bool = False
    #: Whether it is from before a restart, and has not come back: its role is not known.
    is_restored: bool = False
    #: The login whose token it has used, empty for the token of its account; None if not known.
    login: str | None = ""
    #: Ends the session when it does not come back; None until a connection is lost.
    expiry: Timer | None = None

    def __post_init__(self) -> None:
        self.skeleton = skeleton(self.name)
        #: Its entry in lists.
        self.person = self._person()

    def resume(self, hello: Hello) -> None:
        """Take the hello of a client that resumes the session, which keeps its role.

        The role of a session from before a restart was not stored: it is that of the first hello,
        and a player's, since the session has played.
        """
        role = self.hello.role
        if self.is_restored:
            role = "human" if hello.role == "spectator" else hello.role
        self.hello = structs.replace(hello, role=role)
        self.person = self._person()
        self.is_restored = False

    @property
    def sender(self) -> Sender:
        """The kind of sender, on which the allowed requests depend: spectators only watch."""
        return Sender.SPECTATOR if self.hello.role == "spectator" else Sender.PLAYER

    @property
    def has_views(self) -> bool:
        """Whether it is sent views: not if it plays many matches."""
        return self.hello.views and len(self.matches) <= MATCHES_WITH_VIEWS

    @property
    def is_away(self) -> bool:
        """Whether it has no connection, or its client does not answer."""
        return self.connection is None or self.ends_at is not None

    @property
    def label(self) -> str:
        """The start of the key, for the log; the token cannot be derived from it."""
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

    def _person(self) -> Person:
        return Person(name=self.name, role=self.hello.role, guest=self.account is None)


@dataclass(eq=False)
class Connection:
    """A connection: its message rate, its address, and its session after `hello`.

    `heard_at` is when its last message came. `hello_timer` closes it if no `hello` comes, and
    `idle_timer` sends a ping when nothing was received for too long.
    """

    number: int
    bucket: TokenBucket
    heard_at: float
    hello_timer: Timer
    idle_timer: Timer
    address: str = ""
    session: Session | None = None


class RequestContext(Struct, frozen=True, gc=False):
    """The connection and the time of a request; `lag_s` is the network's round trip in seconds."""

    connection: Connection
    now: float
    lag_s: float

    @property
    def session(self) -> Session:
        """The session of the connection; only for requests that are sent after `hello`."""
        assert self.connection.session is not None
        return self.connection.session


class SessionRegistry:
    """Connections by number, sessions by key and by the skeleton of their name.

    A connection that was told to close still counts until its file is closed.
    """

    def __init__(self) -> None:
        self.connections: dict[int, Connection] = {}
        #: The network of each connection whose file is open, empty while it is unknown.
        self._networks: dict[int, str] = {}
        #: The connections of processes that the server has started.
        self._own: set[int] = set()
        self.sessions: dict[str, Session] = {}
        self._by_skeleton: dict[str, dict[str, Session]] = {}
        self._by_network: dict[str, dict[str, Session]] = {}
        #: The network at which each session is counted, by its key.
        self._counted_at: dict[str, str] = {}
        self._addresses: Counter[str] = Counter()
        #: The entry in lists of each connection's session, and how many have the same entry.
        self._entries: dict[int, Person] = {}
        self._counts: Counter[Person] = Counter()
        #: The entries, those of accounts first and those of spectators last.
        self.persons = FairShares[Person](ranks=3)
        #: The number of entries of each role.
        self.roles: Counter[str] = Counter()

    def connect(self, connection: Connection, *, is_own: bool = False) -> None:
        """Add a connection, by its number; limits do not count one that `is_own`."""
        if is_own:
            self._own.add(connection.number)
        self.connections[connection.number] = connection
        self._networks[connection.number] = ""

    def locate(self, connection: Connection, address: str) -> None:
        """Note the address of a connection, and count it there."""
        connection.address = address
        if self.is_own(connection.number):
            return
        self._networks[connection.number] = network(address)
        self._addresses[network(address)] += 1

    def disconnect(self, number: int) -> Connection | None:
        """Remove a connection and return it; None if it was removed before."""
        if person := self._entries.pop(number, None):
            self._counts[person] -= 1
            if not self._counts[person]:
                del self._counts[person]
                self.persons.remove(person)
                self.roles[person.role] -= 1
        return self.connections.pop(number, None)

    def closed(self, number: int) -> None:
        """Count a connection no longer: its file is closed."""
        self._own.discard(number)
        if address := self._networks.pop(number, ""):
            self._addresses[address] -= 1
            if not self._addresses[address]:
                del self._addresses[address]

    @property
    def open_connections(self) -> int:
        """How many connections have an open file."""
        return len(self._networks)

    @property
    def counted_connections(self) -> int:
        """How many connections have an open file, without those of the server's own processes."""
        return len(self._networks) - len(self._own)

    def is_own(self, number: int) -> bool:
        """Whether a connection is that of a process that the server has started."""
        return number in self._own

    @property
    def closing_connections(self) -> int:
        """How many connections were told to close, and have an open file."""
        return len(self._networks) - len(self.connections)

    def connections_from(self, address: str) -> int:
        """How many connections of an address have an open file."""
        return self._addresses[network(address)]

    def add(self, session: Session) -> None:
        """Add a session, or one that is expected back."""
        self.sessions[session.key] = session
        self._by_skeleton.setdefault(session.skeleton, {})[session.key] = session
        self._leave_network(session)
        self._by_network.setdefault(session.network, {})[session.key] = session
        self._counted_at[session.key] = session.network
        if session.connection is not None:
            self._list(session.connection, session)

    def remove(self, session: Session) -> bool:
        """Remove a session. False if it was removed before."""
        if self.sessions.pop(session.key, None) is None:
            return False
        named = self._by_skeleton[session.skeleton]
        del named[session.key]
        if not named:
            del self._by_skeleton[session.skeleton]
        self._leave_network(session)
        return True

    def _list(self, connection: int, session: Session) -> None:
        """Add the entry of a connected session to the lists: one for all with the same entry."""
        person = self._entries[connection] = session.person
        self._counts[person] += 1
        if self._counts[person] == 1:
            rank = 2 if person.role == "spectator" else int(person.guest)
            self.persons.add(person, session.network, session.skeleton, rank)
            self.roles[person.role] += 1

    def from_network(self, address: str) -> Iterable[Session]:
        """The sessions whose last connection came from a network; none if it is unknown."""
        return self._by_network.get(address, {}).values() if address else ()

    def _leave_network(self, session: Session) -> None:
        before = self._counted_at.pop(session.key, None)
        if before is not None:
            del self._by_network[before][session.key]
            if not self._by_network[before]:
                del self._by_network[before]

    def like(self, skeleton: str) -> list[Session]:
        """The sessions with a name of this skeleton: the same name, or one that looks like it."""
        return list(self._by_skeleton.get(skeleton, {}).values())

    def present(self) -> Iterable[Session]:
        """The sessions that are connected."""
        return [each.session for each in self.connections.values() if each.session]


# Handlers of requests.
#
# A feature marks its methods with `handles`. The declaration of a request, in
# `playout.protocol.messages`, says who may send it.


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
