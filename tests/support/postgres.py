"""A temporary PostgreSQL cluster, created with the programs of Debian's package."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.machine import reserve_port

INSTALLED = Path("/usr/lib/postgresql")
#: The user for the programs when this process is root, because they refuse to run as root.
UNPRIVILEGED = "postgres"
HOST, USER = "127.0.0.1", "playout"


class PostgresMissing(Exception):
    """Raised if this machine has no PostgreSQL."""

    def __init__(self) -> None:
        super().__init__("it needs PostgreSQL; install with: apt install postgresql")


class Postgres:
    """A database cluster in a folder, and its server, which can be stopped and started."""

    def __init__(self, programs: Path, folder: Path) -> None:
        """Create the cluster without starting its server."""
        self.port = reserve_port()
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._running = False
        if os.geteuid() == 0:
            shutil.chown(folder, UNPRIVILEGED)
        options = ("--auth=trust", "--no-locale", "--encoding=UTF8", "--no-instructions")
        self._run("initdb", f"--pgdata={self._data}", f"--username={USER}", *options)

    @property
    def url(self) -> str:
        """The URL of its only database, for SQLAlchemy."""
        return f"postgresql+psycopg://{USER}@{HOST}:{self.port}/postgres"

    def start(self) -> None:
        """Start the server unless it runs, with the same port and data as before."""
        if self._running:
            return
        settings = f"-p {self.port} -c listen_addresses={HOST} -c unix_socket_directories="
        self._control("start", f"--log={self._folder / 'log'}", f"--options={settings}")
        self._running = True

    def stop(self) -> None:
        """Stop the server immediately, as in a power failure; the next start recovers."""
        if self._running:
            self._control("stop", "--mode=immediate")
            self._running = False

    def _control(self, command: str, *options: str) -> None:
        self._run("pg_ctl", command, f"--pgdata={self._data}", "--wait", "--silent", *options)

    def _run(self, program: str, *arguments: str) -> None:
        """Run a program. Raises RuntimeError with its output if it fails."""
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": ()}
        # A file, because the server that pg_ctl starts would keep a pipe open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [self._programs / program, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                **user,
            )
            output.seek(0)
            written = output.read().decode(errors="replace")
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{written}{self._log()}")

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self._folder / "log").read_text(errors="replace")[-2000:]
        return ""


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a new cluster until the end of the block. Raises PostgresMissing."""
    programs = _newest()
    with tempfile.TemporaryDirectory(prefix="playout-postgres-") as folder:
        cluster = Postgres(programs, Path(folder))
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()


def _newest() -> Path:
    """Return the folder of the newest programs, which the package does not put on the PATH."""
    found = [path.parent for path in INSTALLED.glob("*/bin/initdb")]
    if not found:
        raise PostgresMissing
    return max(found, key=lambda path: float(path.parent.name))
