"""The HTML of a match's page as a server sends it, without scripts."""

from __future__ import annotations

import gzip
import html
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from playout import server
from playout.server.export import jsonl
from playout.server.web.templates import modules
from support.commands import RunningServer
from support.raw_client import TIMEOUT_S, Message, RawClient
from support.two_clients import WON, TwoClients

STATIC = Path(server.__file__).parent / "web" / "static"
HOSTILE = "</script><b>{}'\"&amp;"
THOUGHT = {"win_rate": 0.7, "pv": [2, 8], "actions": [[2, 90, 0.7], [8, 10, 0.1]]}
#: What is transferred for the page of a short match, with all that it loads.
MAX_TRANSFER = 88_000


class Hostile(RawClient):
    """A player with markup as its name."""

    def hello(self, name: str | None = None, **fields: Any) -> Message:
        return super().hello(HOSTILE.format(id(self) % 1000), **fields)


@pytest.fixture
def two_clients(server: RunningServer) -> Iterator[TwoClients]:
    """Two players after three moves. Their match must end by the rules after the test."""
    with Hostile(*address(server)) as first, RawClient(*address(server)) as second:
        two_clients = TwoClients(first, second)
        two_clients.play(2)
        first.say("move", match=two_clients.match, ply=2, action=WON[2], info=THOUGHT)
        for player in two_clients.players:
            while player.hear_until("update")["ply"] < 2:
                pass
        two_clients.ply = 3
        yield two_clients
        if two_clients.ply < len(WON):
            two_clients.finish()


def address(server: RunningServer) -> tuple[str, int]:
    return server.host, server.port


def get(server: RunningServer, path: str) -> str:
    return packed(server, path)[0].decode()


def packed(server: RunningServer, path: str) -> tuple[bytes, int]:
    """Return the body of an answer, and the number of bytes that were transferred."""
    assert server.page
    host, port = server.page
    headers = {"Accept-Encoding": "gzip"}
    request = urllib.request.Request(f"http://{host}:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        body = response.read()
        is_packed = response.headers["Content-Encoding"] == "gzip"
    return gzip.decompress(body) if is_packed else body, len(body)


def data_of(page: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


def text_of(page: str, element: str) -> str:
    (text,) = re.findall(rf'id="{element}"[^>]*>(.*?)<', page)
    return html.unescape(text)


def test_a_running_match_has_all_its_positions(
    server: RunningServer, two_clients: TwoClients
) -> None:
    page = get(server, f"/matches/{two_clients.match}")
    data = data_of(page)
    assert data["players"] == list(two_clients.names)
    assert [each.get("action") for each in data["positions"]] == [None, *WON[:3]]
    assert data["positions"][3]["view"]["cells"] == [1, 1, 0, 2, 0, 0, 0, 0, 0]
    assert data["to_move"] == 2
    assert text_of(page, "status") == f"{two_clients.names[1]} to move"
    assert data == json.loads(get(server, f"/api/matches/{two_clients.match}"))


def test_analyses_are_shown_after_the_match(server: RunningServer, two_clients: TwoClients) -> None:
    """Until then, the opponent could read it, too."""
    api, page = f"/api/matches/{two_clients.match}", f"/matches/{two_clients.match}"
    for path in (api, page, f"{page}.json"):
        text = get(server, path)
        assert not any(word in text for word in ('"win_rate"', '"candidates":[{', '"pv":["'))
    two_clients.finish()
    assert '"win_rate"' in get(server, f"{page}.json")
    position = data_of(get(server, page))["positions"][3]
    assert position["info"]["win_rate"] == 0.7
    assert [top["name"] for top in position["view"]["candidates"]] == ["c1", "c3"]
    assert position["view"]["pv"] == ["c1", "c3"]


def test_moves_that_somebody_tries_lead_to_positions(
    server: RunningServer, two_clients: TwoClients
) -> None:
    address = f"/matches/{two_clients.match}/positions.json"
    tried = json.loads(get(server, f"{address}?ply=2&moves=4,8"))
    assert [each["action"] for each in tried["positions"]] == [4, 8]
    assert (tried["actions"], tried["to_move"]) == ([*WON[:2], 4, 8], 1)
    assert len(tried["legal_moves"]) == 5
    assert json.loads(get(server, address))["actions"] == list(WON[:3])
    for query, text in (
        ("moves=0", "move 4, action 0, is not legal"),
        ("ply=4", "ply must be a whole number from 0 to 3"),
        ("moves=a", "moves must be up to 400 numbers"),
    ):
        with pytest.raises(HTTPError) as refused:
            get(server, f"{address}?{query}")
        assert refused.value.code == 400
        assert text in html.unescape(gzip.decompress(refused.value.read()).decode())


def test_names_are_text_and_nothing_else(server: RunningServer, two_clients: TwoClients) -> None:
    page = get(server, f"/matches/{two_clients.match}")
    assert "<b>" not in page
    assert (
        html.escape(two_clients.names[0]).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        in page
    )
    assert two_clients.names[0] in data_of(page)["players"]


def test_a_finished_match_says_how_it_ended(server: RunningServer, two_clients: TwoClients) -> None:
    two_clients.finish()
    page = get(server, f"/matches/{two_clients.match}")
    assert text_of(page, "status") == f"{two_clients.names[0]} won"
    assert text_of(page, "reason") == ""
    assert data_of(page)["result"]["winner"] == 1
    assert re.search(r'id="is-live" hidden', page)


def test_it_can_be_had_in_the_formats_that_are_offered(
    server: RunningServer, two_clients: TwoClients
) -> None:
    two_clients.finish()
    page = get(server, f"/matches/{two_clients.match}")
    files = re.findall(r'href="(/matches/[^"]+\.\w+)" download', page)
    assert [Path(each).suffix for each in files] == [".json", ".pgn", ".sgf"]
    texts = [get(server, each) for each in files]
    assert [move.action for move in jsonl.read(texts[0]).moves] == list(WON)
    assert texts[1].startswith("[Event ")
    assert texts[2].startswith("(;FF[4]")


def test_an_unknown_match_has_no_page(server: RunningServer) -> None:
    for path in ("/matches/nothing", "/matches/../../etc/passwd", "/matches/%3Cb%3E"):
        with pytest.raises(HTTPError) as refused:
            get(server, path)
        assert refused.value.code in (400, 404)
        assert b"<b>" not in refused.value.read()


def test_the_browser_is_told_at_once_of_all_scripts(
    server: RunningServer, two_clients: TwoClients
) -> None:
    page = get(server, f"/matches/{two_clients.match}")
    told = re.findall(r'rel="modulepreload" href="/static/([^"]+)"', page)
    assert told == list(modules("match.js"))
    imported = {
        name
        for script in told
        for name in re.findall(r'from "\./([^"]+)"', (STATIC / script).read_text(encoding="utf-8"))
    }
    assert imported < set(told)
    assert set(told) - imported == {"match.js"}


def test_the_page_is_small(server: RunningServer, two_clients: TwoClients) -> None:
    body, size = packed(server, f"/matches/{two_clients.match}")
    loaded = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', body.decode()))
    assert "/static/match.js" in loaded
    total = size + sum(packed(server, each)[1] for each in loaded)
    assert total < MAX_TRANSFER


def test_a_script_finds_the_elements_that_it_looks_for(
    server: RunningServer, two_clients: TwoClients
) -> None:
    pages = (f"/matches/{two_clients.match}", "/analysis?game=chess")
    page = "".join(get(server, each) for each in pages)
    script = (STATIC / "match.js").read_text(encoding="utf-8")
    wanted = set(re.findall(r'part\("([\w-]+)"\)', script))
    assert len(wanted) > 20
    assert wanted <= set(re.findall(r' id="([\w-]+)"', page))
