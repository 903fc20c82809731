"""What a stranger may read: no page, file or message has a private value of the operator.

A tournament is stored whose private texts, of every field that is not declared as public, have a
marker; so have the paths of the server and the keys of its sessions. Private is also the key of the
rolls of a match that goes on. A stranger then asks for everything: each page that a link leads to,
each address of the API, and each request of the protocol.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, fields, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec
import pytest

from playout.protocol.messages import Join, Resign, Started
from playout.protocol.tournament_spec import (
    Entrant,
    Openings,
    SandboxSettings,
    TournamentSpec,
)
from playout.server.core.accounts import digest
from playout.server.model.records import Account, MatchStarted
from playout.server.storage import Database
from support.commands import RunningServer, running_server
from support.hub_harness import HubHarness, match_between
from support.kept_ratings import keep_ratings
from support.protocol_document import REQUEST_KINDS
from support.raw_client import RawClient
from support.tournaments import TOKEN, Bots, member, new_tournament, spec_of
from support.web_client import WebClient

MARK = "zq7marker"
SECRET = f"/home/{MARK}/bots"
#: The texts of the classes of a specification that everybody may read.
PUBLIC = {
    Entrant: ("name", "version", "clock", "protocol", "player"),
    SandboxSettings: ("without",),
    TournamentSpec: ("name", "games", "format", "clock", "anchor", "machine"),
    Openings: ("lines", "order", "fens"),
}
#: Requests that change something, or end the session.
CHANGES = {"hello", "unregister", "leave", "end_tournament", "resign", "move"}


def marked(kind: type, **given: Any) -> dict[str, Any]:
    """Return the texts of a class with the marker, except those given and the public ones."""
    texts = {
        each.name: (SECRET,) if "tuple" in str(each.type) else SECRET
        for each in fields(kind)
        if "str" in str(each.type) and each.name not in (*PUBLIC[kind], *given)
    }
    return texts | given


def specification() -> TournamentSpec:
    entrants = (
        Entrant("Ann", "1", player=f"engine(config={SECRET}/engines.toml,name=a)"),
        Entrant(**marked(Entrant, name="Bob", version="2", protocol="lines", sandbox=True)),
    )
    limits = SandboxSettings(**marked(SandboxSettings))
    return replace(spec_of(rounds=2), entrants=entrants, sandbox=limits)


@dataclass
class Stored:
    """Texts that nobody may read, and what a stranger may ask about."""

    texts: list[str]
    known: dict[str, str]


def store(url: str) -> Stored:
    """Store a tournament that is not over, in which Bob has crashed once."""
    harness = HubHarness()
    ann, bob = (member(harness, name) for name in ("Ann", "Bob"))
    _, told = new_tournament(harness, specification())
    for client in (ann, bob):
        client.say(Join(tournament=told.tournament))
    started = bob.heard(Started)[0]
    bob.say(Resign(match=started.match, crash=f"OSError: no such file: '{SECRET}/net.npz'"))
    Bots(harness, ann, bob).play(20)
    harness.wait(1)
    rolled = match_between(harness.client("Cyd"), harness.client("Dan"), game="backgammon")
    dice = harness.matches[rolled].dice
    assert dice
    started_matches = (each for each in harness.stored if isinstance(each, MatchStarted))
    keys = [dice.key, *(key for each in started_matches for key in each.sessions)]
    known = [
        Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0) for name in ("Ann", "Bob")
    ]
    with closing(Database(url)) as database:
        database.migrate()
        database.save([*known, *harness.stored])
        keep_ratings(database)
    return Stored(
        [MARK, TOKEN, digest(TOKEN), *keys],
        {
            "tournament": told.tournament,
            "match": started.match,
            "rolled": rolled,
            "commitment": dice.commitment,
            "game": "tic_tac_toe",
            "player": "Bob",
            "name": "Ann",
        },
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, Stored]]:
    folder: Path = tmp_path_factory.mktemp(MARK)
    url = f"sqlite:///{folder}/playout.db"
    stored = store(url)
    bot = f"Eve=engine(file={SECRET}/engines.toml,name=a)"
    options = ("--database", url, "--http", "127.0.0.1:0", "--bot", bot, "--bots", "1")
    with running_server(*options) as server:
        yield server, stored


_LINK = re.compile(r"""(?:href|src|action)=["']([^"'#]+)""")
#: The collections of the API, and other addresses to begin with.
LISTS = ("matches", "players", "tournaments", "ladders", "games", "bots", "seeks")
BEGIN = (
    "/", "/nothing", "/api/x", "/matches/x", "/tournaments/x", "/games/x", "/matches?player=%00",
    "/healthz", "/metrics", "/admin", "/organize", "/invite", *(f"/api/{each}" for each in LISTS),
)  # fmt: skip
#: Maximum number of addresses of a kind: games have hundreds of positions.
MOST = 6


def crawled(server: RunningServer, *more: str) -> dict[str, str]:
    """Return the headers and texts of `more` addresses, and all that links and the API lead to."""
    assert server.page
    host, port = server.page
    waiting, known = [*BEGIN, *more], Counter(map(group, BEGIN))
    found: dict[str, str] = {}
    with closing(HTTPConnection(host, port, timeout=60)) as connection:
        while waiting:
            path = waiting.pop(0)
            if path in found:
                continue
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
            found[path] = unquote(f"{response.headers}\n{text}")
            for written in links(text, response.headers.get("Content-Type", "")):
                target = urlsplit(
                    urljoin(f"http://{host}:{port}{path}", written.replace("&amp;", "&"))
                )
                address = target.path + (f"?{target.query}" if target.query else "")
                is_ours = target.netloc == f"{host}:{port}" and target.path[:8] != "/static/"
                if is_ours and known[group(address)] < MOST:
                    known[group(address)] += 1
                    waiting.append(address)
    return found


def group(path: str) -> tuple[object, ...]:
    """Return the kind of an address: without identifiers and values."""
    plain, _, query = path.partition("?")
    parts = plain.split("/")
    names = sorted(each.partition("=")[0] for each in query.split("&"))
    ending = plain.rpartition(".")[2] if "." in parts[-1] else ""
    return (*parts[1 : 3 if parts[1] == "api" else 2], len(parts), ending, *names)


def links(text: str, kind: str) -> list[str]:
    """Return the addresses in a page, and those of the items in a list of the API."""
    if "json" not in kind:
        return _LINK.findall(text)
    ids = re.findall(r'"(?:match|tournament|id|name|game)":\s*"([^"]+)"', text)
    collections = ("matches", "tournaments", "players", "ladders")
    return [f"/api/{each}/{one}" for one in ids for each in collections if " " not in one]


def test_pages_files_and_the_api_have_nothing_private(
    served: tuple[RunningServer, Stored],
) -> None:
    server, stored = served
    rolled = stored.known["rolled"]
    found = crawled(
        server,
        f"/embed/{stored.known['match']}",
        *(f"/{kind}/{rolled}" for kind in ("matches", "embed", "api/matches")),
        f"/matches/{rolled}.pgn",
        f"/matches/{rolled}.json",
    )
    private = {path: each for path, text in found.items() for each in stored.texts if each in text}
    assert private == {}
    whole = "".join(found.values())
    for path in (f"/api/matches/{rolled}", f"/matches/{rolled}.json"):
        assert stored.known["commitment"] in found[path]
    assert "net.npz" in whole  # what is public of an error, and of an entrant
    assert "engines.toml" in whole
    for each in (".pgn", ".json", "/players/", "/tournaments/", "/api/tournaments/", "/embed/"):
        assert any(each in path for path in found), (each, sorted(found))


@pytest.mark.parametrize("role", ["spectator", "bot", "human"])
def test_no_answer_of_the_protocol_has_anything_private(
    served: tuple[RunningServer, Stored], role: str
) -> None:
    server, stored = served
    assert server.page
    with RawClient(server.host, server.port) as tcp, WebClient(server.page) as web:
        for client in (tcp, web):
            client.hello(role=role, views=True)
            for name, kind in REQUEST_KINDS.items():
                if name in CHANGES:
                    continue
                client.ask(name, **filled(kind, stored.known))
            client.ask("watch", match=stored.known["rolled"])
            said = json.dumps(client.heard)
            assert [each for each in stored.texts if each in said] == []
            assert any(each["type"] == "tournament" for each in client.heard)
            assert "net.npz" in said
            assert stored.known["commitment"] in said


def filled(kind: Any, known: dict[str, str]) -> dict[str, Any]:
    """Return the required fields of a request, and those that name something."""
    found: dict[str, Any] = {}
    for each in msgspec.structs.fields(kind):
        if each.name in known:
            found[each.name] = known[each.name]
        elif each.required and each.name != "type":
            found[each.name] = 1 if each.type is int else "x"
    return found
