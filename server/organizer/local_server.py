"""A server of the tournament's own, on this machine, for as long as it runs."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from server.core.accounts import Directory, digest
from server.model.names import skeleton
from server.model.records import Account
from server.runtime.endpoints import page_address, spelled
from server.runtime.subprocesses import LogFolder, Process, Program, own, own_environment, stop
from server.storage import Database
from server.storage.database import InUse, without_power_cuts

HOST = "127.0.0.1"
#: An entrant whose process ended is back within this, or its matches are lost.
_RECONNECT_S = 20.0
#: After a restart of the server, clocks stand still until all are back: for so long at most.
_RESTART_GRACE_S = 60.0
#: Who has been cut off comes back sooner than another process takes its match.
_CLAIM_AFTER_S = 3.0
#: All who come are this machine's own, or were asked to come.
_NO_LIMITS = (
    "--registrations-per-hour",
    "--connections",
    "--connections-per-address",
    "--idle-s",
    "--messages-per-s",
    "--sessions-per-account",
    "--matches-per-session",
    "--matches-per-account",
    "--unread-bytes",
)
#: How long the server of a tournament that was killed may take to let go of the database.
_PATIENCE_S = 10.0
#: It is started again so often, without being reached in between.
_FAILURES = 8
_BACK_OFF_S, _LONGEST_BACK_OFF_S = 0.2, 5.0
_STOPPING_S = 30.0
_LOOK_EVERY_S = 0.2
_LOG = "server"


class LocalServerError(Exception):
    """The server does not run: what to tell the user."""


class LocalServer:
    """The process of the server; started again when it ends by itself."""

    def __init__(
        self,
        database: str,
        port: int,
        logs: LogFolder,
        *,
        registration: str,
        http: tuple[str, int] | None = None,
    ) -> None:
        """`http` is where it has its page. `registration`: "open", "guests" or "closed".

        Port 0 is any that is free. Raises EmbeddedError if a port is not.
        """
        self.address = (HOST, _free(HOST, port))
        self.http = (http[0], _free(*http)) if http else None
        self._database = database
        self._logs = logs
        self._registration = registration
        self._process: Process | None = None
        self._failures = 0
        self._again_at = 0.0

    def page_of(self, tournament: str) -> str | None:
        """Where one can watch a tournament in a browser on this machine."""
        return f"{page_address(*self.http)}tournaments/{tournament}" if self.http else None

    def look(self, now: float) -> str | None:
        """Start it, if it does not run and it is time to. What there is to say, if it has ended.

        Raises EmbeddedError if that is of no use any more.
        """
        if self._process is None:
            if now >= self._again_at:
                self._process = self._program().start(self._logs.of(_LOG))
            return None
        if self._process.poll() is None:
            return None
        code, self._process = self._process.returncode, None
        self._failures += 1
        self._logs.wanted = True
        if self._failures > _FAILURES:
            raise LocalServerError(f"the server ends again and again:\n{self._logs.tail(_LOG)}")
        wait_s = min(_LONGEST_BACK_OFF_S, _BACK_OFF_S * 2 ** (self._failures - 1))
        self._again_at = now + wait_s
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return f"The server has ended ({how}); it is started again"

    def reached(self) -> None:
        """It lets one in."""
        self._failures = 0

    def stay(self) -> None:
        """Keep it running until SIGINT or SIGTERM. Raises EmbeddedError."""
        asked = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: asked.set())
        while not asked.wait(_LOOK_EVERY_S):
            self.look(time.monotonic())

    def stop(self) -> None:
        """End it; what is played goes on another time."""
        if self._process:
            stop([self._process], _STOPPING_S)

    def _program(self) -> Program:
        words = own(
            "server.main:main",
            *("--host", HOST, "--port", str(self.address[1])),
            # Bots for those who look on would take the cores of those who play.
            *("--http", spelled(*self.http) if self.http else "none", "--bots", "0"),
            *("--database", without_power_cuts(self._database)),
            *("--registration", self._registration),
            *("--reconnect-s", str(_RECONNECT_S), "--restart-grace-s", str(_RESTART_GRACE_S)),
            *("--claim-after-s", str(_CLAIM_AFTER_S), "--grace-s", "0"),
            *(word for limit in _NO_LIMITS for word in (limit, "0")),
        )
        return Program(words, Path.cwd(), own_environment(), signal.SIGTERM)


def prepare(url: str, organizer: str, entrants: Iterable[str]) -> dict[str, str]:
    """See to it that the organizer and the entrants have accounts, and give them new tokens.

    The tokens by name; of them only digests are kept. An account whose name looks like one of
    these takes that name. Raises StorageError.
    """
    database = Database(url)
    try:
        _wait_for(database)
        database.migrate()
        directory = Directory(database.accounts()[0])
        tokens = {}
        for name in (organizer, *entrants):
            tokens[name] = secrets.token_hex(16)
            database.put_account(
                _account(directory, name, tokens[name], administrator=name == organizer)
            )
        return tokens
    finally:
        database.close()


def organizer_beside(entrants: Iterable[str]) -> str:
    """A name for who organizes, which is none of theirs."""
    taken = {skeleton(each) for each in entrants}
    wanted = "organizer"
    while skeleton(wanted) in taken:
        wanted = f"organizer {secrets.token_hex(4)}"
    return wanted


def _account(directory: Directory, name: str, token: str, *, administrator: bool) -> Account:
    if known := directory.like(name):
        return structs.replace(
            known, name=name, digest=digest(token), administrator=administrator, revoked=False
        )
    return Account(
        id=secrets.token_hex(8),
        name=name,
        digest=digest(token),
        created_at=time.time(),
        administrator=administrator,
    )


def _wait_for(database: Database) -> None:
    """Until no server uses it, as that of a tournament which was just killed. Raises StorageError.

    For as long as the database is open nobody else does.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            database.lock()
        except InUse as error:
            if time.monotonic() > until:
                text = f"{error}: stop that, or take another with --database"
                raise InUse(text) from error
            time.sleep(0.1)
        else:
            return


def is_free(host: str, port: int) -> bool:
    """Can one listen there?"""
    try:
        _free(host, port)
    except LocalServerError:
        return False
    return True


def _free(host: str, port: int) -> int:
    """That port, or any for 0. Raises EmbeddedError if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as probe:
            return int(probe.getsockname()[1])
    except OSError as error:
        raise LocalServerError(f"port {port} cannot be used: {error.strerror}") from error
