"""A player's name, account and session, and what to do when the server refuses its `hello`."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
import msgspec
from platformdirs import user_data_path

from playout.protocol.messages import PROTOCOL, Code, Error, Hello, Welcome
from playout.protocol.tls import tls_options

# Stores the tokens of the user's accounts, in a file that other users cannot read.


#: Tokens by server, then by name.
_Tokens = dict[str, dict[str, str]]
_LONGEST = 64


class TokenError(Exception):
    """A token cannot be read or stored; the text tells the user why."""


class TokenFile:
    """Tokens by server ("host:port") and name; names are compared without upper and lower case.

    Several programs may use it at once: a writer holds a lock, and a reader finds the whole file,
    before or after the change.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        """`warn` gets a text, once, if other users can read the file."""
        self.path = folder / "tokens.json"
        self._warn = warn

    def get(self, server: str, name: str) -> str | None:
        """The token of an account, or None. Raises TokenError."""
        return self._read().get(server, {}).get(name.casefold())

    def keep(self, server: str, name: str, token: str) -> None:
        """Store the token of an account, and forget an earlier one. Raises TokenError."""
        with self._locked():
            tokens = self._read()
            tokens.setdefault(server, {})[name.casefold()] = token
            self._write(tokens)

    def prepare(self) -> None:
        """Make sure that a token can be stored. Raises TokenError."""
        with self._locked():
            pass

    @contextmanager
    def _locked(self) -> Iterator[None]:
        folder = self.path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / "tokens.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise TokenError(f"no token can be stored in {folder}: {error.strerror}") from error

    def _read(self) -> _Tokens:
        try:
            text = read_secret(self.path, self._warn_once)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise TokenError(f"{self.path} cannot be read: {error}") from error
        try:
            return msgspec.json.decode(text, type=_Tokens)
        except msgspec.DecodeError as error:
            raise TokenError(
                f"{self.path} is broken ({error}). Repair it, or move it away: its accounts can "
                "then no longer be used from here."
            ) from error

    def _write(self, tokens: _Tokens) -> None:
        number, name = tempfile.mkstemp(dir=self.path.parent, prefix="tokens.")  # mode 0600
        try:
            with open(number, "w", encoding="utf-8") as file:
                json.dump(tokens, file, ensure_ascii=False, indent=2)
                file.flush()
                os.fsync(number)
            os.replace(name, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise

    def _warn_once(self, text: str) -> None:
        self._warn(text)
        self._warn = lambda text: None


def read_secret(path: Path, warn: Callable[[str], None]) -> str:
    """The text of a file; `warn` gets a text if other users can read it."""
    with path.open(encoding="utf-8") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            warn(f"Other users can read {path}, which holds a token: chmod 600 '{path}'")
        return file.read()


@dataclass(frozen=True)
class GivenToken:
    """A token that the user gave for this run; `origin` tells people where it was read."""

    token: str
    origin: str


def given_token(
    path: Path | None, variable: str | None, warn: Callable[[str], None]
) -> GivenToken | None:
    """The token in the file `path`, otherwise in the environment variable. Raises TokenError."""
    if path is not None:
        try:
            return _checked(read_secret(path, warn), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise TokenError(f"{path} cannot be read: {error}") from error
    return _checked(variable, "PLAYOUT_TOKEN") if variable else None


def _checked(text: str, origin: str) -> GivenToken:
    token = text.strip()
    if not token.isprintable() or not 1 <= len(token) <= _LONGEST:
        raise TokenError(
            f"{origin} holds no token: expected one line of at most {_LONGEST} characters"
        )
    return GivenToken(token, origin)


class SavedAccount:
    """An account of the user on a server, and its token."""

    def __init__(
        self, file: TokenFile, server: str, name: str, given: GivenToken | None = None
    ) -> None:
        """A token that is `given` is used instead of that in the file."""
        self.given = given
        self.origin = given.origin if given else str(file.path)
        self._file = file
        self._server = server
        self._name = name
        self._useless: str | None = None

    def token(self) -> str | None:
        """The token, read anew: another player of the account may have registered it meanwhile.

        None if the account is to be registered; its token can be stored then. Raises TokenError.
        """
        if self.given:
            return self.given.token
        stored = self._file.get(self._server, self._name)
        if stored is not None and stored != self._useless:
            return stored
        self._file.prepare()
        return None

    def keep(self, token: str) -> None:
        """Store the token of the account, which was registered. Raises TokenError."""
        self._file.keep(self._server, self._name, token)

    def forget(self, token: str) -> None:
        """Do not use this token again: the server does not know the account."""
        self._useless = token


#: Longest time that another player of the same account takes to store the token it was given.
_REGISTERING_S = 1.0

_ADVICE = {
    Code.BAD_TOKEN: (
        "The token of {name} in {origin} is not that of the account, or was revoked. If the name "
        "is yours, ask the operator of the server for a new token, put it there or give it by "
        "PLAYOUT_TOKEN or --token-file FILE; otherwise use another --name."
    ),
    Code.UNKNOWN_ACCOUNT: (
        "To register {name}, leave out the token that comes from {origin}; a token is only for "
        "the server that gave it."
    ),
    Code.NAME_TAKEN: (
        "The name {name} belongs to another account: use another --name. If it is yours, give its "
        "token by PLAYOUT_TOKEN or --token-file FILE."
    ),
    Code.REGISTRATION_CLOSED: (
        "Ask the operator of the server for an account, and give its token by PLAYOUT_TOKEN or "
        "--token-file FILE, with --name; or try --guest."
    ),
    Code.NOT_FOR_GUESTS: "Use an account: --name NAME, without --guest.",
    Code.UNKNOWN_TOURNAMENT: "Correct --tournament; any will find {name}'s, whatever its id.",
    Code.TOO_MANY: "Stop another player of {name}, or wait until one has ended.",
}


class Identity:
    """Makes the `hello` of a player, and decides whether to try again after a refusal."""

    def __init__(
        self,
        name: str,
        role: Literal["bot", "human"],
        software: str,
        account: SavedAccount | None = None,
        *,
        any_name: bool = False,
        session: str | None = None,
    ) -> None:
        """Without an account the player is a guest.

        `any_name`: a guest whose name is taken uses another one. `session`: a session that the
        server has prepared, as for a bot that it starts itself.
        """
        self.name = name
        self._given_name = name
        self._role = role
        self._software = software
        self._account = account
        self._any_name = any_name
        self._session = session
        self._token: str | None = None
        self._waited = False

    def hello(self) -> Hello:
        """The first message of a connection. Raises TokenError."""
        if self._account:
            self._token = self._account.token()
        return Hello(
            id="hello",
            protocol_min=PROTOCOL,
            protocol_max=PROTOCOL,
            name=self.name,
            role=self._role,
            software=self._software,
            token=self._token,
            guest=self._account is None,
            session=self._session,
        )

    def welcomed(self, welcome: Welcome) -> str | None:
        """Store the session and the token; return what to tell the user. Raises TokenError."""
        self._session = welcome.session
        self._waited = False
        if welcome.token is None or self._account is None:
            return None
        self._account.keep(welcome.token)
        return f"{self.name} is registered; the token of the account is in {self._account.origin}."

    def retry_s(self, error: Error) -> float | None:
        """Seconds to wait before another `hello`; None if it would be refused, too."""
        account = self._account
        match error.code:
            case Code.UNKNOWN_SESSION:
                self._session = None
                return 0.0
            case Code.NAME_TAKEN if self._any_name:
                self.name = f"{self._given_name[:27]}-{secrets.token_hex(2)}"
                return 0.0
            case Code.NAME_TAKEN if account and not self._token and not self._waited:
                self._waited = True
                return _REGISTERING_S
            case Code.UNKNOWN_ACCOUNT if account and self._token and not account.given:
                account.forget(self._token)
                return 0.0
            case Code.BAD_TOKEN if account and account.token() != self._token:
                return 0.0
        return None

    def advice(self, error: Error) -> str | None:
        """What the user can do about an error; None if that is not known."""
        if error.code is Code.NAME_TAKEN and self._account is None:
            return f"The name {self.name} is taken: use another --name."
        text = _ADVICE.get(error.code)
        origin = self._account.origin if self._account else "no file"
        return text.format(name=self.name, origin=origin) if text else None


# Options of commands that connect to a server: where it is, and as whom to play.


F = TypeVar("F", bound=Callable[..., Any])


def server_options(command: F) -> F:
    """Add `--host`, `--port` and the options of TLS."""
    host = click.option(
        "--host",
        default="127.0.0.1",
        envvar="PLAYOUT_HOST",
        show_default=True,
        show_envvar=True,
        help="Host of the server.",
    )
    port = click.option(
        "--port",
        default=4242,
        envvar="PLAYOUT_PORT",
        show_default=True,
        show_envvar=True,
        type=click.IntRange(1, 65535),
        help="Port of the server.",
    )
    return host(port(tls_options(command)))


def account_options(command: F) -> F:
    """Add `--name`, `--guest` and `--token-file`."""
    name = click.option(
        "--name",
        envvar="PLAYOUT_NAME",
        show_envvar=True,
        help="Your account; a new name is registered.  [default: a guest with a random name]",
    )
    guest = click.option("--guest", is_flag=True, help="Use --name without an account.")
    token_file = click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with the token of the account.  [default: PLAYOUT_TOKEN, or the stored token]",
    )
    return name(guest(token_file(command)))


def require_account(name: str | None, guest: bool, options: list[str]) -> None:
    """Raises UsageError if a guest uses one of these options."""
    if options and (guest or name is None):
        raise click.UsageError(f"{options[0]} needs an account: --name NAME, without --guest")


def account_of(name: str, server: tuple[str, int], token_file: Path | None) -> SavedAccount:
    """Return the account to play as, with its token. Raises ClickException."""
    host, port = server
    file = TokenFile(user_data_path("playout"), _warn)
    try:
        given = given_token(token_file, os.environ.get("PLAYOUT_TOKEN"), _warn)
        account = SavedAccount(file, f"{host}:{port}", name, given)
        account.token()  # so that errors show before the player connects
    except TokenError as error:
        raise click.ClickException(str(error)) from error
    return account


def _warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)
