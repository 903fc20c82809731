"""The HTML of the lobby as a server sends it, without scripts."""

from __future__ import annotations

import json
import re
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from playout import games, server
from playout.server.core.handlers.feeds import SHOWN
from playout.server.web.pages.lobby import RESULTS
from support.commands import RunningServer, running_server
from support.hub_harness import GAME, WON
from support.raw_client import TIMEOUT_S, RawClient
from support.waiting import wait_until

HOSTILE = "<script>x('1')</script>&amp"
STATIC = Path(server.__file__).parent / "web" / "static"
#: Scripts that look for elements of the page by their id.
SCRIPTS = (
    "lobby.js",
    "new_match.js",
    "game_choice.js",
    "opponent_choice.js",
    "connection_status.js",
    "identity.js",
    "theme.js",
)

Connect = Callable[[str], RawClient]


class Parsed(HTMLParser):
    """A page: its elements with their attributes, and the text in those that have an id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: Counter[str] = Counter()
        self.inside: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("br", "meta", "link", "input", "img"):
            self._open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts[data.strip()] += 1
        for _, name in self._open:
            if name:
                self.inside[name] = self.inside.get(name, "") + data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]

    def is_hidden(self, name: str) -> bool:
        (attributes,) = (each for _, each in self.elements if each.get("id") == name)
        return "hidden" in attributes


@pytest.fixture(scope="module")
def host() -> Iterator[RunningServer]:
    options = ("--http", "127.0.0.1:0", "--connections-per-address", "0", "--reconnect-s", "0")
    with running_server(*options) as running:
        yield running


@pytest.fixture
def connect(host: RunningServer) -> Iterator[Connect]:
    clients: list[RawClient] = []

    def made(name: str, **hello: object) -> RawClient:
        client = RawClient(host.host, host.port)
        clients.append(client)
        assert client.hello(name, **hello)["type"] == "welcome"
        return client

    yield made
    for client in clients:
        client.socket.close()
    wait_until(lambda: is_deserted(read(host)), "an empty lobby")


def is_deserted(page: Parsed) -> bool:
    """Return whether no player is connected and no match runs."""
    return page.inside["total-bots"] == page.inside["total-matches"] == "0"


def read(host: RunningServer) -> Parsed:
    assert host.page
    name, port = host.page
    with urllib.request.urlopen(f"http://{name}:{port}/", timeout=TIMEOUT_S) as response:
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"
        return Parsed(response.read().decode())


def test_all_games_are_offered(host: RunningServer) -> None:
    shown = read(host).inside["new-games"]
    assert [name for name in games.names() if games.describe(name).title not in shown] == []


def test_an_empty_lobby_says_so(host: RunningServer) -> None:
    page = read(host)
    for name in ("nobody", "no-matches", "no-results"):
        assert not page.is_hidden(name)
    assert page.is_hidden("results-card")
    assert is_deserted(page)


def test_the_lobby_page_shows_people_seeks_and_matches(
    host: RunningServer, connect: Connect
) -> None:
    ann, bob = connect("Ann"), connect("Bob")
    over = play(ann, bob)
    running = begin(ann, bob)
    ann.ask("seek", game="mnk(m=4,n=4,k=3)")
    page = read(host)
    assert "Ann" in page.inside["people"]
    assert "bot" in page.inside["people"]
    assert "m,n,k-game (m 4, n 4, k 3), any clock" in page.inside["seeks"]
    assert links(page) >= {f"/matches/{running}", f"/matches/{over}"}
    assert "Ann won" in page.inside["results"]
    assert "Tic-tac-toe" in page.inside["matches"]
    assert not page.is_hidden("results-card")
    for name in ("nobody", "no-matches", "no-results"):
        assert page.is_hidden(name)


def test_names_are_text_and_never_markup(host: RunningServer, connect: Connect) -> None:
    hostile, ann = connect(HOSTILE), connect("Ann")
    play(hostile, ann)
    begin(hostile, ann)
    hostile.ask("seek", game="nim")
    page = read(host)
    assert page.texts[HOSTILE] >= 3
    assert f"{HOSTILE} won" in page.texts
    assert [each for tag, each in page.elements if tag == "script" and is_inline(each)] == []


def test_only_those_who_have_an_account_have_a_link_to_their_page(
    host: RunningServer, connect: Connect
) -> None:
    connect("Ada ä", guest=False)
    connect("Guest")
    found = links(read(host))
    assert "/players/Ada%20%C3%A4" in found
    assert "/players/Guest" not in found


def test_a_challenge_is_no_open_seek(host: RunningServer, connect: Connect) -> None:
    connect("Ann").ask("seek", game="nim", opponent="Bob")
    page = read(host)
    assert "Ann" not in page.inside["seeks"]
    assert page.is_hidden("seeks-section")


def test_long_lists_are_cut_and_counted(host: RunningServer, connect: Connect) -> None:
    ann, bob = connect("Ann"), connect("Bob")
    for _ in range(RESULTS + 2):
        play(ann, bob)
    for number in range(SHOWN + 3):
        connect(f"bot {number}")
    page = read(host)
    listed = [each for tag, each in page.elements if tag == "tr" and "data-match" in each]
    assert len(listed) == RESULTS
    assert len(re.findall(r"bot \d+", page.inside["people"])) == SHOWN - 2
    assert page.inside["total-bots"] == str(SHOWN + 5)


def test_the_form_knows_every_game_and_its_parameters(host: RunningServer) -> None:
    page = read(host)
    games = json.loads(page.inside["data"])["games"]
    (nim,) = (each for each in games if each["name"] == "nim")
    assert [(each["name"], each["default"]) for each in nim["parameters"]] == [
        ("chips", 15),
        ("max_take", 3),
        ("piles", None),
        ("misere", False),
    ]
    values = {each.get("value") for _, each in page.elements if each.get("name") == "game"}
    assert {each["name"] for each in games} == values


def test_the_page_has_nothing_that_its_policy_forbids(host: RunningServer) -> None:
    page = read(host)
    for tag, attributes in page.elements:
        assert tag != "style"
        assert not is_inline(attributes) or tag != "script"
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            assert (attributes.get(name) or "/").startswith(("/", "#"))


def test_elements_for_scripts_are_in_the_page_once(host: RunningServer) -> None:
    ids = Counter(read(host).ids())
    wanted = set()
    for script in SCRIPTS:
        source = (STATIC / script).read_text("utf-8")
        wanted |= set(re.findall(r'(?:find|getElementById|showText)\("([a-z-]+)"', source))
    assert "new-opponent" in ids
    assert {name: ids[name] for name in wanted} == dict.fromkeys(wanted, 1)
    assert set(ids.values()) == {1}


def test_everything_to_be_filled_in_has_a_name(host: RunningServer) -> None:
    page = read(host)
    labelled = {each.get("for") for tag, each in page.elements if tag == "label"}
    for tag, attributes in page.elements:
        if tag in ("input", "select") and attributes.get("type") not in ("radio", "checkbox"):
            assert attributes.get("id") in labelled or attributes.get("aria-label")


def is_inline(attributes: dict[str, str | None]) -> bool:
    """Return whether a script element is inline and is executed."""
    return "src" not in attributes and attributes.get("type") != "application/json"


def links(page: Parsed) -> set[str | None]:
    return {attributes.get("href") for tag, attributes in page.elements if tag == "a"}


def begin(first: RawClient, second: RawClient) -> str:
    """Start a match, and wait until both players know it."""
    first.ask("seek", game=GAME, clock="none", seat=1)
    second.say("seek", game=GAME, clock="none", seat=2)
    started = [client.hear_until("started") for client in (first, second)]
    return str(started[0]["match"])


def play(first: RawClient, second: RawClient) -> str:
    """Play a match that the first player wins."""
    match = begin(first, second)
    for ply, action in enumerate(WON):
        (first, second)[ply % 2].ask("move", match=match, ply=ply, action=action)
    first.hear_until("ended", match=match)
    return match
