"""playout.commands.connect_options: what commands get from the options of a connection."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from playout.commands.connect_options import (
    AccountChoice,
    ServerAddress,
    account_options,
    own_account_options,
    server_option,
    server_options,
)


def given(decorator: Any, *words: str, **variables: str) -> dict[str, Any] | str:
    """Return what a command with the options gets, or the error that is shown instead."""
    found: dict[str, Any] = {}

    @click.command()
    @decorator
    def command(**options: Any) -> None:
        found.update(options)

    done = CliRunner(env=variables).invoke(command, words)
    return found if done.exit_code == 0 else done.output


def test_host_and_port_are_one_address() -> None:
    assert given(server_options) == {"server": ServerAddress("127.0.0.1", 4242)}
    from_environment = given(server_options, PLAYOUT_HOST="::1", PLAYOUT_PORT="5")
    assert from_environment == {"server": ServerAddress("::1", 5)}
    assert str(ServerAddress("::1", 5)) == "[::1]:5"


def test_an_address_has_the_settings_of_tls() -> None:
    for options, words in (
        (server_options, ("--host", "play.example", "--tls", "--tls-name", "example")),
        (
            server_option("A server."),
            ("--server", "play.example:9", "--tls", "--tls-name", "example"),
        ),
    ):
        found = given(options, *words)
        assert isinstance(found, dict)
        tls = found["server"].tls
        assert tls.environment == {"PLAYOUT_TLS": "1", "PLAYOUT_TLS_NAME": "example"}
        assert found.keys() == {"server"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tls-name", "example", "--server", "play.example:9"), "--tls-name needs --tls"),
        (("--tls",), "--tls needs --server"),
        (("--tls-name", "example"), "--tls-name needs --server"),
        (("--server", "play.example:0"), "'play.example:0' is not HOST:PORT"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: tuple[str, ...], said: str) -> None:
    assert said in str(given(server_option("A server."), *words))


def test_without_server_the_environment_decides_nothing() -> None:
    assert given(server_option("A server."), PLAYOUT_TLS="1") == {"server": None}


def test_a_guest_has_no_token() -> None:
    server = ServerAddress("127.0.0.1", 4242)
    found = given(account_options, "--name", "Ada", "--guest")
    assert found == {"account": AccountChoice("Ada", guest=True)}
    assert AccountChoice("Ada", guest=True).saved(server) is None
    found = given(account_options, "--token-file", "token")
    assert isinstance(found, dict)
    with pytest.raises(click.UsageError, match="--token-file needs an account"):
        found["account"].saved(server)


def test_an_account_that_cannot_be_a_guest_has_a_name() -> None:
    found = given(own_account_options, "--name", "Ada")
    assert found == {"account": AccountChoice("Ada", guest=False)}
    assert "No such option" in str(given(own_account_options, "--name", "Ada", "--guest"))
    assert "Missing option '--name'" in str(given(own_account_options))
