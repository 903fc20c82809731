"""Tables: points and tie-breaks, compared with published tables."""

from __future__ import annotations

import pytest

from playout.ratings.pairs import Pair, PairScore
from playout.server.tournament.formats import Bye
from playout.server.tournament.report.values import CrosstableCell
from playout.server.tournament.results import (
    Played,
    StandingsRow,
    crosstable,
    table,
)


def meeting(number: int, one: int, other: int, first: float, second: float) -> Played:
    return Pair((number, 1, 1), "nim", (one, other), 0), PairScore(first, second)


#: Sensei's Library, "Sonneborn-Berger" (senseis.xmp.net, 2003): four players, all twice. Both have
#: 4 wins; those of A are worth more.
SENSEIS = [
    meeting(1, 0, 1, 1, 0),
    meeting(2, 0, 2, 1, 1),
    meeting(3, 0, 3, 1, 0),
    meeting(4, 1, 2, 1, 0),
    meeting(5, 1, 3, 1, 1),
    meeting(6, 2, 3, 1, 1),
]


def test_sonneborn_berger_as_published() -> None:
    rows = table(4, SENSEIS)
    assert [(row.entrant, row.points, row.sonneborn_berger) for row in rows] == [
        (0, 4, 11),
        (1, 4, 9),
        (2, 3, 6),
        (3, 1, 4),
    ]
    assert rows[0] == StandingsRow(0, 6, 4, 0, 2, points=4, buchholz=16, sonneborn_berger=11)


def test_the_crosstable_has_both_sides() -> None:
    cells = crosstable(4, SENSEIS)
    assert cells[0] == [
        CrosstableCell(0, 0),
        CrosstableCell(1, 2),
        CrosstableCell(2, 2),
        CrosstableCell(1, 2),
    ]
    assert [row[0] for row in cells] == [
        CrosstableCell(0, 0),
        CrosstableCell(1, 2),
        CrosstableCell(0, 2),
        CrosstableCell(1, 2),
    ]
    assert [sum(cell.points for cell in row) for row in cells] == [4, 4, 3, 1]


#: M. Held, "Exercises in Tie-Breaking" (FIDE Arbiters' Commission, 2024): player, then the five
#: rounds. `+`, `=`, `-`: won, tied, lost; `b` a bye; `F` not played.
EXERCISE = """
1  +9   =13  =2   +15  =4
2  +10  +7   =1   +16  =3
3  =11  +6   +8   =4   =2
4  +12  =b   +13  =3   =1
5  -13  -15  +11  =7   +10
6  -14  -3   +b   +10  +8
7  +15  -2   -16  =5   -11
8  =16  +14  -3   +13  -6
9  -1   -10  =b   -F   +b
10 -2   +9   -15  -6   -5
11 =3   -16  -5   +F   +7
13 +5   =1   -4   -8   -14
14 +6   -8   -F   -b   +13
15 -7   +5   +10  -1   -16
16 =8   +11  +7   -2   +15
"""
#: The solutions: Buchholz of the players that missed rounds only by full byes.
BUCHHOLZ = {1: 12.5, 2: 13, 3: 15.5, 5: 8.5, 8: 13.5, 11: 13.5, 16: 12.5}


def exercise() -> tuple[list[Played], list[Bye]]:
    """The exercise with each game as a pair of equal matches, and each bye as two matches."""
    results, byes = [], []
    for line in EXERCISE.split("\n")[1:-1]:
        number, *rounds = line.split()
        for round_, result in enumerate(rounds, start=1):
            got = {"+": 1.0, "=": 0.5, "-": 0.0}[result[0]]
            opponent = result[1:]
            if opponent in "bF":
                byes.append(Bye(round_, int(number), int(2 * got)))
            elif int(number) < int(opponent):
                results.append(meeting(round_, int(number), int(opponent), got, got))
    return results, byes


def test_buchholz_as_published() -> None:
    """With twice as many matches, opponents have twice the points and count twice."""
    rows = {row.entrant: row for row in table(17, *exercise())}
    assert {one: rows[one].buchholz / 4 for one in BUCHHOLZ} == BUCHHOLZ
    assert [rows[one].points / 2 for one in (1, 2, 3, 4)] == [3.5, 4, 3.5, 3.5]


def test_a_bye_counts_as_won_against_oneself() -> None:
    rows = table(3, [meeting(1, 0, 1, 1, 0.5)], [Bye(1, 2, 2)])
    assert rows == [
        StandingsRow(2, 0, 0, 0, 0, points=2, buchholz=4, sonneborn_berger=4),
        StandingsRow(0, 2, 1, 1, 0, points=1.5, buchholz=1, sonneborn_berger=0.75),
        StandingsRow(1, 2, 0, 1, 1, points=0.5, buchholz=3, sonneborn_berger=0.75),
    ]


def test_equals_are_told_apart_by_whom_they_met_then_whom_they_beat_then_by_place() -> None:
    results = [meeting(1, 0, 1, 1, 1), meeting(1, 2, 3, 1, 1), meeting(2, 3, 4, 1, 1)]
    rows = table(5, results)
    assert [(row.entrant, row.points, row.buchholz, row.sonneborn_berger) for row in rows] == [
        (2, 2, 4, 4),
        (3, 2, 4, 0),
        (0, 2, 0, 0),
        (1, 0, 4, 0),
        (4, 0, 4, 0),
    ]


@pytest.mark.parametrize("entrants", [0, 3])
def test_before_the_first_result_all_are_equal(entrants: int) -> None:
    assert table(entrants, []) == [
        StandingsRow(one, 0, 0, 0, 0, 0, 0, 0) for one in range(entrants)
    ]
    assert crosstable(entrants, []) == [[CrosstableCell(0, 0)] * entrants] * entrants
