"""Limits of messages, connections, seeks and matches, and their refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from playout.protocol.codec import ADMINISTRATORS_FRAME
from playout.protocol.messages import (
    Code,
    Error,
    List,
    Move,
    Ping,
    Pong,
    Seek,
    ServerPing,
    Watch,
    Welcome,
)
from playout.protocol.names import skeleton
from playout.server.core.accounts import digest
from playout.server.core.rate_limits import FIRST_BURST, Quota, TokenBucket, network
from playout.server.core.session_manager import MAX_REFUSED, RESERVED
from playout.server.model.records import Account
from support.hub_harness import (
    GAME,
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    match_between,
    only,
    play,
    sit_down,
)


def error(client: MemoryClient) -> Error:
    last = client.inbox[-1]
    assert isinstance(last, Error)
    return last


# Buckets.


@given(
    rate=st.floats(0.5, 100),
    most=st.floats(1, 500),
    waits=st.lists(st.floats(0, 3), min_size=1, max_size=300),
)
def test_no_more_comes_through_than_was_there_and_came_in(
    rate: float, most: float, waits: list[float]
) -> None:
    bucket, now, taken = TokenBucket(rate, most, 0.0), 0.0, 0
    for wait in waits:
        now += wait
        taken += bucket.take(now) == 0.0
        assert taken <= most + rate * now + 1e-6


@given(rate=st.floats(0.5, 100), most=st.floats(2, 500))
def test_a_client_may_continue_after_the_announced_wait(rate: float, most: float) -> None:
    bucket, now = TokenBucket(rate, most, 0.0), 0.0
    while not (wait_s := bucket.take(now)):
        pass
    assert wait_s > 0
    assert bucket.take(now + wait_s + 1e-9) == 0.0


def test_no_rate_is_no_limit() -> None:
    bucket = TokenBucket(0.0, 0.0, 0.0)
    assert not any(bucket.take(0.0) for _ in range(10_000))


def test_many_addresses_do_not_fill_the_memory() -> None:
    quota = Quota(10, "try {} times")
    for number in range(30_000):
        quota.take(f"address {number}", now=float(number))
    assert len(quota._buckets) < 11_000


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8:0:1::1", "2001:db8::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("", "192.0.2.1", False),
    ],
)
def test_an_address_of_ipv6_is_a_whole_network(one: str, other: str, same: bool) -> None:
    assert (network(one) == network(other)) is same


# Messages.


def test_a_client_that_sends_too_much_gets_an_error_and_a_pause() -> None:
    harness = HubHarness(messages_per_s=10.0)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    for number in range(39):
        assert ann.ask(Ping(id=number), Pong).re == number
    (refused,) = ann.say(Ping(id="x"))
    assert isinstance(refused, Error)
    assert (refused.code, refused.re) == (Code.RATE_LIMITED, "x")
    assert refused.seconds == 2.0
    assert "10 messages a second" in refused.text
    assert harness.paused == [(ann.number, 2.0)]
    assert bob.ask(Ping(id=1), Pong)
    harness.wait(2.0)
    assert ann.ask(Ping(id=1), Pong)


@pytest.mark.parametrize(("greets", "most"), [(True, 39), (False, FIRST_BURST)])
def test_unreadable_messages_count_too_and_before_hello_may_be_fewer(
    greets: bool, most: float
) -> None:
    harness = HubHarness(messages_per_s=10.0)
    client = harness.client("Ann") if greets else harness.connect()
    codes = []
    for _ in range(50):
        harness.do(harness.hub.refuse(client.number, Code.MALFORMED, "no message", harness.now))
        codes.append(error(client).code)
    assert codes.count(Code.MALFORMED) == most
    assert harness.paused


def test_moves_that_are_made_do_not_count() -> None:
    harness = HubHarness(messages_per_s=1.0)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    play(match, (ann, bob), (0, 1, 2, 4, 3, 5, 7, 6, 8))
    match = match_between(ann, bob)
    for _ in range(4):
        last = ann.say(Move(match=match, ply=9, action=0))[-1]
    assert isinstance(last, Error)
    assert last.code is Code.RATE_LIMITED


# Connections.


def test_a_server_limits_its_connections() -> None:
    harness = HubHarness(connections=3)
    lines = [harness.connect(f"192.0.2.{number}") for number in range(4)]
    lines[3].say(hello_of("Ann"))
    assert [client.open for client in lines] == [True, True, True, False]
    assert error(lines[3]).code is Code.TOO_MANY
    assert "3 connections" in error(lines[3]).text
    lines[0].hang_up()
    assert harness.connect().open


def test_a_connection_above_the_limit_has_the_room_of_one_that_has_left() -> None:
    harness = HubHarness(connections=2)
    first, second, third, fourth = (harness.connect(f"192.0.2.{number}") for number in range(4))
    first.hang_up()
    third.ask(hello_of("Ann"), Welcome)
    fourth.say(hello_of("Bob"))
    assert [client.open for client in (second, third, fourth)] == [True, True, False]
    assert error(fourth).code is Code.TOO_MANY


def test_an_administrator_connects_to_a_server_that_strangers_have_filled() -> None:
    harness = HubHarness(connections=3)
    token = "0" * 32
    account = Account(id="a", name="Root", digest=digest(token), created_at=0.0, administrator=True)
    harness.do(harness.hub.account_changed(account, harness.now))
    strangers = [harness.connect(f"192.0.2.{number}") for number in range(100)]
    assert sum(each.open for each in strangers) == 3 + RESERVED
    root = harness.connect("192.0.2.200")
    root.ask(hello_of("Root", token=token), Welcome)
    assert root.open
    assert sum(each.open for each in strangers) == 3 + RESERVED - 1
    for name in ("Ann", "Root"):  # another name, and the name without the token
        late = harness.connect("192.0.2.201")
        late.say(hello_of(name))
        assert error(late).code in (Code.TOO_MANY, Code.NAME_TAKEN)


def test_connections_of_own_processes_do_not_count() -> None:
    harness = HubHarness(connections=1, connections_per_address=1)
    bots = []
    for number in range(1000, 1010):
        bots.append(MemoryClient(harness, number))
        harness.clients[number] = bots[-1]
        harness.do(harness.hub.connect(number, "127.0.0.1", harness.now, is_own=True))
    assert all(each.open for each in bots)
    guest = harness.connect("127.0.0.1")
    guest.ask(hello_of("Ann"), Welcome)
    for each in (*bots, guest):
        each.hang_up()
    harness.wait(100.0)
    assert harness.is_empty()


def test_an_address_has_a_limit_of_connections() -> None:
    harness = HubHarness(connections_per_address=2)
    ours = [harness.connect("192.0.2.1") for _ in range(3)]
    assert [client.open for client in ours] == [True, True, False]
    assert error(ours[2]).code is Code.TOO_MANY
    assert harness.connect("192.0.2.2").open
    ours[0].hang_up()
    assert harness.connect("192.0.2.1").open


def test_behind_a_proxy_connections_count_for_where_they_come_from() -> None:
    harness = HubHarness(connections_per_address=1)
    one, two, three = (harness.connect(None) for _ in range(3))
    harness.do(harness.hub.locate(one.number, "192.0.2.1", harness.now))
    harness.do(harness.hub.locate(two.number, "192.0.2.2", harness.now))
    harness.do(harness.hub.locate(three.number, "192.0.2.1", harness.now))
    assert [client.open for client in (one, two, three)] == [True, True, False]
    for client in (one, two):
        client.hang_up()
    harness.wait(100.0)
    assert harness.is_empty()


def test_a_connection_counts_until_its_file_is_closed() -> None:
    harness = HubHarness(connections=3, connections_per_address=2, hello_s=10.0)
    harness.peers_stay = True
    silent = [harness.connect("192.0.2.1") for _ in range(2)]
    harness.wait(10.0)
    assert not any(client.open for client in silent)
    assert harness.hub.registry.open_connections == 2
    assert "your address" in refusal(harness.connect("192.0.2.1"))
    harness.connect("192.0.2.3")
    above = harness.connect("192.0.2.2")
    above.say(hello_of("Ann"))
    assert "the server has 3" in refusal(above)
    harness.close_files()
    assert harness.hub.registry.open_connections == 1
    assert harness.connect("192.0.2.1").open


def test_connections_above_a_limit_that_stay_open_have_a_limit_too() -> None:
    harness = HubHarness(connections_per_address=1)
    harness.peers_stay = True
    clients = [harness.connect("192.0.2.1") for _ in range(100)]
    assert clients[0].open
    told = [client.number for client in clients[1 : 1 + MAX_REFUSED]]
    assert harness.closing[:MAX_REFUSED] == told
    assert harness.aborted == [client.number for client in clients[1 + MAX_REFUSED :]]


def refusal(client: MemoryClient) -> str:
    """The text of the error of a connection that is refused."""
    assert not client.open
    assert error(client).code is Code.TOO_MANY
    return error(client).text


def test_a_connection_without_hello_in_time_is_closed() -> None:
    harness = HubHarness(hello_s=10.0)
    slow, quick = harness.connect(), harness.connect()
    harness.wait(9.0)
    slow.say(Ping(id=1))
    assert quick.ask(hello_of("Ann"), Welcome)
    harness.wait(1.0)
    assert error(slow).code is Code.TIMEOUT
    assert not slow.open
    assert quick.open


def test_frames_may_be_longer_after_hello() -> None:
    harness = HubHarness()
    ann, stranger = harness.client("Ann"), harness.connect()
    assert harness.trusted == {ann.number: False}
    assert stranger.open


def test_administrators_may_send_still_longer_frames_as_long_as_they_are_administrators() -> None:
    harness = HubHarness()
    zoe = administrator(harness, "Zoe")
    assert zoe.welcome
    assert zoe.welcome.frame_bytes == ADMINISTRATORS_FRAME
    assert harness.trusted == {zoe.number: True}
    account = harness.hub.accounts.like(skeleton("Zoe"))
    assert account
    demoted = structs.replace(account, administrator=False)
    harness.do(harness.hub.account_changed(demoted, harness.now))
    assert harness.trusted == {zoe.number: False}


# Silence.


def test_a_silent_client_gets_a_ping_and_is_then_disconnected() -> None:
    harness = HubHarness(idle_s=300.0)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    for client in (ann, bob):
        client.say(Seek(game="nim", seat=1))
    harness.wait(300.0)
    for client in (ann, bob):
        assert only(client.inbox, ServerPing).seconds == 60.0
    harness.wait(30.0)
    bob.say(Ping())
    harness.wait(30.0)
    assert error(ann).code is Code.TIMEOUT
    assert not ann.open
    assert bob.open
    harness.wait(269.0)
    assert len(bob.heard(ServerPing)) == 1
    harness.wait(1.0)
    assert len(bob.heard(ServerPing)) == 2


def test_a_player_may_be_silent_and_a_spectator_may_not() -> None:
    harness = HubHarness(idle_s=10.0)
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve", role="spectator")
    eve.say(Watch(match=match))
    harness.wait(1000.0)
    assert ann.open
    assert bob.open
    assert not eve.open
    assert not ann.heard(ServerPing)


# Seeks and matches.


def test_an_account_has_limits_of_seeks_and_matches_over_all_its_sessions() -> None:
    harness = HubHarness(seeks_per_account=3, matches_per_account=5)
    one = harness.client("Ann", guest=False)
    two = harness.client("Ann", token=one.account_token)
    one.say(Seek(game=GAME, matches=2))
    two.say(Seek(game="nim", matches=2))
    assert two.refused(Seek(game="nim", matches=2)) is Code.TOO_MANY
    one.say(Seek(game="othello"))
    assert one.refused(Seek(game="gomoku")) is Code.TOO_MANY
    assert harness.client("Bob", guest=False).say(Seek(game="gomoku", matches=5))


def test_a_client_at_its_limit_of_seeks_may_still_ask_for_the_list() -> None:
    harness = HubHarness(seeks_per_account=1)
    ann = harness.client("Ann")
    ann.say(Seek(game=GAME))
    assert ann.refused(Seek(game="nim")) is Code.TOO_MANY
    assert ann.say(List())
