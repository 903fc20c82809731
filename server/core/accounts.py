"""Accounts: whose name is whose, proven by a token of which only a digest is kept."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from server.model.names import skeleton
from server.model.records import Account


def digest(token: str) -> str:
    """What is kept of a token. It has 128 random bits, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def proves(account: Account, token: str) -> bool:
    """Is this the account's token? Takes the same time for any wrong one."""
    return not account.revoked and hmac.compare_digest(account.digest, digest(token))


class Directory:
    """All accounts. No two have names that could be taken for each other."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._by_id: dict[str, Account] = {}
        self._by_skeleton: dict[str, Account] = {}
        for account in accounts:
            self.put(account)

    def put(self, account: Account) -> Account | None:
        """Add an account, or replace it by what it has become; what it was before."""
        before = self._by_id.get(account.id)
        if before:
            self._by_skeleton.pop(skeleton(before.name), None)
        self._by_id[account.id] = account
        self._by_skeleton[skeleton(account.name)] = account
        return before

    def like(self, name: str) -> Account | None:
        """The account with this name, or with one that looks like it."""
        return self._by_skeleton.get(skeleton(name))

    def get(self, account_id: str | None) -> Account | None:
        """The account of that id."""
        return self._by_id.get(account_id) if account_id else None

    def __len__(self) -> int:
        return len(self._by_id)
