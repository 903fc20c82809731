"""Requests about the ways into an account: passwords, codes, and the devices that are logged in."""

from __future__ import annotations

import hmac
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from playout.protocol.messages import (
    Code,
    EndLogins,
    ListLogins,
    LoggedIn,
    LogIn,
    LoginCode,
    LoginEntry,
    LoginList,
    MakeCode,
    Ok,
    SetPassword,
)
from playout.server.core.accounts import DeviceLogin, digest, logins_of, with_logins
from playout.server.core.effects import CheckPassword
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext
from playout.server.core.rate_limits import Quota, network
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.model.records import Account, converted, secrets_change

#: Seconds for which a code is valid, its length, and its letters: none looks like another.
CODE_S, _CODE_LENGTH, _LETTERS = 600.0, 8, "abcdefghjkmnpqrstuvwxyz23456789"
#: The tries for an account from all addresses, as a multiple of those from one: nobody alone can
#: keep its owner from logging in.
_ADDRESSES = 4
#: Maximum number of passwords that wait to be hashed or compared, 30 ms each, and seconds for them.
_MOST_CHECKS, _CHECKS_S = 500, 15.0
#: Maximum number of devices that are logged in to an account: the oldest is logged out.
MOST_LOGINS = 20

_WRONG = "this is not the password of {name!r}, nor a code that is valid now"


@dataclass(frozen=True)
class _OpenCode:
    """A code, valid `until` then while the token of its account has the digest `token`."""

    digest: str
    until: float
    token: str


class Logins:
    """Logs devices in and out, and sets passwords."""

    def __init__(self, context: FeatureContext, sessions: SessionManager) -> None:
        self._context = context
        self._accounts = context.accounts
        self._registry = context.registry
        self._sessions = sessions
        most = context.policy.logins_per_hour
        self._tries = Quota(most, "log in {} times")
        self._tries_for_account = Quota(_ADDRESSES * most, "")
        #: The open codes by the ids of their accounts, and what follows each check of a password.
        self._codes: dict[str, _OpenCode] = {}
        self._checks: dict[int, Callable[[str, float], None]] = {}
        self._numbers = itertools.count(1)

    @handles(LogIn)
    def log_in(self, request: LogIn, origin: RequestContext) -> None:
        """Compare a code or a password, and send a token."""
        self._tries.require(network(origin.connection.address), origin.now)
        account = self._accounts.like(request.name)
        if account is None or account.revoked:
            raise Refused(Code.UNKNOWN_ACCOUNT, f"there is no account named {request.name!r} here")
        if wait_s := self._tries_for_account.take(account.id, origin.now):
            text = f"there were too many tries for {account.name!r}; try again in {wait_s:.0f} s"
            raise Refused(Code.RATE_LIMITED, text, wait_s)
        if self._uses_code(account, request.secret, origin.now):
            self._admit(account.id, request, origin.connection.number, origin.now)
            return
        if not account.password:
            raise Refused(Code.BAD_TOKEN, _WRONG.format(name=account.name))
        number, account_id, hashed = origin.connection.number, account.id, account.password

        def compared(result: str, now: float) -> None:
            current = self._accounts.get(account_id)
            if result and current and current.password == hashed:
                self._admit(account_id, request, number, now)
            elif number in self._registry.connections:
                refused = Refused(Code.BAD_TOKEN, _WRONG.format(name=request.name))
                self._context.decline(number, refused, request.id)

        self._check(request.secret, hashed, compared)

    @handles(SetPassword)
    def set_password(self, request: SetPassword, origin: RequestContext) -> None:
        """Hash and store a password, or remove it."""
        account, session = self._own(origin), origin.session
        self._tries.require(network(origin.connection.address), origin.now)

        def change(password: str) -> None:
            current = self._accounts.get(account.id)
            if current is None or self._registry.sessions.get(session.key) is not session:
                return  # it was logged out meanwhile
            self._change(current, structs.replace(current, password=password))
            text = "{name} has set a password" if password else "{name} has removed its password"
            self._context.log(text, {"name": session.name})
            self._context.send_to(session, Ok(re=request.id))

        def hashed(result: str, now: float) -> None:
            if result:
                change(result)
            elif session.connection is not None:
                text = "the server could not set the password: try again"
                self._context.decline(session.connection, Refused(Code.INTERNAL, text), request.id)

        if request.password is None:
            change("")
        else:
            self._check(request.password, "", hashed)

    @handles(MakeCode)
    def make_code(self, request: MakeCode, origin: RequestContext) -> None:
        """Send a code with which a device logs in once; it replaces an earlier one."""
        account = self._own(origin)
        code = "".join(_letters(self._context.new_token()))
        self._codes[account.id] = _OpenCode(digest(code), origin.now + CODE_S, account.digest)
        self._context.send_to(origin.session, LoginCode(re=request.id, code=code, seconds=CODE_S))

    @handles(ListLogins)
    def list_logins(self, request: ListLogins, origin: RequestContext) -> None:
        """Send the devices that are logged in."""
        account = self._own(origin)
        issued_at = account.created_at if account.token_at is None else account.token_at
        first = DeviceLogin("", account.digest, issued_at)
        entries = [
            converted(LoginEntry, each, login=each.id, own=each.id == origin.session.login)
            for each in (first, *logins_of(account))
        ]
        has_password = bool(account.password)
        answer = LoginList(re=request.id, has_password=has_password, logins=tuple(entries))
        self._context.send_to(origin.session, answer)

    @handles(EndLogins)
    def end_logins(self, request: EndLogins, origin: RequestContext) -> None:
        """Log out one device, or all others: these get no answer, and this one a new token."""
        account, session, now = self._own(origin), origin.session, origin.now
        logins = logins_of(account)
        self._codes.pop(account.id, None)
        if request.login is None:
            token = self._context.new_token()
            changed = structs.replace(
                account, digest=digest(token), token_at=now + self._context.epoch, renewal=""
            )
            self._change(account, with_logins(changed, ()))
            self._log_out([each for each in self._of(account) if each is not session], now)
            session.login = ""
            answer = LoggedIn(re=request.id, name=account.name, token=token)
            self._context.send_to(session, answer)
            return
        if not request.login:
            text = "the first login of an account ends with all others: leave out 'login'"
            raise Refused(Code.INVALID, text)
        if not any(each.id == request.login for each in logins):
            raise Refused(Code.INVALID, "this device is not logged in any more")
        self._change(account, with_logins(account, [e for e in logins if e.id != request.login]))
        ended = [
            each
            for each in self._of(account)
            if each.login == request.login or (each.login is None and each is not session)
        ]
        self._context.send_to(session, Ok(re=request.id))
        self._log_out(ended, now)

    def password_checked(self, check: int, result: str, now: float) -> None:
        """Continue the request whose password was hashed or compared."""
        if then := self._checks.pop(check, None):
            then(result, now)

    # The rest.

    def _own(self, origin: RequestContext) -> Account:
        """The account of a session. Raises Refused for a guest, and for a bot of the server."""
        session = origin.session
        if session.account is None or session.bot_player or session.opened:
            text = "guests have no account: register a name"
            raise Refused(Code.NOT_ALLOWED, text)
        return session.account

    def _check(self, password: str, hashed: str, then: Callable[[str, float], None]) -> None:
        """Have a password hashed or compared. Raises Refused if too many wait for that."""
        if len(self._checks) >= _MOST_CHECKS:
            text = f"many others are logging in; try again in {_CHECKS_S:.0f} s"
            raise Refused(Code.RATE_LIMITED, text, _CHECKS_S)
        number = next(self._numbers)
        self._checks[number] = then
        self._context.do(CheckPassword(number, password, hashed))

    def _uses_code(self, account: Account, code: str, now: float) -> bool:
        """Whether a text is the open code of an account, which is then used."""
        known = self._codes.get(account.id)
        given = digest(code.strip().lower())
        if known is None or now >= known.until or known.token != account.digest:
            return False
        if not hmac.compare_digest(known.digest, given):
            return False
        del self._codes[account.id]
        return True

    def _admit(self, account_id: str, request: LogIn, number: int, now: float) -> None:
        """Send a new token to a connection that has proven its account."""
        account = self._accounts.get(account_id)
        if account is None or account.revoked or number not in self._registry.connections:
            return
        token = self._context.new_token()
        login = DeviceLogin(
            self._context.new_id(), digest(token), now + self._context.epoch, request.software
        )
        logins = [*logins_of(account), login]
        oldest, kept = logins[:-MOST_LOGINS], logins[-MOST_LOGINS:]
        self._change(account, with_logins(account, kept))
        ended = {each.id for each in oldest}
        self._log_out([each for each in self._of(account) if each.login in ended], now)
        self._context.log("{name} has logged in", {"name": account.name})
        answer = LoggedIn(re=request.id, name=account.name, token=token)
        self._context.send((number,), answer)

    def _change(self, before: Account, account: Account) -> None:
        """Store and use other secrets of an account; its sessions go on."""
        self._accounts.put(account)
        for session in self._of(before):
            session.account = account
        self._context.store(secrets_change(before, account))

    def _of(self, account: Account) -> list[Session]:
        """The sessions of an account that are not those of programs of the server."""
        found = self._registry.sessions.values()
        return [each for each in found if each.is_of(account) and not each.opened]

    def _log_out(self, sessions: Sequence[Session], now: float) -> None:
        for each in sessions:
            self._sessions.log_out(each, "this device was logged out", now)


def _letters(token: str) -> Sequence[str]:
    number = int(token, 16)
    found = []
    for _ in range(_CODE_LENGTH):
        number, place = divmod(number, len(_LETTERS))
        found.append(_LETTERS[place])
    return found
