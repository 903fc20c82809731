"""The options of commands that connect to a server: where it is, and the account to use there.

`server_options` adds `--host` and `--port`, `server_option` one option `--server HOST:PORT`; both
add the options of TLS, and pass the command one `ServerAddress`. `account_options` pass it an
`AccountChoice`.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import click
from platformdirs import user_data_path

from playout.commands import signals
from playout.commands.identity import SavedAccount, TokenError, TokenFile, given_token
from playout.commands.options import FiniteRange, combined, typed_option
from playout.commands.text import plain
from playout.protocol.connection import ServerConnection, ServerListener, TlsSettings
from playout.protocol.endpoints import host_and_port, spelled
from playout.protocol.messages import Error, Event, Hello, Request, Welcome

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
#: Yields requests, is sent the answer to each, and returns a result.
Conversation = Generator[Request, Event, T]

_TLS = ("tls", "ca", "tls_name")


_tls_options = combined(
    click.option(
        "--tls",
        is_flag=True,
        envvar="PLAYOUT_TLS",
        show_envvar=True,
        help="Use TLS: encrypt, and verify the server's certificate.",
    ),
    click.option(
        "--ca",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        envvar="PLAYOUT_CA",
        show_envvar=True,
        metavar="FILE",
        help="Use TLS, and trust the authorities in this file (PEM) instead of the system's.",
    ),
    click.option(
        "--tls-name",
        envvar="PLAYOUT_TLS_NAME",
        show_envvar=True,
        metavar="NAME",
        help="The name in the server's certificate.  [default: the host]",
    ),
)


class ServerAddress(NamedTuple):
    """Where a server is, and how its certificate is verified: `tls`, None without TLS."""

    host: str
    port: int
    tls: TlsSettings | None = None

    def __str__(self) -> str:
        return spelled(self.host, self.port)

    def connection(
        self, reactor: Any, listener: ServerListener, patience_s: float, **options: Any
    ) -> ServerConnection:
        """Return a connection, not yet opened, with the further `options` of its class."""
        address = (self.host, self.port)
        return ServerConnection(reactor, address, listener, patience_s, self.tls, **options)

    def ask(self, request: Request, hello: Hello | None = None, patience_s: float = 0.0) -> Event:
        """Run the event loop until the server answers one request, and return the answer.

        The request, which needs an id, is sent after `hello`, or at once without it; `patience_s`
        is the time in which to reach the server. Raises ClickException.
        """

        def once() -> Conversation[Event]:
            answer = yield request
            return answer

        return self.converse(once(), hello, patience_s)

    def converse(
        self, requests: Conversation[T], hello: Hello | None = None, patience_s: float = 0.0
    ) -> T:
        """Run the event loop until the server has answered a series of requests; return its result.

        `requests` yields each one, which needs an id, is sent the answer, and may raise
        ClickException; the others are as in `ask`. Raises ClickException.
        """
        reactor: Any = importlib.import_module("twisted.internet.reactor")
        call = _Call(reactor, requests, hello)
        call.connection = self.connection(reactor, call, patience_s)
        reactor.callWhenRunning(call.connection.open)
        with signals.handled(reactor, {}):  # Ctrl-C exits at once
            reactor.run(installSignalHandlers=False)
        if not call.results:
            raise click.ClickException(plain(call.fault))
        return call.results[0]


class _Call(Generic[T]):
    """Sends requests one after the other, after `hello` if there is one.

    `results` gets the result of the requests; without it, `fault` says why there is none.
    """

    connection: ServerConnection

    def __init__(self, reactor: Any, requests: Conversation[T], hello: Hello | None) -> None:
        self.results: list[T] = []
        self.fault = "the server has not answered"
        self._reactor, self._requests, self._hello = reactor, requests, hello
        self._request = next(requests)
        self._is_in = hello is None

    def connected(self) -> None:
        self.connection.send(self._hello or self._request)

    def disconnected(self, reason: str) -> None:
        self.unreachable(reason)

    def retrying(self, text: str) -> None:
        click.echo(plain(text), err=True)

    def unreachable(self, reason: str) -> None:
        self.unusable(f"the server cannot be reached: {reason}")

    def unusable(self, reason: str) -> None:
        self.fault = reason
        self._end()

    def received(self, event: Event) -> None:
        match event:
            case Error() if self._hello and not self._is_in:
                self.unusable(f"the server does not let {self._hello.name} in: {event.text}")
            case Error():
                self.unusable(event.text)
            case Welcome():
                self._is_in = True
                self.connection.send(self._request)
            case Event(re=re) if re == self._request.id:
                self._answered(event)

    def _answered(self, answer: Event) -> None:
        try:
            self._request = self._requests.send(answer)
        except StopIteration as stop:
            self.results = [stop.value]
            self._end()
        except click.ClickException as error:
            self.unusable(error.message)
        else:
            self.connection.send(self._request)

    def _end(self) -> None:
        self.connection.close()
        self._reactor.callLater(0.05, self._reactor.stop)


_address_options = combined(
    click.option(
        "--host",
        default="127.0.0.1",
        envvar="PLAYOUT_HOST",
        show_default=True,
        show_envvar=True,
        help="Host of the server.",
    ),
    click.option(
        "--port",
        default=4242,
        envvar="PLAYOUT_PORT",
        show_default=True,
        show_envvar=True,
        type=click.IntRange(1, 65535),
        help="Port of the server.",
    ),
)


def server_options(command: F) -> F:
    """Add `--host`, `--port` and the options of TLS; the command gets `server`, a ServerAddress."""

    @functools.wraps(command)
    def with_server(*arguments: Any, host: str, port: int, **options: Any) -> Any:
        tls = _settings(host, options)
        return command(*arguments, server=ServerAddress(host, port, tls), **options)

    return _address_options(_tls_options(with_server))  # type: ignore[return-value]


def server_option(text: str, default: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds `--server`, with this help text, and the options of TLS.

    The command gets `server`: a ServerAddress, None if the option has no default and is missing.
    """

    def decorated(command: F) -> F:
        @functools.wraps(command)
        def with_server(*arguments: Any, server: tuple[str, int] | None, **options: Any) -> Any:
            if server is None:
                _forbid_tls(options)
                return command(*arguments, server=None, **options)
            address = ServerAddress(*server, _settings(server[0], options))
            return command(*arguments, server=address, **options)

        option = click.option(
            "--server",
            metavar="HOST:PORT",
            default=default,
            show_default=default is not None,
            callback=_address,
            help=text,
        )
        return option(_tls_options(with_server))  # type: ignore[return-value]

    return decorated


#: Add `--retry-s`, the time to keep trying to reach the server.
retry_option = click.option(
    "--retry-s",
    default=30.0,
    show_default=True,
    type=FiniteRange(0),
    help="Seconds to keep trying to reach the server.",
)


def _address(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, int] | None:
    if text is None:
        return None
    address = host_and_port(text)
    if address is None or address[1] == 0:
        raise click.BadParameter(f"{text[:100]!r} is not HOST:PORT, as in play.example:4242")
    return address


def _settings(host: str, options: dict[str, Any]) -> TlsSettings | None:
    """Take the options of TLS out of `options`; None without TLS. Raises UsageError."""
    tls, ca, tls_name = (options.pop(each) for each in _TLS)
    if not tls and ca is None:
        if tls_name is not None:
            raise click.UsageError("--tls-name needs --tls")
        return None
    try:
        return TlsSettings(tls_name or host, ca)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--ca {ca}: {error}" if ca else f"--tls: {error}") from error


def _forbid_tls(options: dict[str, Any]) -> None:
    """Take the options of TLS out of `options`. Raises UsageError if one was typed."""
    if typed := typed_option(click.get_current_context(), _TLS):
        raise click.UsageError(
            f"{typed} needs --server: a local server has a certificate of its own if other "
            "machines reach it (--host)"
        )
    for option in _TLS:
        del options[option]


_token_file = click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the token of the account.  [default: PLAYOUT_TOKEN, or the stored token]",
)


@dataclass(frozen=True)
class AccountChoice:
    """The account of that name, or a guest of that name, or without a name a guest of any name."""

    name: str | None = None
    guest: bool = False
    token_file: Path | None = None

    def require(self, *options: str) -> None:
        """Raises UsageError if a guest uses one of these options."""
        if options and (self.guest or self.name is None):
            raise click.UsageError(f"{options[0]} needs an account: --name NAME, without --guest")

    def saved(self, server: ServerAddress) -> SavedAccount | None:
        """Return the account on a server, with its token; None for a guest.

        Raises UsageError, ClickException.
        """
        if self.token_file:
            self.require("--token-file")
        if self.guest or self.name is None:
            return None
        file = TokenFile(user_data_path("playout"), _warn)
        try:
            given = given_token(self.token_file, os.environ, _warn)
            account = SavedAccount(file, f"{server.host}:{server.port}", self.name, given)
            account.token()  # so that errors show before the client connects
        except TokenError as error:
            raise click.ClickException(str(error)) from error
        return account


def account_options(command: F) -> F:
    """Add `--name`, `--guest` and `--token-file`; the command gets `account`, an AccountChoice."""

    @functools.wraps(command)
    def with_account(*arguments: Any, name: str | None, guest: bool, **options: Any) -> Any:
        account = AccountChoice(name, guest, options.pop("token_file"))
        return command(*arguments, account=account, **options)

    name = click.option(
        "--name",
        envvar="PLAYOUT_NAME",
        show_envvar=True,
        help="Your account; a new name is registered.  [default: a guest with a random name]",
    )
    guest = click.option("--guest", is_flag=True, help="Use --name without an account.")
    return name(guest(_token_file(with_account)))  # type: ignore[return-value]


def own_account_options(command: F) -> F:
    """Add `--name` and `--token-file` of an account; the command gets an AccountChoice."""

    @functools.wraps(command)
    def with_account(*arguments: Any, name: str, token_file: Path | None, **options: Any) -> Any:
        return command(*arguments, account=AccountChoice(name, False, token_file), **options)

    name = click.option(
        "--name", envvar="PLAYOUT_NAME", show_envvar=True, required=True, help="Your account."
    )
    return name(_token_file(with_account))  # type: ignore[return-value]


def _warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)
