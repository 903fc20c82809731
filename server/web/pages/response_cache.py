"""Responses that are made once a second at most, however many clients ask for them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from server.web.http import HttpResponse

_MAX_RESPONSES, _VALID_S = 64, 1.0


@dataclass(frozen=True)
class _CachedResponse:
    """A response, and the time.monotonic() at which it expires."""

    response: HttpResponse
    expires_at: float


class ResponseCache:
    """The last responses by key."""

    def __init__(self) -> None:
        self._cache: OrderedDict[Hashable, _CachedResponse] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], Awaitable[HttpResponse]]) -> HttpResponse:
        """The response of a key, made at most a second ago."""
        cached = self._cache.get(key)
        if cached is None or time.monotonic() >= cached.expires_at:
            cached = _CachedResponse(await make(), time.monotonic() + _VALID_S)
            self._cache[key] = cached
            if len(self._cache) > _MAX_RESPONSES:
                self._cache.popitem(last=False)
        return cached.response
