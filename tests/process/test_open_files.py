"""Servers for which the system allows few open files."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from support.commands import RunningServer
from support.forked import BIN
from support.raw_client import RawClient


def limited(files: int, *words: str) -> list[str]:
    """The words of a command of Playout that may open so many files."""
    return ["bash", "-c", 'ulimit -n "$0"; exec "$@"', str(files), str(BIN / words[0]), *words[1:]]


@contextlib.contextmanager
def server_with(files: int, folder: Path) -> Iterator[RunningServer]:
    """A server with a page and a database, which may open so many files."""
    listening = ("--port", "0", "--http", "127.0.0.1:0", "--grace-s", "0", "--hello-s", "0")
    database = ("--database", f"sqlite:///{folder}/playout.db")
    words = limited(files, "playout-server", *listening, *database)
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield RunningServer(process, log)
        finally:
            process.kill()


def test_a_server_with_few_open_files_serves_as_many_connections_as_it_says(
    tmp_path: Path,
) -> None:
    with server_with(256, tmp_path) as server, contextlib.ExitStack() as opened:
        assert server.page
        pages = [
            opened.enter_context(contextlib.closing(socket.create_connection(server.page)))
            for _ in range(53 - 1)
        ]
        clients = [opened.enter_context(RawClient(server.host, server.port)) for _ in range(159)]
        for client in clients:
            assert client.hello()["type"] == "welcome"
        with RawClient(server.host, server.port) as one_too_many:
            assert one_too_many.hear()["code"] == "too_many"
        host, port = server.page
        with urllib.request.urlopen(f"http://{host}:{port}/players", timeout=60) as page:
            assert page.status == 200
        assert len(pages) == 52
        code, log = server.stop()
    assert code == 0, log
    assert "the limit on open files, 256, allows 159 connections and 53 of HTTP" in log
    assert not re.search("Traceback|EMFILE|Too many open files", log), log


def test_a_server_with_too_few_open_files_does_not_start(tmp_path: Path) -> None:
    database = ("--database", f"sqlite:///{tmp_path}/playout.db")
    words = limited(60, "playout-server", "--port", "0", *database)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the limit on open files, 60, is too low: a server needs at least 65" in done.stderr
    assert "Traceback" not in done.stderr
