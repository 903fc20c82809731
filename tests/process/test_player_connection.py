"""`playout-player` and its connection, at a server that is played by the test."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.commands import finish, invoke, running_server, start
from support.protocol_validator import require_described_request
from support.raw_client import TIMEOUT_S, RawClient

WELCOME = {"protocol": 1, "session": "s", "name": "Ada", "software": "", "games": []}
STARTED = {
    "match": "m",
    "game": "nim(chips=1)",
    "players": ["Ada", "Bob"],
    "seat": 1,
    "clock": "none",
    "moves": [],
    "state": [1, 0, 1],
    "to_move": 1,
}
UPDATE = {
    "match": "m",
    "ply": 0,
    "player": 1,
    "action": 0,
    "state": [2, 1, 0],
    "to_move": 0,
}
ENDED = {
    "match": "m",
    "winner": 1,
    "returns": [1.0, 0.0],
    "reason": "rules",
    "text": "Ada won",
    "state": [2, 1, 0],
}


class AcceptedConnection(RawClient):
    """The server's end of a connection."""

    require_described = staticmethod(require_described_request)

    def __init__(self, accepted: socket.socket) -> None:
        accepted.settimeout(TIMEOUT_S)
        self.socket = accepted
        self.heard = []

    def hear_of(self, kind: str) -> dict[str, Any]:
        """The next request, which is of that type; pings are answered on the way."""
        while (message := self.hear())["type"] == "ping" != kind:
            self.say("pong", re=message.get("id"))
        assert message["type"] == kind
        return message

    def play(self) -> None:
        """A whole match, of one move."""
        self.say("started", **STARTED)
        self.say("update", re=self.hear_of("move")["id"], **UPDATE)
        self.say("ended", **ENDED)


class Host:
    """Listens for the connections of a `playout-player`."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.listener.settimeout(TIMEOUT_S)
        self.address = ("--port", str(self.listener.getsockname()[1]))

    def start_player(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A player that connects to this host."""
        return self.run("nim(chips=1)", "random", *self.address, *arguments, **options)

    def run(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A player that ends with the test."""
        process = start("playout-player", *arguments, **options)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        return process

    def accept(self, context: ssl.SSLContext | None = None) -> AcceptedConnection:
        """The next connection."""
        accepted, _ = self.listener.accept()
        self._stack.enter_context(accepted)
        if context:
            accepted = self._stack.enter_context(context.wrap_socket(accepted, server_side=True))
        return AcceptedConnection(accepted)


@pytest.fixture
def host() -> Iterator[Host]:
    with ExitStack() as stack:
        yield Host(stack)


def test_a_rate_limited_request_is_repeated(host: Host) -> None:
    player = host.start_player()
    connection = host.accept()

    def refuse(kind: str) -> dict[str, Any]:
        """And hear the same once more."""
        message = connection.hear_of(kind)
        too_soon = {"code": "rate_limited", "text": "too soon", "seconds": 0.05}
        connection.say("error", re=message["id"], **too_soon)
        assert connection.hear_of(kind) == message
        return message

    name = refuse("hello")["name"]
    connection.say("welcome", re="hello", **(WELCOME | {"name": name}))
    refuse("seek")
    connection.say("started", **STARTED)
    connection.say("update", re=refuse("move")["id"], **UPDATE)
    connection.say("ended", **ENDED)
    code, output = finish(player)
    assert code == 0, output
    assert "too soon" not in output


def test_a_player_says_that_it_is_there(host: Host) -> None:
    player = host.start_player()
    connection = host.accept()
    connection.hear_of("hello")
    connection.say("welcome", re="hello", **WELCOME)
    connection.hear_of("seek")
    connection.say("ping", seconds=60.0)
    assert connection.hear_of("ping").get("id") is None
    connection.play()
    assert finish(player)[0] == 0


def test_an_entrant_is_told_everything_by_its_environment(host: Host, tmp_path: Path) -> None:
    entrant = {
        "PLAYOUT_HOST": "127.0.0.1",
        "PLAYOUT_PORT": host.address[1],
        "PLAYOUT_NAME": "Ada",
        "PLAYOUT_TOKEN": "0123456789abcdef",
        "PLAYOUT_TOURNAMENT": "t",
        "XDG_DATA_HOME": str(tmp_path),
    }
    player = host.run("any", "random", "--warm", "nim", env=os.environ | entrant)
    connection = host.accept()
    hello = connection.hear_of("hello")
    assert (hello["name"], hello["token"]) == ("Ada", "0123456789abcdef")
    connection.say("welcome", re="hello", **WELCOME)
    assert connection.hear_of("join")["tournament"] == "t"
    connection.say("started", **STARTED)
    assert connection.hear_of("join")["matches"] == 0, "it may compile in its first match"
    connection.say("update", re=connection.hear_of("move")["id"], **UPDATE)
    connection.say("ended", **ENDED)
    assert "matches" not in connection.hear_of("join")
    connection.say("started", **(STARTED | {"match": "n"}))
    assert connection.hear_of("move")["match"] == "n"
    player.send_signal(signal.SIGTERM)
    assert connection.is_closed(), "without another word"
    code, output = finish(player)
    assert code == 143, output
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_full_is_called_again(host: Host) -> None:
    player = host.start_player()
    full = {"code": "too_many", "text": "there is no room"}
    with host.accept() as connection:
        connection.say("error", **full)
    with host.accept() as connection:
        connection.say("error", re=connection.hear_of("hello")["id"], **full)
        assert connection.hear_of("ping")
    connection = host.accept()
    connection.hear_of("hello")
    connection.say("welcome", re="hello", **WELCOME)
    connection.hear_of("seek")
    connection.play()
    code, output = finish(player)
    assert code == 0
    assert "there is no room (too_many)" in output
    assert "connection is lost" not in output


def test_a_server_that_always_hangs_up_is_not_called_for_ever(host: Host) -> None:
    player = host.start_player("--retry-s", "1")
    while player.poll() is None:
        with ExitStack() as stack:
            try:
                host.listener.settimeout(0.2)
                connection = stack.enter_context(host.accept())
            except TimeoutError:
                continue
            connection.say("error", code="too_many", text="there is no room")
    code, output = finish(player)
    assert code == 1
    assert output.splitlines()[-1] == "The server closes the connection: there is no room"


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def context(authority: trustme.CA) -> Callable[[str], ssl.SSLContext]:
    """What a server needs that has a certificate for a name."""

    def make(name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(context)
        return context

    return make


@pytest.fixture
def ca(authority: trustme.CA, tmp_path: Path) -> tuple[str, str]:
    """The option that makes the authority known."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return "--ca", str(tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("issued_for", "arguments"),
    [
        ("127.0.0.1", ()),
        ("localhost", ("--host", "localhost")),
        ("play.example", ("--tls-name", "play.example")),
    ],
)
def test_a_server_with_the_right_certificate_is_played_at(
    host: Host,
    context: Callable[[str], ssl.SSLContext],
    ca: tuple[str, str],
    issued_for: str,
    arguments: tuple[str, ...],
) -> None:
    player = host.start_player(*ca, *arguments)
    connection = host.accept(context(issued_for))
    connection.hear_of("hello")
    connection.say("welcome", re="hello", **WELCOME)
    connection.hear_of("seek")
    connection.play()
    code, output = finish(player)
    assert code == 0, output


def refused(host: Host, player: subprocess.Popen[str], context: ssl.SSLContext) -> str:
    """What a player says that has hung up without saying anything to the server."""
    try:
        with host.accept(context) as connection:
            assert connection.is_closed()
    except OSError:  # in the middle of the handshake
        pass
    code, output = finish(player)
    assert code == 1
    assert "Traceback" not in output
    return output


def test_a_certificate_for_another_name_is_refused(
    host: Host, context: Callable[[str], ssl.SSLContext], ca: tuple[str, str]
) -> None:
    output = refused(host, host.start_player(*ca), context("play.example"))
    assert "certificate is not for '127.0.0.1'" in output
    assert "--tls-name" in output


def test_a_certificate_of_an_unknown_authority_is_refused(
    host: Host, context: Callable[[str], ssl.SSLContext]
) -> None:
    output = refused(host, host.start_player("--tls"), context("127.0.0.1"))
    assert "should be for '127.0.0.1', cannot be trusted" in output
    assert "--ca FILE" in output


def test_a_certificate_of_another_authority_is_refused(
    host: Host, context: Callable[[str], ssl.SSLContext], tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    output = refused(
        host, host.start_player("--ca", str(tmp_path / "other.pem")), context("127.0.0.1")
    )
    assert "not signed by an authority in" in output


def test_a_server_without_tls_is_said(host: Host) -> None:
    player = host.start_player("--tls")
    connection = host.accept()
    connection.socket.recv(1)
    connection.say("error", code="frame_too_large", text="what?")
    connection.socket.close()
    code, output = finish(player)
    assert code == 1
    assert "does not speak TLS" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tls-name", "play.example"], "needs --tls"),
        (["--ca", "/nowhere.pem"], "does not exist"),
        (["--ca", __file__], "--ca"),
        (["--rated"], "needs an account: --name"),
        (["--rated", "--name", "Ada", "--guest"], "needs an account: --name"),
        (["--token-file", "/nowhere"], "needs an account: --name"),
    ],
)
def test_bad_usage_is_explained(arguments: list[str], told: str) -> None:
    code, output = invoke("playout-player", "nim", "random", *arguments)
    assert code == 2
    assert told in " ".join(output.split())
    assert "Traceback" not in output


def test_a_token_is_read_and_never_shown(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    env = os.environ | {"PLAYOUT_TOKEN": "fedcba9876543210"}
    player = host.start_player("--name", "Ada", "--token-file", str(file), env=env)
    connection = host.accept()
    assert connection.hear_of("hello")["token"] == "0123456789abcdef"
    connection.say("error", re="hello", code="bad_token", text="no")
    code, output = finish(player)
    assert code == 1
    assert f"Warning: Other users can read {file}" in output
    assert f"The token of Ada in {file} is not that of the account" in output
    assert "0123456789abcdef" not in output
    player = host.start_player("--name", "Ada", env=env)
    assert host.accept().hear_of("hello")["token"] == "fedcba9876543210"


def test_a_token_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "playout"
    folder.mkdir()
    (folder / "tokens.json").write_text("{")
    env = os.environ | {"XDG_DATA_HOME": str(tmp_path)}
    code, output = finish(start("playout-player", "nim", "random", "--name", "Ada", env=env))
    assert code == 1
    assert "tokens.json is broken" in output
    assert "Traceback" not in output


def test_a_player_ends_when_nobody_reads_what_it_prints() -> None:
    """As in `playout-player ... | head`, while it tries to reach a server."""
    reader, writer = os.pipe()
    os.close(reader)  # before the first line: it writes two, and then none until there is a server
    with open(writer, "w") as nobody:
        words = ("nim", "random", "--port", "1", "--retry-s", "1000")
        player = start("playout-player", *words, stdout=nobody)
    assert player.wait(TIMEOUT_S) == 128 + signal.SIGTERM


def test_a_password_or_a_code_of_the_page_logs_in_at_the_terminal(tmp_path: Path) -> None:
    with running_server("--bots", "0") as server:
        where = ("--host", server.host, "--port", str(server.port))
        env = os.environ | {"XDG_DATA_HOME": str(tmp_path)}

        def log_in(secret: str, name: str = "Ada") -> tuple[int, str]:
            command = start(
                "playout-player", "log-in", name, *where, env=env, stdin=subprocess.PIPE
            )
            return finish(command, f"{secret}\n")

        with RawClient(server.host, server.port) as owner:
            owner.hello("Ada", guest=False)
            assert owner.ask("set_password", password="correct horse")["type"] == "ok"
            code = owner.ask("make_code")["code"]
            for secret in ("correct horse", code):
                done, output = log_in(secret)
                assert (done, "Ada is logged in at 127.0.0.1:" in output) == (0, True), output
            for secret in ("wrong", code, ""):
                done, output = log_in(secret)
                assert done == (1 if secret else 2), output
                assert "Traceback" not in output
            devices = owner.ask("list_logins")["logins"]
            assert [each.get("software", "")[:14] for each in devices[1:]] == ["playout-player"] * 2
        stored = json.loads((tmp_path / "playout/tokens.json").read_text())
        token = stored[f"{server.host}:{server.port}"]["ada"]
        with RawClient(server.host, server.port) as device:
            assert (
                device.ask("hello", protocol_min=1, protocol_max=1, name="Ada", token=token)["type"]
                == "welcome"
            )
