"""playout.server.tournament.report.words: the answer of a tournament in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from playout.ratings.evidence import Pentanomial
from playout.server.tournament.report.values import (
    Estimate,
    HeadToHead,
    MatchCounts,
    Report,
    ReportEntrant,
    SequentialTest,
    Standing,
)
from playout.server.tournament.report.words import headline

TEST = SequentialTest(0, 20, 0.05, 0.05, "normalized", -2.94, 2.94)


def of_two(elo: Estimate, test: SequentialTest | None = None, pairs: int = 9) -> Report:
    """A match of an old version against a new one."""
    entrants = (ReportEntrant("old"), ReportEntrant("new"))
    both = HeadToHead(0, 1, Pentanomial(ww=pairs), elo, test=test)
    return Report("m", "match", ("nim",), entrants, head_to_head=(both,))


def of_three(*places: int, done: int = 3, los: float | None = None) -> Report:
    """A round robin in which the entrants have these places."""
    standings = tuple(
        Standing(place, entrant, MatchCounts(won=1), 1.0) for entrant, place in enumerate(places)
    )
    row = (los,) * 3
    return Report(
        "r",
        "round_robin",
        ("nim",),
        tuple(map(ReportEntrant, ("uct", "rave", "flat"))),
        done=done,
        pairs=3,
        standings=standings,
        los=(row, row, row) if los is not None else (),
    )


@pytest.mark.parametrize(
    ("elo", "said"),
    [
        (Estimate(35.0, 14.0), "old is stronger than new: +35.0 ± 14.0 Elo"),
        (Estimate(-35.0, 14.0), "new is stronger than old: +35.0 ± 14.0 Elo"),
        (Estimate(5.0, 14.0), "old and new cannot be told apart: +5.0 ± 14.0 Elo"),
        (Estimate(60.0, 80.0, 5.0, 165.0), "old is stronger than new: +60 (+5 to +165) Elo"),
        (Estimate(-60.0, 80.0, -165.0, -5.0), "new is stronger than old: +60 (+5 to +165) Elo"),
        (Estimate(low=120.0), "old is stronger than new: > 120 Elo"),
        (Estimate(high=-120.0), "new is stronger than old: > 120 Elo"),
        (Estimate(low=-40.0), "old and new cannot be told apart: > -40 Elo"),
    ],
)
def test_the_stronger_of_two_entrants_is_named_if_certain(elo: Estimate, said: str) -> None:
    assert headline(of_two(elo)) == said


@pytest.mark.parametrize(
    ("accepted", "said"),
    [
        (None, "the test of 0 against 20 normalized Elo is undecided"),
        ("H0", "the test accepts 0 normalized Elo against 20"),
        ("H1", "the test accepts 20 normalized Elo against 0"),
    ],
)
def test_the_result_of_a_sequential_test_is_said(
    accepted: Literal["H0", "H1"] | None, said: str
) -> None:
    report = of_two(Estimate(35.0, 14.0), replace(TEST, accepted=accepted))
    assert headline(report) == f"old is stronger than new: +35.0 ± 14.0 Elo; {said}"


def test_before_the_first_result_nothing_is_said() -> None:
    assert headline(of_two(Estimate(), pairs=0)) == ""
    unplayed = replace(of_three(1, 2, 3), standings=())
    assert headline(unplayed) == ""
    begun = tuple(Standing(1, entrant, MatchCounts(), 0.0) for entrant in range(3))
    assert headline(replace(unplayed, standings=begun)) == ""


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (of_three(1, 2, 3), "uct won"),
        (of_three(1, 2, 3, done=2), "uct leads"),
        (
            of_three(1, 2, 3, los=0.987),
            "uct won; likelihood that it is stronger than rave, the next: 98.7%",
        ),
        (of_three(1, 1, 3), "uct and rave share the first place"),
        (of_three(1, 1, 1, done=2), "uct, rave and flat are level in the first place"),
    ],
)
def test_the_first_of_many_entrants_is_named(report: Report, said: str) -> None:
    assert headline(report) == said
