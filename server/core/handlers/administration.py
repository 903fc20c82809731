"""Requests of administrators about accounts and the server; see also `abort` and `kick`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec import structs

from playout.commands.text import counted
from playout.protocol.messages import (
    AccountEntry,
    AccountList,
    ChangeAccount,
    Code,
    CreateAccounts,
    InspectServer,
    ListAccounts,
    ServerState,
    ServerValue,
)
from playout.protocol.names import skeleton
from playout.server.core.accounts import digest, without_secrets
from playout.server.core.effects import SendServerState
from playout.server.core.handlers.analyses import Analyses
from playout.server.core.handlers.bots import BotManager
from playout.server.core.handlers.hello import Greeting, normalised_name
from playout.server.core.handlers.tournaments import Tournaments
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import RequestContext, handles
from playout.server.model.records import (
    Account,
    AccountLocked,
    AccountRenamed,
    converted,
    secrets_change,
)

#: Maximum number of accounts in an answer to `list_accounts`.
LISTED = 200


class Administration:
    """Lists, creates and changes accounts, and describes the server."""

    def __init__(
        self,
        context: FeatureContext,
        sessions: SessionManager,
        greeting: Greeting,
        bots: BotManager,
        analyses: Analyses,
        tournaments: Tournaments,
    ) -> None:
        self._context = context
        self._accounts = context.accounts
        self._sessions = sessions
        self._greeting = greeting
        self._bots = bots
        self._analyses = analyses
        self._tournaments = tournaments

    @handles(ListAccounts)
    def list_accounts(self, request: ListAccounts, origin: RequestContext) -> None:
        """Send the accounts whose names contain a text."""
        found = self._accounts.search(request.search)
        found.sort(key=lambda account: account.name.casefold())
        self._send(request, origin, [_entry(each) for each in found[:LISTED]], len(found))

    @handles(CreateAccounts)
    def create_accounts(self, request: CreateAccounts, origin: RequestContext) -> None:
        """Register names, and send the tokens of their accounts."""
        names = [normalised_name(each) for each in request.names]
        known: dict[str, str] = {}
        for name in names:
            self._greeting.require_free(name, origin.now)
            if other := known.get(skeleton(name)):
                raise Refused(Code.NAME_TAKEN, f"{other!r} and {name!r} look alike")
            known[skeleton(name)] = name
        entries = []
        for name in names:
            token = self._context.new_token()
            account = self._greeting.new_account(name, digest(token), origin.now)
            entries.append(_entry(account, token))
            self._log("{by} has registered {name}", origin, name=name)
        self._send(request, origin, entries, len(entries))

    @handles(ChangeAccount)
    def change_account(self, request: ChangeAccount, origin: RequestContext) -> None:
        """Rename, lock or unlock an account, or replace its token."""
        account, token = self._changeable(request.name), None
        if request.new_name is not None:
            account = self._rename(account, normalised_name(request.new_name), origin)
        if request.locked is not None and request.locked != account.revoked:
            account = structs.replace(account, revoked=request.locked)
            self._context.store(AccountLocked(account=account.id, revoked=account.revoked))
            done = "locked" if account.revoked else "unlocked"
            self._log(f"{{by}} has {done} the account {{name}}", origin, name=account.name)
        if request.new_token:
            token = self._context.new_token()
            account = self._renew(account, token, origin)
        self._sessions.account_changed(self._accounts.put(account), account, origin.now)
        self._send(request, origin, [_entry(account, token)], 1)

    @handles(InspectServer)
    def inspect_server(self, request: InspectServer, origin: RequestContext) -> None:
        """Send the state of the server."""
        policy = self._context.policy
        limits = {each.name: getattr(policy, each.name) for each in dataclasses.fields(policy)}
        ladder_matches = [
            each for each in self._context.rooms.running.values() if each.record.ladder_pair
        ]
        jobs = {
            "bot": len(self._bots),
            "analysed position": len(self._analyses),
            "ladder match": len(ladder_matches),
        }
        state = ServerState(
            re=request.id,
            jobs=(
                *(counted(number, what) for what, number in jobs.items() if number),
                *(f"tournament {each.spec.name}" for each in self._tournaments.running()[:LISTED]),
            ),
            limits=tuple(
                ServerValue(name=name, value=value)
                for name, value in limits.items()
                if isinstance(value, int | float | str) and not isinstance(value, bool)
            ),
        )
        self._context.do(SendServerState(origin.connection.number, state))

    def _changeable(self, name: str) -> Account:
        """The account of a name that an administrator may change. Raises Refused."""
        account = self._accounts.like(name)
        if account is None:
            raise Refused(Code.UNKNOWN_ACCOUNT, f"there is no account named {name!r} here")
        if account.administrator or not account.digest:
            whose = "an administrator" if account.administrator else "a bot"
            text = f"{account.name!r} is {whose}: the operator changes it with"
            raise Refused(Code.NOT_ALLOWED, f"{text} playout-server accounts")
        return account

    def _rename(self, account: Account, name: str, origin: RequestContext) -> Account:
        if name == account.name:
            return account
        if skeleton(name) != skeleton(account.name):
            self._greeting.require_free(name, origin.now)
        self._context.store(AccountRenamed(account=account.id, before=account.name, name=name))
        self._log("{by} has renamed {before} to {name}", origin, name=name, before=account.name)
        return structs.replace(account, name=name)

    def _renew(self, account: Account, token: str, origin: RequestContext) -> Account:
        at = origin.now + self._context.epoch
        renewed = without_secrets(account, digest(token), at)
        self._context.store(secrets_change(account, renewed))
        self._log("{by} has replaced the token of {name}", origin, name=account.name)
        return renewed

    def _send(
        self,
        request: ListAccounts | CreateAccounts | ChangeAccount,
        origin: RequestContext,
        entries: Sequence[AccountEntry],
        total: int,
    ) -> None:
        answer = AccountList(re=request.id, accounts=tuple(entries), total=total)
        self._context.send_to(origin.session, answer)

    def _log(self, text: str, origin: RequestContext, **fields: str) -> None:
        self._context.log(text, {"by": origin.session.name, **fields})


def _entry(account: Account, token: str | None = None) -> AccountEntry:
    return converted(
        AccountEntry, account, locked=account.revoked, bot=not account.digest, token=token
    )
