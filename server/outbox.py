"""What is said, in order for each connection, and not before what it rests on is stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _Held(Generic[T]):
    after: int
    connections: tuple[int, ...]
    thing: T


class Outbox(Generic[T]):
    """Holds things for connections until the records of a certain number are stored.

    Records are numbered from 1 in the order in which they are to be stored.
    """

    def __init__(self) -> None:
        self.stored = 0
        self._held: deque[_Held[T]] = deque()
        #: For a connection, up to which record something for it is held.
        self._until: dict[int, int] = {}

    def passes(self, connections: tuple[int, ...], after: int) -> bool:
        """May something that rests on record `after` go out to these at once?"""
        stored, until = self.stored, self._until
        return after <= stored and not any(until.get(c, 0) > stored for c in connections)

    def hold(self, connections: tuple[int, ...], after: int, thing: T) -> None:
        """Keep something that does not pass; what came before it goes first."""
        if self._held:
            after = max(after, self._held[-1].after)
        self._held.append(_Held(after, connections, thing))
        for connection in connections:
            self._until[connection] = after

    def release(self, stored: int) -> Iterator[tuple[tuple[int, ...], T]]:
        """All up to a record is stored: what goes out now, and to whom."""
        self.stored = stored
        while self._held and self._held[0].after <= stored:
            held = self._held.popleft()
            yield held.connections, held.thing

    def forget(self, connection: int) -> None:
        """A connection is gone."""
        self._until.pop(connection, None)
