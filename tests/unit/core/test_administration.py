"""Requests of administrators about accounts and the server, and who may not send them."""

from __future__ import annotations

import pytest
from msgspec import structs

from playout.protocol.messages import (
    Abort,
    AccountList,
    ChangeAccount,
    Code,
    CreateAccounts,
    Error,
    InspectServer,
    Kick,
    ListAccounts,
    Ok,
    Request,
    ServerState,
    Welcome,
)
from playout.server.core.handlers.administration import LISTED
from playout.server.model.records import AccountLocked, AccountRenamed, SecretsChanged
from support.hub_harness import (
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    match_between,
    only,
)

REQUESTS: list[Request] = [
    ListAccounts(),
    CreateAccounts(names=("Cy",)),
    ChangeAccount(name="Bob", locked=True),
    ChangeAccount(name="Boss", new_token=True),
    InspectServer(),
    Kick(name="Bob"),
]


@pytest.fixture
def harness() -> HubHarness:
    return HubHarness()


@pytest.fixture
def boss(harness: HubHarness) -> MemoryClient:
    return administrator(harness, "Boss", role="spectator")


def created(boss: MemoryClient, *names: str) -> dict[str, str]:
    """The tokens of new accounts by their names."""
    made = boss.ask(CreateAccounts(names=names), AccountList).accounts
    return {each.name: each.token or "" for each in made}


def names_of(boss: MemoryClient, search: str = "") -> list[str]:
    return [each.name for each in boss.ask(ListAccounts(search=search), AccountList).accounts]


# Who may not.


@pytest.mark.parametrize("request_", REQUESTS, ids=repr)
def test_others_are_refused(request_: Request, harness: HubHarness, boss: MemoryClient) -> None:
    bob = harness.client("Bob", guest=False)
    known = len(harness.stored)
    strangers = [harness.client("Zoe"), harness.client("Eve", role="spectator")]
    for client in (harness.connect(), *strangers, bob):
        assert client.refused(request_) is Code.NOT_ALLOWED
    assert len(harness.stored) == known
    assert bob.open


@pytest.mark.parametrize("request_", REQUESTS, ids=repr)
def test_a_locked_administrator_is_sent_away(
    request_: Request, harness: HubHarness, boss: MemoryClient
) -> None:
    account = harness.hub.accounts.like("Boss")
    assert account is not None
    harness.do(harness.hub.account_changed(structs.replace(account, revoked=True), harness.now))
    assert not boss.open
    known = len(harness.stored)
    assert boss.say(request_) == []
    again = harness.connect()
    assert again.refused(hello_of("Boss", session=boss.token)) is Code.UNKNOWN_SESSION
    assert again.refused(request_) is Code.NOT_ALLOWED
    assert len(harness.stored) == known


def test_an_administrator_changes_neither_administrators_nor_bots(
    harness: HubHarness, boss: MemoryClient
) -> None:
    administrator(harness, "Other")
    for name in ("Other", "Boss"):
        for change in ({"new_token": True}, {"locked": True}, {"new_name": "Cy"}):
            assert boss.refused(ChangeAccount(name=name, **change)) is Code.NOT_ALLOWED
    assert boss.refused(ChangeAccount(name="Nobody", locked=True)) is Code.UNKNOWN_ACCOUNT


# Accounts.


def test_names_are_registered_with_tokens(harness: HubHarness, boss: MemoryClient) -> None:
    tokens = created(boss, "Ada", "Zoë")
    for name, token in tokens.items():
        assert harness.connect().ask(hello_of(name, token=token), Welcome).name == name
    assert not any(token in line for line in harness.logged for token in tokens.values())
    assert any(line.startswith("Boss has registered Ada") for line in harness.logged)


def test_the_tokens_wait_until_the_accounts_are_stored(
    harness: HubHarness, boss: MemoryClient
) -> None:
    harness.slow = True
    assert boss.say(CreateAccounts(names=("Ada",))) == []
    harness.commit()
    assert only(boss.inbox, AccountList).accounts[0].name == "Ada"


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("Ada", "Bob"), Code.NAME_TAKEN),
        (("Ada", "Zoe"), Code.NAME_TAKEN),
        (("Ada", "Cy", "A d a"), Code.NAME_TAKEN),
        (("Ada", "x\u202ey"), Code.BAD_NAME),
    ],
)
def test_one_taken_name_prevents_the_registration_of_all(
    names: tuple[str, ...], code: Code, harness: HubHarness, boss: MemoryClient
) -> None:
    harness.client("Bob", guest=False)
    harness.client("Zoe")
    assert boss.refused(CreateAccounts(names=names)) is code
    assert names_of(boss) == ["Bob", "Boss"]


def test_accounts_are_found_by_a_part_of_the_name(boss: MemoryClient) -> None:
    created(boss, "Ada Lovelace", "Bob", "ADAM")
    assert names_of(boss) == ["Ada Lovelace", "ADAM", "Bob", "Boss"]
    assert names_of(boss, "\u0430d\u0430") == ["Ada Lovelace", "ADAM"]  # Cyrillic letters
    assert names_of(boss, "nobody") == []


def test_the_list_is_limited(boss: MemoryClient) -> None:
    for first in range(0, LISTED + 1, 100):
        created(boss, *(f"pupil {number:03}" for number in range(first, first + 100)))
    listed = boss.ask(ListAccounts(search="pupil"), AccountList)
    assert (len(listed.accounts), listed.total) == (LISTED, 300)


def test_a_locked_account_cannot_be_used_until_it_is_unlocked(
    harness: HubHarness, boss: MemoryClient
) -> None:
    hello = hello_of("Ada", token=created(boss, "Ada")["Ada"])
    ada = harness.connect()
    ada.say(hello)
    (entry,) = boss.ask(ChangeAccount(name="ADA", locked=True), AccountList).accounts
    assert entry.locked
    assert entry.token is None
    last = ada.inbox[-1]
    assert isinstance(last, Error)
    assert last.code is Code.KICKED
    assert harness.connect().refused(hello) is Code.BAD_TOKEN
    boss.ask(ChangeAccount(name="Ada", locked=False), AccountList)
    assert harness.connect().ask(hello, Welcome).name == "Ada"
    kept = [each.revoked for each in harness.stored if isinstance(each, AccountLocked)]
    assert kept == [True, False]
    assert any(line.startswith("Boss has locked the account Ada") for line in harness.logged)


def test_a_new_token_replaces_the_old_one(harness: HubHarness, boss: MemoryClient) -> None:
    old = created(boss, "Ada")["Ada"]
    (entry,) = boss.ask(ChangeAccount(name="Ada", new_token=True), AccountList).accounts
    assert entry.token
    assert harness.connect().refused(hello_of("Ada", token=old)) is Code.BAD_TOKEN
    assert harness.connect().ask(hello_of("Ada", token=entry.token), Welcome)
    renewed = only(harness.stored, SecretsChanged)  # type: ignore[type-var]
    assert (renewed.renewal, renewed.password, renewed.logins) == ("", "", "")


def test_a_renamed_account_keeps_its_token_and_frees_its_name(
    harness: HubHarness, boss: MemoryClient
) -> None:
    token = created(boss, "Ada", "Bob")["Ada"]
    assert boss.refused(ChangeAccount(name="Ada", new_name="B o b")) is Code.NAME_TAKEN
    assert boss.refused(ChangeAccount(name="Ada", new_name="\u200b")) is Code.BAD_NAME
    boss.ask(ChangeAccount(name="Ada", new_name="Ava"), AccountList)
    boss.ask(ChangeAccount(name="Ava", new_name="AVA"), AccountList)
    boss.ask(ChangeAccount(name="Ava", new_name="AVA"), AccountList)  # changes nothing
    assert harness.connect().ask(hello_of("ava", token=token), Welcome).name == "AVA"
    assert harness.connect().refused(hello_of("Ada", token=token)) is Code.UNKNOWN_ACCOUNT
    renamed = [each for each in harness.stored if isinstance(each, AccountRenamed)]
    assert [(each.before, each.name) for each in renamed] == [("Ada", "Ava"), ("Ava", "AVA")]


def test_a_name_that_cannot_be_stored_is_given_back(
    harness: HubHarness, boss: MemoryClient
) -> None:
    created(boss, "Ada")
    boss.ask(ChangeAccount(name="Ada", new_name="Eve"), AccountList)
    record = harness.stored[-1]
    harness.do(harness.hub.record_rejected(record, harness.now))
    assert names_of(boss) == ["Ada", "Boss"]


# The server.


def test_the_state_has_the_limits_and_the_jobs(boss: MemoryClient, harness: HubHarness) -> None:
    state = boss.ask(InspectServer(id="s"), ServerState)
    limits = {each.name: each.value for each in state.limits}
    assert (limits["default_clock"], limits["bots_per_account"]) == ("300+3", 2)
    assert "reserved" not in limits
    assert (state.re, state.jobs) == ("s", ())


def test_the_log_says_who_has_ended_a_match_or_a_session(
    harness: HubHarness, boss: MemoryClient
) -> None:
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match = match_between(ann, bob)
    boss.ask(Abort(match=match), Ok)
    boss.ask(Kick(name="ann"), Ok)
    said = [line.partition(" {")[0] for line in harness.logged]
    assert f"Boss ends match {match}" in said
    assert "Boss has kicked Ann" in said
