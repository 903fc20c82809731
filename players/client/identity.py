"""A player's name, account and session, and what to do when the server refuses its `hello`."""

from __future__ import annotations

import secrets
from typing import Literal

from players.client.tokens import SavedAccount
from server.model.messages import PROTOCOL, Code, Error, Hello, Welcome

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
