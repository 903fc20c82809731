"""The process that runs the competitions of a server: it takes submissions and plays their bots.

It is started again when it exits. It connects as an administrator, to a listener of its own on
loopback, whose account exists in no database.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from twisted.logger import Logger

from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import (
    PLAYER_NICENESS,
    Process,
    how_it_ended,
    input_with,
    own_environment,
    start_own,
    stop,
)
from playout.server.core.accounts import Directory, digest
from playout.server.model.records import Account

_HOST = "127.0.0.1"
_PROGRAM = "playout.competition.host:main"
#: Seconds between two checks whether the process has exited, and in which it may end by itself.
_POLL_S, _STOP_S = 0.5, 2.0
BACK_OFF = BackOff(0.5, 5.0)
#: Seconds after whose start the process counts as working.
_WORKS_S = 60.0

_log = Logger(namespace="server")


class CompetitionOrders(msgspec.Struct, frozen=True):
    """What the process is told on its standard input, as a line of JSON.

    `files` are those of the competitions. `port` is that of its own listener, `name` and `token`
    those of its account there. `http` is the address of its pages, `names` are further names of
    their host, and with `proxied` a proxy checks the name. `database` and `token_days` are
    those of the server, and so are `ladder_matches` and `log_json`. `pages` are the server's pages:
    an address, a colon and the port on the host of the competitions' pages, or nothing.
    """

    files: tuple[str, ...]
    port: int
    name: str
    token: str
    http: tuple[str, int]
    names: tuple[str, ...]
    proxied: bool
    database: str
    token_days: float
    ladder_matches: int
    log_json: bool
    pages: str = ""


def administrator(known: Sequence[Account]) -> tuple[Account, str]:
    """Return the account of the process, whose name no other account has, and its token."""
    directory, token = Directory(known), secrets.token_hex(16)
    name = "competitions"
    while directory.like(name):
        name = f"competitions {secrets.token_hex(4)}"
    account = Account(
        id=secrets.token_hex(8),
        name=name,
        digest=digest(token),
        created_at=0.0,
        administrator=True,
    )
    return account, token


class CompetitionProcess:
    """Keeps the process running from `start` to `close`."""

    def __init__(self, reactor: Any, factory: Any, orders: CompetitionOrders) -> None:
        """`factory` makes its connections; the port of `orders` is set here.

        Raises CannotListenError.
        """
        self._reactor = reactor
        self._listener = reactor.listenTCP(0, factory, interface=_HOST)
        port = self._listener.getHost().port
        self._orders = msgspec.structs.replace(orders, port=port)
        self._process: Process | None = None
        self._restarts = Restarts(BACK_OFF)
        self._started_at = 0.0
        self._next_poll: Any = None

    def start(self, pages: str) -> None:
        """Keep the process running; `pages` is that of its orders."""
        self._orders = msgspec.structs.replace(self._orders, pages=pages)
        self._poll()

    def _poll(self) -> None:
        """Start the process if it does not run."""
        now = self._reactor.seconds()
        if now > self._started_at + _WORKS_S:
            self._restarts.succeeded()
        if self._process and self._process.poll() is not None:
            wait_s = self._restarts.failed(now)
            text = "the process of the competitions {how}; it is started again in {wait_s:g} s"
            _log.error(text, how=how_it_ended(self._process), wait_s=wait_s)
            self._process = None
        if self._process is None and self._restarts.is_due(now):
            self._start(now)
        self._next_poll = self._reactor.callLater(_POLL_S, self._poll)

    def _start(self, now: float) -> None:
        self._started_at = now
        try:
            with input_with(msgspec.json.encode(self._orders).decode()) as input_:
                self._process = start_own(
                    _PROGRAM,
                    environment=own_environment(),
                    niceness=PLAYER_NICENESS,
                    log=sys.stderr.buffer,
                    input_=input_,
                )
        except OSError as error:
            self._restarts.failed(now)
            _log.error("the process of the competitions cannot be started: {error}", error=error)

    def close(self) -> None:
        """End the process, and wait until it has exited."""
        if self._next_poll and self._next_poll.active():
            self._next_poll.cancel()
        if self._process:
            stop([self._process], _STOP_S)
