"""The files of connections: few are allowed, and closed connections keep none."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import struct
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest
import trustme

from support.commands import RunningServer, running_server
from support.forked import BIN
from support.hostile import HELLO
from support.raw_client import RawClient
from support.waiting import wait_until


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
        for _ in range(45 - 1):
            opened.enter_context(contextlib.closing(socket.create_connection(server.page)))
        clients = [opened.enter_context(RawClient(server.host, server.port)) for _ in range(137)]
        for client in clients:
            assert client.hello()["type"] == "welcome"
        with RawClient(server.host, server.port) as one_too_many:
            assert one_too_many.hello()["code"] == "too_many"
        host, port = server.page
        with urllib.request.urlopen(f"http://{host}:{port}/players", timeout=60) as page:
            assert page.status == 200
        code, log = server.stop()
    assert code == 0, log
    assert "the limit on open files, 256, allows 137 connections and 45 of HTTP" in log
    assert not re.search("Traceback|EMFILE|Too many open files", log), log
    # The lines of a log may be JSON: nothing is written beside it, as "Loading playout-server ...".
    dated = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
    assert [line for line in log.splitlines() if not dated.match(line)] == []


def test_a_server_with_too_few_open_files_does_not_start(tmp_path: Path) -> None:
    database = ("--database", f"sqlite:///{tmp_path}/playout.db")
    words = limited(60, "playout-server", "--port", "0", *database)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the limit on open files, 60, is too low: a server needs at least 95" in done.stderr
    assert "Traceback" not in done.stderr


# Files of connections that the server closes, whatever their peers do.

#: Peers have less time than usual to read what is left, so that tests end soon.
QUICK = {
    "playout.server.net.connection.CLOSE_S": 0.3,
    "playout.server.web.http_server.REQUEST_S": 0.3,
}
HALF_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


def open_files(server: RunningServer) -> int:
    """The number of files that the server has open."""
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def is_closed(peer: socket.socket) -> bool:
    """Whether the server has closed a connection."""
    poll = select.poll()
    poll.register(peer, select.POLLRDHUP)
    return bool(poll.poll(0))


def wait_for_level(server: RunningServer, level: int, peer: socket.socket | None = None) -> None:
    """Wait until the server has opened more files, then until it has as many again.

    On a busy machine it may have closed the connection of `peer` before the first look.
    """

    def has_begun() -> bool:
        return open_files(server) > level or (peer is not None and is_closed(peer))

    wait_until(has_begun, "open connections")
    wait_until(lambda: open_files(server) <= level, "the files of closed connections")


def never_reading(where: tuple[str, int]) -> socket.socket:
    """A connection for which the system stores little on either side."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    made.connect(where)
    return made


def send_until_full(peer: socket.socket, data: bytes) -> None:
    """Repeat some bytes until the server reads no more of them."""
    peer.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            peer.sendall(data)


def tls_options(folder: Path) -> tuple[str, ...]:
    """The options of a server with a new certificate."""
    pem = folder / "own.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pem))
    return ("--host", "127.0.0.1", "--tls-cert", str(pem), "--tls-key", str(pem))


def test_no_more_silent_peers_than_the_limit_are_open_with_tls(tmp_path: Path) -> None:
    limits = ("--hello-s", "0", "--connections-per-address", "20")
    never = {"playout.server.net.connection.CLOSE_S": 1e6}
    with (
        running_server(*tls_options(tmp_path), *limits, changed=never) as server,
        contextlib.ExitStack() as opened,
    ):
        level = open_files(server)
        made = [
            opened.enter_context(socket.create_connection((server.host, server.port)))
            for _ in range(60)
        ]
        wait_until(lambda: sum(map(is_closed, made)) == 40, "the end of 40 connections")
        assert open_files(server) == level + 20


def test_peers_that_finish_no_handshake_keep_no_file(tmp_path: Path) -> None:
    limits = ("--hello-s", "0.5", "--connections-per-address", "20")
    with (
        running_server(*tls_options(tmp_path), *limits, changed=QUICK) as server,
        contextlib.ExitStack() as opened,
    ):
        level = open_files(server)
        for _ in range(100):
            opened.enter_context(socket.create_connection((server.host, server.port)))
        wait_for_level(server, level)


def test_a_peer_that_never_reads_keeps_no_file_of_a_closed_connection() -> None:
    flood = ("--messages-per-s", "0", "--unread-bytes", "0")
    with (
        running_server(*flood, changed=QUICK) as server,
        RawClient(server.host, server.port) as heir,
    ):
        token = heir.hello("Ann")["session"]
        level = open_files(server)
        with never_reading((server.host, server.port)) as peer:
            resume = msgpack.packb(HELLO | {"name": "Ann", "session": token})
            ping = msgpack.packb({"type": "ping", "id": "x" * 60})
            hello, flooded = (struct.pack(">I", len(each)) + each for each in (resume, ping))
            peer.sendall(hello)
            assert heir.hear()["code"] == "replaced"
            send_until_full(peer, flooded * 500)
            with RawClient(server.host, server.port) as another:
                assert another.hello("Ann", session=token)["type"] == "welcome"
                wait_until(lambda: open_files(server) <= level, "the file of the closed connection")


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
def test_a_peer_that_never_reads_a_page_keeps_no_file(header: bytes) -> None:
    request = b"GET /static/board.js HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
    with running_server("--http", "127.0.0.1:0", changed=QUICK) as server:
        assert server.page
        level = open_files(server)
        with never_reading(server.page) as peer:
            peer.sendall(request % b"" * 20 + request % header)
            wait_for_level(server, level, peer)


def test_half_requests_of_one_address_close_http_for_nobody() -> None:
    with running_server("--http", "127.0.0.1:0") as server, contextlib.ExitStack() as opened:
        assert server.page
        host, port = server.page
        for _ in range(300):
            half = opened.enter_context(socket.create_connection(server.page))
            half.sendall(HALF_REQUEST)
        for path in ("healthz", "players", "metrics"):
            with urllib.request.urlopen(f"http://{host}:{port}/{path}", timeout=60) as page:
                assert page.status == 200
