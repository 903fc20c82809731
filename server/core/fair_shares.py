"""Fair shares: addresses take turns, and so do the persons of each address."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")


def in_turns(groups: Iterable[Iterable[T]]) -> Iterator[T]:
    """Yield the first item of each group, then the second of each, and so on. No item is falsy."""
    rounds = itertools.zip_longest(*groups)
    return filter(None, itertools.chain.from_iterable(rounds))


class FairShares(Generic[T]):
    """Things by address and by the person there who owns them, for lists of limited length.

    The things have ranks: at an address, the persons with things of a lower rank come first. The
    cost of a list grows with its length, and hardly with the number of things.
    """

    def __init__(self, ranks: int = 1) -> None:
        #: The numbers of things in the order in which they were added, by address and person.
        self._ranks: list[dict[str, dict[str, dict[T, int]]]] = [{} for _ in range(ranks)]
        self._owners: dict[T, tuple[int, str, str]] = {}
        self._numbers = itertools.count()

    def add(self, thing: T, address: str, person: str, rank: int = 0) -> None:
        """Add a thing, or change its owner and rank; it keeps its place in the order."""
        number, owner = next(self._numbers), (rank, address, person)
        if before := self._owners.get(thing):
            if before == owner:
                return
            number = self._ranks[before[0]][before[1]][before[2]][thing]
            self.remove(thing)
        self._owners[thing] = owner
        self._ranks[rank].setdefault(address, {}).setdefault(person, {})[thing] = number

    def remove(self, thing: T) -> None:
        """Remove a thing, unless it was removed before."""
        if (owner := self._owners.pop(thing, None)) is None:
            return
        rank, address, person = owner
        persons = self._ranks[rank][address]
        del persons[person][thing]
        if not persons[person]:
            del persons[person]
        if not persons:
            del self._ranks[rank][address]

    def first(self, most: int, ranks: int | None = None) -> list[T]:
        """Return at most `most` things of the first ranks, of all by default, oldest first.

        All owners take turns until there are `most` things, so those after the first `most` owners
        get none if there are so many.
        """
        places = self._ranks[:ranks]
        addresses = itertools.islice(dict.fromkeys(itertools.chain.from_iterable(places)), most)
        shares = (in_turns(_owned(places, address, most)) for address in addresses)
        chosen = itertools.islice(in_turns(shares), most)
        return [thing for thing, _ in sorted(chosen, key=itemgetter(1))]


def _owned(
    ranks: list[dict[str, dict[str, dict[T, int]]]], address: str, most: int
) -> Iterable[Iterable[tuple[T, int]]]:
    """The things of the first `most` persons of an address, those of lower ranks first."""
    shared = [rank[address] for rank in ranks if address in rank]
    persons = itertools.islice(dict.fromkeys(itertools.chain.from_iterable(shared)), most)
    return (
        itertools.chain(*(rank[person].items() for rank in shared if person in rank))
        for person in persons
    )
