"""Holds messages until the records before them are stored, in order for each connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Outbox(Generic[T]):
    """Holds things for connections until records up to a number are stored.

    Records are numbered from 1 in the order in which they are to be stored.
    """

    def __init__(self) -> None:
        self._stored = 0
        self._held: deque[tuple[int, T]] = deque()
        #: For each connection, the highest record number that something held for it waits for.
        self._until: dict[int, int] = {}

    def passes(self, connections: tuple[int, ...], after: int) -> bool:
        """Whether something that waits for record `after` may be sent on these connections now."""
        stored = self._stored
        if after > stored:
            return False
        if self._held:
            until = self._until
            for connection in connections:
                if until.get(connection, 0) > stored:
                    return False
        return True

    def hold(self, connections: tuple[int, ...], after: int, thing: T) -> None:
        """Keep something that may not be sent yet; things that were held before it go first."""
        held = self._held
        if held and held[-1][0] > after:
            after = held[-1][0]
        held.append((after, thing))
        for connection in connections:
            self._until[connection] = after

    def release(self, stored: int) -> list[T]:
        """Note that the records up to number `stored` are safe; what may be sent now, in order."""
        self._stored = stored
        held, ready = self._held, []
        while held and held[0][0] <= stored:
            ready.append(held.popleft()[1])
        return ready

    def revise(self, change: Callable[[T], T | None]) -> None:
        """Replace each thing that is held by what `change` returns for it; None drops it."""
        changed = ((after, change(thing)) for after, thing in self._held)
        self._held = deque((after, thing) for after, thing in changed if thing is not None)

    def forget(self, connection: int) -> None:
        """Drop the order that is kept for a connection that was closed."""
        self._until.pop(connection, None)
