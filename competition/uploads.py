"""HTTP requests whose body is written to a file while it arrives, within limits.

The body of a request is discarded unless its token is that of an account that may hand something in
at that time. Nothing is parsed here: the file is unpacked by a process of its own.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.http import HTTPChannel
from twisted.web.server import Request, Site

from playout.competition.submissions import REQUEST_S
from playout.server.core.accounts import Directory, token_left_s, used
from playout.server.model.records import Account
from playout.server.storage import Database
from playout.server.web.http import HttpError, HttpResponse, error_as_text, send_response

#: Seconds in which the head of a request must arrive, and between two bytes of its body.
SILENT_S = 30
#: The most connections, and uploads at once: of all accounts, and of one.
MOST_CONNECTIONS, MOST_UPLOADS, MOST_OF_ACCOUNT = 400, 32, 2
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
        return account if token_left_s(account, self._token_days, now) > 0 else None


#: Answers a request; raises HttpError, or answers later and returns None.
Answer = Callable[["UploadRequest"], HttpResponse | None]
#: The folder for what an account uploads by a request to a path that began at a time, and its most
#: bytes, 0 for none.
Room = Callable[[Account, bytes, float], tuple[Path, int]]


class UploadChannel(HTTPChannel):
    """A connection, on which bytes of a head do not extend the time for it."""

    def resetTimeout(self) -> None:
        """Called by Twisted when bytes have arrived."""
        if not self.line_mode:
            super().resetTimeout()  # type: ignore[no-untyped-call]


class UploadSite(Site):
    """Answers requests by one function, within the limits of uploads."""

    noisy = False
    protocol = UploadChannel  # type: ignore[assignment]

    def __init__(self, answer: Answer, room: Room, accounts: Accounts) -> None:
        """`answer` and `room` decide about requests."""
        super().__init__(None, UploadRequest, timeout=SILENT_S)  # type: ignore[no-untyped-call]
        self.answer = answer
        self.accounts = accounts
        self.room = room
        #: The account of each upload that has begun.
        self.uploading: list[str] = []

    def has_room(self, account: Account) -> bool:
        """Return whether one more upload of an account may begin."""
        mine = self.uploading.count(account.id)
        return mine < MOST_OF_ACCOUNT and len(self.uploading) < MOST_UPLOADS

    def log(self, request: http.Request) -> None:
        """Write no line for a request."""


class UploadRequest(Request):
    """A request; `upload` is the file with its body, None without one.

    `account` is that of its token, None without a token or with a wrong one. `begun_at` is when its
    headers had arrived, in seconds since 1970. `too_large` and `too_many` say why its body was
    discarded.
    """

    account: Account | None = None
    upload: Path | None = None
    begun_at = 0.0
    too_large = too_many = False
    _file: io.BufferedWriter | None = None
    _fault: OSError | None = None
    _left = 0
    _timer: Any = None

    def gotLength(self, length: int | None) -> None:
        """Called by Twisted after the headers: decide about the body."""
        self.content = io.BytesIO()
        self.begun_at = time.time()
        channel: Any = self.channel
        self.site: UploadSite = channel.site
        self._timer = self.site.reactor.callLater(REQUEST_S, channel.loseConnection)
        self.account = self._account()
        if length == 0 or self.account is None:
            return
        if self.getHeader("Content-Length") is None and self.getHeader("Transfer-Encoding") is None:
            return
        folder, self._left = self.site.room(self.account, channel._path, self.begun_at)
        self.too_large = length is not None and length > self._left
        self.too_many = not self.site.has_room(self.account)
        if self._left and not (self.too_large or self.too_many):
            self._open(self.account, folder)

    def handleContentChunk(self, data: bytes) -> None:
        """Called by Twisted: write a part of the body, unless it is discarded."""
        if self._file is None:
            return
        self._left -= len(data)
        if self._left < 0:
            self.too_large = True
            self._forget()
            return
        try:
            self._file.write(data)
        except OSError as fault:  # the disk is full: answered when all has arrived
            self._fault = fault
            self._forget()

    def process(self) -> None:
        """Called by Twisted: the request has arrived completely."""
        self._stop_timer()
        try:
            if self._fault:
                raise self._fault
            if self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
            response = self.site.answer(self)
        except HttpError as error:
            response = error_as_text(error)
        except Exception:  # no fault of a request may end the process
            _log.failure("a request has met a fault of this program")
            text = "the server failed to answer this request"
            response = error_as_text(HttpError(http.INTERNAL_SERVER_ERROR, text))
        self._forget()
        if response:
            self.respond(response)

    def respond(self, response: HttpResponse) -> None:
        """Write the response, unless the client has gone."""
        if self.channel is not None:
            send_response(self, replace(response, headers={**_HEADERS, **response.headers}))

    def connectionLost(self, reason: Failure) -> None:
        """Called by Twisted: the client has gone; forget what it has sent."""
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
        return self.site.accounts.of_token(name, token)

    def _open(self, account: Account, folder: Path) -> None:
        """Begin a file for the body, and count the upload."""
        try:
            number, name = tempfile.mkstemp(dir=folder)
        except OSError as fault:
            self._fault = fault
            return
        self.upload, self._file = Path(name), os.fdopen(number, "wb")
        self.site.uploading.append(account.id)

    def _stop_timer(self) -> None:
        if self._timer and self._timer.active():
            self._timer.cancel()

    def _forget(self) -> None:
        """Remove the file of the body, unless it was moved, and count the upload no longer."""
        file, self._file = self._file, None
        if file:
            assert self.account
            self.site.uploading.remove(self.account.id)
            with contextlib.suppress(OSError):  # it has bytes for which the disk has no room
                file.close()
        if self.upload:
            with contextlib.suppress(FileNotFoundError):
                self.upload.unlink()
            self.upload = None


#: Nothing of other sites is loaded, and no page of another site frames or reads this one.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
