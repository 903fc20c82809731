from __future__ import annotations

import pytest
from msgspec.structs import replace

from playout.players.training import run_folder
from playout.players.training.settings import Limits
from support.training import round_record

LAST = round_record(10, evaluations=1_000_000, seconds=120.0)


@pytest.mark.parametrize(
    ("chosen", "share", "remaining_s"),
    [
        (Limits(), 0.0, None),
        (Limits(rounds=20), 0.5, 120.0),
        (Limits(evaluations=4_000_000), 0.25, 360.0),
        (Limits(minutes=8), 0.25, 360.0),
        (Limits(minutes=8, rounds=20), 0.5, 120.0),
        (Limits(rounds=5), 1.0, 0.0),
    ],
)
def test_the_limit_that_comes_first_counts(
    chosen: Limits, share: float, remaining_s: float | None
) -> None:
    assert run_folder.progress(chosen, LAST.used) == share
    assert run_folder.is_over(chosen, LAST) == (share == 1)
    assert run_folder.remaining_s(chosen, LAST) == pytest.approx(remaining_s)


def test_the_time_left_follows_from_the_last_round_after_rounds_without_evaluations() -> None:
    last = round_record(10, evaluations=1_000, seconds=120.0)
    last = replace(last, evaluations_per_s=200.0, learning_share=0.5)
    assert run_folder.remaining_s(Limits(evaluations=11_000), last) == pytest.approx(100)
    by_playouts = replace(last, evaluations=0, evaluations_per_s=0.0)
    assert run_folder.remaining_s(Limits(evaluations=11_000), by_playouts) is None
    assert run_folder.remaining_s(Limits(evaluations=11_000, minutes=8), by_playouts) == 360


def test_a_run_without_a_round_is_not_over() -> None:
    assert run_folder.progress(Limits(rounds=1), run_folder.Used()) == 0
    assert not run_folder.is_over(Limits(rounds=1), None)
