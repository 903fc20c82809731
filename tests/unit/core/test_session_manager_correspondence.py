"""Matches by correspondence: whoever has days for a move need not stay connected."""

from __future__ import annotations

import pytest

from playout.protocol.messages import (
    Accept,
    Cancel,
    ChallengeBot,
    Code,
    Ended,
    Hello,
    Move,
    Ok,
    Reason,
    Resign,
    Seek,
    Seeking,
    Started,
    TakeOver,
    Update,
    Watch,
)
from playout.server.model.offered_bots import parse_offered_bots
from support.hub_harness import GAME, HubHarness, MemoryClient, hello_of, match_between, only, play
from support.restarts import restarted

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
THREE_DAYS = "259200/move"


def registered(harness: HubHarness, name: str) -> MemoryClient:
    return harness.client(name, guest=False, role="human")


def back(harness: HubHarness, client: MemoryClient) -> MemoryClient:
    """Return another session of the same account."""
    assert client.welcome is not None
    name = client.welcome.name
    welcomes = [each.welcome for each in harness.clients.values() if each.welcome]
    token = next(each.token for each in welcomes if each.name == name and each.token)
    return harness.client(name, token=token)


def pair(harness: HubHarness, clock: str = THREE_DAYS) -> tuple[MemoryClient, MemoryClient, str]:
    ann, bob = registered(harness, "Ann"), registered(harness, "Bob")
    return ann, bob, match_between(ann, bob, clock=clock)


def test_players_may_be_away_for_days() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = pair(harness)
    for client in (ann, bob):
        client.hang_up()
    harness.wait(2 * DAY_S)
    ann = harness.client("Ann", session=ann.token)
    assert only(ann.inbox, Started).clocks[0].main_s == DAY_S  # type: ignore[index]
    ann.ask(Move(match=match, ply=0, action=4), Update)
    ann.hang_up()
    harness.wait(2 * DAY_S)
    bob = back(harness, bob)
    assert bob.welcome is not None
    assert bob.welcome.away == (match,)
    assert bob.ask(Watch(match=match, preview=True), Started).moves == (4,)
    assert bob.ask(TakeOver(match=match), Started).seat == 2
    bob.ask(Move(match=match, ply=1, action=0), Update)


@pytest.mark.parametrize("stored", [True, False])
def test_a_stopping_server_waits_for_no_stored_match_that_takes_days(stored: bool) -> None:
    harness = HubHarness(stored=stored)
    ann, bob, lasting = pair(harness)
    cyd, dan = harness.client("Cyd"), harness.client("Dan")
    short = match_between(cyd, dan)
    harness.do(harness.hub.stop(harness.now, grace_s=600.0))
    assert harness.stopped == 0
    ann.ask(Move(match=lasting, ply=0, action=4), Update)
    cyd.say(Resign(match=short))
    assert only(dan.inbox, Ended).reason is Reason.RESIGNATION
    assert harness.stopped == stored
    harness.wait(600.0)
    assert harness.stopped == 1
    assert [each.reason for each in bob.heard(Ended)] == ([] if stored else [Reason.ABORTED])


def test_a_player_out_of_time_loses_and_nothing_remains() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = pair(harness)
    play(match, (ann, bob), (4, 0))
    ann.hang_up()
    harness.wait(3 * DAY_S + 1.0)
    ended = only(bob.inbox, Ended)
    assert (ended.winner, ended.reason) == (2, Reason.TIME)
    bob.hang_up()
    harness.wait(HOUR_S)
    assert harness.is_empty()


def test_a_seek_is_closed_when_its_account_stays_away_too_long() -> None:
    harness = HubHarness(reconnect_s=60.0, seek_days=3)
    ann = registered(harness, "Ann")
    seek = ann.ask(Seek(game=GAME, clock=THREE_DAYS), Seeking).seek
    ann.hang_up()
    harness.wait(2 * DAY_S)
    assert harness.hub.lobby.get(seek)
    back(harness, ann).hang_up()  # which seeks anew or not, with other sessions
    harness.wait(DAY_S + HOUR_S)
    assert harness.hub.lobby.get(seek) is None
    assert harness.is_empty()


@pytest.mark.parametrize("clock", ["none", "86399/move", "86398+1"])
def test_other_clocks_wait_for_nobody(clock: str) -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = pair(harness, clock)
    play(match, (ann, bob), (4, 0))
    ann.hang_up()
    harness.wait(60.0)
    assert only(bob.inbox, Ended).reason is Reason.ABANDONMENT


def test_only_the_other_matches_of_a_player_that_left_are_lost() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, kept = pair(harness, "86400+0")
    lost = match_between(ann, bob, clock="300+3")
    play(lost, (ann, bob), (4, 0))
    ann.hang_up()
    harness.wait(60.0)
    assert only(bob.inbox, Ended).match == lost
    assert [*harness.matches] == [kept]


def test_a_seek_stays_open_without_a_connection() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob = registered(harness, "Ann"), registered(harness, "Bob")
    seek = ann.ask(Seek(id=1, game=GAME, clock=THREE_DAYS, seat=2), Seeking).seek
    short = ann.ask(Seek(id=2, game=GAME, clock="60+1"), Seeking).seek
    ann.hang_up()
    harness.wait(DAY_S)
    bob = back(harness, bob)
    assert bob.refused(Accept(seek=short)) is Code.UNKNOWN_SEEK
    match = only(bob.say(Accept(seek=seek)), Started).match
    bob.ask(Move(match=match, ply=0, action=4), Update)
    harness.wait(DAY_S)
    ann = harness.client("Ann", session=ann.token)
    assert only(ann.inbox, Started).moves == (4,)


def test_a_program_seeks_again_when_it_comes_back() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann = harness.client("Ann", guest=False, role="bot")
    ann.say(Seek(game=GAME, clock=THREE_DAYS))
    ann.hang_up()
    assert harness.is_empty()


def test_any_session_of_the_account_cancels_a_seek() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob = registered(harness, "Ann"), registered(harness, "Bob")
    seek = ann.ask(Seek(id=1, game=GAME, clock=THREE_DAYS), Seeking).seek
    ann.hang_up()
    assert bob.refused(Cancel(seek=seek)) is Code.UNKNOWN_SEEK
    harness.wait(DAY_S)
    assert back(harness, ann).ask(Cancel(id=1, seek=seek), Ok).re == 1
    for client in harness.clients.values():
        if client.open:
            client.hang_up()
    harness.wait(HOUR_S)
    assert harness.is_empty()


def test_own_seeks_that_are_not_listed_are_sent_after_the_welcome() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, _ = registered(harness, "Ann"), registered(harness, "Bob")
    terms = {"game": GAME, "clock": THREE_DAYS}
    link = ann.ask(Seek(id=1, link="0123456789abcdef" * 2, **terms), Seeking).seek
    challenge = ann.ask(Seek(id=2, opponent="Bob", **terms), Seeking).seek
    ann.ask(Seek(id=3, **terms), Seeking)  # which lists have
    ann.hang_up()
    harness.wait(DAY_S)
    sent = [each for each in back(harness, ann).inbox if isinstance(each, Seeking)]
    assert {(each.seek, each.name, each.opponent, each.re) for each in sent} == {
        (link, "Ann", None, None),
        (challenge, "Ann", "Bob", None),
    }
    carl = registered(harness, "Carl")
    assert not [each for each in carl.inbox if isinstance(each, Seeking)]


def test_a_seek_without_a_clock_begins_no_match_of_days() -> None:
    harness = HubHarness()
    ann, bob = registered(harness, "Ann"), registered(harness, "Bob")
    ann.say(Seek(game=GAME, clock=THREE_DAYS))
    bob.say(Seek(game=GAME))
    assert not harness.matches


def test_guests_cannot_play_by_correspondence() -> None:
    harness = HubHarness()
    ann, guest = registered(harness, "Ann"), harness.client("Guest")
    seek = ann.ask(Seek(id=1, game=GAME, clock=THREE_DAYS), Seeking).seek
    assert guest.refused(Seek(game=GAME, clock=THREE_DAYS)) is Code.NOT_FOR_GUESTS
    assert guest.refused(Accept(seek=seek)) is Code.NOT_FOR_GUESTS


def test_a_bot_of_the_server_does_not_wait_for_days() -> None:
    bots = parse_offered_bots(["Rob=random"])
    harness = HubHarness(reconnect_s=60.0, bots=1, offered=bots)
    ann = registered(harness, "Ann")
    ann.say(ChallengeBot(player="Rob", game=GAME, clock=THREE_DAYS))
    (bot,) = harness.bots.values()
    harness.connect().say(Hello(protocol_min=1, protocol_max=1, name="Rob", session=bot.token))
    match = harness.only_match()
    ann.hang_up()
    harness.wait(120.0)
    assert match.result is not None
    assert not harness.bots


def test_sessions_that_only_wait_do_not_count_as_sessions() -> None:
    harness = HubHarness(reconnect_s=60.0, sessions_per_account=2)
    ann, bob = registered(harness, "Ann"), registered(harness, "Bob")
    for _ in range(3):
        match_between(ann, bob, clock=THREE_DAYS)
        ann.hang_up()
        harness.wait(61.0)
        ann, bob = back(harness, ann), bob if bob.open else back(harness, bob)
    assert len(harness.matches) == 3


def test_the_clock_runs_on_while_the_server_is_down() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = pair(harness)
    harness.wait(DAY_S)
    ann.ask(Move(match=match, ply=0, action=4), Update)
    harness.wait(DAY_S)
    later = restarted(harness, after_s=DAY_S, reconnect_s=60.0)
    later.wait(HOUR_S)
    bob = later.client("Bob", session=bob.token)
    clocks = only(bob.inbox, Started).clocks
    assert clocks is not None
    assert clocks[1].main_s == DAY_S - HOUR_S


def test_a_player_has_an_hour_after_a_restart() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = pair(harness)
    play(match, (ann, bob), (4, 0))
    later = restarted(harness, after_s=30 * DAY_S, reconnect_s=60.0)
    bob = later.client("Bob", session=bob.token)
    later.wait(HOUR_S - 1.0)
    assert not bob.heard(Ended)
    later.wait(2.0)
    ended = only(bob.inbox, Ended)
    assert (ended.winner, ended.reason) == (2, Reason.TIME)


def test_a_clock_that_is_set_back_between_two_starts_gives_no_time() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = pair(harness)
    harness.wait(DAY_S)
    ann.ask(Move(match=match, ply=0, action=4), Update)
    later = restarted(harness, after_s=-365 * DAY_S, reconnect_s=60.0)
    later.wait(DAY_S)
    bob = later.client("Bob", session=bob.token)
    clocks = only(bob.inbox, Started).clocks
    assert clocks is not None
    assert clocks[1].main_s == 2 * DAY_S


def test_a_name_that_left_its_seek_may_say_hello() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann = registered(harness, "Ann")
    ann.say(Seek(game=GAME, clock=THREE_DAYS))
    ann.hang_up()
    harness.wait(DAY_S)
    assert harness.connect().refused(hello_of("Ann")) is Code.NAME_TAKEN
    assert back(harness, ann).open
