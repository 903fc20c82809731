"""Accounts: registered names, each with the digest of its owner's token."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from playout.protocol.messages import OfferedBot
from playout.protocol.names import LONGEST, skeleton
from playout.server.model.records import Account

if TYPE_CHECKING:  # it imports compiled functions, which the commands that use accounts do not need
    from playout.server.core.context import Context

DAY_S = 86_400.0


class GivenAccount(Struct, frozen=True):
    """An account that a server has at its start, with the digest of its token."""

    name: str
    digest: str
    administrator: bool = False


def digest(token: str) -> str:
    """The SHA-256 of a token. A token has 128 random bits, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def used(account: Account, token: str, at: float) -> Account | None:
    """Return the account after this token was used `at` some time; None if it is not its token.

    The first use of a renewed token makes the one before invalid. Takes the same time for any wrong
    token.
    """
    given = digest(token)
    is_current = hmac.compare_digest(account.digest, given)
    is_renewal = hmac.compare_digest(account.renewal, given)
    if account.revoked or not (is_current or is_renewal):
        return None
    return (
        account if is_current else structs.replace(account, digest=given, token_at=at, renewal="")
    )


def token_left_s(account: Account, days: float, at: float) -> float:
    """Return the seconds that a token is still valid at a time; `days` is its life, 0 for ever."""
    issued_at = account.created_at if account.token_at is None else account.token_at
    return issued_at + days * DAY_S - at if days else math.inf


class Directory:
    """All accounts; no two names look alike."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._by_id: dict[str, Account] = {}
        self._by_skeleton: dict[str, Account] = {}
        for account in accounts:
            self.put(account)

    def put(self, account: Account) -> Account | None:
        """Add an account, or replace that of the same id, which is returned; otherwise None."""
        before = self._by_id.get(account.id)
        if before:
            self._by_skeleton.pop(skeleton(before.name), None)
        self._by_id[account.id] = account
        self._by_skeleton[skeleton(account.name)] = account
        return before

    def given(self, wanted: GivenAccount, new_id: str, at: float) -> Account:
        """Return the account that a server is given at a time, in seconds since 1970.

        It replaces the account whose name looks like this one, and keeps its id; otherwise it has
        the new id.
        """
        account = self.like(wanted.name) or Account(
            id=new_id, name=wanted.name, digest="", created_at=at
        )
        return structs.replace(
            account,
            name=wanted.name,
            digest=wanted.digest,
            token_at=at,
            renewal="",
            administrator=wanted.administrator,
            revoked=False,
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


# The standing accounts of the bots that the server offers.
#
# The first challenge of a bot makes its account; each process of the bot is a session of it. The id
# of the account follows from the name under which the bot is offered, so that it is found again
# after a restart. The account has no token, so that nobody can log in to it.


class BotAccounts:
    """The bots that can be challenged, and their accounts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._accounts = context.accounts
        offered = context.policy.offered if context.policy.bots else ()
        #: Each bot as it is offered, by the id of its account.
        self._offered = {_account_id(each.name): each for each in offered}

    @property
    def offered(self) -> tuple[OfferedBot, ...]:
        """The bots that can be challenged, by the names of their accounts."""
        named = ((self._name(key, each), each) for key, each in self._offered.items())
        return tuple(
            each if name == each.name else structs.replace(each, name=name) for name, each in named
        )

    def find(self, player: str) -> OfferedBot | None:
        """The bot of this name, or the first of this player specification."""
        by_player = (each for each in self.offered if each.player == player)
        return next(by_player, None) or self.named(player)

    def named(self, name: str | None) -> OfferedBot | None:
        """The bot of this name, or one that looks like it."""
        wanted = skeleton(name or "")
        return next((each for each in self.offered if skeleton(each.name) == wanted), None)

    def offers(self, player: str) -> bool:
        """Whether a bot has this player specification."""
        return any(
            player in (each.player, *each.players.values()) for each in self._offered.values()
        )

    def reserves(self, name: str) -> bool:
        """Whether a bot without an account has this name, or one that looks like it."""
        wanted = skeleton(name)
        return any(
            skeleton(self._name(key, each)) == wanted
            for key, each in self._offered.items()
            if self._accounts.get(key) is None
        )

    def account(self, bot: OfferedBot, now: float) -> Account:
        """The account of one of the `offered` bots; the first call makes and stores it."""
        for key, each in self._offered.items():
            if self._name(key, each) == bot.name:
                return self._accounts.get(key) or self._new(key, bot.name, now)
        raise KeyError(bot.name)

    def _new(self, key: str, name: str, now: float) -> Account:
        account = Account(id=key, name=name, digest="", created_at=now + self._context.epoch)
        self._accounts.put(account)
        self._context.store(account)
        return account

    def _name(self, key: str, bot: OfferedBot) -> str:
        """The name of a bot's account; it ends in a number if the offered name is taken."""
        if account := self._accounts.get(key):
            return account.name
        return next(name for name in _names(bot.name) if not self._accounts.like(name))


def names_of(bots: Sequence[OfferedBot]) -> str:
    """The names of bots, separated by commas."""
    return ", ".join(each.name for each in bots)


def _names(name: str) -> itertools.chain[str]:
    """The name, then the same with 2, 3 and so on."""
    numbers = itertools.count(2)
    more = (f"{name[: LONGEST - len(f' {number}')]} {number}" for number in numbers)
    return itertools.chain([name], more)


def _account_id(name: str) -> str:
    """The id of a bot's account; those of people are hexadecimal."""
    return f"bot-{digest(skeleton(name))[:12]}"
