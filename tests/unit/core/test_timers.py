"""Timers, compared with a simple model: a dict of times that is searched completely."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from playout.server.core.timers import Timer, Timers

keys = st.sampled_from("abcd")
times = st.integers(0, 30).map(float)
settings = st.tuples(st.just("set"), keys, times | st.none())
passings = st.tuples(st.just("due"), st.just(""), times)


class NamedTimers:
    """Timers by name, and the names of those that have called back."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.called: list[str] = []
        self._named: dict[str, Timer] = {}

    def set(self, name: str, at: float | None) -> None:
        if name not in self._named:
            self._named[name] = self.timers.new(partial(self._call, name))
        self._named[name].set(at)

    def due(self, now: float) -> list[str]:
        self.called = []
        for timer in self.timers.due(now):
            timer.call(now)
        return self.called

    def _call(self, name: str, now: float) -> None:
        self.called.append(name)


@given(st.lists(settings | passings, max_size=60))
def test_due_timers_are_those_of_a_dict(steps: list[tuple[str, str, float | None]]) -> None:
    named, model = NamedTimers(), dict[str, float]()
    now = 0.0
    for what, name, time in steps:
        if what == "set":
            named.set(name, time)
            if time is None:
                model.pop(name, None)
            else:
                model[name] = time
        else:
            now = max(now, time or 0.0)
            expected = {each for each, at in model.items() if at <= now}
            assert sorted(named.due(now)) == sorted(expected)
            for each in expected:
                del model[each]
        at = named.timers.next()
        assert len(named.timers) == len(model)
        if model:
            assert at is not None
            assert at <= min(model.values())


@given(st.lists(st.tuples(keys, times), min_size=1, max_size=20))
def test_going_by_next_calls_every_timer_in_the_end(wanted: list[tuple[str, float]]) -> None:
    named = NamedTimers()
    for name, at in wanted:
        named.set(name, at)
    called: dict[str, float] = {}
    while (now := named.timers.next()) is not None:
        called |= dict.fromkeys(named.due(now), now)
    assert called == dict(wanted)


def test_a_timer_that_is_stopped_by_one_that_is_due_does_not_call() -> None:
    timers, called = Timers(), list[str]()
    second = timers.new(lambda now: called.append("second"))
    third = timers.new(lambda now: called.append("third"))

    def stop_second(now: float) -> None:
        called.append("first")
        second.stop()
        third.set(now + 1)

    timers.new(stop_second).set(1.0)
    second.set(2.0)
    third.set(3.0)
    for timer in timers.due(5.0):
        timer.call(5.0)
    assert called == ["first"]
    assert [timer is third for timer in timers.due(6.0)] == [True]


def test_entries_of_stopped_timers_are_not_kept() -> None:
    named = NamedTimers()
    for match in range(10_000):
        named.set(f"match {match}", 1e6 + match)
        named.set(f"match {match}", None)
    named.set("the last", 2e6)
    rounds = 0
    while (at := named.timers.next()) is not None:
        rounds += 1
        named.due(at)
    assert rounds < 500


def test_a_timer_set_earlier_and_earlier_calls_once() -> None:
    named = NamedTimers()
    for at in range(10_000, 0, -1):
        named.set("a", float(at))
    assert named.due(1.0) == ["a"]
    assert named.due(20_000.0) == []
