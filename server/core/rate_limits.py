"""How often something may be done: buckets that fill with time."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

#: A bucket holds what comes in so many seconds, so that a short burst is nothing.
BURST_S = 4.0
#: Who has emptied a bucket waits until this share of it is there again.
REFILL = 0.5
#: Buckets of addresses that are looked after at a time, before those that are full are dropped.
_KEPT = 10_000


class TokenBucket:
    """So much may be done at once, and so much more with each second."""

    __slots__ = ("_at", "_most", "_rate", "_tokens")

    def __init__(self, rate: float, most: float, now: float) -> None:
        """`rate`: a second; 0 for any number."""
        self._rate, self._most, self._tokens, self._at = rate, most, most, now

    def take(self, now: float) -> float:
        """0 if it may be done now, or else seconds to wait."""
        if not self._rate:
            return 0.0
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        return (max(1.0, self._most * REFILL) - self._tokens) / self._rate

    def give_back(self) -> None:
        """What was done does not count."""
        self._tokens += 1.0

    def is_full(self, now: float) -> bool:
        """Has it been left alone for long enough to be forgotten?"""
        return self._tokens + (now - self._at) * self._rate >= self._most


class Quota:
    """A bucket for each address."""

    def __init__(self, per_hour: float) -> None:
        """0 for any number."""
        self._per_hour = per_hour
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, address: str, now: float) -> float:
        """0 if it may be done now, or else seconds to wait."""
        if len(self._buckets) > _KEPT:
            self._buckets = {a: b for a, b in self._buckets.items() if not b.is_full(now)}
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = TokenBucket(self._per_hour / 3600, self._per_hour, now)
            self._buckets[address] = bucket
        return bucket.take(now)


def is_address(text: str) -> bool:
    """Is it an address of IP, and not a name?"""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def network(address: str) -> str:
    """What counts as one address: of IPv6, the 64 bits that a household or a machine is given."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or IPv6Address(int(ip) >> 64 << 64))
    return address
