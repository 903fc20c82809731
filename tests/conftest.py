"""What several test files share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "playout-server"


@dataclass(frozen=True)
class Server:
    """A server that listens."""

    host: str
    port: int
    process: subprocess.Popen[str]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The real server, as a process of its own, for all tests that do not mind each other.

    It must have had no fault by the end, and stop when it is asked to.
    """
    log = tmp_path_factory.mktemp("server") / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [COMMAND, "--port", "0", "--grace-s", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("playout-server: listening on "), log.read_text()
            host, port = line.split()[-1].split(":")
            yield Server(host, int(port), process)
            process.terminate()
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    said = log.read_text()
    assert "Traceback" not in said, said
