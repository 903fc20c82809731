"""The API of a real server over HTTP: stored and running matches."""

from __future__ import annotations

import gzip
import html
import json

import pytest

from playout import games
from playout.ratings.leaderboard import ANCHOR
from support.commands import running_server
from support.http_site import HttpSite
from support.seeded_database import GAME, MEMBERS, NIM, THOUGHT, TIED, TOURNAMENT_MATCHES
from support.two_clients import TwoClients

# Lists.


def test_matches_that_have_ended(seeded_site: HttpSite) -> None:
    seeded = seeded_site.seeded
    found = seeded_site.get("matches?player=Ann&per_page=3")
    assert [each["match"] for each in found["items"]] == [seeded.resigned, seeded.tied, seeded.won]
    assert (found["page"], found["pages"], found["total"]) == (1, 3, 7)
    assert found["items"][0] == {
        "match": seeded.resigned,
        "game": GAME,
        "players": ["guest-1", "Ann"],
        "linked": [False, True],
        "clock": "300+3",
        "rated": False,
        "plies": 0,
        "started_at": found["items"][0]["started_at"],
        "ended_at": found["items"][0]["ended_at"],
        "winner": 1,
        "reason": "resignation",
        "text": "Ann resigned",
        "tournament": None,
        "reported": False,
    }


def test_matches_are_chosen_by_game_player_and_tournament(seeded_site: HttpSite) -> None:
    seeded = seeded_site.seeded
    assert seeded_site.ids("matches?game=nim(chips=7)") == [seeded.nim]
    assert seeded_site.ids("matches?game=%20nim%28chips%3D7%29") == [seeded.nim]
    assert seeded_site.ids("matches?player=guest-1") == [seeded.nim, seeded.resigned]
    assert seeded_site.ids(f"matches?player=ANN&game={GAME}&page=1&per_page=2") == [
        seeded.resigned, seeded.tied
    ]  # fmt: skip
    assert seeded_site.ids("matches?player=bob&opponent=guest-1") == [seeded.nim]
    assert len(seeded_site.ids(f"matches?tournament={seeded.cup}")) == TOURNAMENT_MATCHES
    assert seeded_site.ids("matches?tournament=none&player=&game=") == []


def test_running_matches_are_those_at_the_tables(seeded_site: HttpSite) -> None:
    with seeded_site.client() as first, seeded_site.client() as second:
        two_clients = TwoClients(first, second)
        two_clients.play(2)
        found = seeded_site.get("matches?state=running")
        assert [each["match"] for each in found["items"]] == [
            two_clients.match,
            seeded_site.seeded.unfinished,
        ]
        running = found["items"][0]
        assert (running["plies"], running["ended_at"], running["winner"]) == (2, None, None)
        assert running["linked"] == [False, False]
        assert found["items"][1]["linked"] == [True, True]
        assert seeded_site.ids("matches?state=running&player=cyd") == [
            seeded_site.seeded.unfinished
        ]
        assert seeded_site.ids("matches?state=running&per_page=1&page=2") == [
            seeded_site.seeded.unfinished
        ]
        assert seeded_site.ids(f"matches?state=running&tournament={seeded_site.seeded.cup}") == []
        two_clients.finish()


def test_players_and_their_ratings(seeded_site: HttpSite) -> None:
    found = seeded_site.get("players")
    assert {each["name"] for each in found["items"]} == set(MEMBERS)
    assert found["items"][-1]["name"] == "Dan"
    assert found["items"][-1]["totals"]["matches"] == 0
    rated = seeded_site.get(f"players?game={GAME}&per_page=3")
    assert (len(rated["items"]), rated["total"], rated["matches"]) == (3, 5, TOURNAMENT_MATCHES + 2)
    assert [each["rating"] for each in rated["items"]] == sorted(
        (each["rating"] for each in rated["items"]), reverse=True
    )
    everybody = seeded_site.get(f"players?game={GAME}")["items"]
    (anchor,) = (e for e in everybody if [e["name"], e["version"]] == rated["anchor"])
    assert (anchor["rating"], anchor["error"]) == (ANCHOR, 0)
    assert seeded_site.get("players?game=othello")["items"] == []


def test_tournaments_games_and_seeks(seeded_site: HttpSite) -> None:
    (cup,) = seeded_site.get("tournaments")["items"]
    assert (cup["tournament"], cup["name"], cup["matches"]) == (seeded_site.seeded.cup, "a cup", 6)
    described = {each["name"]: each for each in seeded_site.get("games")["items"]}
    assert set(described) == set(games.names())
    assert described["nim"]["parameters"][0]["name"] == "chips"
    assert all(each["about"] for each in described.values())
    assert seeded_site.get("seeks")["items"] == []
    with seeded_site.client() as seeker:
        seeker.hello("seeker")
        asked = seeker.ask("seek", game=NIM, clock="1/move", seat=2)
        (seek,) = seeded_site.get("seeks")["items"]
        del asked["re"]
        assert seek == asked


# Single ones.


def test_a_match_has_every_position(seeded_site: HttpSite) -> None:
    found = seeded_site.get(f"matches/{seeded_site.seeded.tied}")
    assert (found["players"], found["to_move"], found["linked"]) == (["Ann", "Bob"], 0, [True] * 2)
    assert found["result"]["winner"] == -1
    assert found["board"]["columns"] == 3
    positions = found["positions"]
    assert [each["ply"] for each in positions] == list(range(10))
    assert [each["action"] for each in positions[1:]] == list(TIED)
    assert [each["player"] for each in positions[1:]] == [1, 2, 1, 2, 1, 2, 1, 2, 1]
    assert positions[0]["view"]["cells"] == [0] * 9
    assert positions[-1]["view"]["cells"] == [1, 2, 1, 1, 2, 2, 2, 1, 1]
    assert positions[1]["view"]["last"] == [0]


def test_analysis_of_a_bot_is_with_its_move(seeded_site: HttpSite) -> None:
    thought = seeded_site.get(f"matches/{seeded_site.seeded.tied}")["positions"][1]
    assert thought["info"] == {"win_rate": 0.75, "simulations": 100, "seconds": 0.25}
    assert thought["view"]["pv"] == ["a1", "b1"]
    tops = thought["view"]["candidates"]
    assert [each["visits"] for each in tops] == [20, 19, 18, 17, 16]
    assert {each["win_rate"] for each in tops} == {0.1235}
    assert len(tops) < len(THOUGHT.actions)


def test_a_match_that_is_played_is_shown_as_it_stands(seeded_site: HttpSite) -> None:
    unfinished = seeded_site.get(f"matches/{seeded_site.seeded.unfinished}")
    assert ("result" in unfinished, unfinished["to_move"]) == (False, 1)
    assert len(unfinished["positions"]) == 3
    with seeded_site.client() as first, seeded_site.client() as second:
        two_clients = TwoClients(first, second, clock="300+3")
        two_clients.play(1)
        found = seeded_site.get(f"matches/{two_clients.match}")
        assert [each.get("action") for each in found["positions"]] == [None, 0]
        assert 0 < found["clocks"][1]["main_s"] < 300
        assert found["to_move"] == 2
        two_clients.play(2)
        assert len(seeded_site.get(f"matches/{two_clients.match}")["positions"]) == 4
        two_clients.finish()
        over = seeded_site.get(f"matches/{two_clients.match}")
        assert (over["result"]["winner"], "clocks" in over) == (1, False)


def test_a_player_and_how_it_has_become_so_strong(seeded_site: HttpSite) -> None:
    found = seeded_site.get("players/ann")
    assert found["name"] == "Ann"
    (record,) = found["games"]
    assert record["totals"]["matches"] == 7
    versions = {each["entry"]["version"]: each for each in record["versions"]}
    assert set(versions) == {"", "1"}
    for each in versions.values():
        last = each["history"][-1]
        assert (last["rating"], last["matches"]) == (
            each["entry"]["rating"],
            each["entry"]["matches"],
        )


def test_a_tournament_is_its_report(seeded_site: HttpSite) -> None:
    found = seeded_site.get(f"tournaments/{seeded_site.seeded.cup}")
    assert found["tournament"] == seeded_site.seeded.cup
    assert found["ended_at"] >= found["started_at"]
    report = found["report"]
    assert (report["name"], report["done"]) == ("a cup", 3)
    assert len(report["crosstable"]) == len(report["standings"]) == 3


# How it is asked.


def test_everybody_may_read_and_ask_whether_there_is_news(seeded_site: HttpSite) -> None:
    answer = seeded_site.ask("/api/games", Origin="https://elsewhere.example")
    assert "Access-Control-Allow-Origin" not in answer.headers  # only this machine can connect
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    again = seeded_site.ask("/api/games", If_None_Match=answer.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    packed = seeded_site.ask("/api/games", Accept_Encoding="gzip")
    assert json.loads(gzip.decompress(packed.body)) == answer.json
    head = seeded_site.ask("/api/games", "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == answer.headers["Content-Length"]


def test_nothing_can_be_written(seeded_site: HttpSite) -> None:
    for method in ("POST", "PUT", "DELETE"):
        answer = seeded_site.ask("/api/matches", method)
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        assert "only GET and HEAD" in answer.json["error"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("matches?page=-1", "page must be a whole number from 1 to 1000000, not '-1'"),
        ("matches?page=0", "page must be a whole number"),
        ("matches?page=1e9", "page must be a whole number"),
        ("matches?page=1000001", "page must be a whole number"),
        ("matches?page=%D9%A1", "page must be a whole number"),
        (f"matches?page={'9' * 400}", "page must be a whole number"),
        ("players?per_page=100000", "per_page must be a whole number from 1 to 200"),
        ("matches?state=lost", "state must be one of finished, running, not 'lost'"),
        ("matches?result=draw", "result must be one of lost, none, tied, won, not 'draw'"),
        ("matches?since=1.12.2026", "since must be a day such as 2026-11-22, not '1.12.2026'"),
        ("matches?until=10000-01-01", "until must be a day"),
        ("matches?game=shogi", "unknown game 'shogi'"),
        ("matches?game=nim(chips=many)", "chips must be a whole number"),
        ("players?game=mnk(m=100)", "m must be from"),
        ("matches?player=%00", "characters, all printable"),
        (f"matches?player={'x' * 33}", "at most 32 characters"),
        ("players/Ann%00", "characters, all printable"),
        ("matches?tournament=..%2f", "an id has at most"),
        ("matches/..%2f..%2fetc%2fpasswd", "an id has at most"),
        ("matches/%00", "an id has at most"),
        ("tournaments/a'b", "an id has at most"),
        ("matches?colour=red", "allowed are game, opponent, page, per_page, player, result, since"),
        ("players/Ann?page=1", "unknown parameter 'page': none are allowed"),
    ],
)
def test_invalid_parameters_are_explained(seeded_site: HttpSite, path: str, said: str) -> None:
    status, error = seeded_site.refused(path)
    assert status == 400
    assert said in error


@pytest.mark.parametrize(
    "path",
    ["matches/none", "players/Nobody", "players/guest-1", "tournaments/none", "matches/a/b",
     "games/nim", "seeks/1", "", "nothing", "matches/", "../api/matches/x/y", "players/a%2fb"],
)  # fmt: skip
def test_unknown_items_are_not_found(seeded_site: HttpSite, path: str) -> None:
    assert seeded_site.refused(path)[0] == 404


@pytest.mark.parametrize("path", ["/api/%ff", "/api/matches?player=%ff", "/api/../../etc/passwd"])
def test_odd_addresses_lead_nowhere(seeded_site: HttpSite, path: str) -> None:
    assert seeded_site.ask(path).status in (400, 404)


def test_pages_beyond_the_last_are_empty(seeded_site: HttpSite) -> None:
    for kind in ("matches", "players", "tournaments", "games", "seeks"):
        found = seeded_site.get(f"{kind}?page=1000000&per_page=200")
        assert found["items"] == []
        assert found["page"] == 1_000_000 > found["pages"]


# Files.


def test_a_match_can_be_had_as_a_file(seeded_site: HttpSite) -> None:
    seeded = seeded_site.seeded
    answer = seeded_site.ask(f"/matches/{seeded.won}.pgn")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{seeded.won}.pgn"'
    assert b'[White "Ann"]' in answer.body
    assert seeded_site.ask(f"/matches/{seeded.won}.sgf").body.startswith(b"(;")
    line = seeded_site.ask(f"/matches/{seeded.tied}.json").json
    assert (line["match"], len(line["moves"][0]["info"]["actions"])) == (seeded.tied, 9)
    assert seeded_site.ask(f"/matches/{seeded.unfinished}.json").json["finished"] is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("{nim}.sgf", "cannot be written as sgf"),
        ("none.pgn", "there is no match 'none'"),
        ("{won}.exe", "{won}.json, {won}.pgn, {won}.sgf"),
        ("..%2f.json", ""),
    ],
)
def test_a_file_that_cannot_be_had_is_explained(
    seeded_site: HttpSite, name: str, said: str
) -> None:
    ids = vars(seeded_site.seeded)
    answer = seeded_site.ask(f"/matches/{name.format(**ids)}")
    assert answer.status in (400, 404)
    assert said.format(**ids) in html.unescape(answer.body.decode())


# Without a database.


def test_a_server_that_stores_nothing_shows_what_is_played(tmp_path: object) -> None:
    with running_server("--database", "none", "--http", "127.0.0.1:0") as server:
        bare = HttpSite(server, None)  # type: ignore[arg-type]
        with bare.client() as first, bare.client() as second:
            two_clients = TwoClients(first, second)
            two_clients.play(3)
            found = bare.get(f"matches/{two_clients.match}")
            assert [each.get("action") for each in found["positions"]] == [None, 0, 3, 1]
            assert bare.ids("matches?state=running") == [two_clients.match]
            # Nothing is stored, so there is nothing to download.
            assert b" download>" not in bare.ask(f"/matches/{two_clients.match}").body
            two_clients.finish()
            assert bare.refused(f"matches/{two_clients.match}")[0] == 404
        for kind in ("matches", "players", "tournaments"):
            assert bare.get(kind)["items"] == []
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log
