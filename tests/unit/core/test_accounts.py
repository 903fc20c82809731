"""Accounts: registration, tokens, guests, several sessions, taken over seats, administrators."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs

from playout.protocol.messages import (
    Abort,
    Adjudicate,
    Code,
    Ended,
    Error,
    Hello,
    Kick,
    Move,
    MoveAnalysis,
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
from playout.server.core.accounts import DAY_S, Directory, GivenAccount, digest
from playout.server.model.records import Account, SeatTakenOver
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


def newcomer(name: str, **fields: Any) -> Hello:
    """The hello of a client without a token that is no guest."""
    return hello_of(name, guest=False, **fields)


def member(harness: HubHarness, name: str) -> MemoryClient:
    return harness.client(name, guest=False)


# Accounts of a server's start.


def test_a_given_account_that_is_not_there_is_new() -> None:
    made = Directory().given(GivenAccount("Ann", "its digest", administrator=True), "1", 5.0)
    assert made == Account(
        id="1", name="Ann", digest="its digest", created_at=5.0, token_at=5.0, administrator=True
    )


def test_a_given_account_that_is_there_is_taken_over_with_its_name() -> None:
    old = Account(
        id="1",
        name="ANN",
        digest="x",
        created_at=1.0,
        renewal="y",
        administrator=True,
        revoked=True,
        password="its hash",
        logins="[]",
    )
    made = Directory([old]).given(GivenAccount("Ann", "its digest"), "2", 5.0)
    assert made == Account(id="1", name="Ann", digest="its digest", created_at=1.0, token_at=5.0)
    mine = structs.replace(made, password="its hash", logins="[]", renewal="y", revoked=True)
    again = Directory([mine]).given(GivenAccount("Ann", "its digest"), "2", 6.0)
    kept = structs.replace(made, password="its hash", logins="[]", token_at=6.0)
    assert again == kept, "the password stays when the server starts again"


# Names and tokens.


def test_the_first_hello_registers_the_name() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    assert ann.welcome is not None
    assert not ann.welcome.guest
    (account,) = harness.stored
    assert isinstance(account, Account)
    assert (account.name, account.digest) == ("Ann", digest(ann.account_token))
    assert re.fullmatch(r"[0-9a-f]{32}", ann.account_token)
    assert ann.account_token != ann.token


def test_a_welcome_with_a_token_waits_until_the_account_is_stored() -> None:
    harness = HubHarness()
    harness.slow = True
    client = harness.connect()
    assert client.say(newcomer("Ann")) == []
    harness.commit()
    assert only(client.inbox, Welcome).token


def test_the_name_needs_its_token_from_then_on() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    token = ann.account_token
    ann.hang_up()
    client = harness.connect()
    for hello in (newcomer("Ann"), hello_of("Ann"), newcomer("ANN"), newcomer("A n n")):
        assert client.refused(hello) is Code.NAME_TAKEN
    assert client.refused(hello_of("Ann", token="0" * 32)) is Code.BAD_TOKEN
    assert client.refused(hello_of("Ann", token="")) is Code.BAD_TOKEN
    assert client.refused(hello_of("Bob", token=token)) is Code.UNKNOWN_ACCOUNT
    welcome = client.ask(hello_of("ann", token=token), Welcome)
    assert (welcome.name, welcome.token, welcome.guest) == ("Ann", None, False)


@pytest.mark.parametrize("name", ["Аnn", "Ann.", "ANN", "Änn", "А n n"])
def test_names_that_look_alike_are_refused(name: str) -> None:
    harness = HubHarness()
    member(harness, "Ann").hang_up()
    assert harness.connect().refused(hello_of(name)) in (Code.NAME_TAKEN, Code.BAD_NAME)
    assert harness.connect().refused(newcomer(name)) in (Code.NAME_TAKEN, Code.BAD_NAME)


@pytest.mark.parametrize("name", ["Ann\n", "An\u202en", "\u200b", "Аda Ann", " Ann", "An\0n"])
def test_names_that_cannot_be_read_are_refused(name: str) -> None:
    assert HubHarness().connect().refused(newcomer(name)) is Code.BAD_NAME


def test_a_guest_registers_nothing_and_plays_unrated() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    assert harness.stored == []
    assert ann.welcome is not None
    assert ann.welcome.guest
    assert ann.refused(Seek(game=GAME, rated=True)) is Code.NOT_FOR_GUESTS
    assert match_between(ann, bob)


def test_spectators_are_guests() -> None:
    harness = HubHarness()
    welcome = harness.connect().ask(newcomer("Ann", role="spectator"), Welcome)
    assert welcome.guest
    assert harness.stored == []


@pytest.mark.parametrize(
    ("registration", "registers", "visits"),
    [("open", True, True), ("guests", False, True), ("closed", False, False)],
)
def test_registration_decides_which_newcomers_are_accepted(
    registration: str, registers: bool, visits: bool
) -> None:
    harness = HubHarness(registration=registration)
    token = "1" * 32
    known = Account(id="1", name="Ada", digest=digest(token), created_at=0.0)
    harness.do(harness.hub.account_changed(known, harness.now))
    assert harness.client("Ada", token=token).open
    for hello, lets_in in ((newcomer("Ann"), registers), (hello_of("Bob"), visits)):
        client = harness.connect()
        if lets_in:
            assert client.ask(hello, Welcome)
        else:
            assert client.refused(hello) is Code.REGISTRATION_CLOSED


def test_an_address_has_a_limit_of_registrations_an_hour() -> None:
    harness = HubHarness(registrations_per_hour=4)
    for number in range(4):
        member(harness, f"Ann {number}x")
    (error,) = harness.connect().say(newcomer("Bob"))
    assert isinstance(error, Error)
    assert error.code is Code.RATE_LIMITED
    assert error.seconds is not None
    assert harness.connect("2001:db8::1").ask(newcomer("Eve"), Welcome)
    harness.wait(error.seconds)
    assert member(harness, "Bob").open


def test_a_token_is_renewed_before_it_expires() -> None:
    harness = HubHarness(token_days=10)
    first = member(harness, "Ann")
    token = first.account_token
    assert first.welcome
    assert first.welcome.token_left_s == 10 * DAY_S
    first.hang_up()

    def login(token: str, **fields: Any) -> Welcome:
        client = harness.client("Ann", token=token, **fields)
        client.hang_up()
        assert client.welcome
        return client.welcome

    assert login(token, renew_token=True).token is None  # not half of the time is over
    harness.wait(6 * DAY_S)
    assert login(token).token is None  # the client cannot store it
    lost = login(token, renew_token=True).token
    renewed = login(token, renew_token=True).token  # the old one is valid until this one is used
    assert lost
    assert renewed
    assert harness.connect().refused(hello_of("Ann", token=lost)) is Code.BAD_TOKEN
    assert login(renewed, renew_token=True).token_left_s == 10 * DAY_S
    assert harness.connect().refused(hello_of("Ann", token=token)) is Code.BAD_TOKEN
    harness.wait(10 * DAY_S)
    (error,) = harness.connect().say(hello_of("Ann", token=renewed, renew_token=True))
    assert isinstance(error, Error)
    assert error.code is Code.BAD_TOKEN
    assert "has expired" in error.text


def test_tokens_do_not_expire_without_the_option() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    ann.hang_up()
    harness.wait(5000 * DAY_S)
    welcome = harness.connect().ask(
        hello_of("Ann", token=ann.account_token, renew_token=True), Welcome
    )
    assert (welcome.token, welcome.token_left_s) == (None, None)


def test_a_token_that_was_revoked_is_void_and_its_sessions_end() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    play(match, (ann, bob), (0, 1))
    (account,) = (each for each in harness.stored if isinstance(each, Account))
    harness.do(
        harness.hub.account_changed(structs.replace(account, digest=digest("x")), harness.now)
    )
    last = ann.inbox[-1]
    assert isinstance(last, Error)
    assert last.code is Code.KICKED
    assert not ann.open
    assert only(bob.inbox, Ended).reason is Reason.ABANDONMENT
    assert harness.connect().refused(hello_of("Ann", token=ann.account_token)) is Code.BAD_TOKEN
    assert harness.connect().refused(hello_of("Ann", session=ann.token)) is Code.UNKNOWN_SESSION


def test_a_renamed_player_continues_and_comes_back_under_the_new_name() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    (account,) = (each for each in harness.stored if isinstance(each, Account))
    harness.do(harness.hub.account_changed(structs.replace(account, name="Zoe"), harness.now))
    play(match, (ann, bob), (0, 1))
    ann.hang_up()
    again = harness.client("Zoe", session=ann.token)
    assert only(again.inbox, Started).match == match
    assert harness.client("Zoe", token=ann.account_token).open


# Tokens and sessions of other players.


def test_a_session_token_of_another_player_is_refused() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    match_between(ann, bob)
    assert harness.connect().refused(hello_of("Eve", session=ann.token)) is Code.UNKNOWN_SESSION
    hello = structs.replace(hello_of("Bob", session=ann.token), token=bob.account_token)
    assert harness.connect().refused(hello) is Code.UNKNOWN_SESSION
    hello = hello_of("Ann", session=ann.account_token)
    assert harness.connect().refused(hello) is Code.UNKNOWN_SESSION
    assert ann.open


def test_neither_is_a_session_token_an_account_token_nor_the_other_way_round() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    assert harness.connect().refused(hello_of("Ann", token=ann.token)) is Code.BAD_TOKEN


def test_no_error_and_no_line_of_the_log_has_a_token() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    match = match_between(ann, bob)
    secrets = [ann.token, bob.token, ann.account_token, bob.account_token, "5" * 32]
    requests = [
        hello_of("Ann", token="5" * 32),
        hello_of("Bob", token=ann.account_token),
        hello_of("Bob", session=ann.token),
        hello_of("Ann", session="5" * 32),
        newcomer("Ann"),
    ]
    client = harness.connect()
    for request in requests:
        client.say(request)
    for event in [*client.inbox, *ann.inbox, *bob.inbox]:
        text = repr(structs.asdict(event) | {"session": "", "token": ""})
        assert not any(secret in text for secret in secrets), text
    play(match, (ann, bob), (0, 1))
    ann.hang_up()
    harness.wait(100.0)
    assert harness.logged
    assert not any(secret in said for secret in secrets for said in harness.logged)
    kept = repr(harness.stored)
    assert not any(secret in kept for secret in secrets)


# Several sessions.


def workers(harness: HubHarness, count: int = 2) -> list[MemoryClient]:
    """Sessions of Ann; the first one has registered her."""
    first = member(harness, "Ann")
    return [first, *(harness.client("Ann", token=first.account_token) for _ in range(count - 1))]


def test_an_account_has_several_sessions_that_do_not_play_each_other() -> None:
    harness = HubHarness()
    one, two = workers(harness)
    bob = harness.client("Bob")
    for client in (one, two):
        client.say(Seek(game=GAME, clock="none"))
    assert not one.heard(Started)
    bob.say(Seek(game=GAME, matches=2))
    for client in (one, two):
        assert sorted(only(client.inbox, Started).players) == ["Ann", "Bob"]
    matches = {only(client.inbox, Started).match for client in (one, two)}
    assert len(matches) == 2
    for client in (one, two):
        match = only(client.inbox, Started).match
        (other,) = matches - {match}
        client.say(Resign(match=match))
        assert client.refused(Resign(match=other)) in (Code.NOT_YOUR_MATCH, Code.MATCH_OVER)


def test_all_sessions_are_sent_a_challenge() -> None:
    harness = HubHarness()
    one, two = workers(harness)
    harness.client("Bob").say(Seek(game=GAME, opponent="ann"))
    assert only(one.inbox, Seeking).name == only(two.inbox, Seeking).name == "Bob"


def test_an_account_has_a_limit_of_sessions() -> None:
    harness = HubHarness(sessions_per_account=2)
    one, _ = workers(harness)
    hello = hello_of("Ann", token=one.account_token)
    assert harness.connect().refused(hello) is Code.TOO_MANY
    one.hang_up()
    assert harness.connect().ask(hello, Welcome)


def test_another_session_of_a_player_is_not_sent_the_opponents_analysis() -> None:
    harness = HubHarness()
    one, two = workers(harness)
    bob = harness.client("Bob")
    match = match_between(one, bob)
    two.say(Watch(match=match))
    one.say(Move(match=match, ply=0, action=0))
    bob.say(Move(match=match, ply=1, action=1, info=THOUGHT))
    bob.say(Resign(match=match))
    assert isinstance(two.inbox[-1], Ended)
    assert not two.heard(MoveAnalysis)


def test_another_session_claims_the_match_of_one_that_is_gone() -> None:
    harness = HubHarness(take_over_after_s=10.0)
    one, two = workers(harness)
    bob = harness.client("Bob")
    match = match_between(one, bob, clock="100+0")
    play(match, (one, bob), (0, 1))
    assert two.refused(TakeOver(match=match)) is Code.NOT_AWAY
    one.hang_up()
    harness.wait(4.0)
    (error,) = two.say(TakeOver(match=match))
    assert isinstance(error, Error)
    assert (error.code, error.seconds) == (Code.NOT_AWAY, 6.0)
    harness.wait(6.0)
    started = two.ask(TakeOver(id="c", match=match), Started)
    assert (started.re, started.seat, started.moves) == ("c", 1, (0, 1))
    assert isinstance(harness.stored[-1], SeatTakenOver)
    assert two.ask(TakeOver(match=match), Started).seat == 1
    play(match, (two, bob), (3, 4, 6), ply=2)
    assert only(bob.inbox, Ended).winner == 1
    assert harness.connect().refused(hello_of("Ann", session=one.token)) is Code.UNKNOWN_SESSION


def test_a_welcome_has_the_matches_whose_sessions_are_away() -> None:
    harness = HubHarness()
    one, _ = workers(harness)
    match = match_between(one, harness.client("Bob"))
    assert harness.client("Ann", token=one.account_token).welcome.away == ()  # type: ignore[union-attr]
    one.hang_up()
    again = harness.client("Ann", token=one.account_token)
    assert again.welcome is not None
    assert again.welcome.away == (match,)


@pytest.mark.parametrize("stranger", ["Bob", "Eve", "guest"])
def test_a_match_of_another_account_cannot_be_taken_over(stranger: str) -> None:
    harness = HubHarness(take_over_after_s=0.0)
    ann, bob, eve = (member(harness, name) for name in ("Ann", "Bob", "Eve"))
    match = match_between(ann, bob)
    ann.hang_up()
    harness.wait(1.0)
    if stranger == "Bob":  # its player is sent it as the player of a seat
        assert bob.ask(TakeOver(match=match), Started).seat == 2
    elif stranger == "Eve":
        assert eve.refused(TakeOver(match=match)) is Code.NOT_YOUR_MATCH
    else:
        assert harness.client("Zoe").refused(TakeOver(match=match)) is Code.NOT_YOUR_MATCH


def test_only_the_limit_of_the_session_prevents_a_claim() -> None:
    harness = HubHarness(
        take_over_after_s=0.0, seeks_per_account=1, matches_per_session=1, matches_per_account=2
    )
    one, two = workers(harness)
    three = harness.client("Ann", token=one.account_token)
    matches = [
        match_between(each, harness.client(name)) for each, name in ((one, "Bob"), (two, "Eve"))
    ]
    one.hang_up()
    harness.wait(1.0)
    (error,) = two.say(TakeOver(match=matches[0]))
    assert isinstance(error, Error)
    assert (error.code, "you play 1 already" in error.text) == (Code.TOO_MANY, True)
    assert three.ask(TakeOver(match=matches[0]), Started).seat == 1
    two.hang_up()
    four = harness.client("Ann", token=one.account_token)
    harness.wait(1.0)
    assert three.refused(TakeOver(match=matches[1])) is Code.TOO_MANY
    assert four.ask(TakeOver(match=matches[1]), Started).seat == 1


def test_a_session_with_a_seek_may_take_over_a_match() -> None:
    harness = HubHarness(take_over_after_s=0.0, seeks_per_account=1, matches_per_session=1)
    one, two = workers(harness)
    match = match_between(one, harness.client("Bob"))
    two.say(Seek(game="nim"))
    one.hang_up()
    harness.wait(1.0)
    assert two.ask(TakeOver(match=match), Started).seat == 1


def test_guests_claim_nothing() -> None:
    harness = HubHarness(take_over_after_s=0.0)
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    ann.hang_up()
    assert harness.client("Zoe").refused(TakeOver(match=match)) is Code.NOT_YOUR_MATCH


# Administrators.


@pytest.mark.parametrize(
    "request_",
    [Kick(name="Bob"), Adjudicate(match="m", ply=0, winner=1)],
    ids=repr,
)
def test_requests_of_administrators_are_refused_to_others(request_: Request) -> None:
    harness = HubHarness()
    bob = harness.client("Bob")
    for client in (
        member(harness, "Ann"),
        harness.client("Zoe"),
        harness.client("Eve", role="spectator"),
    ):
        assert client.refused(request_) is Code.NOT_ALLOWED
    assert harness.connect().refused(request_) is Code.NOT_ALLOWED
    assert bob.open


def test_an_administrator_ends_a_match() -> None:
    harness = HubHarness()
    boss = administrator(harness, "Boss")
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    assert boss.ask(Abort(id="a", match=match, text="a mistake"), Ok).re == "a"
    for client in (ann, bob):
        ended = only(client.inbox, Ended)
        assert (ended.winner, ended.reason, ended.text) == (0, Reason.ADMINISTRATOR, "a mistake")
    assert boss.refused(Abort(match=match)) is Code.MATCH_OVER


def test_an_administrator_kicks_a_player() -> None:
    harness = HubHarness()
    boss = administrator(harness, "Boss", role="spectator")
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    play(match, (ann, bob), (0, 1))
    boss.ask(Kick(id="d", name="ANN", text="enough"), Ok)
    last = ann.inbox[-1]
    assert isinstance(last, Error)
    assert (last.code, last.text) == (Code.KICKED, "enough")
    assert not ann.open
    assert only(bob.inbox, Ended).reason is Reason.ABANDONMENT
    assert boss.refused(Kick(name="Ann")) is Code.INVALID


def test_a_former_administrator_loses_its_rights() -> None:
    harness = HubHarness()
    boss = administrator(harness, "Boss")
    account = harness.hub.accounts.like("Boss")
    assert account is not None
    harness.do(
        harness.hub.account_changed(structs.replace(account, administrator=False), harness.now)
    )
    assert boss.open
    assert boss.refused(Kick(name="Ann")) is Code.NOT_ALLOWED
