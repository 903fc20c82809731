"""Entrants as processes: they play the matches of a tournament, and are killed and restarted."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.commands import RunningServer, finish, run, running_server, start
from support.raw_client import RawClient

GAMES = ["tic_tac_toe", "othello(size=4)"]
SPEC: dict[str, Any] = {
    "name": "two at two games",
    "games": GAMES,
    "format": "match",
    "entrants": [{"name": "Ada", "version": "1"}, {"name": "Bob", "version": "1"}],
    "rounds": 3,
    "clock": "30/move",
    "openings": {"plies": 1},
}


@pytest.fixture
def boss(tmp_path: Path) -> Iterator[tuple[RunningServer, RawClient]]:
    """A server, and its administrator."""
    database = ("--database", f"sqlite:///{tmp_path}/playout.db")
    code, output = run("playout-server", "accounts", "create", *database, "Boss")
    assert code == 0, output
    assert run("playout-server", "accounts", "admin", *database, "Boss")[0] == 0
    token = output.split()[-1]
    with (
        running_server(*database, "--take-over-after-s", "0.2") as server,
        RawClient(server.host, server.port) as client,
    ):
        assert client.hello("Boss", token=token)["type"] == "welcome"
        yield server, client


@contextmanager
def entrant(server: RunningServer, name: str) -> Iterator[subprocess.Popen[str]]:
    """One that plays all that it is given."""
    warm = [word for game in GAMES for word in ("--warm", game)]
    entered = ("--tournament", "any", "--name", name, *warm, *server.address, "--quiet")
    process = start("playout-player", "any", "uct(time=0.02)", *entered)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_player_whose_making_takes_longer_than_its_clock_loses_nothing(
    boss: tuple[RunningServer, RawClient], tmp_path: Path
) -> None:
    """It knows no game before it has joined: the documents' own command of an entrant."""
    server, client = boss
    (tmp_path / "slow.py").write_text(
        "import time\nfrom playout import Player, PlayResult\n\n"
        "class Slow(Player):\n"
        "    def __init__(self, game):\n        super().__init__(game)\n        time.sleep(2.2)\n"
        "    def choose(self, position, limit, report=None):\n"
        "        return PlayResult(position.legal_actions[0])\n"
    )
    spec = SPEC | {"clock": "2/move", "rounds": 1, "openings": {"plies": 0}}
    assert client.ask("create_tournament", spec=spec)["type"] == "tournament"
    with ExitStack() as stack:
        for name in ("Ada", "Bob"):
            words = ("--tournament", "any", "--name", name, *server.address, "--quiet")
            process = start("playout-player", "any", "slow:Slow", *words, cwd=tmp_path)
            stack.callback(process.communicate)
            stack.callback(process.kill)
        reasons = set()
        while (event := client.hear())["type"] == "fixture":
            reasons.add(event.get("reason", "rules"))
        assert reasons == {"rules"}


def test_entrants_that_are_stopped_and_started_again_lose_nothing(
    boss: tuple[RunningServer, RawClient],
) -> None:
    server, client = boss
    with ExitStack() as stack:
        ada = stack.enter_context(entrant(server, "Ada"))
        bob = stack.enter_context(entrant(server, "Bob"))
        assert client.ask("create_tournament", spec=SPEC)["type"] == "tournament"
        for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)):
            for _ in range(3):
                client.hear_until("fixture")
            ada.send_signal(number)
            assert finish(ada)[0] == code
            ada = stack.enter_context(entrant(server, "Ada"))
        reasons = set()
        while (event := client.hear())["type"] == "fixture":
            reasons.add(event.get("reason", "rules"))
        assert event["over"]
        assert reasons == {"rules"}
        for process in (ada, bob):
            process.send_signal(signal.SIGTERM)
            code, output = finish(process)
            assert code == 143
            assert "Traceback" not in output
