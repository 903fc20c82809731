"""The table of points with its tie-breaks, and the crosstable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from playout.server.tournament.formats import Bye
from playout.server.tournament.ledger import Played
from playout.server.tournament.report.values import CrosstableCell


@dataclass(frozen=True)
class StandingsRow:
    """The row of an entrant in the table. `played`, `won`, `tied` and `lost` count matches.

    Points are 1 for a match won, 0.5 for one tied, and 1 for each match of a bye, which is not
    counted as played. `buchholz` is the sum of the opponents' points, once for each match;
    `sonneborn_berger` is the sum of the points of opponents that lost, and half of those that tied
    (FIDE Handbook C.07 of 2023, articles 8 and 9). The opponent in a match of a bye has as many
    points as the entrant itself (article 16).
    """

    entrant: int
    played: int
    won: int
    tied: int
    lost: int
    points: float
    buchholz: float
    sonneborn_berger: float


#: The tie-breaks that a table can show, by their names.
TIEBREAKS: Mapping[str, Callable[[StandingsRow], float]] = {
    "Buchholz": attrgetter("buchholz"),
    "Sonneborn-Berger": attrgetter("sonneborn_berger"),
}


def table(entrants: int, results: Iterable[Played], byes: Iterable[Bye] = ()) -> list[StandingsRow]:
    """Return a row for each of the `entrants`, best first.

    They are sorted by points, then Buchholz, then Sonneborn-Berger, then as they are listed.
    """
    scores: list[list[tuple[int, float]]] = [[] for _ in range(entrants)]
    for pair, score in results:
        first, second = pair.entrants
        for one in score:
            scores[first].append((second, one))
            scores[second].append((first, 1 - one))
    free = [0] * entrants
    for bye in byes:
        free[bye.entrant] += bye.matches
    points = [free[one] + sum(score for _, score in scores[one]) for one in range(entrants)]
    rows = [_row(one, scores[one], free[one], points) for one in range(entrants)]
    return sorted(rows, key=lambda row: (-row.points, -row.buchholz, -row.sonneborn_berger))


def _row(
    entrant: int, scores: list[tuple[int, float]], free: int, points: list[float]
) -> StandingsRow:
    won, tied, lost = (sum(score == outcome for _, score in scores) for outcome in (1, 0.5, 0))
    against_nobody = free * points[entrant]
    return StandingsRow(
        entrant=entrant,
        played=len(scores),
        won=won,
        tied=tied,
        lost=lost,
        points=points[entrant],
        buchholz=against_nobody + sum(points[other] for other, _ in scores),
        sonneborn_berger=against_nobody + sum(points[other] * score for other, score in scores),
    )


def crosstable(entrants: int, results: Iterable[Played]) -> list[list[CrosstableCell]]:
    """Return the points of each entrant against each other: `crosstable(...)[one][other]`."""
    cells = [[CrosstableCell()] * entrants for _ in range(entrants)]
    for pair, score in results:
        first, second = pair.entrants
        for one, other, points in ((first, second, score.total), (second, first, 2 - score.total)):
            before = cells[one][other]
            cells[one][other] = CrosstableCell(before.points + points, before.matches + 2)
    return cells
