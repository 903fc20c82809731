"""Sends notices through the push services of browsers (RFC 8030, 8291 and 8292), in threads.

The folder has the key by which the services know this server, and the subscriptions of browsers.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives import serialization
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from playout.commands.durable_files import write_atomically
from playout.server.core.effects import KeepPush, PushNotice

#: Subscriptions of an account; a further one takes the place of the oldest.
MOST_BROWSERS = 10
#: Notices that wait for the services; further ones are dropped.
_MOST_WAITING = 1000
#: Seconds that a service has to answer, and for which it keeps a notice.
_ANSWER_S, _KEPT_S = 10.0, 24 * 3600
#: The statuses of a subscription that has ended.
_GONE = (404, 410)

_log = Logger(namespace="server")

#: By account and address: the fields of `KeepPush` for each browser.
Subscriptions = dict[str, dict[str, dict[str, str]]]

_decode_subscriptions = msgspec.json.Decoder(Subscriptions).decode


class PushUnavailable(Exception):
    """Push notices cannot be sent; the text is for the operator."""


def public_key(folder: Path) -> str:
    """The server's public key, for browsers; it is made with the folder if there is none.

    Raises PushUnavailable.
    """
    try:
        from py_vapid import Vapid02, VapidException
    except ImportError as error:
        text = "it needs pywebpush: pip install 'playout[push]'"
        raise PushUnavailable(text) from error
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = Vapid02.from_file(os.fspath(folder / "key.pem"))  # which it makes if there is none
        os.chmod(folder / "key.pem", 0o600)
        _read(folder)
    except (OSError, ValueError, VapidException) as error:
        raise PushUnavailable(f"{folder} cannot be used: {error}") from error
    point = key.public_key.public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()


class PushSender:
    """Keeps the subscriptions of browsers, and sends them notices."""

    def __init__(
        self, reactor: Any, folder: Path, contact: str, told: Callable[[str, str], str]
    ) -> None:
        """`contact` is the operator's address for the services, such as mailto:me@example.org.

        `told` gives a text that comes as data in the language of a code.
        """
        self._reactor = reactor
        self._folder = folder
        self._contact = contact
        self._told = told
        self._subscriptions = _read(folder)
        self._waiting = 0
        self._pool = ThreadPool(0, 2, name="push")
        #: Writes the subscriptions, while services may keep the other threads waiting.
        self._writer = ThreadPool(0, 1, name="subscriptions")
        #: Whether a write has begun, and whether the subscriptions have changed since.
        self._is_writing = self._is_changed = False
        self._is_stopping = False
        for pool in (self._pool, self._writer):
            reactor.callWhenRunning(pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._stop)

    def keep(self, order: KeepPush) -> None:
        """Keep the subscription of a browser, or forget it."""
        browsers = self._subscriptions.setdefault(order.account, {})
        before = browsers.pop(order.endpoint, None)
        if order.fields is not None:
            browsers[order.endpoint] = dict(order.fields)
            for oldest in list(browsers)[:-MOST_BROWSERS]:
                del browsers[oldest]
        if before != order.fields:
            self._save()

    def send(self, notice: PushNotice) -> None:
        """Send a notice to all browsers of an account."""
        for endpoint, fields in self._subscriptions.get(notice.account, {}).items():
            if self._waiting >= _MOST_WAITING:
                _log.warn("a notice is dropped: {waiting} wait already", waiting=self._waiting)
                return
            self._waiting += 1
            language, content = fields.get("language", "en"), dict(notice.notice)
            for name in ("text", "game"):
                content[name] = self._told(language, content[name])
            data = msgspec.json.encode(content).decode()
            sent = deferToThreadPool(self._reactor, self._pool, self._post, endpoint, fields, data)
            sent.addBoth(self._sent, KeepPush(notice.account, endpoint, None))

    def _post(self, endpoint: str, fields: dict[str, str], data: str) -> int:
        """Encrypt and send a notice; return the status of the answer, 0 if it was not sent."""
        from pywebpush import WebPushException, webpush

        if self._is_stopping:  # a service that does not answer would delay the end for hours
            return 0
        keys = {name: fields[name] for name in ("p256dh", "auth")}
        try:
            webpush(
                {"endpoint": endpoint, "keys": keys},
                data,
                vapid_private_key=os.fspath(self._folder / "key.pem"),
                vapid_claims={"sub": self._contact},
                ttl=_KEPT_S,
                timeout=_ANSWER_S,
            )
        except WebPushException as error:
            if error.response is None:
                raise
            return int(error.response.status_code)
        return 201

    def _sent(self, status: int | Failure, ended: KeepPush) -> None:
        self._waiting -= 1
        if isinstance(status, Failure):
            why = status.getErrorMessage().partition("\n")[0]
            _log.warn("a push service does not take a notice: {why}", why=why)
        elif status in _GONE:
            self.keep(ended)
        elif status >= 400:
            _log.warn("a push service refuses a notice with status {status}", status=status)

    def _save(self) -> None:
        """Write the subscriptions in the thread; if it writes already, again afterwards."""
        self._is_changed = self._is_writing
        if not self._is_writing:
            self._is_writing = True
            written = deferToThreadPool(self._reactor, self._writer, self._write, self._encoded())
            written.addBoth(self._written)

    def _written(self, _: object) -> None:
        self._is_writing = False
        if self._is_changed:
            self._save()

    def _stop(self) -> None:
        """Wait for the threads, and write what has changed since the last write began."""
        self._is_stopping = True
        self._writer.stop()
        if self._is_changed:
            self._is_changed = False
            self._write(self._encoded())
        self._pool.stop()

    def _encoded(self) -> bytes:
        kept = {account: each for account, each in self._subscriptions.items() if each}
        return msgspec.json.encode(kept)

    def _write(self, content: bytes) -> None:
        try:
            write_atomically(_file_of(self._folder), content)
        except OSError as error:
            _log.error("subscriptions of notices are not stored: {why}", why=str(error))


def _file_of(folder: Path) -> Path:
    return folder / "subscriptions.json"


def _read(folder: Path) -> Subscriptions:
    """The stored subscriptions. Raises OSError and ValueError."""
    file = _file_of(folder)
    return _decode_subscriptions(file.read_bytes()) if file.exists() else {}
