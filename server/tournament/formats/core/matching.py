"""Maximum matching in a graph, by Edmonds' blossom algorithm."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set

Graph = Mapping[int, Set[int]]


def maximum_matching(graph: Graph) -> dict[int, int]:
    """Return the partner of each matched vertex; no matching of the graph has more edges.

    `graph` has the neighbours of each vertex, in both directions. Edmonds' blossom algorithm
    (Edmonds 1965, "Paths, trees, and flowers"): from each unmatched vertex it searches a path on
    which unmatched and matched edges alternate, with odd cycles shrunk to their base, and exchanges
    the matched and the unmatched edges of the path.
    """
    matched: dict[int, int] = {}
    for one in graph:
        if one not in matched:
            _Search(graph, matched, one).augment()
    return matched


class _Search:
    """A tree of alternating paths from an unmatched vertex."""

    def __init__(self, graph: Graph, matched: dict[int, int], root: int) -> None:
        self.graph = graph
        self.matched = matched
        self.root = root
        self.parent: dict[int, int] = {}  # of vertices at an odd distance from the root
        self.base = {one: one for one in graph}
        self.even = {root}
        self.queue = deque([root])

    def augment(self) -> None:
        """Match the root, too, if an augmenting path from it exists."""
        while self.queue:
            one = self.queue.popleft()
            for other in self.graph[one]:
                if self.base[one] == self.base[other] or self.matched.get(one) == other:
                    continue
                if other in self.even:
                    self._shrink(one, other)
                elif other not in self.parent:
                    self.parent[other] = one
                    if other not in self.matched:
                        self._change_over(other)
                        return
                    self._reach(self.matched[other])

    def _reach(self, one: int) -> None:
        if one not in self.even:
            self.even.add(one)
            self.queue.append(one)

    def _change_over(self, end: int) -> None:
        """Exchange matched and unmatched edges on the path from the root to `end`."""
        one: int | None = end
        while one is not None:
            before = self.parent[one]
            following = self.matched.get(before)
            self.matched[one], self.matched[before] = before, one
            one = following

    def _shrink(self, one: int, other: int) -> None:
        """Shrink an odd cycle: its vertices are also at an even distance, and have one base."""
        base = self._common_base(one, other)
        cycle: set[int] = set()
        self._mark(one, base, other, cycle)
        self._mark(other, base, one, cycle)
        for each in self.graph:
            if self.base[each] in cycle:
                self.base[each] = base
                self._reach(each)

    def _common_base(self, one: int, other: int) -> int:
        """Return the base at which the paths of both to the root meet."""
        above = {self.base[one]}
        while self.base[one] != self.base[self.root]:
            one = self.parent[self.matched[self.base[one]]]
            above.add(self.base[one])
        while self.base[other] not in above:
            other = self.parent[self.matched[self.base[other]]]
        return self.base[other]

    def _mark(self, one: int, base: int, child: int, cycle: set[int]) -> None:
        while self.base[one] != base:
            mate = self.matched[one]
            cycle |= {self.base[one], self.base[mate]}
            self.parent[one] = child
            child, one = mate, self.parent[mate]
