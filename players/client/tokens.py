"""The tokens of one's accounts, in a file that nobody else may read."""

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

#: By server, then by name.
_Tokens = dict[str, dict[str, str]]
_LONGEST = 64


class TokenError(Exception):
    """A token cannot be read or kept; the text says why."""


class TokenFile:
    """Tokens by server ("host:port") and name, in upper or lower case.

    Several programs may use it at once: who changes it holds a lock, and who reads it finds the
    whole file, old or new.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        """`warn` is told, once, if others may read the file."""
        self.path = folder / "tokens.json"
        self._warn = warn

    def get(self, server: str, name: str) -> str | None:
        """The token of an account, if there is one. Raises TokenError."""
        return self._read().get(server, {}).get(name.casefold())

    def keep(self, server: str, name: str, token: str) -> None:
        """Write a token down, instead of any other of that account. Raises TokenError."""
        with self._locked():
            tokens = self._read()
            tokens.setdefault(server, {})[name.casefold()] = token
            self._write(tokens)

    def prepare(self) -> None:
        """See to it that a token could be kept. Raises TokenError."""
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
            raise TokenError(f"no token can be kept in {folder}: {error.strerror}") from error

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
                f"{self.path} is broken ({error}). Mend it, or move it away to begin anew, "
                "which gives up the accounts in it."
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
    """What a file says; `warn` is told if others may read it."""
    with path.open(encoding="utf-8") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            warn(f"Others may read {path}, and it holds a token: chmod 600 '{path}'")
        return file.read()


@dataclass(frozen=True)
class GivenToken:
    """A token that was given for this time; `origin` is where it comes from, for people."""

    token: str
    origin: str


def given(
    path: Path | None, variable: str | None, warn: Callable[[str], None]
) -> GivenToken | None:
    """The token in a file, or else that of the environment. Raises TokenError."""
    if path is not None:
        try:
            return _checked(read_secret(path, warn), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise TokenError(f"{path} cannot be read: {error}") from error
    return _checked(variable, "PLAYOUT_TOKEN") if variable else None


def _checked(text: str, origin: str) -> GivenToken:
    token = text.strip()
    if not token.isprintable() or not 1 <= len(token) <= _LONGEST:
        raise TokenError(f"{origin} holds no token: that is one line of at most {_LONGEST} signs")
    return GivenToken(token, origin)


class SavedAccount:
    """One's account at a server, and its token."""

    def __init__(
        self, file: TokenFile, server: str, name: str, given: GivenToken | None = None
    ) -> None:
        """A token that is `given` counts, whatever the file says."""
        self.given = given
        self.origin = given.origin if given else str(file.path)
        self._file = file
        self._server = server
        self._name = name
        self._useless: str | None = None

    def token(self) -> str | None:
        """As it is known now: another player of the account may just have registered it.

        Without one, the account can be registered, and its token can be kept. Raises TokenError.
        """
        if self.given:
            return self.given.token
        kept = self._file.get(self._server, self._name)
        if kept is not None and kept != self._useless:
            return kept
        self._file.prepare()
        return None

    def keep(self, token: str) -> None:
        """The account is registered, and has this token. Raises TokenError."""
        self._file.keep(self._server, self._name, token)

    def forget(self, token: str) -> None:
        """The server does not know the account any more: this token is of no use."""
        self._useless = token
