"""players.engines.gtp: clocks in whole seconds, for engines with different commands."""

from __future__ import annotations

import pytest

from playout.players import MatchClock, TimeLeft
from playout.players.engines.gtp import time_left, time_settings

PLAIN = ("time_settings", "time_left")
KGS = (*PLAIN, "kgs-time_settings")
KATA = (*KGS, "kata-time_settings")


def clock(start: TimeLeft, increment_s: float = 0.0, overhead_s: float = 0.03) -> MatchClock:
    return MatchClock(start, increment_s, (start, start), overhead_s)


PER_MOVE = clock(TimeLeft(0.0, 1, 5.0))
SUDDEN_DEATH = clock(TimeLeft(300.0))
FISCHER = clock(TimeLeft(300.0), 3.0)
BYO_YOMI = clock(TimeLeft(600.0, 5, 30.0))


@pytest.mark.parametrize(
    ("control", "commands", "said"),
    [
        (PER_MOVE, KATA, "time_settings 0 4 1"),
        (clock(TimeLeft(0.0, 1, 0.1)), PLAIN, "time_settings 0 1 1"),
        (SUDDEN_DEATH, KATA, "time_settings 300 0 0"),
        (FISCHER, PLAIN, "time_settings 297 3 1"),
        (FISCHER, KATA, "kata-time_settings fischer 300 3"),
        (BYO_YOMI, PLAIN, "time_settings 720 29 1"),
        (BYO_YOMI, KGS, "kgs-time_settings byoyomi 600 29 5"),
        (BYO_YOMI, ("time_left",), ""),
    ],
)
def test_a_time_control_is_told_by_the_best_command(
    control: MatchClock, commands: tuple[str, ...], said: str
) -> None:
    assert time_settings(control, commands) == said


@pytest.mark.parametrize(
    ("control", "commands", "left", "said"),
    [
        (PER_MOVE, PLAIN, TimeLeft(0.0, 1, 5.0), "4 1"),
        (SUDDEN_DEATH, PLAIN, TimeLeft(12.9), "12 0"),
        (SUDDEN_DEATH, PLAIN, TimeLeft(0.01), "1 0"),
        (FISCHER, PLAIN, TimeLeft(12.9), "9 0"),  # without the increment, which has a stone
        (FISCHER, PLAIN, TimeLeft(2.9), "2 1"),
        (FISCHER, KATA, TimeLeft(12.9), "12 0"),
        (BYO_YOMI, KGS, TimeLeft(100.0, 5, 30.0), "99 0"),
        (BYO_YOMI, KGS, TimeLeft(0.0, 4, 20.0), "19 4"),
        (BYO_YOMI, PLAIN, TimeLeft(0.0, 4, 20.0), "89 0"),
        (BYO_YOMI, PLAIN, TimeLeft(0.0, 1, 20.0), "19 1"),
    ],
)
def test_a_clock_is_told_as_the_engine_counts(
    control: MatchClock, commands: tuple[str, ...], left: TimeLeft, said: str
) -> None:
    assert time_left(control, left, time_settings(control, commands)) == said
