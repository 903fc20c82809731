"""Rate limits: token buckets that fill with time."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from playout.protocol.messages import Code
from playout.server.core.match import Refused

#: A bucket holds the tokens of this many seconds, so that short bursts are allowed.
BURST_S = 4.0
#: After a bucket was emptied, it must fill to this share before it gives tokens again.
REFILL = 0.5
#: The most buckets of addresses that are kept; beyond it, full ones are dropped.
_KEPT = 10_000


class TokenBucket:
    """Allows `most` actions at once, and `rate` more each second."""

    __slots__ = ("_at", "_most", "_rate", "_tokens")

    def __init__(self, rate: float, most: float, now: float) -> None:
        """`rate`: tokens a second; 0 for no limit."""
        self._rate, self._most, self._tokens, self._at = rate, most, most, now

    def take(self, now: float) -> float:
        """Take a token: 0 if there is one, or else the seconds to wait for it."""
        if not self._rate:
            return 0.0
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        return (max(1.0, self._most * REFILL) - self._tokens) / self._rate

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
        self._per_hour = per_hour
        self._limit = limit
        self._hint = hint
        self._buckets: dict[str, TokenBucket] = {}

    def require(self, address: str, now: float) -> None:
        """Take a token of an address. Raises Refused if there is none."""
        if wait_s := self.take(address, now):
            limit = self._limit.format(self._per_hour)
            text = f"your address may {limit} an hour, and has; {self._hint.format(wait_s)}"
            raise Refused(Code.RATE_LIMITED, text, wait_s)

    def take(self, address: str, now: float) -> float:
        """Take a token of an address: 0 if there is one, or else the seconds to wait for it."""
        if len(self._buckets) > _KEPT:
            self._buckets = {a: b for a, b in self._buckets.items() if not b.is_full(now)}
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = TokenBucket(self._per_hour / 3600, self._per_hour, now)
            self._buckets[address] = bucket
        return bucket.take(now)


def is_address(text: str) -> bool:
    """Whether the text is an IP address, and not a name."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def network(address: str) -> str:
    """The part of an address that limits count: of IPv6 the first 64 bits, those of a household."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or IPv6Address(int(ip) >> 64 << 64))
    return address
