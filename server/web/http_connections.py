"""The limits of HTTP connections: of all, of an address, and a reserve for the health check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from playout.server.core.rate_limits import network

#: The most HTTP connections, unless the limit on open files allows fewer; those upgraded to
#: WebSocket are limited by the hub instead.
MAX_CONNECTIONS = 250
#: An address has at most one in this number of them.
ADDRESS_SHARE = 5
#: Of these connections, those for health and metrics only.
RESERVE = 8


class HttpConnection(Protocol):
    """A connection that is counted, and can be closed."""

    def close_now(self) -> None:
        """Close the connection; output that the peer has not read is dropped."""


class HttpConnections:
    """The open connections that share a limit, and those of them that wait for a request."""

    def __init__(self, most: int, of_address: int, *, reserved: bool = False) -> None:
        """`most` in all, and `of_address` of one address; 0 for no limit of an address."""
        self.reserved = reserved
        self._most = most
        self._most_of_address = of_address
        #: The network of each.
        self._open: dict[HttpConnection, str] = {}
        self._by_network: Counter[str] = Counter()
        #: Those that wait for a request, or for the rest of one, the longest wait first.
        self._waiting: dict[HttpConnection, None] = {}

    def make_room(self, address: str) -> bool:
        """Close the connection that has waited longest, if needed; False if none waits."""
        name = network(address)
        if 0 < self._most_of_address <= self._by_network[name]:
            return self._close_one(lambda each: self._open[each] == name)
        return len(self._open) < self._most or self._close_one(lambda each: True)

    def add(self, channel: HttpConnection, address: str) -> None:
        """Add a new connection, which waits for a request."""
        self._open[channel] = network(address)
        self._by_network[network(address)] += 1
        self.wait(channel)

    def wait(self, channel: HttpConnection) -> None:
        """Note that a connection waits for a request from now on."""
        if channel in self._open:
            self._waiting[channel] = None

    def answer(self, channel: HttpConnection) -> None:
        """Note that a request on a connection is being answered."""
        self._waiting.pop(channel, None)

    def remove(self, channel: HttpConnection) -> None:
        """Remove a connection that was closed, or is one of HTTP no longer."""
        self._waiting.pop(channel, None)
        name = self._open.pop(channel, None)
        if name is not None:
            self._by_network[name] -= 1
            if not self._by_network[name]:
                del self._by_network[name]

    def _close_one(self, chosen: Callable[[HttpConnection], bool]) -> bool:
        channel = next(filter(chosen, self._waiting), None)
        if channel is None:
            return False
        self.remove(channel)
        channel.close_now()
        return True


def connection_pools(most: int, *, shared_address: bool) -> tuple[HttpConnections, HttpConnections]:
    """The pools of at most `most` connections: that of usual ones, and the reserve.

    `shared_address`: all connections come from the address of a proxy, which has no limit.
    """
    reserved = min(RESERVE, most // 4)
    of_address = 0 if shared_address else max(1, most // ADDRESS_SHARE)
    usual = HttpConnections(most - reserved, of_address)
    return usual, HttpConnections(reserved, 0, reserved=True)
