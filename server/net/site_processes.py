"""The processes that take what others hand in: for the competitions, and for the laboratory.

They are started again when they exit. That of the competitions plays bots on the server: it
connects as an administrator, to a listener of its own on loopback, whose account exists in no
database.
"""

from __future__ import annotations

import importlib
import secrets
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from twisted.logger import Logger

from playout.commands import signals
from playout.commands.child import Child, KeptChild, Program
from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import PLAYER_NICENESS, only_order, own_environment
from playout.server.core.accounts import Directory, digest
from playout.server.model.records import Account
from playout.server.runtime import process

_HOST = "127.0.0.1"
_COMPETITIONS = "playout.competition.host:main"
_LABORATORY = "playout.laboratory.queue_host:main"
#: Seconds in which the processes may end by themselves: that of the laboratory ends its tests.
_STOP_S, _LABORATORY_STOP_S = 2.0, 15.0
BACK_OFF = BackOff(0.5, 5.0)
#: Seconds after whose start the process counts as working.
_WORKS_S = 60.0

_log = Logger(namespace="server")


class SiteOrders(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a process with pages of its own, a line of JSON on its standard input.

    `http` is the address of its pages, `names` are further names of their host, and with `proxied`
    a proxy checks the name. `database`, `token_days` and `log_json` are settings of the server.
    `pages` are the server's pages: an address, a colon and the port on the host of the process's
    own pages, or nothing.
    """

    http: tuple[str, int]
    names: tuple[str, ...]
    proxied: bool
    database: str
    token_days: float
    log_json: bool
    pages: str = ""


class CompetitionOrders(SiteOrders, frozen=True, kw_only=True):
    """The settings of the process of the competitions.

    `files` describe the competitions. The process logs in at the listener `port` of the server,
    which is set last, with `name` and `token`. `ladder_matches` is a setting of the server.
    """

    files: tuple[str, ...]
    port: int = 0
    name: str
    token: str
    ladder_matches: int


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


class LaboratoryOrders(SiteOrders, frozen=True, kw_only=True):
    """The settings of the process of the laboratory.

    `file` is that of its queue. The programs at the addresses `webhook` are told of verdicts, with
    the secret in the folder `webhooks`.
    """

    file: str
    webhooks: str = ""
    webhook: tuple[str, ...] = ()


class KeptProcess:
    """Keeps a process with orders running from `start` to `close`."""

    def __init__(
        self, reactor: Any, name: str, program: str, orders: SiteOrders, stop_s: float
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
        """Keep the process running; for `pages` see `SiteOrders`."""
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


# In the processes.


class SiteHost(Protocol):
    """The work of such a process."""

    def start(self) -> None:
        """Listen for HTTP, and begin to work."""


H = TypeVar("H", bound=SiteHost)
S = TypeVar("S", bound=SiteOrders)


def run_host(
    make: Callable[[Any, S], H], kind: type[S], faults: tuple[type[Exception], ...]
) -> H | None:
    """Run a host with the orders on the standard input until SIGTERM; return it.

    `make` returns it for the reactor and the orders, which are of type `kind`. If it raises one of
    `faults`, that is logged, and the result is None.
    """
    orders = only_order(kind)
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    process.begin(as_json=orders.log_json)
    with signals.handled(reactor, dict.fromkeys((signal.SIGTERM, signal.SIGINT), reactor.stop)):
        try:
            host = make(reactor, orders)
        except faults as error:
            _log.error("{text}", text=str(error))
            return None
        reactor.callWhenRunning(host.start)
        reactor.run(installSignalHandlers=False)
    return host
