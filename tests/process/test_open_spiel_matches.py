"""Matches at the games of OpenSpiel through the server, its database, its page and its exports.

With `--slow` all games, a hundred matches each.
"""

from __future__ import annotations

import http.client
import json
import random
import typing
from collections.abc import Iterator
from pathlib import Path

import pyspiel
import pytest

from playout.games.open_spiel import GameName
from playout.server.export import jsonl
from playout.server.export.replay import check_result, replay
from support import scale
from support.commands import RunningServer, running_server
from support.raw_client import Message, RawClient

#: One with moves in a row by the same player, and one whose player 1 moves first.
GAMES = typing.get_args(GameName) if scale.slow else ("breakthrough", "dots_and_boxes", "antichess")
HOSTILE = ("game=efg_game", "game=hex,board_size=5000", "game=mnk,m=3000", "game=mnk(m=0)")
MATCHES = scale.repetitions(100, short=1)


class Quick(RawClient):
    """Does not check messages by the documents: the check of a long state takes milliseconds."""

    require_described = staticmethod(lambda message: None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    database = f"sqlite:///{tmp_path_factory.mktemp('site')}/playout.db"
    options = ("--http", "127.0.0.1:0", "--messages-per-s", "0", "--database", database)
    with running_server(*options) as server:
        yield server
        code, log = server.stop()
        assert code == 0, log
        assert "Traceback" not in log


@pytest.fixture(scope="module")
def two_bots(site: RunningServer) -> Iterator[tuple[RawClient, RawClient]]:
    kind = Quick if scale.slow else RawClient
    with kind(site.host, site.port) as first, kind(site.host, site.port) as second:
        for bot in (first, second):
            bot.hello(legal_actions=True)
        yield first, second


def fetched(site: RunningServer, path: str) -> str:
    assert site.page
    connection = http.client.HTTPConnection(*site.page, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    assert response.status == 200, f"{path}: {response.status}"
    return body


def outcome_of(state: pyspiel.State, first: int) -> int:
    """The winner as the server counts: 1 for the player who moved first, -1 for a tie."""
    difference = state.returns()[first] - state.returns()[1 - first]
    return -1 if difference == 0 else 1 if difference > 0 else 2


def play(
    bots: tuple[RawClient, RawClient], name: str, choose: random.Random
) -> tuple[Message, pyspiel.State]:
    """Play a random match, compare each message with OpenSpiel, and return its end."""
    for seat, bot in enumerate(bots, start=1):
        bot.heard.clear()  # a hundred matches of all games are 10 GB of messages
        bot.say("seek", game=f"open_spiel(game={name})", clock="none", seat=seat)
    said = [bot.hear_until("started") for bot in bots]
    match = said[0]["match"]
    two = {"players": 2} if name == "chinese_checkers" else {}
    state = pyspiel.load_game(name, two).new_initial_state()
    first = state.current_player()
    while not state.is_terminal():
        mover = 1 if state.current_player() == first else 2
        for each in said:
            assert each["to_move"] == each["state"][0] == mover
            assert each["state"][1] == 0
            assert each["state"][2:] == state.history()
            assert each["legal_actions"] == state.legal_actions()
        action = choose.choice(state.legal_actions())
        ply = len(state.history())
        state.apply_action(action)
        answer = bots[mover - 1].ask("move", match=match, ply=ply, action=action)
        assert answer["type"] == "update", answer
        said = [answer, bots[2 - mover].hear_until("update")]
    ended, _ = (bot.hear_until("ended", match=match) for bot in bots)
    assert ended["winner"] == outcome_of(state, first)
    assert ended["reason"] == "rules"
    return ended, state


@pytest.mark.timeout(600 if not scale.slow else 7200)
@pytest.mark.parametrize("name", GAMES)
def test_a_match_is_played_stored_shown_and_exported_as_open_spiel_plays_it(
    site: RunningServer, two_bots: tuple[RawClient, RawClient], name: str, tmp_path: Path
) -> None:
    for number in range(MATCHES):
        ended, state = play(two_bots, name, random.Random(f"{name} {number}"))
        where = f"/matches/{ended['match']}"
        data = json.loads(fetched(site, f"/api{where}"))
        assert data["board"]["geometry"] == "text"
        assert [each["action"] for each in data["positions"][1:]] == state.history()
        assert all(each["view"]["text"] for each in data["positions"])
        assert data["result"]["winner"] == ended["winner"]
        page = fetched(site, where)
        assert f"OpenSpiel (game {name})".replace("_", " ") in page
        assert page.count('<li class="of-player-') == len(state.history())
        stored = jsonl.read(fetched(site, f"{where}.json").encode(), 1)
        replayed = replay(stored)
        assert list(replayed.position.state[2:]) == state.history()
        assert stored.ended
        check_result(replayed, stored.ended)
        name_in_pgn = data["positions"][-1]["view"]["name"].replace("\\", "\\\\")  # hive's moves
        assert name_in_pgn in fetched(site, f"{where}.pgn")


def test_a_hostile_game_is_refused_in_one_sentence(site: RunningServer) -> None:
    with RawClient(site.host, site.port) as bot:
        bot.hello()
        for options in HOSTILE:
            answer = bot.ask("seek", game=f"open_spiel({options})", clock="none")
            assert answer["type"] == "error"
            assert "open_spiel" in answer["text"]
            assert "\n" not in answer["text"]
        assert bot.is_alive()
