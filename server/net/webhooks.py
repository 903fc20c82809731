"""Tells other programs of ends, as of matches, rounds and tournaments, by signed HTTP requests.

The requests follow Standard Webhooks 1.0 (standardwebhooks.com). The events are read where they are
stored, and the folder has the place of the last one that each program took: so each event is
delivered at least once, also after a restart, after the clock was set back or while a program does
not answer. Only the ends of connections are in memory. The folder has the secret of the signatures,
too.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import itertools
import os
import secrets
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
from sqlalchemy.exc import SQLAlchemyError
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from playout.commands.durable_files import write_atomically
from playout.commands.text import beginning, plain, utc
from playout.protocol.text_files import decoded
from playout.server.core.effects import TellDisconnection
from playout.server.storage import StorageError
from playout.server.storage.engine import first_line
from playout.server.storage.queries import Place, Reader

_PREFIX = "whsec_"
#: Seconds between two looks for events, and in which a program must answer.
_LOOK_S, _ANSWER_S = 1.0, 5.0
#: The pauses after failures in seconds: the first one, doubled after each, up to the longest.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 2.0, 600.0
#: The number of events that are read at once, and of disconnections that are kept.
_EVENTS, _DISCONNECTIONS = 100, 1000

#: The failures of the network, of the program and of the database; ValueError is for the address
#: of a redirect.
EXPECTED = (OSError, http.client.HTTPException, SQLAlchemyError, ValueError)

_log = Logger(namespace="server")

_decode_places = msgspec.json.Decoder(dict[str, Place]).decode


class WebhooksUnavailable(StorageError):
    """The folder cannot be used; the text is for the operator."""


class EndEvent(NamedTuple):
    """The end of something: when, its identity among others of its kind, and what is told of it."""

    at: float
    identity: str
    data: object


class EventSource(Protocol):
    """Where ends are stored; the methods are called in a thread."""

    #: The kinds of what ends, such as "match".
    kinds: Sequence[str]
    #: A text that no other source has.
    name: str

    def ended(self, kind: str, after: Place, limit: int) -> Iterable[EndEvent]:
        """Return the first ends of a kind after a place. Raises OSError, SQLAlchemyError."""

    def close(self) -> None:
        """Close the connections of the source."""


class DatabaseEvents:
    """The ends of matches, rounds and tournaments in a database; rows of the JSON API for two."""

    kinds: Sequence[str] = ("match", "round", "tournament")

    def __init__(self, url: str) -> None:
        """Raises StorageError."""
        self.name = url
        self._reader = Reader(url)

    def ended(self, kind: str, after: Place, limit: int) -> Iterable[EndEvent]:
        """Return the first ends of a kind after a place. Raises SQLAlchemyError."""
        if kind == "match":
            matches = self._reader.ended_matches(after, limit)
            return [EndEvent(each.ended_at or 0.0, each.match, each) for each in matches]
        if kind == "round":
            rounds = self._reader.ended_rounds(after, limit)
            return [EndEvent(*each.place, each) for each in rounds]
        tournaments = self._reader.ended_tournaments(after, limit)
        return [EndEvent(each.ended_at or 0.0, each.tournament, each) for each in tournaments]

    def close(self) -> None:
        """Close the connection to the database."""
        self._reader.close()


class Disconnection(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a player's connection during its `matches`, given by their ids."""

    name: str
    guest: bool
    matches: tuple[str, ...]
    ended_at: float


class ConnectionEvents:
    """The last disconnections of players during matches, in memory: a restart forgets them."""

    kinds: Sequence[str] = ("connection",)
    name = "connections"

    def __init__(self) -> None:
        self._ends = deque[EndEvent](maxlen=_DISCONNECTIONS)
        self._numbers = itertools.count(1)

    def add(self, told: TellDisconnection) -> None:
        """Keep a disconnection, which is told soon."""
        data = Disconnection(
            name=told.name, guest=told.guest, matches=told.matches, ended_at=told.at
        )
        identity = f"{int(told.at * 1000):x}-{next(self._numbers):06}"
        self._ends.append(EndEvent(told.at, identity, data))

    def ended(self, kind: str, after: Place, limit: int) -> Iterable[EndEvent]:
        """Return the first disconnections after a place."""
        return sorted(each for each in tuple(self._ends) if each[:2] > after)[:limit]

    def close(self) -> None:
        """Do nothing: the disconnections are in memory."""


class WebhookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request, such as `match.ended` with its row of the JSON API."""

    type: str
    timestamp: str
    data: object


def secret(folder: Path) -> str:
    """Return the secret of the signatures, `whsec_...`; it is made with the folder.

    Raises WebhooksUnavailable.
    """
    path = folder / "secret"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            made = _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(made + "\n")
        found = decoded(path.read_bytes()).strip()
        base64.b64decode(found.removeprefix(_PREFIX), validate=True)
    except (OSError, ValueError) as error:
        raise WebhooksUnavailable(f"{folder} cannot be used: {error}") from error
    if not found.startswith(_PREFIX):
        raise WebhooksUnavailable(f"{path} must hold a secret that begins with {_PREFIX}")
    return found


def signed(key: str, identity: str, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request: `key` is the secret, `at` the time since 1970."""
    content = f"{identity}.{at}.".encode() + body
    digest = hmac.digest(base64.b64decode(key.removeprefix(_PREFIX)), content, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        "User-Agent": "playout-server",
        "webhook-id": identity,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


class Webhook:
    """One program: the address that it is told at, in a thread of its own."""

    def __init__(
        self,
        reactor: Any,
        folder: Path,
        url: str,
        source: EventSource,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` is the one by which ends are stored. Raises WebhooksUnavailable."""
        self._reactor = reactor
        self._clock = clock
        self._url = url
        self._key = secret(folder)
        name = hashlib.sha256(f"{url}\n{source.name}".encode()).hexdigest()[:16]
        self._file = folder / f"{name}.json"
        self._source = source
        #: The place of the last event of each kind that the program has taken.
        self._told = self._read()
        self._pause_s = _FIRST_PAUSE_S
        #: The time.monotonic() before which nothing is sent, after a failure.
        self._due_at = 0.0
        self._fault = ""
        self._is_working = self._is_stopping = False
        self._pool = ThreadPool(0, 1, name="webhook")
        self._looks = LoopingCall(self._look)
        self._looks.clock = reactor
        reactor.callWhenRunning(self._pool.start)
        reactor.callWhenRunning(self._looks.start, _LOOK_S)
        reactor.addSystemEventTrigger("during", "shutdown", self._stop)

    def _look(self) -> None:
        if not self._is_working and time.monotonic() >= self._due_at:
            self._is_working = True
            done = deferToThreadPool(self._reactor, self._pool, self._deliver)
            done.addBoth(self._ended)

    def _deliver(self) -> None:
        """Send the events that were not taken yet. Raises OSError and others if one is not."""
        try:
            for kind, each in self._events():
                if self._is_stopping:
                    return
                event = WebhookEvent(
                    type=f"{kind}.ended", timestamp=utc(each.at).isoformat(), data=each.data
                )
                self._post(f"{event.type}.{each.identity}", msgspec.json.encode(event))
                self._told = {**self._told, kind: (each.at, each.identity)}
                write_atomically(self._file, msgspec.json.encode(self._told))
        finally:
            self._source.close()

    def _events(self) -> list[tuple[str, EndEvent]]:
        """Return events with their kinds, in the order of the ends.

        Each kind has a place of its own: what ends between two queries is told the next time. A
        clock that was set back passes the ends before again, and they are told again.
        """
        now = self._clock()
        found = [
            (kind, each)
            for kind in self._source.kinds
            for each in self._source.ended(kind, min(self._told[kind], (now, "")), _EVENTS)
            if each.at <= now
        ]
        return sorted(found, key=lambda one: one[1][:2])[:_EVENTS]

    def _post(self, identity: str, body: bytes) -> None:
        headers = signed(self._key, identity, int(time.time()), body)
        request = urllib.request.Request(self._url, body, headers, method="POST")
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_ANSWER_S):
            pass

    def _ended(self, result: Failure | None) -> None:
        self._is_working = False
        if not isinstance(result, Failure):
            if self._fault:
                _log.info("the webhook {url} takes events again", url=self._url)
            self._fault, self._pause_s = "", _FIRST_PAUSE_S
            return
        if not result.check(*EXPECTED):
            _log.failure("the webhook {url} cannot be told", result, url=self._url)
        fault = beginning(plain(first_line(result.value or Exception())), 200)
        if fault != self._fault:
            _log.warn("the webhook {url} takes no event: {why}", url=self._url, why=fault)
        self._fault = fault
        self._due_at = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _stop(self) -> None:
        self._is_stopping = True
        if self._looks.running:
            self._looks.stop()
        self._pool.stop()

    def _read(self) -> dict[str, Place]:
        """Return the places of what was told: now, without a file."""
        now: Place = self._clock(), ""
        try:
            known: dict[str, Place] = {}
            if is_known := self._file.exists():
                known = _decode_places(self._file.read_bytes())
            told = {kind: known.get(kind, now) for kind in self._source.kinds}
            if not is_known:
                write_atomically(self._file, msgspec.json.encode(told))
        except (OSError, ValueError) as error:
            raise WebhooksUnavailable(f"{self._file} cannot be used: {error}") from error
        return told


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An event is sent only to the address that the operator named."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None
