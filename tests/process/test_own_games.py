"""Games of files in the folder of a command: served, played, and closed to names of others."""

from __future__ import annotations

import contextlib
import re
import shlex
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from support.commands import RunningServer, finish_all, invoke, run, running_server, start
from support.raw_client import RawClient

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-game.md"
#: A module that tells that it was imported.
INTRUDER = """
import pathlib
from playout.games.nim import Nim

pathlib.Path(__file__).with_suffix(".imported").touch()

class Intruder(Nim):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example game of the documents, and with a module that nobody named."""
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found
    (tmp_path / "my_game.py").write_text(found[1])
    (tmp_path / "intruder.py").write_text(INTRUDER)
    return tmp_path


def test_a_game_of_a_file_is_served_and_played_also_by_a_bot_of_the_server(folder: Path) -> None:
    own = ("--game", "my_game:Chomp", "--bots", "1", "--bot", "random", "--ladder", "chomp(rows=3)")
    with running_server(*own, cwd=folder) as server:
        game = ("playout-player", "my_game:Chomp(rows=3)")
        uct = start(*game, "uct(simulations=20)", *server.address, cwd=folder)
        other = start(*game, "random(seed=1)", *server.address, cwd=folder)
        for code, output in finish_all(uct, other):
            assert code == 0, output
            assert "chomp(rows=3)" in output
            assert "(rules)" in output
        with RawClient(server.host, server.port) as client:
            client.hello()
            client.say("challenge_bot", game="chomp", player="random", seat=1)
            match = client.hear_until("started")["match"]
            client.say("move", match=match, ply=0, action=19)
            assert client.hear_until("update", ply=1)["player"] == 2


def test_a_player_says_how_a_server_knows_its_game(folder: Path, server: RunningServer) -> None:
    game = ("playout-player", "my_game:Chomp", "random")
    code, output = run(*game, *server.address, cwd=folder)
    assert code == 1
    assert "unknown game 'chomp'" in output
    assert "started with --game my_game:Chomp" in output


def test_entrants_know_the_game_of_a_tournament(folder: Path) -> None:
    match = ("match", "my_game:Chomp(rows=2,columns=2)", "random(seed=1)", "random(seed=2)")
    code, output = run(
        *("playout-tournament", *match, "--pairs", "1", "--openings", "0", "--clock", "60+1"),
        *("--database", f"sqlite:///{folder}/own.db"),
        cwd=folder,
    )
    assert code == 0, output
    assert re.search(r"^pairs +1$", output, re.MULTILINE), output
    report = ("report", "--database", f"sqlite:///{folder}/own.db")
    code, output = run("playout-tournament", "--game", "my_game:Chomp", *report, cwd=folder)
    assert code == 0, output


def test_training_knows_a_game_with_compiled_rules(folder: Path) -> None:
    rules = (
        "from playout.games.tic_tac_toe import TicTacToe\n\nclass OwnRules(TicTacToe):\n    pass\n"
    )
    (folder / "compiled.py").write_text(rules)
    code, output = run("playout-train", "new", "compiled:OwnRules", "made", cwd=folder)
    assert code == 0, output
    assert "Next: playout-train --game compiled:OwnRules run made" in output
    assert "own_rules" in (folder / "made" / "settings.toml").read_text()
    status = ("--game", "compiled:OwnRules", "status", "made")
    code, output = run("playout-train", *status, cwd=folder)
    assert code == 0, output


def test_printed_commands_learn_an_evaluation_of_a_game_in_plain_python(folder: Path) -> None:
    code, output = run(
        "playout-train", "new", "my_game:Chomp(rows=3)", "made", "--evaluation", cwd=folder
    )
    for printed, more in (
        ("Next: ", ("--games", "50")),
        ("export it: ", ()),
        ("play with it: ", ("--check",)),
    ):
        assert code == 0, output
        command = shlex.split(output.partition(printed)[2].partition("\n")[0])
        code, output = run(*command, *more, cwd=folder)
    assert code == 0, output


@pytest.mark.parametrize("name", ["intruder:Intruder", "os:system", "my_game:Chomp"])
def test_a_name_of_a_peer_imports_nothing(folder: Path, name: str) -> None:
    options = ("--game", "my_game:Chomp", "--http", "127.0.0.1:0", "--analyses", "1")
    with running_server(*options, "--bots", "1", cwd=folder) as server:
        with RawClient(server.host, server.port) as client:
            client.hello()
            for kind, fields in {
                "seek": {},
                "challenge_bot": {"player": "Playout Easy"},
                "analyse": {"moves": []},
            }.items():
                error = client.ask(kind, game=name, **fields)
                assert (error["type"], error["code"]) == ("error", "bad_game"), error
                assert "unknown game" in error["text"]
        assert server.page
        at = "http://{}:{}".format(*server.page)
        for path in ("/?game={}", "/matches?game={}", "/api/matches?game={}", "/players?game={}"):
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(at + path.format(name)).close()
    assert not (folder / "intruder.imported").exists()


def test_an_option_that_names_no_game_is_refused() -> None:
    for command in ("playout-server", "playout-tournament", "playout-train"):
        for text in ("chomp", "no_such_file:Game"):
            code, output = invoke(command, "--game", text, "list")
            assert code == 2, output
            assert "'--game'" in output
    code, output = invoke("playout-player", "no_such_file:Game", "uct")
    assert code == 2
    assert "No module named 'no_such_file'" in output
