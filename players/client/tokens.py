"""Stores the tokens of the user's accounts, in a file that other users cannot read."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

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


def given(
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
