"""One address holds requests that never end, or sends a wrong Host, at every port with HTTP."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator, Mapping
from functools import partial

import pytest

from support.competitions import Cup
from support.lab_queues import QueueServer
from support.waiting import wait_until

HOST, ATTACKER, OTHER = "127.0.0.1", "127.0.0.2", "127.0.0.3"
#: As in the report: more than the limit of connections at each port.
CONNECTIONS = 410
#: What the attacker sends on each connection.
HELD = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
    "half a body": b"PUT /cup/submissions/bot.py HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 1000\r\n\r\nabc",
    "a chunk of a body": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    b"\r\n3\r\nabc\r\n",
}


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, int]]:
    """The ports of a server with a page, a competition and a queue of tests, without a player."""
    folder = tmp_path_factory.mktemp("held")
    queue = QueueServer(folder)
    cup = Cup(
        folder,
        options=(
            *("--http", f"{HOST}:0", "--bots", "0"),
            *("--lab", str(queue.file), "--lab-http", f"{HOST}:{queue.port}"),
        ),
    )
    with cup.running():
        assert cup.server
        assert cup.server.page
        wait_until(partial(_is_open, queue.port), "pages of the queue")
        yield {"page": cup.server.page[1], "competitions": cup.port, "queue": queue.port}


def _is_open(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), 30):
        return True
    return False


def status(port: int, path: str, host: str = "localhost") -> int:
    asked = http.client.HTTPConnection(HOST, port, 30, source_address=(OTHER, 0))
    with contextlib.closing(asked):
        asked.request("GET", path, headers={"Host": host})
        return asked.getresponse().status


@pytest.mark.parametrize("sent", HELD.values(), ids=HELD)
@pytest.mark.parametrize("site", ["page", "competitions", "queue"])
def test_held_requests_of_an_address_keep_nobody_else_out(
    ports: Mapping[str, int], site: str, sent: bytes
) -> None:
    """More bytes arrive on the connections, one at a time."""
    port = ports[site]
    paths = {
        "page": ["/", "/healthz", "/metrics"],
        "competitions": ["/", "/cup/state"],
        "queue": ["/", "/api/queue"],
    }[site]
    with contextlib.ExitStack() as stack:
        lines = []
        for _ in range(CONNECTIONS):
            line = stack.enter_context(socket.create_connection((HOST, port), 30, (ATTACKER, 0)))
            with contextlib.suppress(ConnectionError):  # it may be refused already
                line.sendall(sent)
            lines.append(line)
        for number in range(10):
            for line in lines[number::10]:
                with contextlib.suppress(ConnectionError):
                    line.sendall(b"x")
            assert {path: status(port, path) for path in paths} == dict.fromkeys(paths, 200)


PATHS = {
    "page": ["/", "/healthz", "/metrics", "/static/board.js", "/api/v1/matches", "/none", "/play"],
    "competitions": ["/", "/cup/", "/cup/state", "/cup/submissions", "/page.js", "/none"],
    "queue": ["/", "/api/queue", "/api/tests", "/tests/1", "/none"],
}
HOSTS = [
    "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example",
    "localhost@evil.example", "[::1].evil.example", "", "evil.example#localhost",
    "evil.example?.localhost", "localhost\\.evil.example", "127.0.0.1 evil.example",
]  # fmt: skip


@pytest.mark.parametrize("site", PATHS)
def test_every_address_of_every_port_refuses_the_host_of_others(
    ports: Mapping[str, int], site: str
) -> None:
    port = ports[site]
    for path in PATHS[site]:
        assert status(port, path) != 421, path
    found = {(path, host): status(port, path, host) for path in PATHS[site] for host in HOSTS}
    assert found == dict.fromkeys(found, 421)


def test_an_address_in_the_first_line_does_not_replace_the_host(ports: Mapping[str, int]) -> None:
    for site in PATHS:
        with socket.create_connection((HOST, ports[site]), 30) as line:
            line.sendall(b"GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            assert b" 421 " in line.recv(100)
