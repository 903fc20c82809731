"""Who is here: connections, and the sessions that some of them have become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from server.core.rate_limits import network
from server.core.sessions import Connection, Session


class People:
    """Connections by number, sessions by key and by name."""

    def __init__(self) -> None:
        self.callers: dict[int, Connection] = {}
        self.sessions: dict[str, Session] = {}
        self._by_likeness: dict[str, dict[str, Session]] = {}
        self._addresses: Counter[str] = Counter()

    def called(self, caller: Connection) -> None:
        """A connection is there."""
        self.callers[caller.number] = caller

    def locate(self, caller: Connection, address: str) -> None:
        """It is known where a connection comes from."""
        caller.address = address
        self._addresses[network(address)] += 1

    def hung_up(self, number: int) -> Connection | None:
        """A connection is gone; it, if it was there."""
        caller = self.callers.pop(number, None)
        if caller and caller.address:
            address = network(caller.address)
            self._addresses[address] -= 1
            if not self._addresses[address]:
                del self._addresses[address]
        return caller

    def calls_from(self, address: str) -> int:
        """How many connections an address has."""
        return self._addresses[network(address)]

    def add(self, session: Session) -> None:
        """Somebody has said hello, or is expected back."""
        self.sessions[session.key] = session
        self._by_likeness.setdefault(session.skeleton, {})[session.key] = session

    def remove(self, session: Session) -> bool:
        """A session is over. True if it was not over already."""
        if self.sessions.pop(session.key, None) is None:
            return False
        named = self._by_likeness[session.skeleton]
        del named[session.key]
        if not named:
            del self._by_likeness[session.skeleton]
        return True

    def like(self, likeness: str) -> list[Session]:
        """The sessions with a name, or with one that looks like it."""
        return list(self._by_likeness.get(likeness, {}).values())

    def present(self) -> Iterable[Session]:
        """The sessions that are connected."""
        return [caller.session for caller in self.callers.values() if caller.session]
