"""The site of competitions: the HTTP layer of the server's pages, and bodies in files."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock

from playout.bots.uploads import (
    MOST_CONNECTIONS,
    MOST_OF_ACCOUNT,
    MOST_UPLOADS,
    SILENT_S,
    SLOW_S,
    Accounts,
    UploadRequest,
    UploadSite,
)
from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.storage import Database
from playout.server.web.http import HttpResponse
from playout.server.web.http_server import ADDRESS_SHARE, LOCAL, Access
from support.web import HERE, HttpClientLine, Response

TOKEN = "0123456789abcdef"


def basic(token: str, name: str = "Ada") -> str:
    return "Authorization: Basic " + base64.b64encode(f"{name}:{token}".encode()).decode()


BASIC, WRONG = basic(TOKEN), basic("another")
SHARE = MOST_CONNECTIONS // ADDRESS_SHARE
#: As many accounts as upload all that may be uploaded at once.
SLOW = [f"Slow{number}" for number in range(MOST_UPLOADS // MOST_OF_ACCOUNT)]


class UploadsInMemory:
    """A site that tells what it has received, with time that the test advances."""

    def __init__(self, folder: Path, access: Access = LOCAL) -> None:
        self.folder = folder / "incoming"
        self.folder.mkdir()
        url = f"sqlite:///{folder / 'playout.db'}"
        database = Database(url)
        database.migrate()
        for name in ("Ada", *SLOW):
            account = Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0)
            database.put_account(account)
        database.close()
        self.clock = Clock()
        self._site = UploadSite(self._answer, self._room, Accounts(url, 0.0), access)
        self._site.reactor = self.clock
        self.received: list[UploadRequest] = []

    def _room(self, account: Account, path: bytes, at: float) -> tuple[Path, int]:
        return self.folder, 10

    def _answer(self, request: UploadRequest) -> HttpResponse:
        self.received.append(request)
        body = request.upload.read_bytes() if request.upload else b"nothing"
        return HttpResponse(body)

    def line(self, request: str, host: str = "localhost") -> HttpClientLine:
        line = HttpClientLine(self._site.buildProtocol(HERE), HERE)
        first, *more = request.splitlines()
        line.say("\r\n".join([first, f"Host: {host}", *more, "", ""]).encode())
        return line

    def ask(self, request: str, host: str = "localhost") -> Response:
        return self.line(request, host).response()


@pytest.fixture
def uploads(tmp_path: Path) -> UploadsInMemory:
    return UploadsInMemory(tmp_path)


def test_headers_are_those_of_the_pages_of_the_server(uploads: UploadsInMemory) -> None:
    headers = uploads.ask("GET / HTTP/1.1").headers
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Server" not in headers


def test_a_host_of_another_name_is_refused(tmp_path: Path) -> None:
    uploads = UploadsInMemory(tmp_path, Access(names=("cup.example",)))
    assert uploads.ask("GET / HTTP/1.1", "cup.example").status == 200
    refused = uploads.ask(f"PUT /a HTTP/1.1\n{BASIC}\nContent-Length: 0", "elsewhere.example")
    assert refused.status == 421
    assert "--http-name elsewhere.example" in refused.body
    assert len(uploads.received) == 1


def test_head_is_get_and_other_methods_are_refused(uploads: UploadsInMemory) -> None:
    assert uploads.ask("HEAD /a HTTP/1.1").body == ""
    assert uploads.received[0].method == "GET"
    refused = uploads.ask("POST /a HTTP/1.1\nContent-Length: 0")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD, PUT")
    assert "only GET, HEAD and PUT are allowed" in refused.body


def test_the_body_of_an_account_is_a_file_until_the_answer(uploads: UploadsInMemory) -> None:
    line = uploads.line(f"PUT /a%20b/%C3%A4?x=1 HTTP/1.1\n{BASIC}\nContent-Length: 4")
    line.say(b"ab")
    assert len(list(uploads.folder.iterdir())) == 1
    line.say(b"cd")
    assert line.response().body == "abcd"
    (request,) = uploads.received
    assert request.account
    assert request.account.name == "Ada"
    assert (request.method, request.path, request.query) == ("PUT", ("a b", "ä"), {"x": "1"})
    assert not list(uploads.folder.iterdir())


@pytest.mark.parametrize(("head", "size"), [("", 4), (WRONG, 4), (BASIC, 11)])
def test_the_body_of_others_and_a_large_one_are_discarded(
    uploads: UploadsInMemory, head: str, size: int
) -> None:
    line = uploads.line(f"PUT /a HTTP/1.1\n{head}\nContent-Length: {size}".replace("\n\n", "\n"))
    line.say(b"x" * size)
    assert not list(uploads.folder.iterdir())
    assert line.response().body == "nothing"
    assert uploads.received[0].too_large == (size > 10)


def test_bytes_of_a_body_extend_its_time_and_bytes_of_a_head_do_not(
    uploads: UploadsInMemory,
) -> None:
    body = uploads.line(f"PUT /a HTTP/1.1\n{BASIC}\nContent-Length: 4")
    head = HttpClientLine(uploads._site.buildProtocol(HERE), HERE)
    for byte in (b"a", b"b", b"c"):
        uploads.clock.advance(0.75 * SILENT_S)
        head.say(b"x")
        body.say(byte)
    assert not head.open
    assert body.open
    uploads.clock.advance(1.1 * SILENT_S)
    assert not body.open
    body.hang_up()
    assert not list(uploads.folder.iterdir())


def test_further_connections_close_those_that_wait_but_no_upload(uploads: UploadsInMemory) -> None:
    upload = uploads.line(f"PUT /a HTTP/1.1\n{BASIC}\nContent-Length: 4")
    others = [HttpClientLine(uploads._site.buildProtocol(HERE), HERE) for _ in range(SHARE)]
    assert [each.open for each in others] == [False, *[True] * (SHARE - 1)]
    upload.say(b"abcd")
    assert upload.response().body == "abcd"
    elsewhere = IPv4Address("TCP", "192.0.2.7", 50000)
    assert HttpClientLine(uploads._site.buildProtocol(elsewhere), elsewhere).open


def test_a_slow_upload_gives_way_to_another_one(uploads: UploadsInMemory) -> None:
    heads = [f"PUT /a HTTP/1.1\n{basic(TOKEN, name)}\nContent-Length: 4" for name in SLOW]
    lines = [uploads.line(head) for head in heads for _ in range(MOST_OF_ACCOUNT)]
    for line in lines[1:]:
        line.say(b"a")
    mine = f"PUT /a HTTP/1.1\n{BASIC}\nContent-Length: 4"
    uploads.clock.advance(0.9 * SLOW_S)
    refused = uploads.line(mine)
    refused.say(b"abcd")
    assert uploads.received.pop().too_many
    uploads.clock.advance(0.2 * SLOW_S)
    line = uploads.line(mine)
    line.say(b"abcd")
    assert line.response().body == "abcd"
    assert [each.open for each in lines] == [False, *[True] * (len(lines) - 1)]
    lines[0].hang_up()
    assert len(list(uploads.folder.iterdir())) == len(lines) - 1


def test_an_account_has_no_room_by_its_own_slow_uploads(uploads: UploadsInMemory) -> None:
    mine = f"PUT /a HTTP/1.1\n{BASIC}\nContent-Length: 4"
    lines = [uploads.line(mine) for _ in range(MOST_OF_ACCOUNT)]
    uploads.clock.advance(1.1 * SLOW_S)
    third = uploads.line(mine)
    third.say(b"abcd")
    assert third.response().body == "nothing"
    assert all(each.open for each in lines)
