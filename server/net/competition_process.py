"""The processes that take what others hand in: for the competitions, and for the laboratory.

They are started again when they exit. That of the competitions plays bots on the server: it
connects as an administrator, to a listener of its own on loopback, whose account exists in no
database.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from twisted.logger import Logger

from playout.commands.child import Child, KeptChild, Program
from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import PLAYER_NICENESS, own_environment
from playout.server.core.accounts import Directory, digest
from playout.server.model.records import Account

_HOST = "127.0.0.1"
_COMPETITIONS = "playout.competition.host:main"
_LABORATORY = "playout.laboratory.queue_host:main"
#: Seconds in which the processes may end by themselves: that of the laboratory ends its tests.
_STOP_S, _LABORATORY_STOP_S = 2.0, 15.0
BACK_OFF = BackOff(0.5, 5.0)
#: Seconds after whose start the process counts as working.
_WORKS_S = 60.0

_log = Logger(namespace="server")


class CompetitionOrders(msgspec.Struct, frozen=True):
    """The settings of the process, a line of JSON on its standard input.

    `files` describe the competitions. The process logs in at the listener `port` of the server with
    `name` and `token`. `http` is the address of its own pages, `names` are further names of their
    host, and with `proxied` a proxy checks the name. `database`, `token_days`, `ladder_matches` and
    `log_json` are settings of the server. `pages` are the server's pages: an address, a colon and
    the port on the host of the competitions' pages, or nothing.
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
    """Return an account for the process, with a name of its own, and its token."""
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


class LaboratoryOrders(msgspec.Struct, frozen=True):
    """The settings of the process of the laboratory, a line of JSON on its standard input.

    `file` is that of its queue. `http` is the address of its pages; the other fields are those of
    `CompetitionOrders`. The programs at the addresses `webhook` are told of verdicts, with the
    secret in the folder `webhooks`.
    """

    file: str
    http: tuple[str, int]
    names: tuple[str, ...]
    proxied: bool
    database: str
    token_days: float
    log_json: bool
    webhooks: str = ""
    webhook: tuple[str, ...] = ()
    pages: str = ""


Orders = CompetitionOrders | LaboratoryOrders


class KeptProcess:
    """Keeps a process with orders running from `start` to `close`."""

    def __init__(
        self, reactor: Any, name: str, program: str, orders: Orders, stop_s: float
    ) -> None:
        """`name` is its owner, in words; it may end by itself within `stop_s` seconds."""
        self._reactor = reactor
        self._name = name
        self._program = program
        self._orders = orders
        self._stop_s = stop_s
        self._kept = KeptChild(self._start, Restarts(BACK_OFF))
        self._started_at = 0.0
        self._next_start: Any = None

    def start(self, pages: str) -> None:
        """Keep the process running; for `pages` see `CompetitionOrders`."""
        self._orders = msgspec.structs.replace(self._orders, pages=pages)
        self._keep()

    def _keep(self) -> None:
        """Start the process, now or after its exit."""
        now, kept = self._reactor.seconds(), self._kept
        if now > self._started_at + _WORKS_S:
            kept.restarts.succeeded()
        if how := kept.poll(now):
            wait_s = kept.restarts.wait_s
            text = "the process of the {name} {how}; it is started again in {wait_s:g} s"
            _log.error(text, name=self._name, how=how, wait_s=wait_s)
            self._next_start = self._reactor.callLater(wait_s, self._keep)
        else:
            assert kept.child
            self._started_at = now
            kept.child.when_exited(self._reactor, self._keep)

    def _start(self) -> Child:
        program = Program.own(
            self._program,
            environment=own_environment(),
            niceness=PLAYER_NICENESS,
            secret=msgspec.json.encode(self._orders).decode(),
        )
        return program.start(sys.stderr.buffer)

    def close(self) -> None:
        """End the process, and wait until it has exited."""
        if self._next_start and self._next_start.active():
            self._next_start.cancel()
        self._kept.stop(self._stop_s)


def competition_process(reactor: Any, factory: Any, orders: CompetitionOrders) -> KeptProcess:
    """Return the process of the competitions; the port of `orders` is set here.

    `factory` makes its connections. Raises CannotListenError.
    """
    listener = reactor.listenTCP(0, factory, interface=_HOST)
    orders = msgspec.structs.replace(orders, port=listener.getHost().port)
    return KeptProcess(reactor, "competitions", _COMPETITIONS, orders, _STOP_S)


def laboratory_process(reactor: Any, orders: LaboratoryOrders) -> KeptProcess:
    """Return the process of the laboratory."""
    return KeptProcess(reactor, "laboratory", _LABORATORY, orders, _LABORATORY_STOP_S)
