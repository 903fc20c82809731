"""Plugins: the example game and player of the documents, installed and from a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.commands import RunningServer, finish_all, run, running_server, start
from support.documents import program
from support.raw_client import RawClient

LONGEST = 60


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with both examples and the entry points of an installed package."""
    (tmp_path / "chomp.py").write_text(program("docs/writing-a-game.md"))
    (tmp_path / "cautious.py").write_text(program("docs/writing-a-bot.md"))
    (tmp_path / "broken.py").write_text("raise RuntimeError('not today')")
    info = tmp_path / "examples-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: examples\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[playout.games]\nchomp = chomp:Chomp\nbroken = broken:Game\n"
        "[playout.players]\ncautious = cautious:Cautious\n"
    )
    return tmp_path


@pytest.mark.parametrize("document", ["docs/writing-a-game.md", "docs/writing-a-bot.md"])
def test_an_example_is_short(document: str) -> None:
    assert len(program(document).splitlines()) <= LONGEST


def test_a_game_in_plain_python_is_served_and_played_also_by_uct(site: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(site)}
    with running_server(env={"PYTHONPATH": str(site)}) as server:
        several = ("--matches", "3", *server.address)
        uct = start(
            *("playout-player", "chomp(rows=3)", "uct(simulations=300,seed=1)", "--seat", "1"),
            *several,
            env=env,
        )
        other = start(
            *("playout-player", "chomp(rows=3,columns=5)", "random(seed=1)", "--seat", "2"),
            *several,
            env=env,
        )
        for code, output in finish_all(other, uct):
            assert code == 0, output
        won = int(output.splitlines()[-1].split()[0])
        assert won >= 2


def test_installed_games_and_players_are_listed_and_a_broken_one_is_named(site: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(site)}
    output = run("playout-player", "--help", env=env)[1]
    assert "chomp" in output
    assert "cautious" in output
    code, output = run("playout-player", "broken", "uct", env=env)
    assert code == 2
    assert "not today" in output
    with running_server(env={"PYTHONPATH": str(site)}) as server:  # continues without it
        assert server.stop()[0] == 0


@pytest.mark.parametrize("player", ["cautious", "cautious:Cautious"])
def test_a_player_of_another_package_plays(site: Path, player: str, server: RunningServer) -> None:
    """It is loaded from an entry point, or from the current folder by module and class."""
    env = os.environ | ({"PYTHONPATH": str(site)} if ":" not in player else {})
    theirs = start("playout-player", "connect_four", player, *server.address, env=env, cwd=site)
    random_ = start("playout-player", "connect_four", "random", *server.address)
    for code, output in finish_all(theirs, random_):
        assert code == 0, output
        assert "(rules)" in output


FAULTY_PLAYER = """
import numpy as np
from playout.players import PlayResult, Info, Player

class Faulty(Player):
    def __init__(self, game, how: str = ""):
        super().__init__(game)
        self.how = how

    def started(self, seat, opponent, position):
        if self.how == "started":
            raise LookupError("no book")

    def ended(self, winner, reason):
        if self.how == "ended":
            raise LookupError("no book")

    def choose(self, position, limit, report=None):
        first = position.legal_actions[0]
        return {
            "raises": lambda: 1 / 0,
            "nothing": lambda: None,
            "fraction": lambda: PlayResult(first + 0.5),
            "negative": lambda: PlayResult(-5),
            "boastful": lambda: PlayResult(first, Info(win_rate=1.5)),
            "numpy": lambda: PlayResult(np.int64(first), Info(win_rate=np.float64(0.5))),
        }.get(self.how, lambda: PlayResult(first))()
"""


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", "ZeroDivisionError"),
        ("nothing", "must return a PlayResult"),
        ("fraction", "TypeError"),
        ("negative", "at least 0"),
        ("boastful", "at most 1"),
        ("started", "no book"),
        ("ended", "no book"),
    ],
)
def test_a_player_that_fails_resigns_and_shows_why(
    tmp_path: Path, how: str, told: str, server: RunningServer
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY_PLAYER)
    spec = f"faulty:Faulty(how={how})"
    faulty = start("playout-player", "nim", spec, *server.address, cwd=tmp_path)
    random_ = start("playout-player", "nim", "random", *server.address)
    (code, output), (other_code, other_output) = finish_all(faulty, random_)
    assert code == 1, output
    assert told in output
    assert output.count("refused") <= 1
    assert other_code == 0
    assert how == "ended" or "crashed" in other_output


def test_numbers_of_numpy_will_do(tmp_path: Path, server: RunningServer) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY_PLAYER)
    spec = "faulty:Faulty(how=numpy)"
    theirs = start("playout-player", "nim", spec, *server.address, cwd=tmp_path)
    random_ = start("playout-player", "nim", "random", *server.address)
    for code, output in finish_all(theirs, random_):
        assert code == 0, output
        assert "(rules)" in output


PLANNER = """
from playout.players import PlayResult, Node, Player

class Planner(Player):
    ponders = True

    def choose(self, position, limit, report=None):
        self.first = position.legal_actions[0]
        return PlayResult(self.first)

    def ponder(self, position):
        self.cancelled.wait()

    def tree(self, min_visits=1):
        return Node(None, 10, 0.5, children=(Node(self.first, 10, 0.5),))
"""


def test_a_player_of_others_ponders_and_shows_its_tree(
    tmp_path: Path, server: RunningServer
) -> None:
    (tmp_path / "planner.py").write_text(PLANNER)
    for file, told in (("tree.png", ".mermaid"), ("no/tree.dot", "cannot write there")):
        refused = run("playout-player", "nim", "planner:Planner", "--tree", file, cwd=tmp_path)
        assert refused[0] == 2
        assert told in refused[1]
    several = ("--matches", "3", *server.address)
    planner = start(
        "playout-player", "nim", "planner:Planner", "--tree", "tree.dot", *several, cwd=tmp_path
    )
    uct = start("playout-player", "nim", "uct(time=0.02)", *several)
    for code, output in finish_all(planner, uct):
        assert code == 0, output
    assert "n0 -> n1" in (tmp_path / "tree.dot").read_text()


FAULTY_GAME = """
from playout.games import Game


class Faulty(Game):
    num_actions = max_plies = 3

    def initial_state(self):
        return (1, 0)

    def legal_actions(self, state):
        return (0, 1)

    def next_state(self, state, action):
        if len(state) == 4:
            return 1 / 0
        return (3 - state[0], 0, *state[2:], action)
"""


def test_a_match_of_a_game_plugin_that_fails_has_no_result(site: Path) -> None:
    """At the third move of a rated match; no connection ends."""
    (site / "faulty.py").write_text(FAULTY_GAME)
    points = site / "examples-1.0.dist-info" / "entry_points.txt"
    points.write_text("[playout.games]\nfaulty = faulty:Faulty\n")
    with (
        running_server(env={"PYTHONPATH": str(site)}) as server,
        RawClient(server.host, server.port) as ann,
        RawClient(server.host, server.port) as bob,
    ):
        ann.hello("Ann", guest=False)
        bob.hello("Bob", guest=False)
        ann.say("seek", game="faulty", seat=1, clock="2+0", rated=True)
        bob.say("seek", game="faulty", rated=True)
        match = ann.hear_until("started")["match"]
        ann.ask("move", match=match, ply=0, action=0)
        bob.hear_until("update")
        bob.ask("move", match=match, ply=1, action=1)
        ann.hear_until("update", ply=1)
        error = ann.ask("move", match=match, ply=2, action=0)
        assert (error["type"], error["code"]) == ("error", "internal")
        assert "ZeroDivisionError" not in error["text"]
        for client in (ann, bob):
            ended = client.hear_until("ended")
            assert (ended["reason"], ended.get("winner", 0)) == ("aborted", 0)
            assert client.is_alive()
        code, log = server.stop()
    assert code == 0
    (line,) = (each for each in log.splitlines() if "ZeroDivisionError" in each)
    assert all(text in line for text in (match, "faulty", "(1, 0, 0, 1)", "action 0"))
