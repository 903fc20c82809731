"""HTTP requests whose body is written to a file while it arrives, within limits.

The body of a request is discarded unless its token is that of an account that may hand something in
at that time. Nothing is parsed here: the file is unpacked by a process of its own.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.server import Request

from playout.protocol.endpoints import BACKLOG, page_address
from playout.server.core.accounts import Directory, login_with, token_left_s, used
from playout.server.model.records import Account
from playout.server.storage import Database
from playout.server.web.http import HandlerResource, HttpError, HttpRequest, HttpResponse, parsed
from playout.server.web.http_server import Access, HttpChannel, LimitedSite, ServerRequest

#: Seconds in which the head of a request must arrive, and between two bytes of its body.
SILENT_S = 30
#: Seconds in which an upload must arrive completely.
REQUEST_S = 300.0
#: Maximum number of connections, and uploads at once: of all accounts, and of one.
MOST_CONNECTIONS, MOST_UPLOADS, MOST_OF_ACCOUNT = 400, 32, 2
#: An upload that has received fewer bytes a second than this after so many seconds gives way to
#: another one.
LEAST_RATE, SLOW_S = 10_000, 10.0
MB = 2**20
#: The status for too many requests (RFC 6585).
TOO_MANY = 429
#: Seconds between two readings of the accounts.
_READ_S = 1.0

_log = Logger(namespace="server")


class Accounts:
    """The accounts of the server, read from its database at most once a second."""

    def __init__(self, url: str, token_days: float) -> None:
        self._url = url
        self._token_days = token_days
        self._known = Directory()
        self._read_at = -_READ_S

    def like(self, name: str) -> Account | None:
        """Return the account of a name, or of one that looks like it."""
        if time.monotonic() >= self._read_at + _READ_S:
            self._read_at = time.monotonic()
            with closing(Database(self._url, only_read=True)) as database:
                self._known = Directory(database.accounts()[0])
        return self._known.like(name)

    def of_token(self, name: str, token: str) -> Account | None:
        """Return the account of a name, if the token is its own."""
        account = self.like(name)
        now = time.time()
        if account is None or not account.digest or used(account, token, now) is None:
            return None
        login = login_with(account, token)
        return account if token_left_s(account, self._token_days, now, login) > 0 else None


@dataclass(frozen=True)
class UploadRequest(HttpRequest):
    """A request; `upload` is the file with its body, None without one.

    `host` is the host of its address, without the port.
    `account`: the account of the token; None without a valid token. `begun_at` is when its headers
    had arrived, in seconds since 1970. `too_large` and `too_many` say why its body was discarded.
    """

    host: str = ""
    account: Account | None = None
    upload: Path | None = None
    begun_at: float = 0.0
    too_large: bool = False
    too_many: bool = False

    def site(self, pages: str) -> str | None:
        """Return the address of the server's pages, None without; for `pages` see `SiteOrders`."""
        return f"http://{self.host}{pages}" if pages.startswith(":") else pages or None


def author_of(request: UploadRequest) -> Account:
    """Return the account of a request. Raises HttpError without one."""
    if request.account is None:
        raise HttpError(http.UNAUTHORIZED, "no account has this name and this token")
    return request.account


def upload_of(request: UploadRequest, name: str, kinds: Sequence[str], most_mb: int) -> Path:
    """Return the file with the body of a request. Raises HttpError.

    Its `name` must end with one of `kinds`, and it has at most `most_mb` MiB.
    """
    if not name.lower().endswith(tuple(kinds)) or not name.isprintable() or len(name) > 100:
        text = f"a file of one of these kinds is expected: {', '.join(kinds)}"
        raise HttpError(http.UNSUPPORTED_MEDIA_TYPE, text)
    size = request.upload.stat().st_size if request.upload else 0
    if request.too_large or size > most_mb * MB:
        raise HttpError(http.REQUEST_ENTITY_TOO_LARGE, f"a submission has at most {most_mb} MiB")
    if request.too_many:
        raise HttpError(http.SERVICE_UNAVAILABLE, "too many uploads at once: try again soon")
    if request.upload is None or size == 0:
        raise HttpError(http.BAD_REQUEST, "the file is empty")
    return request.upload


#: Responds to a request; raises HttpError.
Answer = Callable[[UploadRequest], HttpResponse | Deferred[HttpResponse]]
#: The folder for what an account uploads by a request to a path that began at a time, and its most
#: bytes, 0 for none.
Room = Callable[[Account, bytes, float], tuple[Path, int]]


class UploadChannel(HttpChannel):
    """A connection, on which bytes of a body extend the time for it."""

    def lineReceived(self, line: bytes) -> None:
        """Called by Twisted with a line of a head: the first one of a request has its path."""
        before = len(self.requests)
        super().lineReceived(line)  # type: ignore[no-untyped-call]
        if len(self.requests) > before and len(words := line.split()) > 1:
            self.requests[-1].target = words[1]

    def resetTimeout(self) -> None:
        """Called by Twisted when bytes have arrived."""
        if not self.line_mode:
            self.setTimeout(self.site.timeOut)  # type: ignore[no-untyped-call]


class UploadSite(LimitedSite):
    """Answers requests by one function, within the limits of uploads."""

    protocol = UploadChannel

    def __init__(self, answer: Answer, room: Room, accounts: Accounts, access: Access) -> None:
        """`answer` and `room` decide about requests."""
        methods = ("GET", "HEAD", "PUT")
        resource = HandlerResource(answer, parse=_with_upload, methods=methods)
        super().__init__(
            resource,
            access,
            connections=MOST_CONNECTIONS,
            requests=_Received,
            request_s=SILENT_S,
        )
        self.accounts = accounts
        self.room = room
        #: The uploads that have begun.
        self.uploading: list[_Received] = []

    def listen(self, reactor: Any, http: tuple[str, int], content: str) -> bool:
        """Listen at an address, and log it as that of the `content`; stop the reactor if it fails.

        Returns whether it listens.
        """
        host, port = http
        try:
            listener = reactor.listenTCP(port, self, BACKLOG, host)
        except Exception as error:
            _log.error("cannot listen for HTTP: {error}", error=error)
            reactor.stop()
            return False
        at = listener.getHost()
        _log.info("{content} at {address}", content=content, address=page_address(at.host, at.port))
        return True

    def make_room(self, account: Account) -> bool:
        """Return whether one more upload of an account may begin; a slow one may end for it."""
        mine = sum(each.account_id == account.id for each in self.uploading)
        if mine >= MOST_OF_ACCOUNT:
            return False
        if len(self.uploading) < MOST_UPLOADS:
            return True
        slow = [each for each in self.uploading if each.is_slow]
        if slow:
            min(slow, key=lambda each: each.rate).give_way()
        return bool(slow)


class _Received(ServerRequest):
    """A request whose body is written to a file, if its account may upload it."""

    #: The path in its first line, which Twisted parses after the body.
    target = b""
    account: Account | None = None
    upload: Path | None = None
    begun_at = 0.0
    too_large = too_many = False
    fault: OSError | None = None
    _site: UploadSite
    _file: io.BufferedWriter | None = None
    _left = 0
    #: Bytes of the body, and when its file was opened, by the time of the reactor.
    _bytes = 0
    _opened_s = 0.0
    _timer: Any = None

    @property
    def account_id(self) -> str:
        """The id of its account, empty without one."""
        return self.account.id if self.account else ""

    @property
    def rate(self) -> float:
        """The bytes of the body a second since its file was opened."""
        return self._bytes / max(self._age_s, 1e-3)

    @property
    def is_slow(self) -> bool:
        """Whether it gives way to another upload."""
        return self._age_s >= SLOW_S and self.rate < LEAST_RATE

    @property
    def _age_s(self) -> float:
        reactor: Any = self._site.reactor
        return float(reactor.seconds()) - self._opened_s

    def give_way(self) -> None:
        """Close the connection, and remove the file."""
        self.channel.close_now()
        self._forget()

    def gotLength(self, length: int | None) -> None:
        """Called by Twisted after the headers: decide about the body."""
        super().gotLength(length)
        self.begun_at = time.time()
        channel: Any = self.channel
        self._site = channel.site
        self._timer = channel.site.reactor.callLater(REQUEST_S, channel.loseConnection)
        self.account = self._account()
        if length == 0 or self.account is None:
            return
        if self.getHeader("Content-Length") is None:
            return
        folder, self._left = self._site.room(self.account, self.target, self.begun_at)
        self.too_large = length is not None and length > self._left
        if self._left and not self.too_large:
            self.too_many = not self._site.make_room(self.account)
            if not self.too_many:
                self._open(folder)

    def handleContentChunk(self, data: bytes) -> None:
        """Called by Twisted: write a part of the body, unless it is discarded."""
        if self._file is None:
            return
        self._bytes += len(data)
        self._left -= len(data)
        if self._left < 0:
            self.too_large = True
            self._forget()
            return
        try:
            self._file.write(data)
        except OSError as fault:  # the disk is full: answered when all has arrived
            self.fault = fault
            self._forget()

    def process(self) -> None:
        """Called by Twisted: the request has arrived completely."""
        self._stop_timer()
        if self._file:
            try:
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as fault:
                self.fault = fault
        super().process()
        self._forget()

    def connectionLost(self, reason: Failure) -> None:
        """Called by Twisted: discard the body that the client has sent so far."""
        self._stop_timer()
        self._forget()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def _account(self) -> Account | None:
        untyped: Any = self
        if self.getHeader("Authorization") is None:
            return None
        try:
            name, token = untyped.getUser().decode(), untyped.getPassword().decode()
        except UnicodeDecodeError:
            return None
        return self._site.accounts.of_token(name, token)

    def _open(self, folder: Path) -> None:
        """Begin a file for the body, and count the upload."""
        try:
            number, name = tempfile.mkstemp(dir=folder)
        except OSError as fault:
            self.fault = fault
            return
        self.upload, self._file = Path(name), os.fdopen(number, "wb")
        reactor: Any = self._site.reactor
        self._opened_s = reactor.seconds()
        self._site.uploading.append(self)
        self.channel.pool.answer(self.channel)  # further connections do not close this one

    def _stop_timer(self) -> None:
        if self._timer and self._timer.active():
            self._timer.cancel()

    def _forget(self) -> None:
        """Remove the file of the body, unless it was moved, and count the upload no longer."""
        file, self._file = self._file, None
        if file:
            self._site.uploading.remove(self)
            with contextlib.suppress(OSError):  # it has bytes for which the disk has no room
                file.close()
        if self.upload:
            with contextlib.suppress(FileNotFoundError):
                self.upload.unlink()
            self.upload = None


def _with_upload(request: Request) -> UploadRequest:
    """Return the request with its account and its upload. Raises OSError if it was not stored."""
    assert isinstance(request, _Received)
    if request.fault:
        raise request.fault
    return UploadRequest(
        **vars(parsed(request)),
        host=re.sub(r":\d*$", "", request.getHeader("Host") or ""),
        account=request.account,
        upload=request.upload,
        begun_at=request.begun_at,
        too_large=request.too_large,
        too_many=request.too_many,
    )
