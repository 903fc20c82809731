"""Alarms against the obvious: a dict of times, searched from end to end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.core.timers import Timers

keys = st.sampled_from("abcd")
times = st.integers(0, 30).map(float)
settings = st.tuples(st.just("set"), keys, times | st.none())
passings = st.tuples(st.just("due"), st.just(""), times)


@given(st.lists(settings | passings, max_size=60))
def test_rings_what_a_dict_would(
    steps: list[tuple[str, str, float | None]],
) -> None:
    alarms, model = Timers(), dict[str, float]()
    now = 0.0
    for what, key, time in steps:
        if what == "set":
            alarms.set(key, time)
            if time is None:
                model.pop(key, None)
            else:
                model[key] = time
        else:
            now = max(now, time or 0.0)
            expected = {each for each, at in model.items() if at <= now}
            ringing = alarms.due(now)
            assert sorted(ringing) == sorted(expected)
            for each in expected:
                del model[each]
        at = alarms.next()
        if model:
            assert at is not None
            assert at <= min(model.values())


@given(st.lists(st.tuples(keys, times), min_size=1, max_size=20))
def test_going_by_next_rings_everything_in_the_end(wanted: list[tuple[str, float]]) -> None:
    alarms = Timers()
    for key, at in wanted:
        alarms.set(key, at)
    rung: dict[str, float] = {}
    while (now := alarms.next()) is not None:
        rung |= dict.fromkeys(alarms.due(now), now)
    assert rung == dict(wanted)


def test_alarms_nobody_waits_for_are_not_kept() -> None:
    alarms = Timers()
    for match in range(10_000):
        alarms.set(f"match {match}", 1e6 + match)
        alarms.set(f"match {match}", None)
    alarms.set("the last", 2e6)
    ringing = 0
    while (at := alarms.next()) is not None:
        ringing += 1
        alarms.due(at)
    assert ringing < 500


def test_sooner_and_sooner_is_one_alarm() -> None:
    alarms = Timers()
    for at in range(10_000, 0, -1):
        alarms.set("a", float(at))
    assert alarms.due(1.0) == ["a"]
    assert alarms.due(20_000.0) == []
