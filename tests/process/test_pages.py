"""The HTML of the pages as a real server sends it, without scripts."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from playout import games
from playout.protocol.analyst import main_line
from playout.protocol.messages import CreateTournament, Join, Tournament
from playout.protocol.tournament_spec import Entrant, Sprt, dumps
from playout.server.core.accounts import digest
from playout.server.model.records import Account, TournamentCreated
from playout.server.server_command import main as playout_server
from playout.server.storage import Database
from playout.server.storage.database import shipped_puzzles
from support.commands import RunningServer, running_server
from support.http_site import HttpSite
from support.hub_harness import administrator
from support.seeded_database import GAME, MEMBERS, NIM, TIED, SeededDatabase
from support.tournaments import TOKEN, Bots, member, spec_of
from support.waiting import wait_until

NASTY = "<b>'\"&amp;</b>"
NASTY_TITLE = "</h1></script><script>alert(1)</script>{{ 7 * 7 }}"
LISTS = ("/matches", "/players", "/tournaments", "/ladders", "/puzzles", "/games")


class Page(HTMLParser):
    """A parsed page: its elements with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["script"]:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def links(self) -> dict[str, None]:
        return {str(a["href"]): None for tag, a in self.elements if tag == "a" and "href" in a}

    def matches(self) -> list[str]:
        """Return the ids of the listed matches in their order."""
        return [each.removeprefix("/matches/") for each in self.links()
                if each.startswith("/matches/")]  # fmt: skip


def page_of(site: HttpSite, path: str, status: int = 200) -> Page:
    answer = site.ask(path)
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    page = Page(answer.body.decode())
    for tag, attributes in page.elements:
        assert "style" not in attributes, "the policy does not allow it"
        assert not any(name.startswith("on") for name in attributes)
        if tag == "script":
            assert "src" in attributes or attributes["type"] == "application/json"
    return page


class NastyNamesDatabase(SeededDatabase):
    """The same, and a tournament of two entrants, one with markup as its name."""

    def _store(self, url: str) -> None:
        harness = self._harness
        harness.wait(1)
        players = [member(harness, name) for name in (NASTY, "Eve")]
        spec = replace(
            spec_of(2, name=NASTY_TITLE, format="sprt", rounds=3, sprt=Sprt(0, 100)),
            entrants=(Entrant(NASTY, "<i>1"), Entrant("Eve", "2")),
        )
        boss = administrator(harness, "Yve")
        self.two_clients = boss.ask(CreateTournament(id=1, spec=spec), Tournament).tournament
        for each in players:
            each.say(Join(tournament=self.two_clients))
        Bots(harness, *players).play()
        super()._store(url)
        database = Database(url)
        database.save([Account(id=name, name=name, digest=digest(TOKEN), created_at=0.0)
                       for name in (NASTY, "Eve")])  # fmt: skip
        database.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpSite]:
    url = f"sqlite:///{tmp_path_factory.mktemp('pages')}/playout.db"
    seeded = NastyNamesDatabase(url)
    embed_on = ("--embed-on", "https://example.org", "--embed-on", "https://*.example.net:8443")
    with running_server("--database", url, "--http", "127.0.0.1:0", *embed_on) as server:
        yield HttpSite(server, seeded)
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log


# The language.


@pytest.mark.parametrize("path", [*LISTS, "/", "/games/nim", "/nothing", "/seeks/none"])
def test_a_page_is_in_the_language_of_the_browser_or_the_chosen_one(
    site: HttpSite, path: str
) -> None:
    titles = {"en": "Matches", "de": "Partien", "zh-Hans": "对局"}
    asked = [
        ({}, "en"),
        ({"Accept_Language": "de-DE,de;q=0.9,en;q=0.8"}, "de"),
        ({"Accept_Language": "fr"}, "en"),
        ({"Accept_Language": "de", "Cookie": "theme=dark; language=zh-Hans"}, "zh-Hans"),
        ({"Accept_Language": "de", "Cookie": "language=<b>"}, "de"),
    ]
    for headers, code in asked:
        answer = site.ask(path, **headers)
        page = Page(answer.body.decode())
        assert page.elements[0] == ("html", {"lang": code})
        assert titles[code] in page.text
        assert answer.headers["Vary"] == "Accept-Encoding, Accept-Language, Cookie"


def test_pages_that_are_made_for_many_have_the_language_of_each(site: HttpSite) -> None:
    for path in (f"/tournaments/{site.seeded.cup}", f"/matches/{site.seeded.won}"):
        texts = [site.ask(path, Accept_Language=code).body.decode() for code in ("en", "de", "en")]
        assert texts[0] == texts[2]
        assert "Partien" in texts[1]
        assert "Partien" not in texts[0]


def test_the_texts_of_scripts_are_loaded_once(site: HttpSite) -> None:
    (address,) = (
        a["href"]
        for tag, a in Page(site.ask("/", Accept_Language="de").body.decode()).elements
        if a.get("id") == "texts"
    )
    assert address
    answer = site.ask(address)
    assert answer.json["No result"] == "Kein Ergebnis"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert site.ask("/texts/de-0.json").status == 404
    assert b'id="texts"' not in site.ask("/").body


# What is there.


@pytest.mark.parametrize(
    "text", ["example.org", "https://example.org/", "https://a.org; script-src *", "*", "'self'"]
)
def test_a_site_for_frames_is_the_origin_of_pages(text: str) -> None:
    result = CliRunner().invoke(playout_server, ["--embed-on", text])
    assert result.exit_code == 2
    assert "is no site; expected one like https://example.org" in result.output


def test_only_a_match_for_frames_may_be_framed(site: HttpSite) -> None:
    def framers(path: str, status: int) -> str:
        answer = site.ask(path)
        assert answer.status == status
        return answer.headers["Content-Security-Policy"].partition("frame-ancestors ")[2]

    match = page_of(site, "/matches").matches()[0]
    page = page_of(site, f"/embed/matches/{match}")
    assert page.links().keys() == {f"/matches/{match}"}
    sites = "https://example.org https://*.example.net:8443"
    assert framers(f"/embed/matches/{match}", 200) == sites
    for path in (f"/matches/{match}", "/", f"/api/matches/{match}", "/seeks/nobody"):
        assert framers(path, 200) == "'none'"
    for path in ("/embed", f"/embed/players/{match}", "/embed/matches/none", f"/embed/{match}"):
        assert framers(path, 404) == "'none'"


def test_every_page_has_the_same_frame(site: HttpSite) -> None:
    for path in LISTS:
        page = page_of(site, path)
        (here,) = [a["href"] for tag, a in page.elements if a.get("aria-current") and tag == "a"][
            :1
        ]
        assert here == path
        assert [tag for tag in page.tags() if tag in ("h1", "main")] == ["main", "h1"]
        assert {"/", *LISTS} <= set(page.links())


def test_matches_are_listed_those_that_run_first(site: HttpSite) -> None:
    seeded = site.seeded
    listed = page_of(site, "/matches").matches()
    assert listed[0] == seeded.unfinished
    of_people = (seeded.nim, seeded.resigned, seeded.tied, seeded.won)
    assert tuple(each for each in listed if each in of_people) == of_people
    assert "Being played" in page_of(site, "/matches").text
    assert page_of(site, f"/matches?game={NIM}").matches() == [seeded.nim]
    assert page_of(site, "/matches?game=&player=&opponent=guest-1&tournament=").matches() == [
        seeded.nim, seeded.resigned
    ]  # fmt: skip
    assert "No finished match fits" in page_of(site, "/matches?player=nobody").text


def test_the_filter_of_matches_keeps_what_was_chosen(site: HttpSite) -> None:
    chosen = {
        "game": GAME,
        "player": "Ann",
        "opponent": "Bob",
        "result": "won",
        "since": "1970-01-01",
        "until": "9999-12-31",
        "tournament": site.seeded.cup,
    }
    page = page_of(site, f"/matches?{urlencode(chosen)}")
    options = [a for tag, a in page.elements if tag == "option" and "lang" not in a]
    selected = {each["value"] for each in options if "selected" in each}
    assert selected == {chosen.pop("game"), chosen.pop("result")}
    inputs = [a for tag, a in page.elements if tag == "input" and "name" in a]
    entered = {a["name"]: a.get("value") for a in inputs}
    assert {name: entered[name] for name in chosen} == chosen
    assert site.seeded.unfinished not in page.matches(), "its result is unknown"
    fresh = page_of(site, "/matches")
    offered = {a.get("value") for tag, a in fresh.elements if tag == "option"}
    assert NIM in offered
    assert offered & {*games.names()} == {*games.names()}
    options = [a for tag, a in fresh.elements if tag == "option" and "lang" not in a]
    assert not any("selected" in each for each in options)


def test_the_last_position_of_a_match_is_read_without_scripts(site: HttpSite) -> None:
    game = games.load(GAME)
    position = functools.reduce(game.next_state, TIED, game.initial_state())
    page = page_of(site, f"/matches/{site.seeded.tied}")
    assert "noscript" in page.tags()
    assert game.show(position) in page.text


def test_a_page_beyond_the_last_leads_back(site: HttpSite) -> None:
    assert "Page 1" not in page_of(site, "/matches").text
    beyond = page_of(site, f"/matches?page=7&game={GAME}")
    assert "Page 7 of 1" in beyond.text
    assert f"?game={GAME}&page=1" in beyond.links()
    assert not beyond.matches()


def test_players_are_ranked_and_everybody_is_listed(site: HttpSite) -> None:
    page = page_of(site, f"/players?game={GAME}")
    assert page.text.count("±") == 8
    assert {f"/players/{name}" for name in ("Ann", "Bob", "Cyd", quote(NASTY))} <= set(page.links())
    everybody = page_of(site, "/players?list=everybody")
    assert {f"/players/{name}" for name in MEMBERS} <= set(everybody.links())
    assert "This game has no rated matches" in page_of(site, "/players?game=othello").text


def test_a_player_has_ratings_by_version_and_their_history(site: HttpSite) -> None:
    page = page_of(site, "/players/ann")
    assert "Ann" in page.text
    assert "none given" in page.text
    plots = [attributes for tag, attributes in page.elements if attributes.get("class") == "plot"]
    assert len(plots) == 1
    assert len([a for tag, a in page.elements if tag == "polyline"]) == 2
    seeded = site.seeded
    assert page.matches()[:4] == [seeded.unfinished, seeded.resigned, seeded.tied, seeded.won]


def test_the_crosstable_leads_to_the_matches_of_each_two(site: HttpSite) -> None:
    page = page_of(site, f"/tournaments/{site.seeded.cup}")
    assert "a cup" in page.text
    pairings = [each for each in page.links() if "opponent=" in each]
    assert len(pairings) == 6
    for each in pairings:
        assert len(page_of(site, each).matches()) == 2
    assert f"/matches?tournament={site.seeded.cup}" in page.links()


def test_a_test_between_two_is_drawn(site: HttpSite) -> None:
    page = page_of(site, f"/tournaments/{site.seeded.two_clients}")
    assert "LLR" in page.text
    assert "elo1 is accepted" in page.text
    assert "polyline" in page.tags()


def test_parts_of_a_tournament_are_fetched_by_themselves(site: HttpSite) -> None:
    address = f"/tournaments/{site.seeded.cup}"
    whole = site.ask(address).body.decode()
    for part in ("progress", "tables"):
        text = site.ask(f"{address}?part={part}").body.decode()
        assert "<html" not in text
        assert text.strip() in whole
    assert "part must be one of" in page_of(site, f"{address}?part=all", 400).text


def test_games_are_explained_and_drawn(site: HttpSite) -> None:
    page = page_of(site, "/games")
    for name in games.names():
        told = games.describe(name)
        assert told.about.replace("`", "") in page.text
        assert told.first_steps in page.text
        assert f"/?game={name}" in page.links()
        for variant in told.variants:
            assert variant.about in page.text
            assert f"/?{urlencode({'game': variant.game})}" in page.links()
    drawn = [1 + len(games.describe(name).variants) for name in games.names()]
    assert page.tags().count("figure") == sum(drawn)
    assert "max_take=3" in page.text
    assert "passes=true" in page.text


# Whatever was typed by somebody.


def test_names_are_text_and_nothing_else(site: HttpSite) -> None:
    seeded: Any = site.seeded
    player = f"/players/{quote(NASTY, safe='')}"
    for path in (
        "/matches",
        "/players",
        "/players?list=everybody",
        player,
        "/tournaments",
        f"/tournaments/{seeded.two_clients}",
        f"/matches?player={quote(NASTY)}",
    ):
        page = page_of(site, path)
        assert "b" not in page.tags(), path
        assert page.tags().count("h1") == 1
        expected = NASTY_TITLE if path.startswith("/tournaments") else NASTY
        assert expected in page.text, path
    assert "<i>1" in page_of(site, player).text
    assert page_of(site, player).matches()


def test_feed_readers_are_told_of_tournaments(site: HttpSite) -> None:
    """The elements that RFC 4287 requires, and links that a reader can follow."""
    answer = site.ask("/tournaments.atom")
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    names = {"": "http://www.w3.org/2005/Atom"}
    feed = ElementTree.fromstring(answer.body)
    entries = feed.findall("entry", names)
    ids = [str(each.findtext("id", "", names)) for each in (feed, *entries)]
    rounds = [each for each in entries if ": round " in str(each.findtext("title", "", names))]
    assert len(set(ids)) == len(ids) == site.get("tournaments")["total"] + len(rounds) + 1
    assert all(uuid.UUID(each.removeprefix("urn:uuid:")) for each in ids)
    times = [each.findtext("updated", "", names) for each in entries]
    assert max(times) == feed.findtext("updated", "", names)
    assert feed.findtext("author/name", "", names)
    titles = []
    for each in entries:
        link = each.find("link", names)
        assert link is not None
        assert site.ask(str(link.get("href"))).status == 200
        titles.append(str(each.findtext("title", "", names)))
    assert f"{NASTY_TITLE} (over)" in titles
    listed = page_of(site, "/tournaments").elements
    assert any(each.get("href") == "/tournaments.atom" for tag, each in listed if tag == "link")


def test_a_calendar_has_the_tournaments(site: HttpSite) -> None:
    """Lines as RFC 5545 wants them, with escaped names."""
    answer = site.ask("/tournaments.ics")
    assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8"
    text = answer.body.decode()
    assert all(len(each.encode()) <= 75 for each in text.split("\r\n"))
    lines = text.replace("\r\n ", "").split("\r\n")
    assert (lines[0], lines[-2], lines[-1]) == ("BEGIN:VCALENDAR", "END:VCALENDAR", "")
    assert lines.count("BEGIN:VEVENT") == site.get("tournaments")["total"]
    name = NASTY_TITLE.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    assert f"SUMMARY:{name}" in lines


def test_a_puzzle_is_followed_to_its_end(site: HttpSite) -> None:
    puzzle = next(each for each in shipped_puzzles() if each.game == "connect_four")
    folder = "/puzzles/connect_four"
    assert folder in page_of(site, "/puzzles").links()
    assert page_of(site, f"{folder}?puzzle={puzzle.id}")
    listed = site.ask(f"{folder}/puzzles.json?player=Ann").json
    row = {"puzzle": puzzle.id, "turns": puzzle.turns, "rating": 1500.0, "attempts": 0}
    assert row in listed["puzzles"]
    assert (listed["rating"], listed["tried"]) == (1500.0, [])

    def state(*moves: int, more: str = "") -> Any:
        address = f"{folder}/{puzzle.id}.json?moves={','.join(map(str, moves))}{more}"
        return site.ask(address).json

    first = state()
    assert (first["state"], len(first["positions"])) == ("open", 1)
    legal = {each["action"] for each in first["legal_moves"]}
    (right,) = puzzle.solution
    for wrong in legal - {right.action}:
        answer = state(wrong)
        assert (answer["state"], answer["legal_moves"]) == ("wrong", [])
    moves, then = list[int](), puzzle.solution
    while then:
        moves.append(then[0].action)
        then = then[0].then
        assert state(*moves)["state"] == ("open" if then else "solved")
    whole = state(more="&solution=yes")
    assert len(whole["positions"]) == 1 + len(main_line(puzzle.solution))
    assert site.ask(f"{folder}/{puzzle.id}.json?moves=99").status == 400
    missing = site.ask(f"{folder}/none.json")
    assert missing.status == 404
    assert json.loads(missing.body) == {"error": "there is no puzzle 'none'"}


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nothing", 404, "there is nothing at this address."),
        ("/games/shogi", 404, "there is no game 'shogi' here."),
        ("/puzzles/go", 404, "this server has no puzzles of go."),
        ("/puzzles/shogi", 400, "unknown game 'shogi'"),
        ("/players/nobody", 404, "'nobody'"),
        ("/players/guest-1", 404, "Guests have no page"),
        ("/players/%3Cscript%3E", 404, "<script>"),
        ("/tournaments/nope", 404, "There is no tournament 'nope'"),
        ("/tournaments/..%2f..%2fetc%2fpasswd", 400, "an id has at most"),
        ("/tournaments/../../../../etc/passwd", 400, "an id has at most"),
        ("/players/..%2f..%2f..%2fetc%2fpasswd", 404, "No player has the name"),
        ("/static/..%2fsite.py", 404, "there is nothing at this address."),
        ("/static/../site.py", 404, "there is nothing at this address."),
        ("/matches?page=0", 400, "page must be a whole number"),
        ("/matches?game=%3Cscript%3E", 400, "<script>"),
        ("/players?game=shogi", 400, "unknown game 'shogi'"),
        ("/players/%00", 400, "characters, all printable"),
        (f"/players/{'x' * 500}", 400, "at most 32 characters"),
        ("/matches?colour=red", 400, "unknown parameter 'colour'"),
        ("/matches?player=%ff", 400, "not UTF-8"),
    ],
)
def test_an_unknown_address_has_an_error_page(
    site: HttpSite, path: str, status: int, said: str
) -> None:
    page = page_of(site, path, status)
    assert said in page.text
    assert "/tournaments" in page.links()
    assert "root:" not in page.text


def test_a_disconnecting_browser_does_no_harm(site: HttpSite) -> None:
    assert site.server.page
    for _ in range(20):
        with contextlib.closing(socket.create_connection(site.server.page)) as line:
            line.sendall(b"GET /players/Ann HTTP/1.1\r\nHost: x\r\n\r\n")
    page_of(site, "/players/Ann")  # and the log, in the end, has no traceback


# Servers that have little or nothing to show.


def pages_of(server: RunningServer) -> HttpSite:
    return HttpSite(server, None)  # type: ignore[arg-type]


def test_without_a_database_there_is_what_runs(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o700)
    options = ("--database", "none", "--http", "127.0.0.1:0", "--open")
    with running_server(*options, env={"BROWSER": f"{browser} %s"}) as server:
        site = pages_of(server)
        assert "No match has been finished" in page_of(site, "/matches").text
        assert "No player has registered" in page_of(site, "/players").text
        assert "There are no tournaments" in page_of(site, "/tournaments").text
        page_of(site, "/games")
        page_of(site, "/players/Ann", 404)
        page_of(site, "/tournaments/1", 404)
        with site.client() as client:
            client.hello("Ann")
            client.ask("seek", game=NIM)
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log
    assert server.page
    wait_until(opened.exists, "the browser")
    assert opened.read_text() == f"http://127.0.0.1:{server.page[1]}/\n"


def test_a_tournament_that_is_not_valid_is_listed_as_unreadable(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/playout.db"
    database = Database(url)
    database.migrate()
    specs = {
        "anchor": dumps(spec_of(anchor="Nobody")),
        "bounds": dumps(spec_of(format="sprt", sprt=Sprt(-1e308, 1e308))),
        "empty": "{}",
        "good": dumps(spec_of()),
    }
    for key, spec in specs.items():
        database.save([TournamentCreated(tournament=key, name=key, spec=spec, at=1.0)])
    database.close()
    with running_server("--database", url, "--http", "127.0.0.1:0") as server:
        site = pages_of(server)
        page = page_of(site, "/tournaments")
        assert page.text.count("unreadable") == 3
        for key in specs.keys() - {"good"}:
            assert "cannot be shown" in page_of(site, f"/tournaments/{key}", 404).text
            status, error = site.refused(f"tournaments/{key}")
            assert status == 404
            assert f"tournament {key} cannot be shown: " in error
        page_of(site, "/tournaments/good")
        listed = site.get("tournaments")["items"]
        assert {each["tournament"]: each["format"] for each in listed} == {
            "anchor": "round_robin", "bounds": "sprt", "empty": "", "good": "round_robin"
        }  # fmt: skip
        code, log = server.stop()
    assert code == 0, log
    assert log.count("cannot continue, and stays as it is") == 3
    assert "Traceback" not in log


def test_a_database_that_fails_is_no_fault_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "playout.db"
    with running_server("--database", f"sqlite:///{file}", "--http", "127.0.0.1:0") as server:
        site = pages_of(server)
        for path in LISTS:
            page_of(site, path)
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute("ALTER TABLE matches RENAME TO lost")
        for path in ("/matches", "/tournaments", "/matches?player=Ann"):
            page = page_of(site, path, 503)
            assert "does not answer at the moment" in page.text
            assert "sqlite" not in page.text.lower()
        page_of(site, "/games")
        _, log = server.stop()
    assert "the database cannot be read" in log
    assert "Traceback" not in log
