"""Spectators are sent all moves, after the players; idle work of the loop; the count."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
from msgspec import structs

from playout.protocol.messages import (
    Ended,
    Move,
    Ping,
    Pong,
    Presence,
    Resign,
    SpectatorCount,
    Started,
    Unwatch,
    Update,
    Watch,
)
from playout.server.runtime import scheduler
from playout.server.runtime.scheduler import LoopScheduler
from support.hub_harness import WON, HubHarness, MemoryClient, play, sit_down


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Objects are freed by their last reference alone."""
    gc.disable()
    yield
    gc.enable()


class WatchedMatch(HubHarness):
    """Ann plays Bob, Eve and Zoe watch, and the loop is never idle but in `rest`."""

    def __init__(self) -> None:
        super().__init__()
        self.ann, self.bob, self.match = sit_down(self)
        self.eve, self.zoe = (self.client(name, role="spectator") for name in ("Eve", "Zoe"))
        for client in (self.eve, self.zoe):
            client.ask(Watch(match=self.match), Started)
        self.busy = True

    def play(self, moves: int) -> None:
        play(self.match, (self.ann, self.bob), WON[:moves])


def plies(client: MemoryClient) -> list[int]:
    return [update.ply for update in client.heard(Update)]


def test_players_are_sent_moves_first() -> None:
    watched = WatchedMatch()
    watched.play(2)
    assert plies(watched.ann) == plies(watched.bob) == [0, 1]
    assert plies(watched.eve) == []
    watched.rest()
    assert plies(watched.eve) == plies(watched.zoe) == [0, 1]
    watched.rest()
    assert len(plies(watched.eve)) == 2, "once"


def test_the_end_is_sent_after_all_moves_even_if_the_loop_is_never_idle() -> None:
    watched = WatchedMatch()
    watched.play(5)
    assert [type(event) for event in watched.eve.inbox[-6:]] == [Update] * 5 + [Ended]
    assert plies(watched.eve) == [0, 1, 2, 3, 4]


def test_so_does_the_end_of_a_match_that_is_given_up() -> None:
    watched = WatchedMatch()
    watched.play(1)
    watched.bob.say(Resign(match=watched.match))
    assert [type(event) for event in watched.eve.inbox[-2:]] == [Update, Ended]
    watched.rest()
    assert isinstance(watched.eve.inbox[-1], Ended)


def test_a_new_spectator_is_not_sent_shown_moves_again() -> None:
    watched = WatchedMatch()
    late = watched.client("Late", role="spectator")
    watched.play(1)
    started = late.ask(Watch(match=watched.match), Started)
    assert len(started.moves) == 1
    assert plies(watched.eve) == [0], "but those who watched before are told before"
    watched.rest()
    assert plies(late) == []


def test_a_spectator_that_unwatches_or_leaves_is_sent_nothing() -> None:
    watched = WatchedMatch()
    watched.play(1)
    watched.eve.say(Unwatch(match=watched.match))
    watched.zoe.hang_up()
    watched.rest()
    assert plies(watched.eve) == plies(watched.zoe) == []


def test_the_clocks_that_are_shown_are_those_of_the_move() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, clock="60+0")
    eve = harness.client("Eve", role="spectator")
    eve.ask(Watch(match=match), Started)
    harness.busy = True
    harness.wait(5.0)
    play(match, (ann, bob), WON[:1])
    harness.wait(5.0)
    harness.rest()
    (shown,), (told,) = eve.heard(Update), bob.heard(Update)
    assert shown.clocks == told.clocks


def test_nothing_is_shown_that_is_not_stored() -> None:
    watched = WatchedMatch()
    watched.busy, watched.slow = False, True
    watched.ann.say(Move(match=watched.match, ply=0, action=4))
    watched.rest()
    assert plies(watched.eve) == []
    assert watched.eve.ask(Ping(), Pong)
    watched.commit()
    assert plies(watched.eve) == [0]


# Idle work of the loop.


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time is the last of these. Each call takes a third of a slice."""
    times = [0.0]
    monkeypatch.setattr(scheduler, "perf_counter", lambda: times[-1])
    return times


class LoopOfSteps:
    """Makes the scheduled calls in the next turn, whatever their delay."""

    def __init__(self) -> None:
        self.calls: list[Later] = []

    def callLater(self, delay: float, call: Callable[[], None]) -> Later:
        self.calls.append(Later(delay, call))
        return self.calls[-1]

    def turn(self) -> None:
        calls, self.calls = self.calls, []
        for later in calls:
            later.call()


class Later:
    def __init__(self, delay: float, call: Callable[[], None]) -> None:
        self.delay = delay
        self.call = call

    def active(self) -> bool:
        return True

    def reset(self, delay: float) -> None:
        self.delay = delay


def doer(done: list[str], name: str, seconds: list[float]) -> Callable[[], None]:
    def do() -> None:
        done.append(name)
        seconds.append(seconds[-1] + scheduler.SLICE_S / 3)

    return do


def test_idle_work_leaves_time_for_other_work(seconds: list[float]) -> None:
    loop, done = LoopOfSteps(), list[str]()
    turns = LoopScheduler(loop)
    for number in range(7):
        turns.when_idle(doer(done, str(number), seconds))
    loop.turn()
    assert done == ["0", "1", "2"]
    turns.end_of_iteration(doer(done, "at once", seconds))
    loop.turn()
    assert done == ["0", "1", "2", "at once", "3", "4", "5"]
    turns.when_idle(doer(done, "7", seconds))
    loop.turn()
    assert done[-2:] == ["6", "7"]
    assert not loop.calls


def test_unfinished_idle_work_continues_before_later_work() -> None:
    loop, done = LoopOfSteps(), list[str]()
    turns = LoopScheduler(loop)

    def thrice() -> bool:
        done.append("some")
        return len(done) < 3

    turns.when_idle(thrice)
    turns.when_idle(lambda: done.append("after"))
    loop.turn()
    assert done == ["some", "some", "some", "after"]


def test_idle_work_waits_while_it_is_held(seconds: list[float]) -> None:
    loop, done = LoopOfSteps(), list[str]()
    turns = LoopScheduler(loop)
    for number in range(7):
        turns.when_idle(doer(done, str(number), seconds))
    loop.turn()
    turns.hold()
    loop.turn()
    assert done == ["0", "1", "2"]
    (later,) = loop.calls
    assert later.delay == pytest.approx(scheduler.HOLD_S)
    turns.release()
    assert later.delay == 0
    loop.turn()
    assert done == ["0", "1", "2", "3", "4", "5"]


def test_idle_work_is_not_held_forever(seconds: list[float]) -> None:
    loop, done = LoopOfSteps(), list[str]()
    turns = LoopScheduler(loop)
    for number in range(4):
        turns.when_idle(doer(done, str(number), seconds))
    loop.turn()
    turns.hold()
    seconds.append(seconds[-1] + scheduler.HOLD_S)
    loop.turn()
    assert done == ["0", "1", "2", "3"]


def test_a_failing_call_does_not_stop_later_ones() -> None:
    loop, done = LoopOfSteps(), list[str]()
    turns = LoopScheduler(loop)

    def fail() -> None:
        raise RuntimeError("a fault")

    turns.when_idle(fail)
    turns.when_idle(lambda: done.append("done"))
    with pytest.raises(RuntimeError, match="a fault"):
        loop.turn()
    loop.turn()
    assert done == ["done"]


def test_spectators_are_counted_by_name_and_changes_are_sent_together() -> None:
    harness = HubHarness()
    ann, _, match = sit_down(harness, views=True)
    first, second, lobby = (harness.client(name, views=True) for name in ("Eve", "Zoe", "Cem"))
    plain, own = harness.client("Dan"), harness.client("Bob2", role="spectator")
    assert first.ask(Watch(match=match), Started).spectators == 1
    assert second.ask(Watch(match=match), Started).spectators == 2
    assert first.ask(Watch(match=match), Started).spectators == 2  # again
    assert lobby.ask(Watch(match=match, preview=True), Started).spectators == 2
    for client in (plain, own):
        assert client.ask(Watch(match=match), Started).spectators == 0  # it has no views
    assert not ann.heard(SpectatorCount)
    harness.wait(5.0)
    told = SpectatorCount(match=match, spectators=4)
    for client in (ann, first, second):
        assert client.heard(SpectatorCount) == [told]
    for client in (plain, own, lobby):
        assert not client.heard(SpectatorCount)
    lobby.say(Unwatch(match=match))
    harness.wait(5.0)
    assert ann.heard(SpectatorCount) == [told]
    second.hang_up()
    first.say(Unwatch(match=match))
    harness.wait(5.0)
    assert ann.heard(SpectatorCount)[1:] == [SpectatorCount(match=match, spectators=2)]


def test_a_match_that_has_ended_tells_no_count() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, views=True)
    harness.client("Eve", views=True).say(Watch(match=match))
    bob.say(Resign(match=match))
    harness.wait(5.0)
    assert not ann.heard(SpectatorCount)


def test_others_are_sent_that_a_player_is_away_and_back() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, views=True)
    eve, plain = harness.client("Eve", views=True), harness.client("Dan")
    for client in (eve, plain):
        client.say(Watch(match=match))
    bob.hang_up()
    away = Presence(match=match, player=2, connected=False, seconds=60.0)
    assert ann.heard(Presence) == eve.heard(Presence) == [away]
    harness.wait(20.0)
    late = harness.client("Zoe", views=True)
    late.say(Watch(match=match))
    assert late.heard(Presence) == [structs.replace(away, seconds=40.0)]
    harness.client("Bob", session=bob.token, views=True)
    back = Presence(match=match, player=2, connected=True)
    for client in (ann, eve):
        assert client.heard(Presence)[1:] == [back]
    assert not plain.heard(Presence)


@pytest.mark.usefixtures("no_collector")
def test_an_ended_match_and_its_sessions_are_freed_at_once() -> None:
    harness = WatchedMatch()
    rooms, sessions = harness.hub.rooms, harness.hub.registry.sessions
    kept = [weakref.ref(each) for each in (*rooms.values(), *sessions.values())]
    assert len(kept) == 5
    harness.play(2)
    harness.rest()
    harness.ann.ask(Resign(match=harness.match), Ended)
    for client in (harness.ann, harness.bob, harness.eve, harness.zoe):
        client.hang_up()
    harness.rest()
    harness.wait(600)
    assert [each() for each in kept] == [None] * 5
