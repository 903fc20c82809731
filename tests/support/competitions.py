"""A server with a competition, and clients that hand bots in."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playout.commands.restarts import BackOff
from playout.competition.submissions import Submission, Submissions
from playout.sandbox import machine
from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.storage import Database
from support.commands import RunningServer, run, running_server
from support.processes import is_gone
from support.requirements import skip_without
from support.waiting import wait_until
from testbed.handed_in import packed
from testbed.machine import reserve_port, runs

FILE = """\
title = "The cup"
game = "{game}"
clock = "{clock}"
deadline = {deadline}
{more}
pause_s = 3
[sandbox]
memory_mb = 256
disk_mb = 8
processes = 20
without = ["cgroup"]

[[house]]
name = "House"
player = "random"

[final]
rounds = 1
"""
FUTURE, PAST = "2100-01-01T00:00:00Z", "2020-01-01T00:00:00Z"
#: What remains of a submission that is refused.
KEPT = {"upload", "submission.json", "log.txt", "engines.toml", "matches.jsonl"}

#: What two finals have in common: matches between submissions, and openings of all matches. The
#: house bot plays at random.
PLAYED = """
    SELECT fixture, first, second, ply, action, CASE WHEN ply >= opening THEN winner END
    FROM matches JOIN moves ON match = id
    WHERE 'House' NOT IN (first, second) OR ply < opening ORDER BY fixture, ply
"""


def require_sandbox() -> None:
    lacking = machine.missing()
    if "bubblewrap" in lacking or "seccomp" in lacking:
        skip_without(f"a sandbox ({lacking})")


def handed_in(submissions: Submissions, team: str, at: float | None = None) -> Submission:
    """Add a submission, without a server."""
    upload = submissions.folder / "incoming" / "upload"
    upload.write_bytes(b"x")
    return submissions.add(upload, account=team, team=team, file="bot.py", at=at or time.time())


def processes_of(folder: Path) -> list[int]:
    """Return the processes whose words name a folder, or that run there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and not is_gone(int(entry.name)):
            with contextlib.suppress(OSError):
                said = (entry / "cmdline").read_text(errors="replace")
                if str(folder) in said + os.readlink(entry / "cwd"):
                    found.append(int(entry.name))
    return found


def new_account(url: str, name: str, *, administrator: bool = False) -> str:
    """Make an account in a database, and return its token."""
    token = secrets.token_hex(16)
    with closing(Database(url)) as database:
        database.migrate()
        account = Account(
            id=secrets.token_hex(8),
            name=name,
            digest=digest(token),
            created_at=time.time(),
            administrator=administrator,
        )
        database.put_account(account)
    return token


def basic(name: str, token: str) -> str:
    """Return the header of an account with its token."""
    return f"Basic {base64.b64encode(f'{name}:{token}'.encode()).decode()}"


def ask(
    port: int, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}
) -> tuple[int, Any]:
    """Send a request; return the status of the answer, and its data or its text."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, f"/{path}", body, dict(headers))
        answer = connection.getresponse()
        text = answer.read()
    is_json = answer.headers.get("Content-Type") == "application/json"
    return answer.status, json.loads(text) if is_json else text.decode()


@dataclass
class Cup:
    """A competition, its database with accounts, and the port of its pages."""

    folder: Path
    more: str = ""
    deadline: str = FUTURE
    clock: str = "20+5"
    name: str = "cup"
    game: str = "nim"
    #: Further options of the server.
    options: tuple[str, ...] = ()
    #: The file of another competition of the same server.
    also: Path | None = None
    changed: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=reserve_port)
    server_port: int = field(default_factory=reserve_port)
    tokens: dict[str, str] = field(default_factory=dict)
    server: RunningServer | None = None

    def __post_init__(self) -> None:
        self.file = self.folder / f"{self.name}.toml"
        if not self.file.exists():
            dates = {"deadline": self.deadline, "clock": self.clock}
            text = FILE.format(game=self.game, more=self.more, **dates)
            self.file.write_text(text)
        self.database = f"sqlite:///{self.folder / 'playout.db'}"

    def with_games(self, *games: str) -> Cup:
        """Give it several games instead of its own, and return it."""
        text = self.file.read_text().replace(f'game = "{self.game}"', f"games = {[*games]}")
        self.file.write_text(text)
        return self

    def account(self, name: str, *, administrator: bool = False) -> str:
        """Make an account, and return its token."""
        self.tokens[name] = new_account(self.database, name, administrator=administrator)
        return self.tokens[name]

    @contextmanager
    def running(self) -> Iterator[RunningServer]:
        """Run the server until the end of the block, and wait until its pages answer."""
        options = (
            *("--database", self.database, "--competition", str(self.file)),
            *("--competition-http", f"127.0.0.1:{self.port}", "--port", str(self.server_port)),
            *("--warm", "nim"),
            *self.options,
            *(("--competition", str(self.also)) if self.also else ()),
        )
        changed = {
            "playout.server.net.site_processes.BACK_OFF": BackOff(0.1, 0.1),
            "playout.competition.site.STANDINGS_S": 0.5,
            "playout.competition.contestants._BACK_OFF": BackOff(0.1, 1.0),
            "playout.competition.stages._TRY_AGAIN_S": (0.1, 0.1, 0.1),
        }
        changed |= self.changed
        with running_server(*options, changed=changed, env=self.environment) as server:
            self.server = server
            self.wait_until_ready()
            yield server

    def wait_until_ready(self) -> None:
        wait_until(self._answers, "pages of competitions")

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "state")[0] in (200, 403)
        except OSError:
            return False

    def ask(
        self, method: str, path: str, name: str = "", body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        """Send a request to the competition; return its status and the data or the text."""
        if name:
            headers = {"Authorization": basic(name, self.tokens.get(name, "x")), **headers}
        return ask(self.port, method, f"{self.name}/{path}", body, headers)

    def hand_in(self, name: str, files: Mapping[str, str], archive: str = "bot.tar.gz") -> int:
        """Hand a folder in; return the number of the submission."""
        status, told = self.ask("PUT", f"submissions/{archive}", name, packed(files))
        assert status == 201, told
        return int(told["id"])

    def ended(self, name: str, number: int) -> dict[str, Any]:
        """Wait until a submission is accepted or refused; return it with its log."""

        def found() -> dict[str, Any] | None:
            told = self.ask("GET", f"submissions/{number}", name)[1]
            return told if told["ended_at"] is not None else None

        return wait_until(found, f"submission {number}", seconds=120)

    def final(self, *options: str) -> list[tuple[Any, ...]]:
        """Play the final from its beginning; return its moves."""
        folder = self.folder / self.name
        for each in folder.glob("final.db*"):
            each.unlink()
        environment = os.environ | self.environment
        code, output = run(
            "playout-competition", "final", str(self.file), *options, env=environment
        )
        assert code == 0, output
        with closing(sqlite3.connect(folder / "final.db")) as database:
            return list(database.execute(PLAYED))

    def processes(self) -> list[int]:
        """Return the processes that were started for submissions."""
        return processes_of(self.folder / self.name)

    def host(self) -> int:
        """Return the process of the competitions, a child of the server."""
        assert self.server
        return wait_until(self._host, "the process of the competitions")

    def _host(self) -> int | None:
        assert self.server
        server = self.server.process.pid
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        found = (int(each) for each in children)
        return next((each for each in found if runs(each, "playout.competition.host")), None)
