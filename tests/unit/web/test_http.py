"""The site for operators: health, metrics and static files, as bytes and over a socket."""

from __future__ import annotations

import base64
import itertools
import json
import random
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from playout.server.web.http import HandlerResource, HttpRequest, HttpResponse, compressed
from playout.server.web.http_server import (
    ADDRESS_SHARE,
    MAX_CONNECTIONS,
    MAX_HEADERS_BYTES,
    REQUEST_S,
    RESERVE,
    Access,
)
from playout.server.web.site import make_site
from support.web import HERE, HttpClientLine, Response, metrics

ELSEWHERE = IPv4Address("TCP", "192.0.2.7", 50000)


class SiteInMemory:
    """The site in memory, with time that the test advances."""

    def __init__(self, access: Access | None = None, **options: Any) -> None:
        self.fault: str | None = None
        self.clock = Clock()
        api = HandlerResource(
            lambda _: HttpResponse(b"", headers={"Access-Control-Allow-Origin": "*"})
        )
        #: The requests for /slow, which are not answered until the test does it.
        self.slow: list[Deferred[HttpResponse]] = []
        handlers = {"slow": self._answer_later}
        self._factory = make_site(
            metrics(), lambda: self.fault, handlers, api=api, access=access or Access(), **options
        )
        self._factory.reactor = self.clock

    def line(self, peer: IPv4Address = HERE) -> HttpClientLine | None:
        """A client connects, and is accepted or refused."""
        protocol = self._factory.buildProtocol(peer)
        return None if protocol is None else HttpClientLine(protocol, peer)

    def accepted(self, address: str = HERE.host, request: bytes = b"") -> HttpClientLine:
        """A client connects, is accepted, and sends some bytes."""
        line = self.line(IPv4Address("TCP", address, 50000))
        assert line
        line.say(request)
        return line

    def _answer_later(self, request: HttpRequest) -> Deferred[HttpResponse]:
        self.slow.append(Deferred())
        return self.slow[-1]

    def ask(self, request: str, peer: IPv4Address = HERE) -> Response:
        """The response to a request, given as its lines."""
        line = self.line(peer)
        assert line
        line.say("\r\n".join([*request.splitlines(), "", ""]).encode())
        return line.response()

    def get(self, path: str, peer: IPv4Address = HERE) -> Response:
        return self.ask(f"GET {path} HTTP/1.1\nHost: localhost", peer)


@pytest.fixture
def web() -> SiteInMemory:
    return SiteInMemory()


def test_a_server_that_is_well_says_ok(web: SiteInMemory) -> None:
    response = web.get("/healthz")
    assert (response.status, response.body) == (200, "ok\n")


def test_a_server_that_is_not_well_says_why(web: SiteInMemory) -> None:
    web.fault = "the database cannot be written"
    response = web.get("/healthz")
    assert (response.status, response.body) == (503, "the database cannot be written\n")
    web.fault = None
    assert web.get("/healthz").status == 200


def test_a_server_that_is_well_warns_the_operator() -> None:
    web = SiteInMemory(warning=lambda: "the database is nearly full")
    response = web.get("/healthz")
    assert (response.status, response.body) == (
        200,
        "ok\nwarning: the database is nearly full\n",
    )
    web.fault = "the database cannot be written"
    assert web.get("/healthz").status == 503


def test_metrics_are_in_the_format_that_they_claim(web: SiteInMemory) -> None:
    response = web.get("/metrics")
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "\nplayout_connections 12.0\n" in response.body


def host_status(access: Access, host: str, path: str = "/healthz") -> int:
    return SiteInMemory(access).ask(f"GET {path} HTTP/1.1\nHost: {host}").status


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "[::1]:8080", "LOCALHOST", "a.localhost"])
def test_a_server_has_the_names_of_its_machine(host: str) -> None:
    for access in (Access(), Access(local=False), Access(proxied=True)):
        assert host_status(access, host) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("elsewhere.example:8080", "localhost.example", "127.0.0.1.example", "[::1", ""),
        *("[::1].example", "[::1]a:80", "localhost@a.example", "a.example@localhost"),
    ],
)
def test_a_page_of_a_name_that_leads_to_this_machine_is_refused_for_every_path(host: str) -> None:
    for access in (Access(), Access(local=False)):
        for path in ("/", "/healthz", "/metrics", "/api/games", "/socket", "/static/board.js"):
            assert host_status(access, host, path) == 421, path
    assert host_status(Access(local=False, proxied=True), host) == 200


def test_an_operator_can_name_the_server() -> None:
    access = Access(local=False, names=("games.example",))
    assert host_status(access, "Games.Example:8080") == 200
    assert host_status(access, "other.example") == 421
    assert host_status(access, socket.gethostname()) == 200
    assert host_status(Access(), "games.example") == 421


def test_other_sites_read_the_data_of_a_public_server_only() -> None:
    public, local = (SiteInMemory(Access(local=each)).get("/api") for each in (False, True))
    assert public.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Origin" not in local.headers


def test_metrics_are_for_this_machine_without_a_password() -> None:
    web = SiteInMemory()
    assert web.get("/metrics").status == 200
    assert web.ask("GET /metrics HTTP/1.1\nHost: localhost\nX-Forwarded-For: ::1").status == 401
    assert web.get("/%6detrics", peer=ELSEWHERE).status == 401
    assert web.get("/healthz", peer=ELSEWHERE).status == 200


def test_metrics_are_for_others_with_the_password() -> None:
    web = SiteInMemory(Access(metrics_password="sesame"))
    assert web.get("/metrics").status == 401
    for password, status in (("sesame", 200), ("sesam", 401), ("", 401), ("\u00e9", 401)):
        code = base64.b64encode(f"anybody:{password}".encode()).decode()
        request = f"GET /metrics HTTP/1.1\nHost: localhost\nAuthorization: Basic {code}"
        assert web.ask(request, peer=ELSEWHERE).status == status


def test_head_is_get_without_the_body(web: SiteInMemory) -> None:
    response = web.ask("HEAD /healthz HTTP/1.1\nHost: localhost")
    assert (response.status, response.body) == (200, "")
    assert response.headers["Content-Length"] == "3"


@pytest.mark.parametrize("header", ["Transfer-Encoding: chunked", "transfer-encoding: identity"])
def test_a_body_without_its_length_is_refused_and_not_read(web: SiteInMemory, header: str) -> None:
    line = web.accepted()
    line.say(f"PUT / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n1\r\nx\r\nzz".encode())
    line.say(b"1\r\nx\r\n" * 9)
    response = line.response()
    assert (response.status, line.open) == (411, False)
    assert "Content-Length" in response.body


@pytest.mark.parametrize("path", ["/", "/healthz/", "/metrics/more", "/../etc/passwd", "/%zz"])
def test_unknown_paths_are_not_found(web: SiteInMemory, path: str) -> None:
    response = web.get(path)
    assert (response.status, response.body) == (404, "there is nothing at this address\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_other_methods_than_get_and_head_are_refused(web: SiteInMemory, method: str) -> None:
    response = web.ask(f"{method} /healthz HTTP/1.1\nHost: localhost")
    assert response.status == 405
    assert response.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/nowhere"])
def test_headers_give_nothing_away_and_nothing_is_kept(web: SiteInMemory, path: str) -> None:
    headers = web.get(path).headers
    assert "Server" not in headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/static/style.css", "/socket"])
def test_a_page_loads_nothing_from_elsewhere_and_is_in_no_frame(
    web: SiteInMemory, path: str
) -> None:
    policy = dict(
        part.split(" ", 1) for part in web.get(path).headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)


@pytest.mark.parametrize(
    ("name", "kind"), [("style.css", "text/css"), ("board.js", "text/javascript")]
)
def test_static_files_are_compressed_and_sent_once(web: SiteInMemory, name: str, kind: str) -> None:
    request = f"GET /static/{name} HTTP/1.1\nHost: localhost"
    plain = web.ask(request)
    assert plain.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert plain.headers["Cache-Control"] == "no-cache"
    packed = web.ask(f"{request}\nAccept-Encoding: br, gzip")
    assert packed.body == plain.body
    assert packed.size < 0.6 * plain.size
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    again = web.ask(f"{request}\nIf-None-Match: {plain.headers['ETag']}")
    assert (again.status, again.body) == (304, "")
    assert web.ask(f'{request}\nIf-None-Match: W/"other"').status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static",
        "/static/",
        "/static/nothing.js",
        "/static/../site.py",
        "/static/%2e%2e/site.py",
        "/static/..%2fsite.py",
        "/static/..%5csite.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/style.css/..",
        "/static/style.css%00.js",
        "/static/style.css/",
        "/static/STYLE.CSS",
        "//static/style.css",
        "/../server/web/static/style.css",
        "/static/%ff",
    ],
)
def test_no_path_leads_out_of_the_static_files(web: SiteInMemory, path: str) -> None:
    response = web.get(path)
    assert response.status in (400, 404)
    assert "import" not in response.body


def test_the_positions_of_a_match_with_361_moves_are_small() -> None:
    cells, positions = [0] * 361, []
    for ply, cell in enumerate(random.Random(1).sample(range(361), 361)):
        cells[cell] = 1 + ply % 2
        positions.append({"view": {"cells": [*cells], "last": [cell]}})
    shown = compressed(HttpResponse(json.dumps(positions).encode()))
    assert shown.gzipped
    assert len(shown.gzipped) < 10_000


def test_a_second_request_on_the_same_line_is_answered(web: SiteInMemory) -> None:
    line = web.line()
    assert line
    for _ in range(2):
        line.say(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.response().status == 200
        line.transport.clear()
    assert line.open


def test_requests_that_come_together_are_answered_one_after_the_other(web: SiteInMemory) -> None:
    line = web.accepted(request=3 * HEALTH + PAGE + HALF)
    assert line.transport.value().count(b"200 OK") == 1
    web.clock.advance(0)
    assert line.transport.value().count(b"200 OK") == 3
    assert line.transport.value().count(b"404 Not Found") == 1
    line.say(b"\r\n")
    assert line.transport.value().count(b"404 Not Found") == 2


def test_requests_wait_until_responses_are_read(web: SiteInMemory) -> None:
    line = web.accepted(request=3 * HEALTH)
    line.transport.producer.pauseProducing()
    web.clock.advance(0)
    assert line.transport.value().count(b"200 OK") == 1
    line.transport.producer.resumeProducing()
    assert line.transport.value().count(b"200 OK") == 2
    web.clock.advance(0)
    assert line.transport.value().count(b"200 OK") == 3
    line.say(HALF)
    line.hang_up()
    web.clock.advance(0)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET /healthz HTTP/1.1", 400),
        ("GET /healthz HTTP/1.1\nHost: localhost\nHost: localhost", 400),
        ("GET /healthz HTTP/1.0\nHost: localhost\nHost: there", 400),
        ("GET /healthz HTTP/1.0", 200),
        ("GET /healthz HTTP/1.1\nHost:", 421),
    ],
)
def test_a_request_has_one_host_header(web: SiteInMemory, request_: str, status: int) -> None:
    assert web.ask(request_).status == status


@pytest.mark.parametrize(
    ("name", "status"),
    [("Host", 421), *[(each, 200) for each in ("Accept-Language", "Accept-Encoding", "Cookie")]],
)
def test_a_header_need_not_be_utf_8(web: SiteInMemory, name: str, status: int) -> None:
    host = "" if name == "Host" else "Host: localhost\r\n"
    request = f"GET /healthz HTTP/1.1\r\n{host}{name}: ".encode() + b"\xfe\r\n\r\n"
    assert web.accepted(request=request).response().status == status


def test_headers_without_end_are_refused(web: SiteInMemory) -> None:
    assert web.ask(f"GET /healthz HTTP/1.1\nX: {'x' * MAX_HEADERS_BYTES}").status == 400


def test_a_client_that_sends_a_request_byte_by_byte_is_disconnected(web: SiteInMemory) -> None:
    line = web.line()
    assert line
    for byte in b"GET /hea":
        line.say(bytes([byte]))
        assert line.open
        web.clock.advance(REQUEST_S / 8)
    assert not line.open


# The number of connections.

HALF, SLOW, HEALTH, PAGE = (
    f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{end}".encode()
    for path, end in (("/", ""), ("/slow", "\r\n"), ("/healthz", "\r\n"), ("/", "\r\n"))
)
SHARE = MAX_CONNECTIONS // ADDRESS_SHARE


def addresses() -> Iterator[str]:
    """Addresses for the connections of all, of which none has more than its share."""
    return (f"192.0.2.{number // SHARE}" for number in itertools.count())


def test_half_requests_of_an_address_are_closed_for_its_further_connections(
    web: SiteInMemory,
) -> None:
    other = web.accepted("192.0.2.7")
    lines = [web.accepted(request=HALF) for _ in range(SHARE + 2)]
    assert [line.open for line in lines] == [False, False, *[True] * SHARE]
    lines[-1].say(b"\r\n")
    assert lines[-1].response().status == 404
    assert other.open


def test_the_connection_that_has_waited_longest_is_closed(
    web: SiteInMemory,
) -> None:
    most, where = MAX_CONNECTIONS - RESERVE, addresses()
    lines = [web.accepted(next(where), HALF) for _ in range(most)]
    lines[0].say(b"\r\n")  # it waits for another request from now on
    assert web.accepted("192.0.2.77").open
    assert [line.open for line in lines] == [True, False, *[True] * (most - 2)]
    lines[2].hang_up()
    assert web.accepted("192.0.2.77").open
    assert lines[3].open


def test_connections_of_a_proxy_have_no_limit_of_an_address() -> None:
    web = SiteInMemory(Access(proxied=True))
    assert all(web.accepted(request=HALF).open for _ in range(MAX_CONNECTIONS - RESERVE))


@pytest.mark.parametrize("of_one_address", [True, False])
def test_health_is_served_while_all_requests_are_being_answered(
    web: SiteInMemory, of_one_address: bool
) -> None:
    most, where = MAX_CONNECTIONS - RESERVE, addresses()
    busy = [
        web.accepted(HERE.host if of_one_address else next(where), SLOW)
        for _ in range(SHARE if of_one_address else most)
    ]
    for _ in range(2 * RESERVE):
        web.accepted(request=HALF)
        assert web.accepted(request=HEALTH).response().body == "ok\n"
    refused = web.accepted(request=PAGE)
    assert refused.response().status == 503
    assert not refused.open
    assert all(line.open for line in busy)
    assert len(web.slow) == len(busy)
    web.slow[0].callback(HttpResponse(b"done"))
    assert busy[0].response().body == "done"
    assert web.accepted(request=PAGE).response().status == 404


SERVER = """
import collections, sys
from twisted.internet import reactor
from playout.server.runtime import metrics, process
from playout.server.web.site import make_site
process.begin(as_json=True)
of = metrics.Metrics(collections.defaultdict(lambda: int), int)
port = reactor.listenTCP(0, make_site(of, lambda: None), interface="127.0.0.1")
print(port.getHost().port, flush=True)
from twisted.internet import stdio, protocol
class UntilTheEnd(protocol.Protocol):
    def connectionLost(self, reason):
        reactor.stop()
stdio.StandardIO(UntilTheEnd())
reactor.run()
"""


def test_over_a_socket_and_without_a_line_in_the_log() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with urllib.request.urlopen(f"{address}/healthz", timeout=60) as answer:
            assert answer.read() == b"ok\n"
        request = urllib.request.Request(f"{address}/metrics", method="HEAD")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.read() == b""
        with pytest.raises(HTTPError, match="404"):
            urllib.request.urlopen(address, timeout=60)
        _, errors = process.communicate("", timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert errors == ""
