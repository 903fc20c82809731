"""Messages wait for their records: with slow and failing databases, and after restarts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from playout.protocol.messages import (
    ClockState,
    Code,
    Ended,
    Error,
    List,
    Move,
    Notice,
    Ok,
    Ping,
    Pong,
    Reason,
    Resign,
    Seek,
    Seeking,
    Started,
    TakeOver,
    Update,
    Watch,
    Welcome,
)
from playout.server.core.context import Context, Outbox
from playout.server.core.effects import CallWhenIdle, Send
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    flat,
    match_without_result,
)
from support.hub_harness import (
    EPOCH,
    GAME,
    WON,
    HubHarness,
    MemoryClient,
    hello_of,
    match_between,
    only,
    play,
    sit_down,
)
from support.restarts import restarted


def test_a_match_is_announced_when_it_is_stored() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    harness.slow = True
    ann.say(Seek(game=GAME, clock="10+0"))
    bob.say(Seek(game=GAME))
    assert not ann.heard(Started)
    assert isinstance(harness.stored[-1], MatchStarted)
    harness.wait(60.0)  # no clock runs, and no player counts as absent
    harness.commit()
    started = only(ann.inbox, Started)
    assert started.clocks == (ClockState(10.0, 0), ClockState(10.0, 0))
    assert only(bob.inbox, Started).match == started.match


def test_a_move_is_announced_when_it_is_stored_and_the_other_clock_runs_from_then_on() -> None:
    harness = HubHarness(credit_cap_s=0.0)
    ann, bob, match = sit_down(harness, clock="10+0")
    play(match, (ann, bob), (4, 8))
    harness.slow = True
    harness.wait(1.0)
    assert ann.say(Move(match=match, ply=2, action=0)) == []
    assert harness.stored[-1] == MovePlayed(
        **flat(
            match=match,
            ply=2,
            seat=1,
            action=0,
            clocks=(ClockState(9.0, 0), ClockState(10.0, 0)),
            at=EPOCH + 1.0,
        )
    )
    harness.wait(100.0)
    harness.commit()
    for client in (ann, bob):
        assert client.heard(Update)[-1].clocks == (ClockState(9.0, 0), ClockState(10.0, 0))
    harness.wait(9.5)
    assert not ann.heard(Ended)
    harness.wait(0.5)
    harness.commit()
    assert only(ann.inbox, Ended).reason is Reason.TIME


def test_nothing_shows_a_move_that_is_not_stored() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve", role="spectator")
    harness.slow = True
    ann.say(Move(match=match, ply=0, action=4))
    assert eve.say(Watch(match=match)) == []
    assert eve.say(List()) == []
    assert bob.say(Move(id="early", match=match, ply=1, action=4)) == []
    bob.hang_up()
    again = harness.connect()
    heard = again.say(hello_of("Bob", session=bob.token))
    assert [type(event) for event in heard] == []
    harness.commit()
    assert only(eve.inbox, Started).moves == (4,)
    assert only(again.inbox, Started).moves == (4,)


def test_a_move_before_the_announcement_of_the_last_one_is_refused() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    harness.slow = True
    ann.say(Move(match=match, ply=0, action=4))
    assert bob.say(Move(id="early", match=match, ply=1, action=0)) == []
    harness.commit()
    early = bob.inbox[-1]
    assert isinstance(early, Error)
    assert (early.code, early.re) == (Code.NOT_YOUR_TURN, "early")
    harness.slow = False
    bob.ask(Move(match=match, ply=1, action=0), Update)


def test_a_move_that_is_sent_twice_is_stored_once_and_both_are_answered() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    harness.slow = True
    for number in (1, 2):
        assert ann.say(Move(id=number, match=match, ply=0, action=4)) == []
    harness.commit()
    assert [update.re for update in ann.heard(Update)] == [1, 2]
    assert len(bob.heard(Update)) == 1
    assert sum(isinstance(record, MovePlayed) for record in harness.stored) == 1


def test_the_last_move_and_the_result_are_stored_in_order_and_sent_together() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), WON[:-1])
    harness.slow = True
    ann.say(Move(match=match, ply=4, action=WON[-1]))
    assert not ann.heard(Ended)
    assert [type(record) for record in harness.stored[-2:]] == [MovePlayed, MatchEnded]
    harness.commit()
    for client in (ann, bob):
        assert [type(event) for event in client.inbox[-2:]] == [Update, Ended]


def test_a_resignation_is_confirmed_when_it_is_stored() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    harness.slow = True
    assert ann.say(Resign(id="r", match=match)) == []
    harness.commit()
    assert {type(event) for event in ann.inbox[-2:]} == {Ok, Ended}
    assert only(bob.inbox, Ended).winner == 2


def test_each_connection_receives_messages_in_order() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve")
    harness.slow = True
    ann.say(Move(id="m", match=match, ply=0, action=4))
    assert ann.say(Ping(id="p")) == []
    assert ann.say(Move(id="w", match=match, ply=5, action=4)) == []
    assert eve.ask(Ping(id="p"), Pong).re == "p", "who waits for nothing is answered at once"
    assert eve.ask(Seek(game="nim"), Seeking)
    harness.commit()
    assert [event.re for event in ann.inbox[-3:]] == ["m", "p", "w"]
    assert only(bob.inbox, Update).action == 4


def test_all_sessions_get_notices_when_storage_fails_and_works_again() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    stranger = harness.connect()
    harness.slow = True
    ann.say(Move(match=match, ply=0, action=4))
    for _ in "12":
        harness.do(harness.hub.storage_fails(True, harness.now))
    for client in (ann, bob):
        assert only(client.inbox, Notice).code == "storage_down"
    harness.do(harness.hub.storage_fails(False, harness.now))
    harness.commit()
    assert [type(event) for event in ann.inbox[-2:]] == [Notice, Update]
    assert bob.heard(Notice)[-1].code == "storage_up"
    assert stranger.inbox == []


def test_a_server_stops_when_all_is_stored() -> None:
    harness = HubHarness(stored=True)
    ann, bob, match = sit_down(harness)
    harness.slow = True
    ann.say(Move(match=match, ply=0, action=4))
    harness.do(harness.hub.stop(harness.now, grace_s=0.0))
    assert harness.stopped == 0
    assert ann.open
    harness.commit()
    assert harness.stopped == 1
    assert only(bob.inbox, Update).action == 4
    assert not ann.open
    assert not any(isinstance(record, MatchEnded) for record in harness.stored)


# The outbox.


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=40))
def test_the_outbox_keeps_the_order_and_lets_nothing_out_too_early(
    steps: list[tuple[int, int, bool]],
) -> None:
    outbox: Outbox[tuple[int, int, int]] = Outbox()
    stored = records = 0
    out: list[tuple[int, int, int]] = []
    serial = itertools.count()
    for connection, commits, rests in steps:
        records += 1
        after = records if rests else 0
        thing = (connection, after, next(serial))
        if outbox.passes((connection,), after):
            assert after <= stored
            out.append(thing)
        else:
            outbox.hold((connection,), after, thing)
        ready = outbox.release(stored := min(records, stored + commits))
        assert all(each[1] <= stored for each in ready)
        out += ready
    out += outbox.release(records)
    assert len(out) == len(steps)
    for connection in range(4):
        mine = [number for each, _, number in out if each == connection]
        assert mine == sorted(mine)


def test_calls_and_messages_wait_for_the_records_before_them() -> None:
    context, called = Context(), list[tuple[str, float]]()
    ended = Ended(match="m", winner=1, returns=(1.0, 0.0), reason=Reason.RULES, text="", state=(0,))
    for number, name in ((1, "first"), (2, "second")):
        context.store(match_without_result("m", "no result", 1.0))
        context.when_stored(lambda now, name=name: called.append((name, now)))
        context.send((number,), ended)
    assert not any(isinstance(each, Send) for each in context.take_effects())
    context.release(1, 5.0)
    assert called == [("first", 5.0)]
    assert [each.connections for each in context.take_effects() if isinstance(each, Send)] == [(1,)]
    context.release(2, 6.0)
    assert called == [("first", 5.0), ("second", 6.0)]


def test_idle_work_is_asked_for_once_and_repeated_until_nothing_is_left() -> None:
    context, left, done = Context(), {"a": 2, "b": 1}, list[str]()

    def work(name: str) -> bool:
        done.append(name)
        left[name] -= 1
        return left[name] > 0

    context.when_idle(lambda: work("a"))
    context.when_idle(lambda: work("b"))
    assert sum(isinstance(each, CallWhenIdle) for each in context.take_effects()) == 1
    while context.has_idle_work:
        context.work_idly()
    assert done == ["a", "a", "b"]


# After a restart.


def back(harness: HubHarness, client: MemoryClient, name: str) -> MemoryClient:
    return harness.client(name, session=client.token)


def test_matches_continue_after_a_restart() -> None:
    harness = HubHarness(stored=True)
    ann, bob, match = sit_down(harness, clock="100+0")
    harness.wait(10.0)
    ann.say(Move(match=match, ply=0, action=0))
    harness.wait(20.0)
    bob.say(Move(match=match, ply=1, action=3))
    harness.wait(30.0)
    again = restarted(harness, restart_grace_s=15.0)
    again.wait(5.0)
    ann, bob = back(again, ann, "Ann"), back(again, bob, "Bob")
    started = only(ann.inbox, Started)
    assert (started.match, started.seat, started.moves) == (match, 1, (0, 3))
    assert started.clocks == (ClockState(90.0, 0), ClockState(80.0, 0)), "as after the last move"
    again.wait(15.0)
    ann.say(Move(match=match, ply=2, action=1))
    clocks = only(bob.inbox, Update).clocks
    assert clocks is not None
    assert clocks[0].main_s == pytest.approx(85.0), "after the grace, the clock runs"
    play(match, (ann, bob), (4, 2)[:0])
    bob.say(Move(match=match, ply=3, action=4))
    ann.say(Move(match=match, ply=4, action=2))
    assert only(bob.inbox, Ended).winner == 1


def test_a_player_that_does_not_come_back_after_a_restart_loses() -> None:
    harness = HubHarness(stored=True)
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), (0, 3))
    again = restarted(harness, reconnect_s=60.0)
    bob = back(again, bob, "Bob")
    again.wait(60.0)
    ended = only(bob.inbox, Ended)
    assert (ended.winner, ended.reason) == (2, Reason.ABANDONMENT)


def test_an_unsent_result_is_sent_to_a_player_that_comes_back() -> None:
    harness = HubHarness(stored=True)
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), WON)
    again = restarted(harness)
    for client, name in ((ann, "Ann"), (bob, "Bob")):
        ended = only(back(again, client, name).inbox, Ended)
        assert (ended.match, ended.winner) == (match, 1)


def test_a_last_move_whose_result_was_not_stored_ends_the_match() -> None:
    harness = HubHarness(stored=True)
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), WON)
    again = restarted(harness, lost=1)
    (finished,) = again.stored
    assert isinstance(finished, MatchEnded)
    assert (finished.match, finished.winner, finished.reason) == (match, 1, Reason.RULES)
    assert only(back(again, ann, "Ann").inbox, Ended).winner == 1


def test_a_move_that_was_not_stored_is_made_again() -> None:
    harness = HubHarness(stored=True)
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), (0, 3))
    again = restarted(harness, lost=1)
    ann, bob = back(again, ann, "Ann"), back(again, bob, "Bob")
    assert only(bob.inbox, Started).moves == (0,)
    play(match, (ann, bob), (3,), ply=1)


def test_accounts_and_claims_outlive_the_server() -> None:
    harness = HubHarness(stored=True, take_over_after_s=0.0)
    ann = harness.client("Ann", guest=False)
    other = harness.client("Ann", token=ann.account_token)
    bob = harness.client("Bob")
    match = match_between(ann, bob)
    ann.hang_up()
    other.ask(TakeOver(match=match), Started)
    again = restarted(harness)
    assert again.connect().refused(hello_of("Ann")) is Code.NAME_TAKEN
    assert again.connect().refused(hello_of("Ann", session=ann.token)) is Code.UNKNOWN_SESSION
    assert only(back(again, other, "Ann").inbox, Started).match == match
    assert again.client("Ann", token=ann.account_token).welcome.away == ()  # type: ignore[union-attr]


def test_a_session_that_lost_its_token_claims_after_a_restart() -> None:
    harness = HubHarness(stored=True)
    ann, bob = harness.client("Ann", guest=False), harness.client("Bob")
    match = match_between(ann, bob)
    again = restarted(harness, take_over_after_s=5.0, reconnect_s=60.0)
    client = again.connect()
    welcome = client.ask(hello_of("Ann", token=ann.account_token), Welcome)
    assert welcome.away == (match,)
    again.wait(5.0)
    assert client.ask(TakeOver(match=match), Started).seat == 1


def test_a_match_whose_rules_are_gone_stays_as_it_is() -> None:
    harness = HubHarness(stored=True)
    sit_down(harness)
    record = harness.stored[0]
    assert isinstance(record, MatchStarted)
    harness.stored[0] = structs.replace(record, game="shogi")
    again = restarted(harness)
    assert not again.matches
    assert any("cannot continue" in client for client in again.logged)


def test_ids_are_never_used_again() -> None:
    harness = HubHarness(stored=True)
    _, _, match = sit_down(harness)
    again = restarted(harness, after_s=0.001)
    ann, bob = again.client("Zoe"), again.client("Eve")
    assert match_between(ann, bob) > match
    assert not isinstance(ann.inbox[-1], Error)
