"""Accounts: registered names, each with the digest of its owner's token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from server.model.names import skeleton
from server.model.records import Account


def digest(token: str) -> str:
    """The SHA-256 of a token. A token has 128 random bits, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def proves(account: Account, token: str) -> bool:
    """Whether this is the account's token. Takes the same time for any wrong token."""
    return not account.revoked and hmac.compare_digest(account.digest, digest(token))


class Directory:
    """All accounts. No two have names that look alike."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._by_id: dict[str, Account] = {}
        self._by_skeleton: dict[str, Account] = {}
        for account in accounts:
            self.put(account)

    def put(self, account: Account) -> Account | None:
        """Add an account, or replace the one of its id; returns the account before, if any."""
        before = self._by_id.get(account.id)
        if before:
            self._by_skeleton.pop(skeleton(before.name), None)
        self._by_id[account.id] = account
        self._by_skeleton[skeleton(account.name)] = account
        return before

    def remove(self, account: Account) -> None:
        """Remove an account, whose name is free again. Raises KeyError if it is not known."""
        del self._by_id[account.id]
        del self._by_skeleton[skeleton(account.name)]

    def like(self, name: str) -> Account | None:
        """The account with this name, or with a name that looks like it."""
        return self._by_skeleton.get(skeleton(name))

    def get(self, account_id: str | None) -> Account | None:
        """The account of this id; None for an unknown id or None."""
        return self._by_id.get(account_id) if account_id else None

    def __len__(self) -> int:
        return len(self._by_id)
