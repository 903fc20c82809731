"""Bots that a hub has started: who gets one, when it is there, and what is left of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs

from playout.protocol.messages import (
    Cancel,
    ChallengeBot,
    Code,
    Ended,
    Error,
    Event,
    Kick,
    List,
    Listing,
    Move,
    Notice,
    Offer,
    Reason,
    Resign,
    Seek,
    Seeking,
    Started,
    Welcome,
)
from playout.server.core.effects import StartBot
from playout.server.core.handlers.bots import AWAY_S, CONNECT_S, IDLE_S, RELOAD_S, RETURN_S
from playout.server.model.offered_bots import BadBot, parse_offered_bots
from playout.server.model.records import Account, MatchEnded, MatchStarted
from support.hub_harness import (
    GAME,
    WON,
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    only,
    play,
)
from support.restarts import restarted

OFFERED = parse_offered_bots(["Randy:easy=random", "Ursa:medium=uct(time=0.3)"])
SUMMON = ChallengeBot(player="Ursa", game=GAME, clock="60+1", seat=1)


def host(**policy: Any) -> HubHarness:
    """A server that offers bots."""
    return HubHarness(**{"bots": 4, "offered": OFFERED} | policy)


def the_bot(harness: HubHarness) -> StartBot:
    (order,) = harness.bots.values()
    return order


def come(harness: HubHarness, order: StartBot) -> MemoryClient:
    """A bot says hello, as its process would."""
    return harness.client(order.name, session=order.token)


def fail(harness: HubHarness, order: StartBot) -> None:
    """Its process ends by itself."""
    harness.do(harness.hub.bot_ended(order.bot, "it has ended with exit code 1", harness.now))
    harness.bots.pop(order.bot, None)


def test_a_bot_that_prepares_itself_is_awaited_and_its_rival_told() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    order = the_bot(harness)
    for _ in range(4):
        harness.wait(CONNECT_S - 1)
        what = "is compiled for this machine, once: 29 s so far"
        harness.do(harness.hub.bot_starting(order.bot, what, harness.now))
        notice = ann.heard(Notice)[-1]
        assert (notice.code, notice.text) == ("game_compiling", f"{order.name} {what}")
    come(harness, order)
    assert ann.heard(Started)
    heard = len(ann.heard(Notice))
    harness.do(harness.hub.bot_starting(order.bot, "is being started: 1 s so far", harness.now))
    assert len(ann.heard(Notice)) == heard


def test_a_bot_that_says_nothing_more_has_failed() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    what = "is being started: 3 s so far"
    harness.do(harness.hub.bot_starting(the_bot(harness).bot, what, harness.now))
    harness.wait(CONNECT_S + 1)
    assert ann.heard(Notice)[-1].code == "bot_failed"


def test_a_summoned_bot_plays_when_it_has_connected() -> None:
    harness = host()
    ann = harness.client("Ann")
    (seeking,) = ann.say(SUMMON)
    assert isinstance(seeking, Seeking)
    order = the_bot(harness)
    assert (order.player, order.game, order.name) == ("uct(time=0.3)", GAME, "Ursa")
    assert (seeking.opponent, seeking.clock, seeking.seat) == ("Ursa", "60+1", 1)
    bot = come(harness, order)
    started = only(ann.inbox, Started)
    assert (started.players, started.seat, started.clock) == (("Ann", "Ursa"), 1, "60+1")
    assert only(bot.inbox, Started).seat == 2
    assert ann.ask(List(), Listing).seeks == ()


def test_a_seek_with_the_name_of_a_bot_starts_a_match() -> None:
    harness = host()
    ann = harness.client("Ann")
    (seeking,) = ann.say(Seek(id=1, game=GAME, opponent="URSA", seat=2))
    assert isinstance(seeking, Seeking)
    assert (seeking.re, seeking.opponent, seeking.clock) == (1, "Ursa", "300+3")
    come(harness, the_bot(harness))
    assert only(ann.inbox, Started).players == ("Ursa", "Ann")
    assert ann.refused(Seek(game=GAME, opponent="Ursa", matches=2)) is Code.INVALID
    assert ann.refused(Seek(game=GAME, opponent="Ursa", rated=True)) is Code.NOT_FOR_GUESTS


def test_a_bot_plays_a_game_with_the_player_for_it() -> None:
    harness = host(offered=parse_offered_bots(["Ursa=uct(time=1);nim=rave(time=1)"]))
    ann = harness.client("Ann")
    ann.say(ChallengeBot(player="Ursa", game="nim(chips=9)"))
    order = the_bot(harness)
    assert order.player == "rave(time=1)"
    come(harness, order)
    assert "rave(time=1)" in only(harness.stored, MatchStarted).bots


def test_the_bot_is_gone_when_its_match_is_over() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    play(only(ann.inbox, Started).match, (ann, bot), WON)
    assert only(ann.inbox, Ended).reason is Reason.RULES
    assert isinstance(bot.inbox[-1], Ended)
    assert not bot.open
    assert not harness.bots
    assert ann.ask(SUMMON, Seeking)


def test_the_welcome_says_which_there_are() -> None:
    assert host().connect().ask(hello_of("Ann"), Welcome).bots == OFFERED
    assert host(bots=0).connect().ask(hello_of("Ann"), Welcome).bots == ()


def test_without_a_clock_it_is_the_server_s() -> None:
    harness = host(default_clock="5/move")
    seeking = harness.client("Ann").ask(ChallengeBot(player="random", game=GAME), Seeking)
    assert seeking.clock == "5/move"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"player": "uct(time=3)"}, Code.NOT_ALLOWED),
        ({"player": ""}, Code.NOT_ALLOWED),
        ({"player": "--help"}, Code.NOT_ALLOWED),
        ({"game": "shogi"}, Code.BAD_GAME),
        ({"game": "--help"}, Code.BAD_GAME),
        ({"game": "nim(chips=0)"}, Code.BAD_GAME),
        ({"clock": "soon"}, Code.BAD_CLOCK),
        ({"clock": "0+3"}, Code.BAD_CLOCK),
    ],
)
def test_a_bot_that_is_not_offered_is_refused(fields: dict[str, Any], code: Code) -> None:
    harness = host()
    ann = harness.client("Ann")
    assert ann.refused(ChallengeBot(**{"player": "random", "game": GAME} | fields)) is code
    assert ann.ask(List(), Listing).seeks == ()
    assert not harness.bots


@pytest.mark.parametrize(
    ("player", "suggested"),
    [
        ("uct", ["did you mean 'Ursa'?"]),
        ("uct(time=9)", ["did you mean 'Ursa'?"]),
        ("radnom", ["did you mean 'Randy'?"]),
        ("Ursula", ["did you mean 'Ursa'?"]),
        ("human", []),
    ],
)
def test_a_bot_that_is_not_offered_gets_a_suggestion(player: str, suggested: list[str]) -> None:
    offered = (*OFFERED, *parse_offered_bots(["uct(time=2)"]))
    ann = host(offered=offered).client("Ann")
    text = ann.ask(ChallengeBot(player=player, game=GAME), Error).text
    assert text.startswith(f"{player!r} is not among the bots here")
    assert text.endswith("(there are: Randy, Ursa, uct(time=2))")
    assert re.findall("did you mean .*?[?]", text) == suggested


def test_a_server_without_bots_says_so() -> None:
    ann = host(bots=0).client("Ann")
    assert ann.refused(SUMMON) is Code.NOT_ALLOWED


# Limits.


def test_one_waits_for_one_bot_at_a_time() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    assert ann.refused(SUMMON) is Code.TOO_MANY
    come(harness, the_bot(harness))
    assert ann.ask(SUMMON, Seeking).opponent == "Ursa"


def test_one_has_so_many_bots_at_once() -> None:
    harness = host(bots_per_account=1)
    ann = harness.client("Ann")
    ann.say(SUMMON)
    come(harness, the_bot(harness))
    assert ann.refused(SUMMON) is Code.TOO_MANY
    assert harness.client("Bob").ask(SUMMON, Seeking)
    ann.say(Resign(match=only(ann.inbox, Started).match))
    assert ann.ask(SUMMON, Seeking)


def test_challenges_wait_in_a_queue_while_all_bots_play() -> None:
    harness = host(bots=1)
    ann, bob, cid, dan = (harness.client(name) for name in ("Ann", "Bob", "Cid", "Dan"))
    seeking = ann.ask(SUMMON, Seeking)
    assert not ann.heard(Notice)
    seeks = [each.ask(SUMMON, Seeking).seek for each in (bob, cid, dan)]
    assert bob.refused(SUMMON) is Code.TOO_MANY
    assert [places(each) for each in (bob, cid, dan)] == [[1], [2], [3]]
    bob.say(Cancel(seek=seeks[0]))
    assert [places(each) for each in (bob, cid, dan)] == [[1], [2, 1], [3, 2]]
    ann.say(Cancel(seek=seeking.seek))
    assert the_bot(harness).token
    bot = come(harness, the_bot(harness))
    match = only(cid.inbox, Started).match
    assert places(dan) == [3, 2, 1]
    dan.hang_up()
    bot.say(Resign(match=match))
    assert not harness.bots
    assert harness.client("Eve").ask(SUMMON, Seeking)
    assert the_bot(harness)


def test_a_match_that_continues_is_before_the_queue() -> None:
    harness = host(bots=1)
    ann, match = idle(harness, 2)
    bob, cid = harness.client("Bob"), harness.client("Cid")
    bob.say(SUMMON)
    come(harness, the_bot(harness))
    cid.say(SUMMON)
    assert places(cid) == [1]
    ann.say(Move(match=match, ply=2, action=WON[2]))
    assert (places(ann), places(cid)) == ([1], [1, 2])
    ann.hang_up()
    ann = harness.client("Ann", session=ann.token)
    assert places(ann) == [1]
    bob.say(Resign(match=only(bob.inbox, Started).match))
    bot = come(harness, the_bot(harness))
    assert only(bot.inbox, Started).match == match
    assert places(cid) == [1, 2, 1]


def places(client: MemoryClient) -> list[int]:
    """The places in the queue for bots that a client was sent."""
    texts = [each.text for each in client.heard(Notice) if each.code == "bot_queued"]
    return [int(text.rpartition(" ")[2]) for text in texts]


def test_an_address_summons_so_many_an_hour() -> None:
    harness = host(bot_challenges_per_hour=2)
    ann = harness.client("Ann")
    for _ in range(2):
        ann.say(Cancel(seek=ann.ask(SUMMON, Seeking).seek))
    (error,) = harness.client("Bob").say(SUMMON)
    assert isinstance(error, Error)
    assert (error.code, error.seconds) == (Code.RATE_LIMITED, 1800)
    harness.wait(1800)
    assert harness.client("Bob2").ask(SUMMON, Seeking)


def test_a_summon_counts_as_a_match_that_is_sought() -> None:
    ann = host(matches_per_session=1).client("Ann")
    ann.say(Seek(game="nim"))
    assert ann.refused(SUMMON) is Code.TOO_MANY


def test_a_server_that_closes_starts_no_bots_and_lets_none_come() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(SUMMON)
    come(harness, the_bot(harness))
    bob.say(SUMMON)
    harness.do(harness.hub.stop(harness.now, 5.0))
    assert the_bot(harness).name == "Ursa", "which plays on"
    assert bob.refused(SUMMON) is Code.CLOSING


# What goes wrong.


def failed(events: list[Event]) -> bool:
    """Was it told that a bot has failed?"""
    return [event.code for event in events if isinstance(event, Notice)] == ["bot_failed"]


def test_a_bot_that_fails_is_told_of_and_its_seek_is_gone() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    fail(harness, the_bot(harness))
    assert failed(ann.inbox)
    assert ann.ask(List(), Listing).seeks == ()
    assert "Ursa (uct(time=0.3)) has failed: it has ended with exit code 1" in harness.logged[-1]
    assert ann.ask(SUMMON, Seeking)


def test_a_bot_that_does_not_come_is_waited_for_only_so_long() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    harness.wait(CONNECT_S - 0.1)
    assert not failed(ann.inbox)
    harness.wait(0.2)
    assert failed(ann.inbox)
    assert not harness.bots


def test_a_bot_that_fails_in_its_match_loses_it() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    play(match, (ann, bot), WON[:2])
    bot.hang_up()
    fail(harness, the_bot(harness))
    ended = only(ann.inbox, Ended)
    assert (ended.winner, ended.reason) == (1, Reason.ABANDONMENT)
    assert not failed(ann.inbox)


def test_a_bot_that_is_cut_off_comes_back() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    order = the_bot(harness)
    come(harness, order).hang_up()
    bot = come(harness, order)
    match = only(bot.inbox, Started).match
    play(match, (ann, bot), WON)
    assert len(ann.heard(Started)) == 1


def test_no_bot_starts_for_a_client_that_has_left() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    order = the_bot(harness)
    ann.hang_up()
    assert not harness.bots
    assert (
        harness.connect().refused(hello_of(order.name, session=order.token)) is Code.UNKNOWN_SESSION
    )


def test_no_bot_starts_after_a_cancelled_summons() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(Cancel(seek=ann.ask(SUMMON, Seeking).seek))
    assert not harness.bots
    assert not ann.heard(Notice)


def test_a_bot_that_is_ending_counts_until_its_process_has_exited() -> None:
    harness = host(bots=2)
    harness.bots_linger = True
    ann = harness.client("Ann")
    started = []
    for _ in range(10):
        seek = ann.ask(SUMMON, Seeking).seek
        started += harness.bots
        ann.say(Cancel(seek=seek))
    assert len(started) == len(set(started)) == len(harness.ending) == 2
    assert len(harness.hub.bots) == 2
    ann.say(SUMMON)
    assert not harness.bots, "it waits for a place"
    harness.exit_bots()
    come(harness, the_bot(harness))
    assert only(ann.inbox, Started).seat == 1


def test_a_client_leaving_before_the_first_move_frees_the_bot() -> None:
    harness = host(bots=1)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(SUMMON)
    come(harness, the_bot(harness))
    assert bob.ask(SUMMON, Seeking)
    ann.hang_up()
    harness.wait(RETURN_S)
    come(harness, the_bot(harness))
    assert only(bob.inbox, Started)


@pytest.mark.parametrize("left", [False, True])
def test_a_match_waits_for_a_page_that_is_loaded_slowly(left: bool) -> None:
    harness = host(bots=1)
    ann = harness.client("Ann")
    ann.say(SUMMON)
    come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    ann.hang_up(left=left)
    harness.wait(harness.policy.reconnect_s - 1)
    assert not harness.bots
    ann = harness.client("Ann", session=ann.token)
    play(match, (ann, come(harness, the_bot(harness))), WON[:1])
    ann.hang_up(left=left)
    harness.wait(harness.policy.reconnect_s)
    assert not [each for each in harness.stored if isinstance(each, MatchEnded)]


def test_a_match_whose_page_does_not_come_has_no_result() -> None:
    harness = host()
    _, match = without_clock(harness, 0)
    harness.wait(harness.policy.reconnect_s - RELOAD_S)
    assert not harness.bots
    ended = only(harness.stored, MatchEnded)
    assert (ended.match, ended.winner, ended.reason) == (match, 0, Reason.VOID)
    assert harness.is_empty()


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_client_that_returns_or_has_moved_keeps_the_match(moves: int) -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    play(only(ann.inbox, Started).match, (ann, bot), WON[:moves])
    ann.hang_up()
    if not moves:
        harness.wait(RETURN_S / 2)
        ann = harness.client("Ann", session=ann.token)
    harness.wait(RETURN_S)
    assert not bot.heard(Ended)


@pytest.mark.parametrize("moves", [0, 2])
@pytest.mark.parametrize("clock", ["none", "60+1"])
def test_a_page_that_was_closed_frees_its_bot_within_seconds(moves: int, clock: str) -> None:
    harness = host(bots=1)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(structs.replace(SUMMON, clock=clock))
    bot = come(harness, the_bot(harness))
    play(only(ann.inbox, Started).match, (ann, bot), WON[:moves])
    ann.hang_up(left=True)
    harness.wait(RELOAD_S - 0.1)
    bob.say(SUMMON)
    text = "no bot is free for you yet: your place in the queue is 1"
    assert [each.text for each in bob.heard(Notice)] == [text]
    harness.wait(0.1)
    assert not bot.heard(Ended)
    come(harness, the_bot(harness))
    assert only(bob.inbox, Started)


def without_clock(harness: HubHarness, moves: int) -> tuple[MemoryClient, str]:
    """A client that has closed its page in a match without a clock, and the match."""
    ann = harness.client("Ann")
    ann.say(structs.replace(SUMMON, clock="none"))
    bot = come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    play(match, (ann, bot), WON[:moves])
    ann.hang_up(left=True)
    harness.wait(RELOAD_S)
    return ann, match


def test_a_match_without_a_clock_waits_for_days_and_continues_with_a_new_process() -> None:
    harness = host(bots=1)
    ann, match = without_clock(harness, 2)
    assert not harness.bots
    assert harness.client("Bob").ask(List(), Listing).matches
    assert not harness.hub.lobby_feed.overview().matches, "nobody plays it at the moment"
    harness.wait(3 * 86400)
    ann = harness.client("Ann", session=ann.token)
    bot = come(harness, the_bot(harness))
    play(match, (ann, bot), WON[2:], ply=2)
    assert only(ann.inbox, Ended).winner == 1


def test_a_bot_that_is_to_move_moves_before_its_process_ends() -> None:
    harness = host(bots=1)
    ann = harness.client("Ann")
    ann.say(structs.replace(SUMMON, clock="none"))
    bot = come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    play(match, (ann, bot), WON[:1])
    ann.hang_up(left=True)
    harness.wait(RELOAD_S)
    bot.say(Move(match=match, ply=1, action=WON[1]))
    harness.wait(RELOAD_S)
    assert not harness.bots


def test_a_match_that_waits_needs_a_free_place_to_continue() -> None:
    harness = host(bots=1)
    ann, match = without_clock(harness, 2)
    bob = harness.client("Bob")
    bob.say(SUMMON)
    come(harness, the_bot(harness))
    theirs = only(bob.inbox, Started).match
    ann = harness.client("Ann", session=ann.token)
    assert len(harness.bots) == 1
    bob.say(Resign(match=theirs))
    bot = come(harness, the_bot(harness))
    play(match, (ann, bot), WON[2:], ply=2)


def test_a_match_that_waits_ends_after_a_week_or_when_its_player_resigns() -> None:
    harness = host()
    _, match = without_clock(harness, 2)
    harness.wait(AWAY_S)
    (ended,) = [each for each in harness.stored if isinstance(each, MatchEnded)]
    assert (ended.match, ended.winner, ended.reason) == (match, 2, Reason.ABANDONMENT)
    ann, match = without_clock(harness, 2)
    ann = harness.client("Ann", session=ann.token)
    ann.say(Resign(match=match))
    ann.hang_up()
    harness.wait(harness.policy.reconnect_s)
    assert not harness.bots
    assert harness.is_empty()


def test_idle_matches_of_two_guests_give_their_processes_up() -> None:
    harness = host(bots=4)
    guests = [harness.client("Ann"), client_at(harness, "Bob", "203.0.113.5")]
    matches = []
    for guest in guests:
        for _ in range(2):
            guest.say(structs.replace(SUMMON, clock="none"))
            come(harness, list(harness.bots.values())[-1])
            matches.append((guest, guest.heard(Started)[-1].match))
    cid = client_at(harness, "Cid", "198.51.100.7")
    seeking = cid.ask(SUMMON, Seeking)
    assert places(cid) == [1], "others have the processes"
    cid.say(Cancel(seek=seeking.seek))
    harness.wait(2 * IDLE_S)
    assert not harness.bots
    cid = client_at(harness, "Cid2", "198.51.100.7")
    assert cid.ask(SUMMON, Seeking)
    ann, match = matches[0]
    ann.say(Move(match=match, ply=0, action=WON[0]))
    order = list(harness.bots.values())[-1]
    assert len(harness.bots) == 2
    bot = come(harness, order)
    assert only(bot.inbox, Started).moves == (WON[0],)
    play(match, (ann, bot), WON[1:], ply=1)


def test_an_idle_match_continues_after_an_offer() -> None:
    harness = host()
    ann, match = idle(harness, 2)
    ann.say(Offer(match=match, offer="takeback", ply=2))
    bot = come(harness, the_bot(harness))
    assert [each.offer for each in only(bot.inbox, Started).offers] == ["takeback"]


def test_a_stopping_server_waits_for_no_stored_idle_match() -> None:
    harness = host(stored=True)
    ann, _ = idle(harness, 2)
    harness.do(harness.hub.stop(harness.now, grace_s=600.0))
    assert harness.stopped == 1
    assert not ann.heard(Ended)


def test_an_idle_match_without_a_move_ends_when_its_player_leaves() -> None:
    harness = host()
    ann, match = idle(harness)
    ann.hang_up()
    again = harness.client("Ann", session=ann.token)
    harness.wait(RELOAD_S)
    assert not harness.bots
    assert again.ask(List(), Listing)
    assert not [each for each in harness.stored if isinstance(each, MatchEnded)]
    again.hang_up()
    harness.wait(harness.policy.reconnect_s)
    assert only(harness.stored, MatchEnded).match == match


def test_a_match_in_which_moves_are_made_keeps_its_process() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(structs.replace(SUMMON, clock="none"))
    order = the_bot(harness)
    bot = come(harness, order)
    match = only(ann.inbox, Started).match
    for ply, action in enumerate(WON[:4]):
        harness.wait(IDLE_S * 0.9)
        (ann, bot)[ply % 2].say(Move(match=match, ply=ply, action=action))
    assert the_bot(harness) is order


def test_a_match_with_a_clock_keeps_its_process() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(structs.replace(SUMMON, clock="3000+1"))
    come(harness, the_bot(harness))
    harness.wait(3 * IDLE_S)
    assert the_bot(harness)


def client_at(harness: HubHarness, name: str, address: str) -> MemoryClient:
    """A guest that connects from this address."""
    client = harness.connect(address)
    client.welcome = client.ask(hello_of(name), Welcome)
    return client


def idle(harness: HubHarness, moves: int = 0) -> tuple[MemoryClient, str]:
    """A match after some moves whose bot has given its process up."""
    ann = harness.client("Ann")
    ann.say(structs.replace(SUMMON, clock="none"))
    bot = come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    play(match, (ann, bot), WON[:moves])
    harness.wait(3 * IDLE_S)
    assert not harness.bots
    return ann, match


def test_an_address_leaves_bots_to_others() -> None:
    harness = host(bots=4)
    for name in ("Ann", "Bob", "Cid"):
        assert harness.client(name).ask(SUMMON, Seeking)
    dan = harness.client("Dan")
    dan.say(SUMMON)
    assert places(dan) == [1]
    assert len(harness.bots) == 3
    assert client_at(harness, "Eve", "203.0.113.5").ask(SUMMON, Seeking)


def test_the_clock_of_a_player_who_is_away_runs() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    play(only(ann.inbox, Started).match, (ann, bot), WON[:2])
    ann.hang_up(left=True)
    harness.wait(30)
    assert not harness.bots
    harness.wait(35)
    (ended,) = [each for each in harness.stored if isinstance(each, MatchEnded)]
    assert (ended.winner, ended.reason) == (2, Reason.TIME)


def test_people_are_people_after_a_restart() -> None:
    harness = host(stored=True)
    ann = harness.client("Ann", role="human")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    play(only(ann.inbox, Started).match, (ann, bot), WON[:2])
    for role, shown in (("human", "human"), ("spectator", "human"), ("bot", "bot")):
        again = restarted(harness, bots=4, offered=OFFERED)
        again.client("Ann", session=ann.token, role=role)
        (person,) = again.hub.lobby_feed.overview().players
        assert (person.name, person.role) == ("Ann", shown)


def test_a_page_that_was_loaded_again_keeps_its_match() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    play(match, (ann, bot), WON[:2])
    ann.hang_up(left=True)
    harness.wait(RELOAD_S / 2)
    ann = harness.client("Ann", session=ann.token)
    harness.wait(RELOAD_S)
    ann.hang_up()
    harness.wait(RELOAD_S)
    assert not bot.heard(Ended), "its connection was lost"
    ann = harness.client("Ann", session=ann.token)
    bot = come(harness, the_bot(harness))
    play(match, (ann, bot), WON[2:], ply=2)


def test_a_bot_ends_when_its_opponent_leaves_the_match() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    ann.hang_up()
    harness.wait(harness.policy.reconnect_s)
    assert not harness.bots
    assert not bot.open
    harness.wait(harness.policy.reconnect_s)
    assert harness.is_empty()


def test_a_bot_plays_for_so_many_minutes() -> None:
    harness = host(bot_minutes=1)
    ann = harness.client("Ann")
    ann.say(ChallengeBot(player="random", game=GAME, clock="none", seat=1))
    bot = come(harness, the_bot(harness))
    play(only(ann.inbox, Started).match, (ann, bot), WON[:3])
    harness.wait(60)
    ended = only(ann.inbox, Ended)
    assert (ended.winner, ended.reason) == (0, Reason.ABORTED)
    assert ended.text == "a bot may play for 1 minutes, and these are over"
    assert not harness.bots


def test_an_administrator_sends_a_bot_away() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    administrator(harness, "Zoe").say(Kick(name="Ursa"))
    assert failed(ann.inbox)
    assert not harness.bots


# After a restart.


def interrupted(**policy: Any) -> tuple[HubHarness, MemoryClient, StartBot]:
    """A server that was started again, who played a bot on it, and the bot of then."""
    harness = host(stored=True)
    ann = harness.client("Ann")
    ann.say(SUMMON)
    order = the_bot(harness)
    bot = come(harness, order)
    play(only(ann.inbox, Started).match, (ann, bot), WON[:2])
    return restarted(harness, **{"bots": 4, "offered": OFFERED} | policy), ann, order


def test_a_bot_is_started_again_for_a_match_that_goes_on() -> None:
    harness, ann, before = interrupted()
    ann = harness.client("Ann", session=ann.token)
    order = the_bot(harness)
    assert (order.name, order.player, order.game) == (before.name, before.player, before.game)
    hello = hello_of(order.name, session=before.token)
    assert harness.connect().refused(hello) is Code.UNKNOWN_SESSION
    bot = come(harness, order)
    match = only(bot.inbox, Started).match
    harness.wait(harness.policy.restart_grace_s)
    play(match, (ann, bot), WON[2:], ply=2)
    assert only(ann.inbox, Ended).winner == 1
    assert not harness.bots
    ann.hang_up()
    harness.wait(harness.policy.reconnect_s)
    assert harness.is_empty()


@pytest.mark.parametrize("policy", [{"bots": 0}, {"offered": OFFERED[:1]}])
def test_a_bot_that_is_not_offered_any_more_does_not_come_back(policy: dict[str, Any]) -> None:
    harness, ann, _ = interrupted(**policy)
    ann = harness.client("Ann", session=ann.token)
    assert not harness.bots
    harness.wait(harness.policy.reconnect_s)
    ended = only(ann.inbox, Ended)
    assert (ended.winner, ended.reason) == (1, Reason.ABANDONMENT)


def test_a_bot_that_does_not_come_back_loses() -> None:
    harness, ann, _ = interrupted()
    ann = harness.client("Ann", session=ann.token)
    harness.wait(CONNECT_S)
    ended = only(ann.inbox, Ended)
    assert (ended.winner, ended.reason) == (1, Reason.ABANDONMENT)
    assert not harness.bots


# Who may come in its place.


def test_nobody_comes_as_a_bot_without_its_token() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    eve = harness.connect()
    assert eve.refused(hello_of("Ursa")) is Code.NAME_TAKEN
    assert eve.refused(hello_of("URSA")) is Code.NAME_TAKEN
    assert eve.refused(hello_of("Ursa", session="0" * 32)) is Code.UNKNOWN_SESSION
    assert eve.refused(hello_of("Ursa", guest=False)) is Code.NAME_TAKEN
    assert eve.refused(hello_of("Ursa", token="")) is Code.BAD_TOKEN
    assert not ann.heard(Started)
    assert come(harness, the_bot(harness)).heard(Started)


def test_nobody_takes_the_match_that_a_bot_is_for() -> None:
    harness = host()
    ann, eve = harness.client("Ann"), harness.client("Eve")
    ann.say(SUMMON)
    eve.say(Seek(game=GAME, clock="60+1", opponent="Ann"))
    assert not ann.heard(Started)


# Accounts.


def accounts_in(harness: HubHarness) -> list[Account]:
    return [each for each in harness.stored if isinstance(each, Account)]


def test_the_account_of_a_bot_is_made_when_it_is_first_challenged() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    assert accounts_in(harness) == []
    ann.say(SUMMON)
    (account,) = accounts_in(harness)
    assert (account.name, account.digest) == ("Ursa", "")
    come(harness, the_bot(harness))
    bob.say(SUMMON)
    assert len(accounts_in(harness)) == 1
    match = harness.only_match()
    (started,) = (each for each in harness.stored if isinstance(each, MatchStarted))
    assert (started.match, started.accounts) == (match.id, (None, account.id))
    assert (started.bots, started.rated) == ((None, "uct(time=0.3)"), False)


@pytest.mark.parametrize("fields", [{}, {"guest": False}, {"role": "spectator"}])
def test_the_name_of_a_bot_is_taken_before_it_has_an_account(fields: dict[str, Any]) -> None:
    (error,) = host().connect().say(hello_of("UrsA", **fields))
    assert isinstance(error, Error)
    assert error.code is Code.NAME_TAKEN
    assert "the name of a bot of this server" in error.text


def test_a_bot_has_another_name_where_somebody_has_its_name() -> None:
    harness = host(bots=0)
    assert harness.connect().ask(hello_of("ursa", guest=False), Welcome).token
    harness = restarted(harness, bots=4, offered=OFFERED)
    ann = harness.client("Ann")
    assert ann.welcome
    assert [each.name for each in ann.welcome.bots] == ["Randy", "Ursa 2"]
    assert ann.ask(structs.replace(SUMMON, player="uct(time=0.3)"), Seeking).opponent == "Ursa 2"


def test_a_match_against_a_bot_is_rated_if_an_account_asks_for_it() -> None:
    harness = host()
    rated = structs.replace(SUMMON, rated=True)
    assert harness.client("Bob").refused(rated) is Code.NOT_FOR_GUESTS
    ann = administrator(harness, "Ann")
    assert ann.ask(rated, Seeking).rated
    bot = come(harness, the_bot(harness))
    assert only(bot.inbox, Started).rated


def test_a_bot_takes_over_no_match_of_another_process_of_its_account() -> None:
    harness = host()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(SUMMON)
    order = the_bot(harness)
    come(harness, order).hang_up()
    bob.say(SUMMON)
    (other,) = (each for each in harness.bots.values() if each is not order)
    bot = come(harness, other)
    assert bot.welcome
    assert bot.welcome.away == ()


def test_bots_come_where_guests_are_not_let_in() -> None:
    harness = host(registration="closed")
    ann = administrator(harness, "Ann")
    ann.say(SUMMON)
    assert come(harness, the_bot(harness)).heard(Started)


def test_a_bot_moves_like_anybody() -> None:
    harness = host()
    ann = harness.client("Ann")
    ann.say(SUMMON)
    bot = come(harness, the_bot(harness))
    match = only(ann.inbox, Started).match
    assert bot.refused(Move(match=match, ply=0, action=0)) is Code.NOT_YOUR_TURN


def test_the_folders_of_a_bots_files_are_given_to_its_process_only() -> None:
    whole = "engine(name=a,file=/home/ann/my bots/e.toml)"
    harness = host(offered=parse_offered_bots([f"Eng=random;tic_tac_toe={whole}"]))
    ann = harness.client("Ann")
    ann.say(ChallengeBot(player="Eng", game=GAME, clock="60+1", seat=1))
    order = the_bot(harness)
    assert order.player == whole
    assert "ann" not in str(harness.hub.bots.offered)
    come(harness, order)
    (started,) = (each for each in harness.stored if isinstance(each, MatchStarted))
    assert started.bots == (None, "engine(name=a,file=e.toml)")


def test_bots_that_differ_only_in_folders_are_refused() -> None:
    with pytest.raises(BadBot, match="differ only in the folder of a file"):
        parse_offered_bots(["A=engine(file=/a/e.toml)", "B=engine(file=/b/e.toml)"])
