"""A server with a queue of tests, and clients that hand tests in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playout.commands.restarts import BackOff
from support.commands import RunningServer, running_server
from support.competitions import ask, basic, new_account
from support.repositories import CENTRAL, LAB, LINES_TOML, RANDOM
from support.waiting import wait_until
from testbed.handed_in import packed
from testbed.machine import reserve_port

#: The limits of a queue whose authors take turns soon.
QUICK = "[queue]\ncores = 1\nturn_s = 4\n"
#: The base and a stronger version, as folders of an archive.
BASE = {"base/bot.toml": LINES_TOML, "base/bot.py": RANDOM}
STRONGER = {"new/bot.toml": LINES_TOML, "new/bot.py": CENTRAL}


@dataclass
class QueueServer:
    """The file of a queue, its database with accounts, and the port of its pages."""

    folder: Path
    more: str = QUICK
    conditions: str = LAB
    #: Further options of the server.
    options: tuple[str, ...] = ()
    port: int = field(default_factory=reserve_port)
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.file = self.folder / "lab.toml"
        self.file.write_text(self.conditions + self.more)
        self.database = f"sqlite:///{self.folder / 'playout.db'}"

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def account(self, name: str, *, administrator: bool = False) -> Path:
        """Make an account, and return the file with its token."""
        self.tokens[name] = new_account(self.database, name, administrator=administrator)
        file = self.folder / f"{name}.token"
        file.touch(mode=0o600)
        file.write_text(self.tokens[name])
        return file

    @contextmanager
    def running(self) -> Iterator[RunningServer]:
        """Run the server until the end of the block, and wait until its pages answer."""
        words = ("--database", self.database, "--lab", str(self.file), "--warm", "tic_tac_toe")
        where = ("--lab-http", f"127.0.0.1:{self.port}")
        changed = {
            "playout.server.net.site_processes.BACK_OFF": BackOff(0.1, 0.1),
            "playout.laboratory.queue_host.LOOK_S": 0.05,
            "playout.laboratory.queue_host.PLAYER_NICENESS": 0,  # as in support.commands
        }
        with running_server(*words, *where, *self.options, changed=changed) as server:
            wait_until(self._answers, "pages of the queue")
            yield server

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "api/queue")[0] == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, name: str = "", body: Any = None) -> tuple[int, Any]:
        """Send a request as an account; return its status, and the data or the text."""
        headers = {"Authorization": basic(name, self.tokens.get(name, "x"))} if name else {}
        return ask(self.port, method, path, body, headers)

    def hand_in(self, name: str, files: Mapping[str, str], query: str = "") -> int:
        """Hand a test in; return its number."""
        status, told = self.ask("PUT", f"api/tests/test.tar.gz{query}", name, packed(files))
        assert status == 201, told
        return int(told["test"])

    def told(self, number: int) -> dict[str, Any]:
        """Return a test."""
        status, told = self.ask("GET", f"api/tests/{number}")
        assert status == 200, told
        assert isinstance(told, dict)
        return told

    def ended(self, number: int) -> dict[str, Any]:
        """Wait until a test has ended; return it."""

        def found() -> dict[str, Any] | None:
            told = self.told(number)
            return told if told["ended_at"] is not None else None

        return wait_until(found, f"test {number}", seconds=280)

    def fixtures(self) -> list[list[str]]:
        """Return for each test of an author the slots of its matches with a result."""
        found = []
        for path in sorted(self.folder.glob("lab/authors/*/tests/*/matches.db")):
            with closing(sqlite3.connect(path)) as database:
                rows = database.execute("SELECT fixture FROM matches WHERE winner != 0")
                found.append([slot for (slot,) in rows])
        return found
