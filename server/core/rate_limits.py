"""Rate limits: token buckets that fill with time."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address, ip_address

from playout.protocol.messages import Code
from playout.server.core.match import Refused

#: A bucket holds the tokens of this many seconds, so that short bursts are allowed.
BURST_S = 4.0
#: Maximum number of messages of a connection before `hello`: in each second, and at once. It is low
#: because a client may open many connections.
FIRST_RATE, FIRST_BURST = 5.0, 20.0
#: After a bucket was emptied, it must fill to this share before it gives tokens again.
REFILL = 0.5
#: Why no match begins while the database has reached its limit.
DATABASE_FULL = "the database of the server is full: it starts no new matches"
#: A budget of stored bytes holds those of this many seconds. With 72 MB an hour, two addresses then
#: store at most 40 MB in ten minutes.
STORAGE_BURST_S = 400.0
#: Maximum number of buckets of addresses that are kept; beyond it, full ones are dropped.
_KEPT = 10_000


class TokenBucket:
    """Allows `most` actions at once, and `rate` more each second."""

    __slots__ = ("_at", "_most", "_rate", "_tokens")

    def __init__(self, rate: float, most: float, now: float) -> None:
        """`rate`: tokens a second; 0 for no limit."""
        self._rate, self._most, self._tokens, self._at = rate, most, most, now

    def take(self, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        if not self._rate:
            return 0.0
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        return (max(1.0, self._most * REFILL) - self._tokens) / self._rate

    @property
    def rate(self) -> float:
        """The tokens a second; 0 for no limit."""
        return self._rate

    def give_back(self) -> None:
        """Put back the token that was taken last."""
        self._tokens += 1.0

    def is_full(self, now: float) -> bool:
        """Whether it is full again, so that it need not be kept."""
        return self._tokens + (now - self._at) * self._rate >= self._most


class Quota:
    """A token bucket for each address."""

    def __init__(self, per_hour: float, limit: str, hint: str = "try again in {:.0f} s") -> None:
        """`per_hour`: actions an hour for each address; 0 for no limit.

        `limit` and `hint` are for the text of a refusal; {} in `hint` is the seconds to wait.
        """
        self.per_hour = per_hour
        self._limit = limit
        self._hint = hint
        self._buckets: dict[str, TokenBucket] = {}

    def require(self, address: str, now: float) -> None:
        """Take a token of an address. Raises Refused if there is none."""
        if wait_s := self.take(address, now):
            limit = self._limit.format(self.per_hour)
            text = f"your address may {limit} an hour, and has; {self._hint.format(wait_s)}"
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    def take(self, address: str, now: float) -> float:
        """Take a token of an address and return 0, or return the seconds until there is one."""
        if len(self._buckets) > _KEPT:
            self._buckets = {a: b for a, b in self._buckets.items() if not b.is_full(now)}
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = TokenBucket(self.per_hour / 3600, self.per_hour, now)
            self._buckets[address] = bucket
        return bucket.take(now)

    def give_back(self, address: str) -> None:
        """Put back the token of an address that was taken last."""
        self._buckets[address].give_back()


class ByteBudget:
    """Allows `most` bytes at once, and `rate` more each second; it may be overdrawn."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, most: float, now: float) -> None:
        """`rate`: bytes a second, above 0."""
        self._rate, self._most, self._left, self._at = rate, most, most, now

    def left(self, now: float) -> float:
        """The bytes that are left, below 0 if it is overdrawn."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left

    def spend(self, size: float, now: float) -> float:
        """Spend bytes; return the seconds until it is no longer overdrawn, 0 if it is not."""
        self._left = self.left(now) - size
        return max(0.0, -self._left / self._rate)

    def is_full(self, now: float) -> bool:
        """Whether it is full again, so that it need not be kept."""
        return self.left(now) >= self._most


class StorageBudget:
    """A budget of stored bytes for each owner: an address, or an account."""

    def __init__(self, mb_per_hour: float) -> None:
        """`mb_per_hour`: millions of bytes an hour for each; 0 for no limit."""
        self._rate = mb_per_hour * 1e6 / 3600
        self._budgets: dict[str, ByteBudget] = {}
        #: Whether the whole database has reached its limit.
        self.is_full = False
        #: The number of analyses that were not stored.
        self.dropped = 0

    def has_room(self, owners: Iterable[str], size: int, now: float) -> bool:
        """Whether all these owners may store that number of bytes."""
        return all(each.left(now) >= size for each in self._of(owners, now))

    def charge(self, owners: Iterable[str], size: int, now: float) -> float:
        """Charge bytes to all; return the seconds until all may store more, 0 if they may now."""
        return max((each.spend(size, now) for each in self._of(owners, now)), default=0.0)

    def _of(self, owners: Iterable[str], now: float) -> Iterator[ByteBudget]:
        if not self._rate:
            return
        if len(self._budgets) > _KEPT:
            self._budgets = {a: b for a, b in self._budgets.items() if not b.is_full(now)}
        for owner in owners:
            if owner not in self._budgets:
                most = self._rate * STORAGE_BURST_S
                self._budgets[owner] = ByteBudget(self._rate, most, now)
            yield self._budgets[owner]


def is_address(text: str) -> bool:
    """Whether the text is an IP address, and not a name."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@functools.lru_cache(4096)
def network(address: str) -> str:
    """The part of an address that has limits: of IPv6 the first 64 bits, shared by a household."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or IPv6Address(int(ip) >> 64 << 64))
    return address
