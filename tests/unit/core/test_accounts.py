"""Whose name is whose: registration, tokens, guests, several sessions, claims, administrators."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs
from support.hub_harness import (
    GAME,
    THOUGHT,
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    match_between,
    only,
    play,
)

from server.core.accounts import digest
from server.model.messages import (
    Abort,
    Adjudicate,
    Code,
    Ended,
    Error,
    Hello,
    Kick,
    Move,
    Ok,
    Reason,
    Request,
    Resign,
    Seek,
    Seeking,
    Started,
    TakeOver,
    Watch,
    Welcome,
)
from server.model.records import Account, SeatTakenOver


def newcomer(name: str, **fields: Any) -> Hello:
    """Who says hello without a token, and not as a guest."""
    return hello_of(name, guest=False, **fields)


def member(house: HubHarness, name: str) -> MemoryClient:
    return house.client(name, guest=False)


# Names and tokens.


def test_the_first_hello_registers_the_name() -> None:
    house = HubHarness()
    ann = member(house, "Ann")
    assert ann.welcome is not None
    assert not ann.welcome.guest
    (account,) = house.stored
    assert isinstance(account, Account)
    assert (account.name, account.digest) == ("Ann", digest(ann.account_token))
    assert re.fullmatch(r"[0-9a-f]{32}", ann.account_token)
    assert ann.account_token != ann.token


def test_a_welcome_with_a_token_waits_until_the_account_is_stored() -> None:
    house = HubHarness()
    house.slow = True
    line = house.line()
    assert line.say(newcomer("Ann")) == []
    house.commit()
    assert only(line.inbox, Welcome).token


def test_the_name_needs_its_token_from_then_on() -> None:
    house = HubHarness()
    ann = member(house, "Ann")
    token = ann.account_token
    ann.hang_up()
    line = house.line()
    for hello in (newcomer("Ann"), hello_of("Ann"), newcomer("ANN"), newcomer("A n n")):
        assert line.refused(hello) is Code.NAME_TAKEN
    assert line.refused(hello_of("Ann", token="0" * 32)) is Code.BAD_TOKEN
    assert line.refused(hello_of("Ann", token="")) is Code.BAD_TOKEN
    assert line.refused(hello_of("Bob", token=token)) is Code.UNKNOWN_ACCOUNT
    welcome = line.ask(hello_of("ann", token=token), Welcome)
    assert (welcome.name, welcome.token, welcome.guest) == ("Ann", None, False)


@pytest.mark.parametrize("name", ["Аnn", "Ann.", "ANN", "Änn", "А n n"])
def test_nobody_else_is_called_what_looks_the_same(name: str) -> None:
    house = HubHarness()
    member(house, "Ann").hang_up()
    assert house.line().refused(hello_of(name)) in (Code.NAME_TAKEN, Code.BAD_NAME)
    assert house.line().refused(newcomer(name)) in (Code.NAME_TAKEN, Code.BAD_NAME)


@pytest.mark.parametrize("name", ["Ann\n", "An\u202en", "\u200b", "Аda Ann", " Ann", "An\0n"])
def test_names_that_cannot_be_read_are_refused(name: str) -> None:
    assert HubHarness().line().refused(newcomer(name)) is Code.BAD_NAME


def test_a_guest_registers_nothing_and_plays_unrated() -> None:
    house = HubHarness()
    ann, bob = house.client("Ann"), house.client("Bob")
    assert house.stored == []
    assert ann.welcome is not None
    assert ann.welcome.guest
    assert ann.refused(Seek(game=GAME, rated=True)) is Code.NOT_FOR_GUESTS
    assert match_between(ann, bob)


def test_spectators_are_guests() -> None:
    house = HubHarness()
    welcome = house.line().ask(newcomer("Ann", role="spectator"), Welcome)
    assert welcome.guest
    assert house.stored == []


@pytest.mark.parametrize(
    ("registration", "registers", "visits"),
    [("open", True, True), ("guests", False, True), ("closed", False, False)],
)
def test_who_may_come(registration: str, registers: bool, visits: bool) -> None:
    house = HubHarness(registration=registration)
    token = "1" * 32
    known = Account(id="1", name="Ada", digest=digest(token), created_at=0.0)
    house.do(house.hub.account_changed(known, house.now))
    assert house.client("Ada", token=token).open
    for hello, lets_in in ((newcomer("Ann"), registers), (hello_of("Bob"), visits)):
        line = house.line()
        if lets_in:
            assert line.ask(hello, Welcome)
        else:
            assert line.refused(hello) is Code.REGISTRATION_CLOSED


def test_an_address_registers_so_many_names_an_hour() -> None:
    house = HubHarness(registrations_per_hour=4)
    for number in range(4):
        member(house, f"Ann {number}x")
    (error,) = house.line().say(newcomer("Bob"))
    assert isinstance(error, Error)
    assert error.code is Code.RATE_LIMITED
    assert error.seconds is not None
    assert house.line("2001:db8::1").ask(newcomer("Eve"), Welcome)
    house.wait(error.seconds)
    assert member(house, "Bob").open


def test_a_token_that_was_revoked_is_void_and_its_sessions_end() -> None:
    house = HubHarness()
    ann, bob = member(house, "Ann"), house.client("Bob")
    match = match_between(ann, bob)
    play(match, (ann, bob), (0, 1))
    (account,) = (each for each in house.stored if isinstance(each, Account))
    house.do(house.hub.account_changed(structs.replace(account, digest=digest("x")), house.now))
    last = ann.inbox[-1]
    assert isinstance(last, Error)
    assert last.code is Code.KICKED
    assert not ann.open
    assert only(bob.inbox, Ended).reason is Reason.ABANDONMENT
    assert house.line().refused(hello_of("Ann", token=ann.account_token)) is Code.BAD_TOKEN
    assert house.line().refused(hello_of("Ann", session=ann.token)) is Code.UNKNOWN_SESSION


def test_who_was_renamed_plays_on_and_comes_back_under_the_new_name() -> None:
    house = HubHarness()
    ann, bob = member(house, "Ann"), house.client("Bob")
    match = match_between(ann, bob)
    (account,) = (each for each in house.stored if isinstance(each, Account))
    house.do(house.hub.account_changed(structs.replace(account, name="Zoe"), house.now))
    play(match, (ann, bob), (0, 1))
    ann.hang_up()
    again = house.client("Zoe", session=ann.token)
    assert only(again.inbox, Started).match == match
    assert house.client("Zoe", token=ann.account_token).open


# Somebody else's.


def test_a_session_token_of_somebody_else_opens_nothing() -> None:
    house = HubHarness()
    ann, bob = member(house, "Ann"), member(house, "Bob")
    match_between(ann, bob)
    assert house.line().refused(hello_of("Eve", session=ann.token)) is Code.UNKNOWN_SESSION
    hello = structs.replace(hello_of("Bob", session=ann.token), token=bob.account_token)
    assert house.line().refused(hello) is Code.UNKNOWN_SESSION
    assert house.line().refused(hello_of("Ann", session=ann.account_token)) is Code.UNKNOWN_SESSION
    assert ann.open


def test_neither_is_a_session_token_an_account_token_nor_the_other_way_round() -> None:
    house = HubHarness()
    ann = member(house, "Ann")
    assert house.line().refused(hello_of("Ann", token=ann.token)) is Code.BAD_TOKEN


def test_no_error_and_no_line_of_the_log_has_a_token() -> None:
    house = HubHarness()
    ann, bob = member(house, "Ann"), member(house, "Bob")
    match = match_between(ann, bob)
    secrets = [ann.token, bob.token, ann.account_token, bob.account_token, "5" * 32]
    requests = [
        hello_of("Ann", token="5" * 32),
        hello_of("Bob", token=ann.account_token),
        hello_of("Bob", session=ann.token),
        hello_of("Ann", session="5" * 32),
        newcomer("Ann"),
    ]
    line = house.line()
    for request in requests:
        line.say(request)
    for event in [*line.inbox, *ann.inbox, *bob.inbox]:
        text = repr(structs.asdict(event) | {"session": "", "token": ""})
        assert not any(secret in text for secret in secrets), text
    play(match, (ann, bob), (0, 1))
    ann.hang_up()
    house.wait(100.0)
    assert house.logged
    assert not any(secret in said for secret in secrets for said in house.logged)
    kept = repr(house.stored)
    assert not any(secret in kept for secret in secrets)


# Several sessions.


def workers(house: HubHarness, count: int = 2) -> list[MemoryClient]:
    """Sessions of Ann's, with the one that registered her first."""
    first = member(house, "Ann")
    return [first, *(house.client("Ann", token=first.account_token) for _ in range(count - 1))]


def test_an_account_has_several_sessions_that_do_not_play_each_other() -> None:
    house = HubHarness()
    one, two = workers(house)
    bob = house.client("Bob")
    for line in (one, two):
        line.say(Seek(game=GAME, clock="none"))
    assert not one.heard(Started)
    bob.say(Seek(game=GAME, matches=2))
    assert {only(line.inbox, Started).players[0] for line in (one, two)} <= {"Ann", "Bob"}
    matches = {only(line.inbox, Started).match for line in (one, two)}
    assert len(matches) == 2
    for line in (one, two):
        match = only(line.inbox, Started).match
        (other,) = matches - {match}
        line.say(Resign(match=match))
        assert line.refused(Resign(match=other)) in (Code.NOT_YOUR_MATCH, Code.MATCH_OVER)


def test_all_sessions_hear_of_a_challenge() -> None:
    house = HubHarness()
    one, two = workers(house)
    house.client("Bob").say(Seek(game=GAME, opponent="ann"))
    assert only(one.inbox, Seeking).name == only(two.inbox, Seeking).name == "Bob"


def test_an_account_has_so_many_sessions() -> None:
    house = HubHarness(sessions_per_account=2)
    one, _ = workers(house)
    hello = hello_of("Ann", token=one.account_token)
    assert house.line().refused(hello) is Code.TOO_MANY
    one.hang_up()
    assert house.line().ask(hello, Welcome)


def test_a_player_does_not_see_through_another_session_what_the_opponent_thinks() -> None:
    house = HubHarness()
    one, two = workers(house)
    bob = house.client("Bob")
    match = match_between(one, bob)
    two.say(Watch(match=match))
    one.say(Move(match=match, ply=0, action=0))
    bob.say(Move(match=match, ply=1, action=1, info=THOUGHT))
    assert two.inbox[-1].info is None  # type: ignore[attr-defined]


def test_another_session_claims_the_match_of_one_that_is_gone() -> None:
    house = HubHarness(claim_after_s=10.0)
    one, two = workers(house)
    bob = house.client("Bob")
    match = match_between(one, bob, clock="100+0")
    play(match, (one, bob), (0, 1))
    assert two.refused(TakeOver(match=match)) is Code.NOT_AWAY
    one.hang_up()
    house.wait(4.0)
    (error,) = two.say(TakeOver(match=match))
    assert isinstance(error, Error)
    assert (error.code, error.seconds) == (Code.NOT_AWAY, 6.0)
    house.wait(6.0)
    started = two.ask(TakeOver(id="c", match=match), Started)
    assert (started.re, started.seat, started.moves) == ("c", 1, (0, 1))
    assert isinstance(house.stored[-1], SeatTakenOver)
    assert two.ask(TakeOver(match=match), Started).seat == 1
    play(match, (two, bob), (3, 4, 6), ply=2)
    assert only(bob.inbox, Ended).winner == 1
    assert house.line().refused(hello_of("Ann", session=one.token)) is Code.UNKNOWN_SESSION


def test_a_newcomer_is_told_which_matches_are_away() -> None:
    house = HubHarness()
    one, _ = workers(house)
    match = match_between(one, house.client("Bob"))
    assert house.client("Ann", token=one.account_token).welcome.away == ()  # type: ignore[union-attr]
    one.hang_up()
    again = house.client("Ann", token=one.account_token)
    assert again.welcome is not None
    assert again.welcome.away == (match,)


@pytest.mark.parametrize("stranger", ["Bob", "Eve", "guest"])
def test_nobody_claims_the_match_of_others(stranger: str) -> None:
    house = HubHarness(claim_after_s=0.0)
    ann, bob, eve = (member(house, name) for name in ("Ann", "Bob", "Eve"))
    match = match_between(ann, bob)
    ann.hang_up()
    house.wait(1.0)
    if stranger == "Bob":  # who plays it is shown it, from where it sits
        assert bob.ask(TakeOver(match=match), Started).seat == 2
    elif stranger == "Eve":
        assert eve.refused(TakeOver(match=match)) is Code.NOT_YOUR_MATCH
    else:
        assert house.client("Zoe").refused(TakeOver(match=match)) is Code.NOT_YOUR_MATCH


def test_of_limits_only_that_of_a_session_keeps_it_from_claiming() -> None:
    house = HubHarness(
        claim_after_s=0.0, seeks_per_account=1, matches_per_session=1, matches_per_account=2
    )
    one, two = workers(house)
    three = house.client("Ann", token=one.account_token)
    matches = [
        match_between(each, house.client(name)) for each, name in ((one, "Bob"), (two, "Eve"))
    ]
    one.hang_up()
    house.wait(1.0)
    (error,) = two.say(TakeOver(match=matches[0]))
    assert isinstance(error, Error)
    assert (error.code, "you play 1 already" in error.text) == (Code.TOO_MANY, True)
    assert three.ask(TakeOver(match=matches[0]), Started).seat == 1
    two.hang_up()
    four = house.client("Ann", token=one.account_token)
    house.wait(1.0)
    assert three.refused(TakeOver(match=matches[1])) is Code.TOO_MANY
    assert four.ask(TakeOver(match=matches[1]), Started).seat == 1


def test_who_looks_for_a_match_may_claim_one() -> None:
    house = HubHarness(claim_after_s=0.0, seeks_per_account=1, matches_per_session=1)
    one, two = workers(house)
    match = match_between(one, house.client("Bob"))
    two.say(Seek(game="nim"))
    one.hang_up()
    house.wait(1.0)
    assert two.ask(TakeOver(match=match), Started).seat == 1


def test_guests_claim_nothing() -> None:
    house = HubHarness(claim_after_s=0.0)
    ann, bob = house.client("Ann"), house.client("Bob")
    match = match_between(ann, bob)
    ann.hang_up()
    assert house.client("Zoe").refused(TakeOver(match=match)) is Code.NOT_YOUR_MATCH


# Administrators.


@pytest.mark.parametrize(
    "request_",
    [Abort(match="m"), Kick(name="Bob"), Adjudicate(match="m", ply=0, winner=1)],
    ids=repr,
)
def test_what_administrators_do_is_for_nobody_else(request_: Request) -> None:
    house = HubHarness()
    bob = house.client("Bob")
    for line in (member(house, "Ann"), house.client("Zoe"), house.client("Eve", role="spectator")):
        assert line.refused(request_) is Code.NOT_ALLOWED
    assert house.line().refused(request_) is Code.NOT_ALLOWED
    assert bob.open


def test_an_administrator_ends_a_match() -> None:
    house = HubHarness()
    boss = administrator(house, "Boss")
    ann, bob = house.client("Ann"), house.client("Bob")
    match = match_between(ann, bob)
    assert boss.ask(Abort(id="a", match=match, text="a mistake"), Ok).re == "a"
    for line in (ann, bob):
        ended = only(line.inbox, Ended)
        assert (ended.winner, ended.reason, ended.text) == (0, Reason.ADMINISTRATOR, "a mistake")
    assert boss.refused(Abort(match=match)) is Code.MATCH_OVER


def test_an_administrator_sends_somebody_away() -> None:
    house = HubHarness()
    boss = administrator(house, "Boss", role="spectator")
    ann, bob = house.client("Ann"), house.client("Bob")
    match = match_between(ann, bob)
    play(match, (ann, bob), (0, 1))
    boss.ask(Kick(id="d", name="ANN", text="enough"), Ok)
    last = ann.inbox[-1]
    assert isinstance(last, Error)
    assert (last.code, last.text) == (Code.KICKED, "enough")
    assert not ann.open
    assert only(bob.inbox, Ended).reason is Reason.ABANDONMENT
    assert boss.refused(Kick(name="Ann")) is Code.INVALID


def test_who_is_no_administrator_any_more_may_no_more() -> None:
    house = HubHarness()
    boss = administrator(house, "Boss")
    account = house.hub.accounts.like("Boss")
    assert account is not None
    house.do(house.hub.account_changed(structs.replace(account, administrator=False), house.now))
    assert boss.open
    assert boss.refused(Kick(name="Ann")) is Code.NOT_ALLOWED
