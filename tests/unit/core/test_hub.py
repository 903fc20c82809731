"""The hub: the messages of each client, their order, and the state that is left afterwards."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import msgspec
import pytest

from playout.protocol.messages import (
    REQUESTS,
    Accept,
    Analyse,
    Cancel,
    ChallengeBot,
    Closing,
    Code,
    Ended,
    Error,
    List,
    Listing,
    Move,
    MoveAnalysis,
    Notice,
    Ok,
    Ping,
    Pong,
    Reason,
    Request,
    Resign,
    Seek,
    Seeking,
    Sender,
    Started,
    TakeOver,
    Unwatch,
    Update,
    Watch,
    Welcome,
)
from playout.server.core.accounts import digest
from playout.server.core.effects import TellDisconnection
from playout.server.core.hub import Hub
from playout.server.core.lobby import OpenSeek
from playout.server.model.offered_bots import parse_offered_bots
from support.hub_harness import (
    EPOCH,
    GAME,
    THOUGHT,
    WON,
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    match_between,
    only,
    play,
    sit_down,
)
from support.protocol_document import examples_of


def test_a_player_that_is_disconnected_during_a_match_is_told_to_other_programs() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    harness.client("Cem").hang_up()
    harness.wait(5.0)
    ann.hang_up()
    assert harness.disconnections == [TellDisconnection(EPOCH + 5.0, "Ann", True, (match,))]
    bob.say(Resign(match=match))
    bob.hang_up()
    assert len(harness.disconnections) == 1


def test_a_newcomer_is_welcomed() -> None:
    client = HubHarness().connect()
    welcome = client.ask(hello_of("Ann", id="h"), Welcome)
    assert (welcome.re, welcome.name, welcome.software) == ("h", "Ann", "a test")
    assert GAME in welcome.games
    assert client.ask(Ping(id=1), Pong).re == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocol_min": 2, "protocol_max": 3}, Code.UNSUPPORTED_PROTOCOL),
        ({"protocol_min": 0, "protocol_max": 0}, Code.UNSUPPORTED_PROTOCOL),
        ({"name": " Ann"}, Code.BAD_NAME),
        ({"name": "An\nn"}, Code.BAD_NAME),
        ({"name": "Bob"}, Code.NAME_TAKEN),
        ({"name": "bOB"}, Code.NAME_TAKEN),
        ({"session": "0" * 32}, Code.UNKNOWN_SESSION),
    ],
)
def test_a_hello_that_is_refused_can_be_said_better(fields: dict[str, Any], code: Code) -> None:
    harness = HubHarness()
    harness.client("Bob")
    client = harness.connect()
    assert client.refused(hello_of(**{"name": "Ann"} | fields)) is code
    assert client.ask(hello_of("Ann"), Welcome).name == "Ann"


def test_a_name_is_free_again_when_its_owner_has_left() -> None:
    harness = HubHarness()
    harness.client("Ann").hang_up()
    assert harness.client("ANN").open


def test_a_session_belongs_to_a_name() -> None:
    harness = HubHarness()
    token = harness.client("Ann").token
    assert harness.connect().refused(hello_of("Bob", session=token)) is Code.UNKNOWN_SESSION


# Permissions.

#: A request of each type: the example of the protocol, or one with a bot that the hub offers.
SAYINGS: dict[type[Request], Request] = {
    **{kind: msgspec.structs.replace(examples_of(kind)[0], id="q") for kind in REQUESTS},
    ChallengeBot: ChallengeBot(id="q", player="random", game=GAME),
    Analyse: Analyse(id="q", game=GAME),
}
EVERYTHING = list(itertools.product(Sender, REQUESTS))
ALLOWED = [(sender, kind) for sender, kind in EVERYTHING if sender in kind.sent_by]


def seeks_of(harness: HubHarness, client: MemoryClient) -> list[OpenSeek]:
    session = harness.hub.registry.sessions[digest(client.token)]
    return harness.hub.lobby.of_session(session)


def at(sender: Sender) -> MemoryClient:
    offered = parse_offered_bots(["random"])
    harness = HubHarness(bots=1, offered=offered, push_key="k", stored=True)
    if sender is Sender.NEWCOMER:
        return harness.connect()
    role = "spectator" if sender is Sender.SPECTATOR else "human"
    return administrator(harness, "Ann", role=role)


@pytest.mark.parametrize(
    ("sender", "kind"), [pair for pair in EVERYTHING if pair not in ALLOWED], ids=str
)
def test_a_request_of_another_sender_is_not_allowed(sender: Sender, kind: type[Request]) -> None:
    client = at(sender)
    (error,) = client.say(SAYINGS[kind])
    assert isinstance(error, Error)
    assert (error.code, error.re) == (Code.NOT_ALLOWED, "q")
    assert sender.value in error.text
    assert client.ask(Ping(id=1), Pong).re == 1


@pytest.mark.parametrize(("sender", "kind"), ALLOWED, ids=str)
def test_a_request_of_a_sender_that_may_send_it_is_answered(
    sender: Sender, kind: type[Request]
) -> None:
    answer, *others = at(sender).say(SAYINGS[kind])
    assert answer.re == "q"
    assert all(isinstance(each, Notice) for each in others)
    assert not (isinstance(answer, Error) and answer.code is Code.NOT_ALLOWED)


# Seeks and challenges.


@pytest.mark.parametrize(
    ("anns", "bobs", "fit"),
    [
        ({}, {}, True),
        ({"game": "nim"}, {}, False),
        ({"game": "nim(chips=15)"}, {"game": " nim ( max_take = 3 )"}, True),
        ({"game": "nim(chips=15)"}, {"game": "nim(chips=16)"}, False),
        ({"clock": "1/move"}, {}, True),
        ({}, {"clock": "1/move"}, True),
        ({"clock": "1/move"}, {"clock": "1.0/move"}, True),
        ({"clock": "1/move"}, {"clock": "2/move"}, False),
        ({"clock": "none"}, {"clock": "2/move"}, False),
        ({"seat": 1}, {"seat": 2}, True),
        ({"seat": 2}, {}, True),
        ({"seat": 1}, {"seat": 1}, False),
        ({"seat": 2}, {"seat": 2}, False),
        ({"rated": True}, {"rated": True}, True),
        ({"rated": True}, {}, False),
        ({"opponent": "Bob"}, {}, True),
        ({"opponent": "BOB"}, {}, True),
        ({"opponent": "Bob"}, {"opponent": "ann"}, True),
        ({"opponent": "Eve"}, {}, False),
        ({"opponent": "Bob"}, {"opponent": "Eve"}, False),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_offers_that_fit_make_a_match(
    anns: dict[str, Any], bobs: dict[str, Any], fit: bool, swapped: bool
) -> None:
    harness = HubHarness()
    ann, bob = (harness.client(name, guest=False) for name in ("Ann", "Bob"))
    requests = [(ann, Seek(**{"game": GAME} | anns)), (bob, Seek(**{"game": GAME} | bobs))]
    for client, request in reversed(requests) if swapped else requests:
        client.say(request)
    assert len(ann.heard(Started)) == len(bob.heard(Started)) == int(fit)
    assert len(harness.hub.lobby) == (0 if fit else 2)


@pytest.mark.parametrize(
    ("older", "newer", "clock"),
    [
        (None, None, "7+1"),
        ("none", None, "none"),
        (None, "600+5x30", "600+5x30"),
        ("1.50/MOVE", "1.5/move", "1.5/move"),
        ("86399.999/move", None, "86399.999/move"),
    ],
)
def test_the_clock_is_that_of_the_seek_with_one(
    older: str | None, newer: str | None, clock: str
) -> None:
    harness = HubHarness(default_clock="7+1")
    harness.client("Ann").say(Seek(game=GAME, clock=older))
    started = harness.client("Bob").ask(Seek(game=GAME, clock=newer), Started)
    assert started.clock == clock
    assert (started.clocks is None) is (clock == "none")


@pytest.mark.parametrize(
    ("older", "newer", "first"),
    [
        (1, 2, "Ann"),
        (2, 1, "Bob"),
        (1, None, "Ann"),
        (2, None, "Bob"),
        (None, 1, "Bob"),
        (None, 2, "Ann"),
    ],
)
def test_seats_are_as_asked_for(older: Any, newer: Any, first: str) -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    ann.say(Seek(game=GAME, seat=older))
    started = bob.ask(Seek(game=GAME, seat=newer), Started)
    assert started.players[0] == first
    assert (started.seat, only(ann.inbox, Started).seat) == ((2, 1) if first == "Ann" else (1, 2))


def test_seats_are_random_without_a_wish() -> None:
    harness = HubHarness()
    harness.client("Ann").say(Seek(game=GAME, matches=20))
    bob = harness.client("Bob")
    bob.say(Seek(game=GAME, matches=20))
    seats = Counter(started.seat for started in bob.heard(Started))
    assert seats.total() == 20
    assert min(seats[1], seats[2]) > 2


def test_the_oldest_offer_that_fits_is_taken() -> None:
    harness = HubHarness()
    for name, clock in (("Ann", "2/move"), ("Bob", "1/move"), ("Eve", "1/move")):
        harness.client(name).say(Seek(game=GAME, clock=clock, seat=1))
    started = harness.client("Zoe").ask(Seek(game=GAME, clock="1/move"), Started)
    assert started.players == ("Bob", "Zoe")


def test_three_matches_with_any_opponents() -> None:
    harness = HubHarness()
    ann = harness.client("Ann")
    ann.say(Seek(game=GAME, matches=3))
    bob = harness.client("Bob")
    bob.say(Seek(game=GAME, matches=2))
    assert len(bob.heard(Started)) == 2
    assert harness.client("Eve").ask(Seek(game=GAME), Started)
    assert len(ann.heard(Started)) == 3
    assert len(harness.hub.lobby) == 0
    harness.client("Zoe").say(Seek(game=GAME))
    assert len(ann.heard(Started)) == 3


def test_no_player_plays_against_itself() -> None:
    harness = HubHarness()
    ann = harness.client("Ann")
    assert only(ann.say(Seek(game=GAME)), Seeking)
    assert only(ann.say(Seek(game=GAME)), Seeking)
    assert not harness.matches
    assert ann.refused(Seek(game=GAME, opponent="ann")) is Code.INVALID


def test_a_challenge_is_sent_to_its_opponent() -> None:
    harness = HubHarness()
    ann, bob, eve = (harness.client(name) for name in ("Ann", "Bob", "Eve"))
    ann.say(Seek(id="s", game=GAME, opponent="BOB", clock="5+0"))
    assert only(ann.inbox, Seeking).re == "s"
    told = only(bob.inbox, Seeking)
    assert (told.name, told.clock, told.re) == ("Ann", "5+0", None)
    assert not eve.heard(Seeking)
    bob.hang_up()
    assert only(harness.client("bob").inbox, Seeking) == told


LINK = "0123456789abcdef-_ABCD"


def test_a_seek_with_a_link_is_taken_by_those_who_know_it() -> None:
    harness = HubHarness()
    ann, bob, eve = (harness.client(name) for name in ("Ann", "Bob", "Eve"))
    terms = Seek(game=GAME, clock="60+1", seat=2, link=LINK)
    assert ann.ask(terms, Seeking).seek == LINK
    assert only(eve.say(Seek(game=GAME, clock="60+1")), Seeking)
    listing = eve.ask(List(), Listing)
    assert [each.name for each in listing.seeks] == ["Eve"]
    assert ann.refused(Accept(seek=LINK)) is Code.INVALID
    assert not harness.matches
    bob.say(Accept(id="a", seek=LINK))
    assert only(bob.inbox, Ok).re == "a"
    started = only(bob.inbox, Started)
    assert (started.players, started.clock, started.seat) == (("Bob", "Ann"), "60+1", 1)
    assert only(ann.inbox, Started).match == started.match
    assert eve.refused(Accept(seek=LINK)) is Code.UNKNOWN_SEEK


def test_a_link_is_closed_like_any_seek_and_can_be_opened_again() -> None:
    harness = HubHarness(seeks_per_account=1)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    terms = Seek(game=GAME, link=LINK)
    ann.say(terms)
    assert ann.refused(Seek(game=GAME)) is Code.TOO_MANY
    assert bob.refused(terms) is Code.INVALID
    assert bob.refused(Cancel(seek=LINK)) is Code.UNKNOWN_SEEK
    assert ann.ask(Cancel(seek=LINK), Ok)
    assert bob.refused(Accept(seek=LINK)) is Code.UNKNOWN_SEEK
    ann.say(terms)
    ann.hang_up()
    assert bob.refused(Accept(seek=LINK)) is Code.UNKNOWN_SEEK
    harness.client("Ann").say(terms)
    bob.say(Accept(seek=LINK))
    assert bob.heard(Started)


def test_a_seek_of_the_lobby_is_accepted_by_its_opponent_only() -> None:
    harness = HubHarness()
    ann, bob, eve = (harness.client(name) for name in ("Ann", "Bob", "Eve"))
    seek = ann.ask(Seek(game=GAME, opponent="Bob"), Seeking).seek
    assert eve.refused(Accept(seek=seek)) is Code.INVALID
    bob.say(Accept(seek=seek))
    assert bob.heard(Started)


def test_a_guest_accepts_no_rated_seek() -> None:
    harness = HubHarness()
    ann = harness.client("Ann", guest=False)
    ann.say(Seek(game=GAME, rated=True, link=LINK))
    assert harness.client("Bob").refused(Accept(seek=LINK)) is Code.NOT_FOR_GUESTS


def test_a_link_is_no_challenge() -> None:
    harness = HubHarness()
    seek = Seek(game=GAME, opponent="Bob", link=LINK)
    assert harness.client("Ann").refused(seek) is Code.INVALID


def test_a_seek_ends_when_it_is_cancelled_or_its_owner_leaves() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    seek = ann.ask(Seek(game=GAME), Seeking).seek
    assert bob.refused(Cancel(seek=seek)) is Code.UNKNOWN_SEEK
    assert ann.ask(Cancel(id=5, seek=seek), Ok).re == 5
    assert ann.refused(Cancel(seek=seek)) is Code.UNKNOWN_SEEK
    ann.say(Seek(game=GAME))
    ann.hang_up()
    bob.say(Seek(game=GAME))
    assert not bob.heard(Started)


@pytest.mark.parametrize(
    ("seek", "code"),
    [
        (Seek(game="go_fish"), Code.BAD_GAME),
        (Seek(game="nim(chips=0)"), Code.BAD_GAME),
        (Seek(game="nim(chips=many)"), Code.BAD_GAME),
        (Seek(game=""), Code.BAD_GAME),
        (Seek(game=GAME, clock="soon"), Code.BAD_CLOCK),
    ],
)
def test_a_seek_for_an_unknown_game_or_clock_is_refused(seek: Seek, code: Code) -> None:
    assert HubHarness().client("Ann").refused(seek) is code


def test_seeks_are_limited_to_the_matches_allowed_at_once() -> None:
    harness = HubHarness(matches_per_session=3)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    seek = ann.ask(Seek(game=GAME, matches=2), Seeking).seek
    match = bob.ask(Seek(game=GAME), Started).match
    ann.say(Seek(game=GAME))
    assert ann.refused(Seek(game=GAME)) is Code.TOO_MANY
    ann.say(Resign(match=match))
    assert only(ann.say(Seek(game="nim")), Seeking)
    assert ann.refused(Seek(game=GAME)) is Code.TOO_MANY
    ann.say(Cancel(seek=seek))
    assert only(ann.say(Seek(game="nim")), Seeking)


# Playing.


def test_a_match_from_its_start_to_its_end() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, clock="10+1")
    for client, seat in ((ann, 1), (bob, 2)):
        started = only(client.inbox, Started)
        assert (started.players, started.seat, started.to_move) == (("Ann", "Bob"), seat, 1)
        assert (started.clock, started.moves, started.legal_actions) == ("10+1", (), None)
    play(match, (ann, bob), WON)
    for client in (ann, bob):
        updates, ended = client.heard(Update), only(client.inbox, Ended)
        assert [update.action for update in updates] == list(WON)
        assert [update.to_move for update in updates] == [2, 1, 2, 1, 0]
        assert (ended.winner, ended.returns, ended.reason) == (1, (1.0, 0.0), Reason.RULES)
        assert ended.state == updates[-1].state
        assert client.inbox[-1] is ended
    assert ann.refused(Move(match=match, ply=5, action=8)) is Code.MATCH_OVER
    assert ann.refused(Resign(match=match)) is Code.MATCH_OVER
    assert ann.refused(Watch(match=match)) is Code.MATCH_OVER


def test_an_id_is_returned_only_to_its_requester() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve", role="spectator")
    assert eve.ask(Watch(id="w", match=match), Started).re == "w"
    assert ann.ask(Move(id="m", match=match, ply=0, action=4), Update).re == "m"
    assert [only(client.inbox, Update).re for client in (bob, eve)] == [None, None]
    (error,) = bob.say(Move(id=9, match=match, ply=1, action=4))
    assert error.re == 9
    assert [event.re for event in bob.say(Resign(id=0, match=match))] == [None, 0]


def test_a_repeated_move_is_answered_to_its_sender_alone() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    move = Move(id=1, match=match, ply=0, action=4)
    first = ann.ask(move, Update)
    told = len(bob.inbox)
    assert ann.ask(move, Update) == first
    assert len(bob.inbox) == told
    assert harness.only_match().position.moves == (4,)


def test_the_answer_to_a_repeated_move_has_the_legal_actions_asked_for() -> None:
    harness = HubHarness()
    ann, _, match = sit_down(harness, legal_actions=True)
    move = Move(id=1, match=match, ply=0, action=4)
    ann.ask(move, Update)
    assert ann.ask(move, Update).legal_actions == (0, 1, 2, 3, 5, 6, 7, 8)


def test_taking_over_a_match_that_one_plays_answers_with_it_and_changes_nothing() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    told = len(bob.inbox)
    assert ann.ask(TakeOver(id=1, match=match), Started).seat == 1
    assert len(bob.inbox) == told


@pytest.mark.parametrize(
    ("seat", "ply", "action", "code"),
    [
        (2, 2, 1, Code.NOT_YOUR_TURN),
        (1, 0, 1, Code.WRONG_PLY),
        (1, 3, 1, Code.WRONG_PLY),
        (1, 2, 4, Code.ILLEGAL_ACTION),
        (1, 2, 99, Code.ILLEGAL_ACTION),
    ],
)
def test_a_refused_move_is_sent_to_no_other_session(
    seat: int, ply: int, action: int, code: Code
) -> None:
    ann, bob, match = sit_down(HubHarness())
    players = (ann, bob)
    play(match, players, (4, 0))
    told = len(players[2 - seat].inbox)
    assert players[seat - 1].refused(Move(match=match, ply=ply, action=action)) is code
    assert len(players[2 - seat].inbox) == told
    play(match, players, (8,), ply=2)


def test_requests_about_other_and_unknown_matches_are_refused() -> None:
    harness = HubHarness()
    _, _, match = sit_down(harness)
    eve = harness.client("Eve")
    assert eve.refused(Move(match=match, ply=0, action=0)) is Code.NOT_YOUR_MATCH
    assert eve.refused(Resign(match=match)) is Code.NOT_YOUR_MATCH
    assert eve.refused(Move(match="x", ply=0, action=0)) is Code.UNKNOWN_MATCH
    assert eve.refused(Resign(match="x")) is Code.UNKNOWN_MATCH
    assert eve.refused(Watch(match="x")) is Code.UNKNOWN_MATCH


def test_one_illegal_move_too_many_ends_it() -> None:
    ann, bob, match = sit_down(HubHarness(illegal_moves=1))
    assert ann.refused(Move(match=match, ply=0, action=9)) is Code.ILLEGAL_ACTION
    heard = ann.say(Move(id=2, match=match, ply=0, action=9))
    assert only(heard, Error).code is Code.ILLEGAL_ACTION
    assert only(heard, Error).re == 2
    for client in (ann, bob):
        ended = only(client.inbox, Ended)
        assert (ended.winner, ended.reason) == (2, Reason.ILLEGAL_MOVES)


def test_legal_actions_are_for_clients_that_asked_for_them() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, legal_actions=True)
    eve = harness.client("Eve", role="spectator", legal_actions=True)
    assert eve.ask(Watch(match=match), Started).legal_actions == tuple(range(9))
    assert only(ann.inbox, Started).legal_actions == tuple(range(9))
    play(match, (ann, bob), WON)
    for client in (ann, eve):
        legal = [update.legal_actions for update in client.heard(Update)]
        assert legal[0] == tuple(range(1, 9))
        assert legal[-1] == ()
    assert not any(update.legal_actions for update in bob.heard(Update))


def test_spectators_are_sent_each_move_until_they_unwatch() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve", role="spectator")
    ann.say(Move(match=match, ply=0, action=4))
    started = eve.ask(Watch(match=match), Started)
    assert (started.seat, started.moves, started.to_move) == (None, (4,), 2)
    bob.say(Move(match=match, ply=1, action=0, info=THOUGHT))
    assert len(eve.heard(Update)) == 1
    assert eve.ask(Unwatch(id="u", match=match), Ok).re == "u"
    ann.say(Move(match=match, ply=2, action=8))
    assert len(eve.heard(Update)) == 1
    eve.say(Watch(match=match))
    bob.say(Resign(match=match))
    assert only(eve.inbox, Ended).winner == 1


def test_a_player_that_watches_its_own_match_is_sent_a_players_messages() -> None:
    ann, bob, match = sit_down(HubHarness())
    assert ann.ask(Watch(match=match), Started).seat == 1
    bob_said = Move(match=match, ply=1, action=0, info=THOUGHT)
    ann.say(Move(match=match, ply=0, action=4))
    bob.say(bob_said)
    assert len(ann.heard(Update)) == 2
    bob.say(Resign(match=match))
    assert not ann.heard(MoveAnalysis)


def test_the_list_has_players_seeks_and_matches() -> None:
    harness = HubHarness()
    _, _, match = sit_down(harness, clock="10+1")
    eve = harness.client("Eve", role="spectator")
    harness.client("Zoe", role="human").say(Seek(game="nim", clock="none"))
    listing = eve.ask(List(id="l"), Listing)
    assert listing.re == "l"
    assert [(person.name, person.role) for person in listing.players] == [
        ("Ann", "bot"),
        ("Bob", "bot"),
        ("Eve", "spectator"),
        ("Zoe", "human"),
    ]
    assert [(each.match, each.game, each.clock) for each in listing.matches] == [
        (match, GAME, "10+1")
    ]
    assert [(seek.name, seek.game, seek.clock) for seek in listing.seeks] == [
        ("Zoe", "nim", "none")
    ]


def test_several_matches_at_once_do_not_mix() -> None:
    harness = HubHarness()
    ann, bob, eve = (harness.client(name) for name in ("Ann", "Bob", "Eve"))
    with_bob = match_between(ann, bob)
    with_eve = match_between(eve, ann)
    play(with_bob, (ann, bob), WON[:3])
    play(with_eve, (eve, ann), WON)
    play(with_bob, (ann, bob), WON[3:], ply=3)
    results = {ended.match: ended.winner for ended in ann.heard(Ended)}
    assert results == {with_bob: 1, with_eve: 1}
    assert {update.match for update in bob.heard(Update)} == {with_bob}
    assert {update.match for update in eve.heard(Update)} == {with_eve}


# Time.


def test_a_match_without_a_first_move_is_void() -> None:
    harness = HubHarness(credit_cap_s=0.0)
    ann, bob, match = sit_down(harness, clock="10+1")
    harness.wait(9.5)
    ann.say(Move(match=match, ply=0, action=4))
    update = only(bob.inbox, Update)
    assert update.clocks is not None
    assert [left.main_s for left in update.clocks] == [1.5, 10.0]
    harness.wait(9.875)
    assert not bob.heard(Ended)
    harness.wait(0.125)
    for client in (ann, bob):
        ended = only(client.inbox, Ended)
        assert (ended.winner, ended.reason) == (0, Reason.VOID)
        assert "Bob never moved" in ended.text


def test_the_seeks_of_a_player_that_never_moved_are_closed() -> None:
    harness = HubHarness(credit_cap_s=0.0)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    bob.say(Seek(game=GAME, clock="10+1", seat=1, matches=5))
    bob.say(Seek(game="nim"))
    ann.say(Seek(game=GAME, seat=2, matches=5))
    assert len(bob.heard(Started)) == 5
    bob.say(Seek(game=GAME, clock="10+1", seat=1, matches=5))
    assert seeks_of(harness, bob)
    harness.wait(10.0)
    (notice,) = bob.heard(Notice)
    assert notice.code == "seeks_closed"
    assert not harness.matches
    assert not seeks_of(harness, bob)
    ann.say(Seek(game=GAME))
    ann.say(Seek(game="nim"))
    assert not harness.matches
    assert not ann.heard(Notice)
    bob.say(Seek(game="nim"))
    assert harness.only_match().players in (("Ann", "Bob"), ("Bob", "Ann"))


def test_a_player_that_has_moved_loses_on_time() -> None:
    harness = HubHarness(credit_cap_s=0.0)
    ann, bob, match = sit_down(harness, clock="10+1")
    play(match, (ann, bob), (4, 0))
    harness.wait(10.875)
    assert not bob.heard(Ended)
    harness.wait(0.125)
    for client in (ann, bob):
        ended = only(client.inbox, Ended)
        assert (ended.winner, ended.reason) == (2, Reason.TIME)


def test_a_move_that_is_too_late_is_answered_before_the_server_wakes() -> None:
    harness = HubHarness(credit_cap_s=0.0)
    ann, bob, match = sit_down(harness, clock="10+0")
    play(match, (ann, bob), (0, 1))
    harness.now = 10.5
    heard = ann.say(Move(id="m", match=match, ply=2, action=4))
    assert only(heard, Error).code is Code.MATCH_OVER
    assert only(heard, Error).re == "m"
    assert only(bob.inbox, Ended).reason is Reason.TIME
    assert len(bob.heard(Update)) == 2


def test_time_on_the_way_is_credited_up_to_the_cap() -> None:
    harness = HubHarness(credit_cap_s=0.5)
    ann, bob, match = sit_down(harness, clock="10+0")
    play(match, (ann, bob), (0, 1))
    harness.wait(10.25)
    ann.say(Move(match=match, ply=2, action=4), lag_s=0.25)
    assert bob.heard(Update)[-1].action == 4
    harness.wait(10.5)
    assert only(bob.inbox, Ended).reason is Reason.TIME


# Lost connections and resumed sessions.


def test_a_match_and_its_clock_continue_while_a_player_is_away() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness, clock="100+0")
    play(match, (ann, bob), (4, 0))
    ann.hang_up()
    harness.wait(30.0)
    again = harness.client("Ann", session=ann.token, id="h")
    assert again.token == ann.token
    assert [type(event) for event in again.inbox] == [Welcome, Started]
    started = only(again.inbox, Started)
    assert (started.match, started.seat, started.moves) == (match, 1, (4, 0))
    assert started.clocks is not None
    assert [left.main_s for left in started.clocks] == [70.0, 100.0]
    play(match, (again, bob), (8, 1), ply=2)
    harness.wait(60.5)
    assert not again.heard(Ended)


def test_moves_during_an_absence_are_in_the_match() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    ann.say(Move(match=match, ply=0, action=4))
    ann.hang_up()
    bob.say(Move(match=match, ply=1, action=0))
    again = harness.client("Ann", session=ann.token)
    assert only(again.inbox, Started).moves == (4, 0)


def test_the_results_of_an_absence_are_sent_in_their_order() -> None:
    harness = HubHarness()
    ann, bob = (harness.client(name) for name in ("Ann", "Bob"))
    matches = [match_between(ann, bob) for _ in range(3)]
    ann.hang_up()
    for match in reversed(matches):
        bob.say(Resign(match=match))
    again = harness.client("Ann", session=ann.token)
    assert [ended.match for ended in again.heard(Ended)] == matches[::-1]


def test_the_old_connection_gets_an_error_when_it_is_replaced() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    again = harness.client("Ann", session=ann.token)
    last = ann.inbox[-1]
    assert isinstance(last, Error)
    assert last.code is Code.REPLACED
    assert not ann.open
    assert ann.say(Move(match=match, ply=0, action=4)) == []
    ann.hang_up()
    play(match, (again, bob), WON)
    assert only(again.inbox, Ended)


def test_a_replaced_connection_has_no_seeks_and_watches_nothing() -> None:
    harness = HubHarness()
    _, bob, match = sit_down(harness)
    eve = harness.client("Eve")
    eve.say(Watch(match=match))
    eve.say(Seek(game="nim"))
    again = harness.client("Eve", session=eve.token)
    bob.say(Resign(match=match))
    bob.say(Seek(game="nim"))
    assert [type(event) for event in again.inbox] == [Welcome]


def test_a_session_that_does_not_come_back_loses_all_its_matches() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, eve = (harness.client(name) for name in ("Ann", "Bob", "Eve"))
    matches = {match_between(ann, bob), (second := match_between(eve, ann))}
    ann.say(Move(match=(matches - {second}).pop(), ply=0, action=4))
    play(second, (eve, ann), (4, 0))
    ann.hang_up()
    harness.wait(59.0)
    assert not bob.heard(Ended)
    harness.wait(1.0)
    for client, winner in ((bob, 2), (eve, 1)):
        ended = only(client.inbox, Ended)
        assert (ended.winner, ended.reason) == (winner, Reason.ABANDONMENT)
        assert ended.match in matches
    assert harness.connect().refused(hello_of("Ann", session=ann.token)) is Code.UNKNOWN_SESSION
    assert harness.client("Ann").open


def test_a_session_that_comes_back_in_time_may_leave_again() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, _ = sit_down(harness)
    for _ in range(3):
        ann.hang_up()
        harness.wait(50.0)
        ann = harness.client("Ann", session=ann.token)
        harness.wait(100.0)
    assert not bob.heard(Ended)


def test_a_name_is_kept_for_an_expected_session() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    ann.hang_up()
    assert harness.connect().refused(hello_of("ann")) is Code.NAME_TAKEN
    bob.say(Resign(match=match))
    assert harness.client("ann").open


def test_nothing_remains_of_two_players_that_have_left() -> None:
    harness = HubHarness(reconnect_s=60.0)
    ann, bob, match = sit_down(harness, clock="1000+0")
    harness.client("Eve").say(Watch(match=match))
    for client in harness.clients.values():
        client.hang_up()
    harness.wait(60.0)
    assert harness.is_empty()
    assert not ann.heard(Ended)
    assert not bob.heard(Ended)


# The end of the server.


def test_a_server_without_matches_stops_at_once() -> None:
    harness = HubHarness()
    ann, stranger = harness.client("Ann"), harness.connect()
    ann.say(Seek(game=GAME))
    harness.do(harness.hub.stop(harness.now, grace_s=5.0))
    assert harness.stopped == 1
    for client in (ann, stranger):
        assert isinstance(client.inbox[-1], Closing)
        assert not client.open
    assert harness.is_empty()
    harness.wait(10.0)
    assert harness.stopped == 1


def test_matches_may_end_before_the_server_does() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), WON[:4])
    harness.do(harness.hub.stop(harness.now, grace_s=5.0))
    assert only(ann.inbox, Closing).seconds == 5.0
    assert ann.refused(Seek(game=GAME)) is Code.CLOSING
    assert harness.stopped == 0
    play(match, (ann, bob), WON[4:], ply=4)
    assert harness.stopped == 1
    for client in (ann, bob):
        assert only(client.inbox, Ended).reason is Reason.RULES
        assert not client.open
    harness.wait(60.0)
    assert harness.is_empty()
    assert harness.stopped == 1


@pytest.mark.parametrize("grace_s", [0.0, 5.0])
def test_matches_that_last_longer_are_aborted(grace_s: float) -> None:
    harness = HubHarness()
    sit_down(harness)
    eve, zoe = harness.client("Eve"), harness.client("Zoe")
    match_between(eve, zoe)
    zoe.hang_up()
    harness.do(harness.hub.stop(harness.now, grace_s))
    harness.wait(grace_s)
    assert harness.stopped == 1
    for client in harness.clients.values():
        assert not client.open
        ended = [(each.winner, each.reason) for each in client.heard(Ended)]
        assert ended == ([] if client is zoe else [(0, Reason.ABORTED)])
    harness.wait(60.0)
    assert harness.is_empty()


def test_a_server_that_is_started_again_uses_no_id_again() -> None:
    """After a restart no other match has the id of an earlier one."""
    first, again = (Hub(epoch=5.0, started_at=at) for at in (100.0, 100.5))
    assert {first._context.new_id() for _ in range(9)}.isdisjoint(
        {again._context.new_id() for _ in range(9)}
    )


def test_a_client_that_connects_while_storage_fails_gets_a_notice() -> None:
    harness = HubHarness()
    harness.do(harness.hub.storage_fails(True, harness.now))
    ann = harness.client("Ann")
    assert [type(event) for event in ann.inbox] == [Notice, Welcome]
