"""Runs the server of a tournament on this machine, and starts it again when it exits by itself.

If other machines reach it, it uses TLS with a certificate that is made for this tournament and
deleted with it. The certificate is its own authority, so that clients trust only this server.

The server is given accounts for the organizer and the entrants, with new tokens, when it starts.
For a server that runs elsewhere, the tokens are in the environment.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from playout.commands.child import Child, KeptChild, LogFolder, Program
from playout.commands.identity import hello, software
from playout.commands.prepared import SERVER
from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import own, own_environment
from playout.protocol.connection import TlsSettings
from playout.protocol.endpoints import is_loopback, page_address, spelled
from playout.protocol.messages import Code, Error, Hello
from playout.protocol.names import skeleton
from playout.server.core.accounts import GivenAccount, digest
from playout.server.storage.engine import without_power_cuts

#: The validity of a certificate before and after now: the clocks of other machines may differ, and
#: a tournament may take months.
_BEFORE, _AFTER = datetime.timedelta(days=1), datetime.timedelta(days=730)


class ServerCertificate:
    """A certificate for a host and its private key, in files that only this user can read."""

    def __init__(self, host: str) -> None:
        """Make both files, for an IP address or a name."""
        self._host = host
        self._folder = tempfile.TemporaryDirectory(prefix="playout-certificate-")
        folder = Path(self._folder.name)
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(host, key)
        self.certificate.write_bytes(made.public_bytes(Encoding.PEM))
        self.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    @property
    def clients_settings(self) -> TlsSettings:
        """The settings with which clients verify the server."""
        return TlsSettings(self._host, self.certificate)

    def delete(self) -> None:
        """Delete the certificate, the key and their folder."""
        self._folder.cleanup()


def _certificate(host: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Playout tournament")])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _AFTER)
        .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )


def _general_name(host: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)


HOST = "127.0.0.1"
#: The usual address of its web pages; if it is taken, they get another port.
USUAL_HTTP = f"{HOST}:8080"
#: The time in which an entrant must reconnect after the exit of its process, or lose its matches.
_RECONNECT_S = 20.0
#: Maximum time that clocks are stopped after a restart of the server, until players reconnect.
_RESTART_GRACE_S = 60.0
#: The time after which another process may take over the match of a disconnected player.
_TAKE_OVER_AFTER_S = 3.0
#: The limits that are switched off: all clients belong to this machine or were invited.
_UNLIMITED = (
    "--registrations-per-hour",
    "--connections",
    "--connections-per-address",
    "--idle-s",
    "--messages-per-s",
    "--sessions-per-account",
    "--matches-per-session",
    "--matches-per-account",
    "--matches-per-address",
    "--versions-per-hour",
    "--stored-mb-per-hour",
    "--analysis-mb-per-match",
    "--database-mb",
    "--unread-bytes",
    "--unread-mb",
)
_BACK_OFF = BackOff(first_s=0.2, longest_s=5.0)
#: The number of exits in a row, without a login, after which the server is not started again.
_EXITS = 9
_STOP_S = 30.0
_POLL_INTERVAL_S = 0.2
_LOG, _TAIL_LINES = "server", 8


class LocalServerError(Exception):
    """The server cannot run; the message tells the user why."""


class LocalServer:
    """The process of the server, which is started again when it exits by itself."""

    def __init__(
        self,
        database: str,
        port: int,
        logs: LogFolder,
        *,
        games: Sequence[str],
        accounts: Sequence[GivenAccount],
        registration: str,
        http: tuple[str, int] | None = None,
        host: str = HOST,
        players_return: bool = True,
    ) -> None:
        """`http` is the address of its web pages; `registration`: "open", "guests" or "closed".

        It has these `accounts`; an account of its database that has or resembles one of their names
        is changed.

        The `games` are loaded before it accepts connections. Without `players_return`, others take
        over the matches in its database at once, as the processes that have played them have ended.

        Port 0 stands for any free port. If other machines reach the `host`, the server uses TLS,
        with a certificate of its own. Raises LocalServerError if it cannot listen there.
        """
        self.address = (host, _free_port(host, port))
        self._certificate = None if is_loopback(host) else ServerCertificate(host)
        self.http = (http[0], _page_port(*http)) if http else None
        self._database = database
        self._logs = logs
        self._games = games
        self._accounts = msgspec.json.encode(accounts).decode()
        self._registration = registration
        self._take_over_after_s = _TAKE_OVER_AFTER_S if players_return else 0.0
        self._kept = KeptChild(self._start, Restarts(_BACK_OFF, limit=_EXITS))

    @property
    def tls(self) -> TlsSettings | None:
        """The settings with which clients verify the server; None if it uses no TLS."""
        return self._certificate.clients_settings if self._certificate else None

    def page_of(self, tournament: str) -> str | None:
        """Return the address of a tournament's page, for this machine; None without pages."""
        return f"{page_address(*self.http)}tournaments/{tournament}" if self.http else None

    def poll(self, now: float) -> str | None:
        """Start the server if it is not running and a start is due.

        Returns a message for the user if it has exited. Raises LocalServerError if it exits again
        and again.
        """
        how = self._kept.poll(now)
        if how is None:
            return None
        self._logs.wanted = True
        if self._kept.restarts.exhausted:
            output = self._kept.child.tail(_TAIL_LINES) if self._kept.child else ()
            text = "\n".join(("the server exits again and again; its output ends:", *output))
            raise LocalServerError(text)
        return f"The server {how}; it is started again"

    def _start(self) -> Child:
        if self.http:  # another server may have taken the usual port since
            self.http = self.http[0], _page_port(*self.http)
        program = self._program()
        self._take_over_after_s = _TAKE_OVER_AFTER_S  # when it is started again, they reconnect
        return program.start(self._logs.of(_LOG))

    def logged_in(self) -> None:
        """Note that the organizer has logged in, so that the server works."""
        self._kept.restarts.succeeded()

    def stay(self) -> None:
        """Keep the server running until SIGINT or SIGTERM. Raises LocalServerError."""
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        while not stopped.wait(_POLL_INTERVAL_S):
            self.poll(time.monotonic())

    def stop(self) -> None:
        """End the server; its running matches can be resumed later."""
        self._kept.stop(_STOP_S)
        if self._certificate:
            self._certificate.delete()

    @property
    def _tls_words(self) -> tuple[str, ...]:
        if self._certificate is None:
            return ()
        files = self._certificate
        return "--tls-cert", str(files.certificate), "--tls-key", str(files.key)

    def _program(self) -> Program:
        words = own(
            SERVER,
            *("--host", self.address[0], "--port", str(self.address[1])),
            *self._tls_words,
            # Bots for visitors would take the cores of the entrants.
            *("--http", spelled(*self.http) if self.http else "none", "--bots", "0"),
            *("--database", without_power_cuts(self._database)),
            *(word for game in self._games for word in ("--warm", game)),
            *("--registration", self._registration, "--accounts-on-input"),
            *("--reconnect-s", str(_RECONNECT_S), "--restart-grace-s", str(_RESTART_GRACE_S)),
            *("--take-over-after-s", str(self._take_over_after_s), "--grace-s", "0"),
            *(word for limit in _UNLIMITED for word in (limit, "0")),
        )
        return Program(words, own_environment(), death=signal.SIGTERM, secret=self._accounts)


def _page_port(host: str, port: int) -> int:
    """Return the port, or any free one instead of 0 and of the usual one if that is in use.

    Raises LocalServerError.
    """
    try:
        return _free_port(host, port)
    except LocalServerError:
        if spelled(host, port) != USUAL_HTTP:
            raise
        return _free_port(host, 0)


def _free_port(host: str, port: int) -> int:
    """Return the port, or any free one for 0. Raises LocalServerError if it is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as probe:
            return int(probe.getsockname()[1])
    except OSError as error:
        raise LocalServerError(
            f"cannot listen on {host}, port {port} ({error.strerror}): choose an address of this "
            "machine, and another port or 0 for a free one"
        ) from error


#: Refusals after which the same request may succeed later.
TEMPORARY = (Code.TOO_MANY, Code.RATE_LIMITED, Code.CLOSING, Code.TIMEOUT)


def organizer_hello(name: str, token: str) -> Hello:
    """Return the `hello` of the organizer, which plays no matches itself."""
    return hello(name, "spectator", software("playout-tournament"), token)


def organizers_token(name: str) -> str:
    """Return the token of the organizer's account, from the environment. Raises UsageError."""
    token = os.environ.get("PLAYOUT_TOKEN")
    if not token:
        raise click.UsageError(f"with --server, PLAYOUT_TOKEN must hold the token of {name}")
    return token


def refusal(error: Error) -> str:
    """Return the error for the user if the server has refused the organizer's `hello`."""
    return f"the server does not let the organizer in: {error.text}"


def new_tokens(
    administrator: str, names: Iterable[str]
) -> tuple[dict[str, str], list[GivenAccount]]:
    """Return tokens by name for an administrator and others, and the accounts for a server.

    The accounts have only digests of the tokens.
    """
    tokens = {name: secrets.token_hex(16) for name in (administrator, *names)}
    accounts = [
        GivenAccount(name, digest(token), name == administrator) for name, token in tokens.items()
    ]
    return tokens, accounts


def organizer_name(entrants: Iterable[str]) -> str:
    """Return a name for the organizer that looks like none of the entrants' names."""
    taken = {skeleton(each) for each in entrants}
    name = "organizer"
    while skeleton(name) in taken:
        name = f"organizer {secrets.token_hex(4)}"
    return name
