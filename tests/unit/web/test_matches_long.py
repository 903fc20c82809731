"""Pages of long matches: made in worker threads, in pieces, once for all clients."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from playout.protocol.messages import Analysis, Reason
from playout.server.core.view import DELAY_PLIES
from playout.server.export import jsonl
from playout.server.model import records
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    flat,
    stored_analysis,
)
from playout.server.storage import Database
from playout.server.web import http, match_data
from playout.server.web.api import Api
from playout.server.web.archive import Archive
from playout.server.web.http import HttpRequest, HttpResponse
from playout.server.web.match_data import MatchLookup
from playout.server.web.pages import matches
from playout.server.web.pages import source as source_module
from playout.server.web.pages.source import PageCache, PageSource, page_handler
from support.hub_harness import HubHarness
from support.threads import Loop

PLIES = 40
#: The largest analysis of a move in a game of three actions.
INFO = Analysis(
    win_rate=0.51234567,
    simulations=10**6,
    pv=(0,) * 100,
    actions=tuple((each % 3, 10**6 + each, 0.123456) for each in range(400)),
    policy=tuple((each % 3, 0.123456) for each in range(400)),
)


def long_match(match: str, *, over: bool) -> StoredMatch:
    """A match of Nim with the largest analysis of each move."""
    started = MatchStarted(
        **flat(
            match=match,
            game="nim(chips=100)",
            players=("Ann", "Bob"),
            accounts=(None, None),
            sessions=("", ""),
            clock="none",
            rated=False,
            illegal_moves=3,
            credit_cap_s=0.1,
            at=1e9,
        )
    )
    moves = [
        MovePlayed(
            match=match,
            ply=ply,
            seat=1 + ply % 2,
            action=0,
            info=stored_analysis(INFO),
            at=1e9,  # type: ignore[arg-type]
        )
        for ply in range(PLIES)
    ]
    ended = MatchEnded(
        **flat(
            match=match,
            winner=1,
            returns=(1.0, 0.0),
            reason=Reason.RESIGNATION,
            text="Bob resigned",
            at=1e9 + 1,
        )
    )
    return StoredMatch(started=started, moves=tuple(moves), ended=ended if over else None)


class LongMatchSite:
    """The pages and the API of a database with two long matches: `over`, and `running`."""

    def __init__(self, loop: Loop, folder: Path) -> None:
        url = f"sqlite:///{folder}/playout.db"
        database = Database(url)
        database.migrate()
        database.add([long_match("over", over=True), long_match("running", over=False)])
        database.close()
        hub, archive = HubHarness().hub, Archive(url, loop)
        lookup = MatchLookup(hub, archive)
        self._loop = loop
        self._page = page_handler(PageSource(hub, archive, lookup), matches.index, matches.item)
        self._api = Api(hub, archive, lookup)

    def get(self, *path: str) -> HttpResponse:
        """The response for a path below /matches, or for /api/matches/ID."""
        handler: Any = self._api if path[0] == "api" else self._page
        answer: Deferred[HttpResponse] = handler(HttpRequest(path[path[0] == "api" :]))
        return self._loop.wait(answer)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LongMatchSite]:
    loop = Loop()
    yield LongMatchSite(loop, tmp_path)
    loop.stop()


PATHS = (
    ("over",),
    ("running",),
    ("over.json",),
    ("running.json",),
    ("over.pgn",),
    ("over", "positions.json"),
    ("api", "matches", "over"),
    ("api", "matches", "running"),
)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_that_grows_with_a_match_is_made_in_the_event_loop(
    site: LongMatchSite, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    called: dict[str, set[int]] = {}

    def watch(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            called.setdefault(name, set()).add(threading.get_ident())
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, watched)

    watch(gzip, "compress")
    watch(http.hashlib, "sha256")
    watch(source_module, "render")
    watch(matches, "drawn")
    watch(matches, "continuation")
    watch(matches, "legal_moves_of")
    watch(match_data, "position_view_of")
    watch(jsonl, "encoded")
    monkeypatch.setattr(jsonl, "_written_move", _watched(called, jsonl._written_move))
    response = site.get(*path)
    assert response.gzipped is None or gzip.decompress(response.gzipped) == response.body
    assert "compress" in called or len(response.body) < 1024
    threads = set().union(*called.values())
    assert threads
    assert threading.get_ident() not in threads


def _watched(called: dict[str, set[int]], original: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        called.setdefault(original.__name__, set()).add(threading.get_ident())
        return original(*arguments)

    return watched


def test_a_page_has_a_small_part_of_each_analysis(site: LongMatchSite) -> None:
    data = json.loads(site.get("api", "matches", "over").body)
    assert all(len(each["view"]["candidates"]) <= 21 for each in data["positions"][1:])
    assert len(site.get("over").body) < len(site.get("over.json").body) / 3


def test_a_running_match_has_only_its_past_analyses(site: LongMatchSite) -> None:
    shown = PLIES - DELAY_PLIES
    data = json.loads(site.get("api", "matches", "running").body)
    assert ["info" in each for each in data["positions"][1:]] == [True] * shown + [False] * 10
    moves = json.loads(site.get("running.json").body)["moves"]
    assert ["info" in each for each in moves] == [True] * shown + [False] * 10
    assert {len(each["info"]["pv"]) for each in moves[:shown]} == {DELAY_PLIES}
    over = json.loads(site.get("over.json").body)["moves"]
    assert {len(each["info"]["pv"]) for each in over} == {100}


def test_a_file_without_analyses_reads_none(
    site: LongMatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "decoded_analysis", None)
    monkeypatch.setattr(match_data, "decoded_analysis", None)
    for name in ("over.pgn", "over.json", "running.json"):
        assert site.get(name).status == 200


def test_a_response_is_made_once_for_all(site: LongMatchSite) -> None:
    for path in (("over",), ("api", "matches", "over")):
        assert site.get(*path) is site.get(*path)


def test_those_who_wait_for_a_value_share_it() -> None:
    cache: PageCache[int] = PageCache(2)
    made: list[Deferred[int]] = []

    async def make() -> int:
        made.append(Deferred())
        return await made[-1]

    found: list[int] = []
    for _ in range(3):
        Deferred.fromCoroutine(cache.get("key", make)).addCallback(found.append)
    assert len(made) == 1
    made[0].callback(7)
    assert found == [7, 7, 7]
    assert len(made) == 1
    assert not cache._making


def test_a_value_that_cannot_be_made_is_tried_again_by_the_next() -> None:
    cache: PageCache[int] = PageCache(2)
    faults: list[Any] = []

    async def fail(error: Exception) -> int:
        raise error

    for error in (LookupError(), ValueError()):
        waiting = Deferred.fromCoroutine(cache.get("key", partial(fail, error)))
        waiting.addErrback(lambda failure: faults.append(failure.type))
    assert faults == [LookupError, ValueError]
    assert not cache._making


def test_a_long_match_is_read_as_it_was_written() -> None:
    stored = long_match("over", over=True)
    assert jsonl.read(jsonl.write(stored)) == stored


class FakeRequest:
    """A request whose connection asks for the next part of the body."""

    def __init__(self) -> None:
        self.producer: Any = None
        self.written: list[bytes] = []
        self.method = b"GET"
        self.headers: dict[str, str] = {}
        self.finished = False

    def getHeader(self, name: str) -> None:
        return None

    def setHeader(self, name: str, value: str) -> None:
        self.headers[name] = value

    def setResponseCode(self, status: int) -> None:
        pass

    def setETag(self, etag: bytes) -> None:
        pass

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        assert not streaming
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def finish(self) -> None:
        self.finished = True


def test_a_long_body_is_written_in_slices() -> None:
    body = bytes(range(256)) * 1000
    request: Any = FakeRequest()
    http.send_response(request, HttpResponse(body))
    while request.producer:
        request.producer.resumeProducing()
    assert b"".join(request.written) == body
    assert max(map(len, request.written)) == http.SLICE_BYTES
    assert request.finished
    assert request.headers["Content-Length"] == str(len(body))
