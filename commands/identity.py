"""How a client logs in: its name, its account with a token, and its session.

Tokens of the user's accounts are in a file that other users cannot read (`TokenFile`), unless one
is given for this run (`given_token`). An `Identity` makes the `hello` of a client, and says whether
to try again after a refusal. A `Login` sends it over a connection.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import structs

from playout.commands.durable_files import write_atomically
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import PROTOCOL, Code, Error, Hello, Welcome
from playout.protocol.text_files import TextFileError, decoded

#: The `id` of a `hello`.
HELLO = "hello"
#: The variables with the descriptors from which a process that Playout starts reads the token of
#: its account, or of the session that the server has prepared.
TOKEN_FD, SESSION_FD = "PLAYOUT_TOKEN_FD", "PLAYOUT_SESSION_FD"
#: Tokens by server, then by name.
_Tokens = dict[str, dict[str, str]]
_decode_tokens = msgspec.json.Decoder(_Tokens).decode
#: Most characters of a token.
_LONGEST = 64
DAY_S = 86_400.0
#: The user is told of a given token that is valid for less than this time.
_EXPIRES_SOON_S = 14 * DAY_S
#: Longest time that another player of the same account takes to store the token it was given.
_REGISTERING_S = 1.0

Role = Literal["bot", "human", "spectator"]


class TokenError(Exception):
    """A token cannot be read or stored; the text tells the user why."""


class TokenFile:
    """Tokens by server ("host:port") and name; the case of letters in a name does not matter.

    Several programs may use it at once: a writer holds a lock, and the file is replaced as a whole.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        """`warn` gets a text, once, if other users can read the file."""
        self.path = folder / "tokens.json"
        self._warn = warn

    def get(self, server: str, name: str) -> str | None:
        """Return the token of an account, or None. Raises TokenError."""
        return self._read().get(server, {}).get(name.casefold())

    def keep(self, server: str, name: str, token: str) -> None:
        """Store the token of an account, and forget an earlier one. Raises TokenError."""
        with self._locked():
            tokens = self._read()
            tokens.setdefault(server, {})[name.casefold()] = token
            self._write(tokens)

    def prepare(self) -> None:
        """Check that a token can be stored. Raises TokenError."""
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
        except (OSError, TextFileError) as error:
            raise TokenError(f"{self.path} cannot be read: {error}") from error
        try:
            return _decode_tokens(text)
        except msgspec.DecodeError as error:
            raise TokenError(
                f"{self.path} is broken ({error}). Repair it, or move it away: its accounts can "
                "then no longer be used from here."
            ) from error

    def _write(self, tokens: _Tokens) -> None:
        content = json.dumps(tokens, ensure_ascii=False, indent=2).encode()
        write_atomically(self.path, content, mode=0o600)

    def _warn_once(self, text: str) -> None:
        self._warn(text)
        self._warn = lambda text: None


def read_secret(path: Path, warn: Callable[[str], None]) -> str:
    """Return the text of a file; `warn` gets a text if other users can read it.

    Raises OSError, TextFileError.
    """
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            warn(f"Other users can read {path}, which holds a token: chmod 600 '{path}'")
        return decoded(file.read())


@dataclass(frozen=True)
class GivenToken:
    """A token that the user gave for this run; `origin` says where it was read."""

    token: str
    origin: str


def given_token(
    path: Path | None, variables: Mapping[str, str], warn: Callable[[str], None]
) -> GivenToken | None:
    """Return the token in the file `path`, otherwise that of the environment. Raises TokenError.

    PLAYOUT_TOKEN_FD names the descriptor from which it is read, and PLAYOUT_TOKEN is the token.
    """
    if path is not None:
        try:
            return _checked(read_secret(path, warn), str(path))
        except (OSError, TextFileError) as error:
            raise TokenError(f"{path} cannot be read: {error}") from error
    text = handed_over(TOKEN_FD, variables)
    if text is not None:
        return _checked(text, TOKEN_FD)
    variable = variables.get("PLAYOUT_TOKEN")
    return _checked(variable, "PLAYOUT_TOKEN") if variable else None


def handed_over(variable: str, variables: Mapping[str, str]) -> str | None:
    """Return the line in the descriptor that an environment variable names; None without it.

    It can be read once: the descriptor is empty afterwards. Raises TokenError.
    """
    number = variables.get(variable)
    if not number:
        return None
    try:
        with open(int(number), "rb", closefd=False) as file:
            text = file.read().decode()
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, int(number))
        os.close(empty)
    except (OSError, ValueError) as error:
        raise TokenError(f"{variable}={number} cannot be read: {error}") from error
    return text.strip()


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
        """A token that is `given` is used instead of the one in the file."""
        self.given = given
        self.origin = given.origin if given else str(file.path)
        self._file = file
        self._server = server
        self._name = name
        self._useless: str | None = None

    def token(self) -> str | None:
        """Return the token, read anew: another player of the account may have registered it.

        None if the account is to be registered; then its token can be stored. Raises TokenError.
        """
        if self.given:
            return self.given.token
        stored = self._file.get(self._server, self._name)
        if stored is not None and stored != self._useless:
            return stored
        self._file.prepare()
        return None

    def keep(self, token: str) -> None:
        """Store the token that the server has sent for the account. Raises TokenError."""
        self._file.keep(self._server, self._name, token)

    def forget(self, token: str) -> None:
        """Do not use this token again: the server does not know the account."""
        self._useless = token


#: What the user can do about a refusal.
_ADVICE = {
    Code.BAD_TOKEN: (
        "The token of {name} in {origin} is not that of the account, or was revoked. If the name "
        "is yours, log in by its password or a code of the page: playout-player log-in NAME; or "
        "ask the operator of the server for a new token, and give it by PLAYOUT_TOKEN or "
        "--token-file FILE. Otherwise use another --name."
    ),
    Code.UNKNOWN_ACCOUNT: (
        "To register {name}, leave out the token that comes from {origin}; a token is only for "
        "the server that gave it."
    ),
    Code.NAME_TAKEN: (
        "The name {name} belongs to another account: use another --name. If it is yours, log in "
        "by its password or a code of the page: playout-player log-in NAME; or give its token by "
        "PLAYOUT_TOKEN or --token-file FILE."
    ),
    Code.REGISTRATION_CLOSED: (
        "Ask the operator of the server for an account, and give its token by PLAYOUT_TOKEN or "
        "--token-file FILE, with --name; or try --guest."
    ),
    Code.NOT_FOR_GUESTS: "Use an account: --name NAME, without --guest.",
    Code.UNKNOWN_TOURNAMENT: "Correct --tournament; any will find {name}'s, whatever its id.",
}


def hello(
    name: str,
    role: Role,
    program: str,
    token: str | None = None,
    *,
    guest: bool = False,
    session: str | None = None,
    renew_token: bool = False,
) -> Hello:
    """Return the first message of a connection; `program` is the software with its version."""
    return Hello(
        id=HELLO,
        protocol_min=PROTOCOL,
        protocol_max=PROTOCOL,
        name=name,
        role=role,
        software=program,
        token=token,
        guest=guest,
        session=session,
        renew_token=renew_token,
    )


def software(program: str) -> str:
    """Return the name of a command of Playout with its version, for `hello`."""
    return f"{program} {version('playout')}"


def random_name(label: str) -> str:
    """Return a name of at most 32 characters that begins with `label` and is hardly taken."""
    return f"{label[:27]}-{secrets.token_hex(2)}"


class Identity:
    """Makes the `hello` of a client, and decides whether to try again after a refusal."""

    def __init__(
        self,
        name: str,
        role: Role,
        program: str,
        account: SavedAccount | None = None,
        *,
        any_name: bool = False,
        session: str | None = None,
    ) -> None:
        """Without an account the client is a guest.

        `any_name`: a guest whose name is taken uses another one. `session`: a session that the
        server has prepared, as for a bot that it starts itself.
        """
        self.name = name
        self._given_name = name
        self._role = role
        self._program = program
        self._account = account
        self._any_name = any_name
        self._session = session
        self._token: str | None = None
        self._waited = False

    def hello(self) -> Hello:
        """Return the first message of a connection. Raises TokenError."""
        if self._account:
            self._token = self._account.token()
        return hello(
            self.name,
            self._role,
            self._program,
            self._token,
            guest=self._account is None,
            session=self._session,
            renew_token=self._account is not None and self._account.given is None,
        )

    def welcomed(self, welcome: Welcome) -> str | None:
        """Store the session and the token; return what to tell the user. Raises TokenError."""
        self._session = welcome.session
        self._waited = False
        account, left_s = self._account, welcome.token_left_s
        if account is None:
            return None
        if welcome.token is not None:
            account.keep(welcome.token)
            done = "has a new token, which" if self._token else "is registered; its token"
            return f"{self.name} {done} is in {account.origin}."
        if account.given and left_s is not None and left_s < _EXPIRES_SOON_S:
            return (
                f"The token of {self.name} in {account.origin} expires in {left_s / DAY_S:.1f} "
                "days: ask the operator of the server for a new one."
            )
        return None

    def retry_s(self, error: Error) -> float | None:
        """Return the seconds to wait before another `hello`; None if it would be refused, too.

        Raises TokenError.
        """
        account = self._account
        match error.code:
            case Code.UNKNOWN_SESSION:
                self._session = None
                return 0.0
            case Code.NAME_TAKEN if self._any_name:
                self.name = random_name(self._given_name)
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
        """Return what the user can do about an error; None if that is not known."""
        if error.code is Code.NAME_TAKEN and self._account is None:
            return f"The name {self.name} is taken: use another --name."
        text = _ADVICE.get(error.code)
        origin = self._account.origin if self._account else "no file"
        return text.format(name=self.name, origin=origin) if text else None


class Login:
    """Logs in on each new connection, and once more after a refusal that may not be final."""

    def __init__(
        self,
        identity: Identity,
        connection: ServerConnection,
        call_later: Callable[..., object],
        unusable: Callable[[str], None],
        **features: bool,
    ) -> None:
        """`call_later` calls a function after some seconds, as the one of the reactor.

        `unusable` is called with the reason if no token can be read. `features` are further fields
        of `hello`, such as `views`.
        """
        self._identity = identity
        self._connection = connection
        self._call_later = call_later
        self._unusable = unusable
        self._features = features
        #: The number of connections so far.
        self._connections = 0

    def begin(self) -> None:
        """Send `hello` on a new connection."""
        self._connections += 1
        self._send(self._connections)

    def welcomed(self, welcome: Welcome) -> str | None:
        """Store the session and the token; return a sentence for the user, None if none is due."""
        try:
            return self._identity.welcomed(welcome)
        except TokenError as error:
            return f"The new token of the name cannot be stored: {error}"

    def refused(self, error: Error) -> bool:
        """Return whether the refusal was handled: by another `hello`, or by calling `unusable`."""
        try:
            wait_s = self._identity.retry_s(error)
        except TokenError as problem:
            self._unusable(str(problem))
            return True
        if wait_s is None:
            return False
        self._call_later(wait_s, self._send, self._connections)
        return True

    def _send(self, connection: int) -> None:
        """Send `hello`, unless another connection was made meanwhile."""
        if connection != self._connections:
            return
        try:
            greeting = self._identity.hello()
        except TokenError as error:
            self._unusable(str(error))
        else:
            self._connection.send(structs.replace(greeting, **self._features))
