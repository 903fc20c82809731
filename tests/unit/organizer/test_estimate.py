"""Estimates of pairs, thinking time and threads, before a tournament begins."""

from __future__ import annotations

from typing import Any

import pytest

from playout.protocol.tournament_spec import Entrant, Sprt
from playout.ratings.pairs import PairScore
from playout.server.organizer import estimate
from playout.server.tournament import formats
from support.fixtures import spec


@pytest.mark.parametrize("format_", ["round_robin", "gauntlet", "match", "swiss", "knockout"])
@pytest.mark.parametrize("entrants", [2, 3, 5, 6])
def test_so_many_pairs_as_were_announced(format_: str, entrants: int) -> None:
    if format_ == "match" and entrants > 2:
        return
    whole = spec(format_, entrants, rounds=2, games=("nim", "tic_tac_toe"))
    span = estimate.pairs(whole)
    format_of = formats.load(whole)
    results: dict[Any, PairScore] = {}
    while missing := [each for each in format_of.pairs(results) if each.key not in results]:
        results |= {
            pair.key: PairScore(1, 1) if pair.entrants[0] < pair.entrants[1] else PairScore(0, 0)
            for pair in missing
        }
    assert span.least == len(results)
    assert span.most is not None
    assert (span.most == span.least) == (format_ != "knockout")


def test_a_sequential_test_has_no_known_end() -> None:
    test = spec("sprt", rounds=0, sprt=Sprt())
    assert str(estimate.pairs(test)) == "1 or more"
    assert estimate.thinking_s(test) is None
    assert str(estimate.pairs(spec("sprt", rounds=9, sprt=Sprt()))) == "1 to 9"


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [("1/move", 9), ("10+2", 38), ("10+3x5", 85), ("none", None)],
)
def test_thinking_time_at_most(clock: str, seconds: float | None) -> None:
    """Nine plies of tic-tac-toe; one pair of two matches, two at once."""
    whole = spec(games=("tic_tac_toe",), clock=clock, rounds=1, concurrency=2)
    assert estimate.thinking_s(whole) == seconds


def test_threads_that_think_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "usable_cores", lambda: 4)
    plain, two = Entrant("Ann", ""), Entrant("Bob", "", player="uct(threads=2)", threads=2)
    ponders = Entrant("Cem", "", player="uct(ponder=true)")
    assert estimate.concurrency(spec()) == 4
    assert estimate.concurrency(spec(entrants=(plain, two))) == 2
    assert estimate.concurrency(spec(entrants=(plain, ponders))) == 2
    assert estimate.concurrency(spec(entrants=(two, ponders))) == 1
    assert estimate.core_shortage(spec(entrants=(plain, two), concurrency=2)) is None
    note = estimate.core_shortage(spec(entrants=(two, ponders), concurrency=2))
    assert note is not None
    assert "keep 6 threads thinking, and this machine has 4 cores" in note
