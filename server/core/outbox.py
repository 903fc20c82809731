"""What is said, in order for each connection, and not before what it rests on is stored."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Outbox(Generic[T]):
    """Holds things for connections until the records of a certain number are stored.

    Records are numbered from 1 in the order in which they are to be stored.
    """

    def __init__(self) -> None:
        self._stored = 0
        self._held: deque[tuple[int, T]] = deque()
        #: For a connection, up to which record something for it is held.
        self._until: dict[int, int] = {}

    def passes(self, connections: tuple[int, ...], after: int) -> bool:
        """May something that rests on record `after` go out to these at once?"""
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
        """Keep something that does not pass; what came before it goes first."""
        held = self._held
        if held and held[-1][0] > after:
            after = held[-1][0]
        held.append((after, thing))
        for connection in connections:
            self._until[connection] = after

    def release(self, stored: int) -> list[T]:
        """All up to a record is stored: what goes out now, in order."""
        self._stored = stored
        held, ready = self._held, []
        while held and held[0][0] <= stored:
            ready.append(held.popleft()[1])
        return ready

    def forget(self, connection: int) -> None:
        """A connection is gone."""
        self._until.pop(connection, None)
