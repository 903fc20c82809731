"""Passwords, codes, and devices that are logged in and out."""

from __future__ import annotations

from typing import Any

import pytest

from playout.protocol.messages import (
    AccountList,
    ChangeAccount,
    Code,
    EndLogins,
    Error,
    ListLogins,
    LoggedIn,
    LogIn,
    LoginCode,
    LoginList,
    MakeCode,
    Move,
    Ok,
    SetPassword,
    Started,
    TakeOver,
)
from playout.server.core.handlers import logins
from playout.server.core.handlers.logins import CODE_S, MOST_LOGINS
from playout.server.net.passwords import checked
from support.hub_harness import (
    WON,
    HubHarness,
    MemoryClient,
    administrator,
    hello_of,
    match_between,
    only,
)
from support.restarts import restarted

PASSWORD = "correct horse"


def owner(**policy: Any) -> tuple[HubHarness, MemoryClient]:
    """A server, and a registered player on it."""
    harness = HubHarness(**policy)
    return harness, harness.client("Ada", guest=False)


def log_in(harness: HubHarness, secret: str, name: str = "Ada", **fields: Any) -> Any:
    """The answer to a login on a new connection: a token, or an error."""
    (answer,) = harness.connect().say(LogIn(name=name, secret=secret, **fields))
    return answer


def refused_hello(harness: HubHarness, **fields: str) -> Code:
    """The code of the error that is the answer to a hello on a new connection."""
    return harness.connect().refused(hello_of("Ada", **fields))


def devices(client: MemoryClient) -> list[tuple[str, bool]]:
    """The names of the devices that are logged in, and whether each is that of the client."""
    return [(each.software, each.own) for each in client.ask(ListLogins(), LoginList).logins]


def test_a_password_gives_each_device_a_token_of_its_own() -> None:
    harness, ada = owner()
    assert log_in(harness, PASSWORD).code is Code.BAD_TOKEN
    assert log_in(harness, PASSWORD, "Bob").code is Code.UNKNOWN_ACCOUNT
    assert ada.ask(SetPassword(password=PASSWORD), Ok)
    assert log_in(harness, "correct house").code is Code.BAD_TOKEN
    answer = log_in(harness, PASSWORD, software="phone")
    assert isinstance(answer, LoggedIn)
    phone = harness.client("Ada", token=answer.token)
    assert devices(ada) == [("", True), ("phone", False)]
    assert devices(phone) == [("", False), ("phone", True)]
    assert ada.ask(ListLogins(), LoginList).has_password
    assert PASSWORD not in str(harness.stored)
    assert answer.token not in str(harness.stored)
    assert ada.ask(SetPassword(password=None), Ok)
    assert log_in(harness, PASSWORD).code is Code.BAD_TOKEN
    assert harness.client("Ada", token=answer.token)


def test_a_code_lets_one_device_in_within_ten_minutes() -> None:
    harness, ada = owner(idle_s=0)
    first = ada.ask(MakeCode(), LoginCode).code
    code = ada.ask(MakeCode(), LoginCode).code
    assert log_in(harness, first).code is Code.BAD_TOKEN
    assert isinstance(log_in(harness, code.upper()), LoggedIn)
    assert log_in(harness, code).code is Code.BAD_TOKEN
    late = ada.ask(MakeCode(), LoginCode)
    harness.wait(CODE_S)
    assert log_in(harness, late.code).code is Code.BAD_TOKEN


def test_tries_are_limited_by_the_address_and_by_the_name() -> None:
    harness, ada = owner(logins_per_hour=2)
    ada.say(SetPassword(password=PASSWORD))
    assert [log_in(harness, "wrong wrong").code for _ in range(2)] == [
        Code.BAD_TOKEN,
        Code.RATE_LIMITED,
    ]

    def try_from(address: str, secret: str = "wrong wrong") -> Any:
        (answer,) = harness.connect(address).say(LogIn(name="Ada", secret=secret))
        return answer

    attacked = [try_from("203.0.113.5").code for _ in range(20)]
    assert set(attacked[2:]) == {Code.RATE_LIMITED}
    assert isinstance(try_from("198.51.100.7", PASSWORD), LoggedIn), "one address locks nobody out"
    for number in (2, 2, 3, 3):
        assert try_from(f"192.0.2.{number}").code is Code.BAD_TOKEN
    answer = try_from("198.51.100.7", PASSWORD)
    assert (answer.code, "too many tries" in answer.text) == (Code.RATE_LIMITED, True)
    assert harness.client("Ada", token=ada.welcome.token), "the token is not guessed"


def test_a_device_is_logged_out_and_its_match_waits() -> None:
    harness, ada = owner(take_over_after_s=0)
    ada.say(SetPassword(password=PASSWORD))
    token = log_in(harness, PASSWORD, software="phone").token
    phone, bob = harness.client("Ada", token=token), harness.client("Bob")
    match = match_between(phone, bob)
    last = ada.ask(ListLogins(), LoginList).logins[-1]
    assert ada.refused(EndLogins(login="other")) is Code.INVALID
    assert ada.refused(EndLogins(login="")) is Code.INVALID
    code = phone.ask(MakeCode(), LoginCode).code
    assert ada.ask(EndLogins(login=last.login), Ok)
    assert log_in(harness, code).code is Code.BAD_TOKEN
    assert phone.heard(Error)[-1].code is Code.KICKED
    assert refused_hello(harness, token=token) is Code.BAD_TOKEN
    assert refused_hello(harness, session=phone.token) is Code.UNKNOWN_SESSION
    assert ada.ask(TakeOver(match=match), Started).seat == 1
    ada.say(Move(match=match, ply=0, action=WON[0]))
    assert only(bob.inbox, Started).match == match
    assert devices(ada) == [("", True)]


def test_a_device_of_before_a_restart_stays_when_it_logs_another_one_out() -> None:
    harness, ada = owner()
    match_between(ada, harness.client("Bob"))
    again = restarted(harness)
    ada = again.client("Ada", session=ada.token)
    log_in(again, ada.ask(MakeCode(), LoginCode).code, software="phone")
    last = ada.ask(ListLogins(), LoginList).logins[-1]
    assert ada.ask(EndLogins(login=last.login), Ok)
    assert devices(ada) == [("", False)]


def test_all_other_devices_are_logged_out_and_a_link_works_once() -> None:
    harness, ada = owner()
    ada.say(SetPassword(password=PASSWORD))
    tokens = [ada.welcome.token, log_in(harness, PASSWORD).token]
    phone = harness.client("Ada", token=tokens[1])
    code = ada.ask(MakeCode(), LoginCode).code
    new = phone.ask(EndLogins(), LoggedIn).token
    assert ada.heard(Error)[-1].code is Code.KICKED
    assert {refused_hello(harness, token=each) for each in tokens} == {Code.BAD_TOKEN}
    assert log_in(harness, code).code is Code.BAD_TOKEN
    assert devices(phone) == [("", True)]
    assert devices(harness.client("Ada", token=new)) == [("", True)]
    assert isinstance(log_in(harness, PASSWORD), LoggedIn), "the password stays"


def test_an_administrator_s_new_token_ends_passwords_codes_and_logins() -> None:
    harness, ada = owner()
    ada.say(SetPassword(password=PASSWORD))
    token = log_in(harness, PASSWORD).token
    code = ada.ask(MakeCode(), LoginCode).code
    boss = administrator(harness, "Boss")
    assert boss.ask(ChangeAccount(name="Ada", new_token=True), AccountList)
    assert log_in(harness, PASSWORD).code is Code.BAD_TOKEN
    assert log_in(harness, code).code is Code.BAD_TOKEN
    assert refused_hello(harness, token=token) is Code.BAD_TOKEN


def test_a_password_is_set_only_if_it_is_hashed_while_its_owner_is_logged_in() -> None:
    harness, ada = owner()
    boss = administrator(harness, "Boss")
    ada.say(SetPassword(password=PASSWORD))
    harness.checked = lambda password, hashed: ""
    assert ada.refused(SetPassword(password="another one")) is Code.INTERNAL

    def replaced(password: str, hashed: str) -> str:
        boss.say(ChangeAccount(name="Ada", new_token=True))
        return checked(password, hashed)

    harness.checked = checked
    assert isinstance(log_in(harness, PASSWORD), LoggedIn), "the password is as before"
    harness.checked = replaced
    ada.say(SetPassword(password="of a stranger"))
    harness.checked = checked
    assert log_in(harness, "of a stranger").code is Code.BAD_TOKEN


def test_a_limited_number_of_passwords_waits_to_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    harness, ada = owner()
    ada.say(SetPassword(password=PASSWORD))
    monkeypatch.setattr(logins, "_MOST_CHECKS", 1)
    meanwhile: list[Any] = []

    def slowly(password: str, hashed: str) -> str:
        meanwhile.append(log_in(harness, PASSWORD))
        return checked(password, hashed)

    harness.checked = slowly
    assert isinstance(log_in(harness, PASSWORD), LoggedIn)
    assert [each.code for each in meanwhile] == [Code.RATE_LIMITED]
    assert isinstance(log_in(harness, PASSWORD), LoggedIn)


def test_guests_have_no_logins_and_an_account_a_limited_number() -> None:
    harness, ada = owner(logins_per_hour=0)
    guest = harness.client("Bob")
    for request in (MakeCode(), ListLogins(), EndLogins(), SetPassword(password=PASSWORD)):
        assert guest.refused(request) is Code.NOT_ALLOWED
    tokens = []
    for number in range(MOST_LOGINS + 1):
        code = ada.ask(MakeCode(), LoginCode).code
        tokens.append(log_in(harness, code, software=f"device {number}").token)
    assert len(devices(ada)) == 1 + MOST_LOGINS
    assert refused_hello(harness, token=tokens[0]) is Code.BAD_TOKEN
    assert harness.client("Ada", token=tokens[1])
