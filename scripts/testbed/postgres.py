"""A PostgreSQL of one's own for a while, made with the programs of Debian's package."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.machine import free_port

INSTALLED = Path("/usr/lib/postgresql")
#: Whom the programs run as when this process is root, which they refuse to be.
UNPRIVILEGED = "postgres"
HOST, USER = "127.0.0.1", "playout"


class PostgresMissing(Exception):
    """There is no PostgreSQL on this machine."""

    def __init__(self) -> None:
        super().__init__("it needs PostgreSQL; install with: apt install postgresql")


class Postgres:
    """A cluster of databases in a folder, and the server that runs on it, or does not."""

    def __init__(self, programs: Path, folder: Path) -> None:
        """Make the cluster; it does not run yet."""
        self.port = free_port()
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
        """Of its only database, as SQLAlchemy spells it."""
        return f"postgresql+psycopg://{USER}@{HOST}:{self.port}/postgres"

    def start(self) -> None:
        """Run, if it does not, on the port and with the data that it had before."""
        if self._running:
            return
        settings = f"-p {self.port} -c listen_addresses={HOST} -c unix_socket_directories="
        self._control("start", f"--log={self._folder / 'log'}", f"--options={settings}")
        self._running = True

    def stop(self) -> None:
        """Stop at once, as if the plug were pulled: the next start recovers from the log."""
        if self._running:
            self._control("stop", "--mode=immediate")
            self._running = False

    def _control(self, command: str, *options: str) -> None:
        self._run("pg_ctl", command, f"--pgdata={self._data}", "--wait", "--silent", *options)

    def _run(self, program: str, *arguments: str) -> None:
        """Raises RuntimeError with what the program said."""
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": ()}
        # A file: the server that pg_ctl leaves behind would keep a pipe open.
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
            said = output.read().decode(errors="replace")
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{said}{self._log()}")

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self._folder / "log").read_text(errors="replace")[-2000:]
        return ""


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """A new cluster that runs, until the end of the block. Raises NotInstalled."""
    programs = _newest()
    with tempfile.TemporaryDirectory(prefix="playout-postgres-") as folder:
        cluster = Postgres(programs, Path(folder))
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()


def _newest() -> Path:
    """The folder of programs; the package does not put them on the PATH."""
    found = [path.parent for path in INSTALLED.glob("*/bin/initdb")]
    if not found:
        raise PostgresMissing
    return max(found, key=lambda path: float(path.parent.name))
