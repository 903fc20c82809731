"""Accounts: registered names, each with the digest of its owner's token."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable

import msgspec
from msgspec import Struct, structs

from playout.protocol.names import skeleton
from playout.server.model.records import Account

DAY_S = 86_400.0


class GivenAccount(Struct, frozen=True):
    """An account that a server has at its start, with the digest of its token."""

    name: str
    digest: str
    administrator: bool = False


def digest(token: str) -> str:
    """The SHA-256 of a token. A token has 128 random bits, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def entrant_token(key: str, name: str) -> str:
    """The token of an account to which only processes of the server log in, which have the key."""
    return hmac.new(key.encode(), skeleton(name).encode(), hashlib.sha256).hexdigest()


class DeviceLogin(Struct, frozen=True):
    """A device that has logged in with a password or by a code, and has a token of its own.

    `id` names it in lists, `at` is when it logged in, `software` what it calls itself.
    """

    id: str
    digest: str
    at: float
    software: str = ""


_decode_logins = msgspec.json.Decoder(tuple[DeviceLogin, ...]).decode


def logins_of(account: Account) -> tuple[DeviceLogin, ...]:
    """Return the logins of an account, the oldest first."""
    return _decode_logins(account.logins) if account.logins else ()


def with_logins(account: Account, logins: Iterable[DeviceLogin]) -> Account:
    """Return an account with other logins."""
    found = tuple(logins)
    encoded = msgspec.json.encode(found).decode() if found else ""
    return structs.replace(account, logins=encoded)


def login_with(account: Account, token: str) -> DeviceLogin | None:
    """Return the login that has a token; None for the token of the account, and for others."""
    given = digest(token)
    found = [each for each in logins_of(account) if hmac.compare_digest(each.digest, given)]
    return found[0] if found else None


def without_secrets(account: Account, its_digest: str, at: float) -> Account:
    """Return an account with a new token from the time `at`, no password and no logins."""
    return structs.replace(
        account, digest=its_digest, token_at=at, renewal="", password="", logins=""
    )


def used(account: Account, token: str, at: float) -> Account | None:
    """Return the account after the use of a token at the time `at`; None if the token is wrong.

    The first use of a renewed token makes the one before invalid. Takes the same time for any wrong
    token.
    """
    given = digest(token)
    is_current = hmac.compare_digest(account.digest, given)
    is_renewal = hmac.compare_digest(account.renewal, given)
    is_login = login_with(account, token) is not None
    if account.revoked or not (is_current or is_renewal or is_login):
        return None
    return (
        account
        if is_current or is_login
        else structs.replace(account, digest=given, token_at=at, renewal="")
    )


def token_left_s(
    account: Account, days: float, at: float, login: DeviceLogin | None = None
) -> float:
    """Return the seconds that a token is still valid at a time; `days` is its life, 0 for ever.

    It is the token of a login, or without one that of the account.
    """
    issued_at = account.created_at if account.token_at is None else account.token_at
    if login:
        issued_at = login.at
    return issued_at + days * DAY_S - at if days else math.inf


class Directory:
    """All accounts; no two names look alike."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._by_id: dict[str, Account] = {}
        self._by_skeleton: dict[str, Account] = {}
        for account in accounts:
            self.put(account)

    def put(self, account: Account) -> Account | None:
        """Add an account; return the account of the same id that it replaces, or None."""
        before = self._by_id.get(account.id)
        if before:
            self._by_skeleton.pop(skeleton(before.name), None)
        self._by_id[account.id] = account
        self._by_skeleton[skeleton(account.name)] = account
        return before

    def given(self, wanted: GivenAccount, new_id: str, at: float) -> Account:
        """Return the account that a server is given at a time, in seconds since 1970.

        It replaces the account whose name looks like this one, and keeps its id; otherwise it has
        the new id. The password and the logins stay if the token does: others may have set them.
        """
        account = self.like(wanted.name) or Account(
            id=new_id, name=wanted.name, digest="", created_at=at
        )
        if account.digest == wanted.digest:
            account = structs.replace(account, token_at=at, renewal="")
        else:
            account = without_secrets(account, wanted.digest, at)
        return structs.replace(
            account, name=wanted.name, administrator=wanted.administrator, revoked=False
        )

    def remove(self, account: Account) -> None:
        """Remove an account; its name is free again. Raises KeyError for an unknown account."""
        del self._by_id[account.id]
        del self._by_skeleton[skeleton(account.name)]

    def like(self, name: str) -> Account | None:
        """The account with this name, or with a name that looks like it."""
        return self._by_skeleton.get(skeleton(name))

    def search(self, text: str) -> list[Account]:
        """The accounts whose names contain a text, or one that looks like it."""
        wanted = skeleton(text)
        return [each for key, each in self._by_skeleton.items() if wanted in key]

    def get(self, account_id: str | None) -> Account | None:
        """The account with this id; None for an unknown id and for None."""
        return self._by_id.get(account_id) if account_id else None

    def __len__(self) -> int:
        return len(self._by_id)
