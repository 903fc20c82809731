"""Matches with chance on a server: a person, a class, a script, an engine and an agent play."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playout.players.engines.config import search_path
from support.agents import played_to_the_end, tools_of
from support.commands import RunningServer, finish, invoke, running_server, start
from support.requirements import skip_without

PIG = "pig(winscore=20)"
CLASS = """
import random

from playout import Player, PlayResult


class Own(Player):
    def moved(self, seat, position):
        if seat == 0:
            print("rolled", position.move_name(), flush=True)

    def choose(self, position, limit, report=None):
        return PlayResult(random.choice(position.legal_actions))
"""
SCRIPT = """
import readline from "node:readline";

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { legal_actions: legal } = JSON.parse(line);
  console.log(legal[Math.floor(Math.random() * legal.length)]);
}
"""


class DiceServer(NamedTuple):
    """A server, the options that name its database, and a folder."""

    server: RunningServer
    database: tuple[str, str]
    folder: Path

    def play(self, game: str, player: str, name: str, opponent: str, text: str = "") -> str:
        """Play a match; return the output of `playout-player`."""
        terms = ("--opponent", opponent, "--clock", "120d12", *self.server.address)
        words = (game, player, "--name", name, *terms)
        code, output = finish(start("playout-player", *words, cwd=self.folder), text)
        assert code == 0, output
        return output

    def verify(self, output: str) -> None:
        """The rolls of the match in an output follow from its key."""
        (match,) = set(re.findall(r"Match (\w+):", output))
        code, told = invoke("playout-server", "verify", match, *self.database)
        assert (code, "rolls: all follow from the key" in told) == (0, True), told


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiceServer]:
    folder = tmp_path_factory.mktemp("chance")
    (folder / "own_pig.py").write_text(CLASS)
    (folder / "script.mjs").write_text(SCRIPT)
    (folder / "engines.toml").write_text(
        f"[script]\ncommand = \"node '{folder}/script.mjs'\"\nprotocol = 'lines'\n"
        "[gnubg]\ncommand = 'gnubg -t -q -r'\nprotocol = 'gnubg'\n"
    )
    database = ("--database", f"sqlite:///{folder}/playout.db")
    with running_server(*database) as server:
        yield DiceServer(server, database, folder)


def test_a_person_a_class_and_a_script_play_on_one_server(site: DiceServer) -> None:
    """The rolls of their matches follow from the keys."""
    if shutil.which("node") is None:
        skip_without("it needs Node (apt install nodejs npm)")
    script = f"engine(name=script,file={site.folder}/engines.toml)"
    players = (
        (PIG, "human", "Ada", "Cy", "roll\nhold\n" * 400),
        (PIG, "own_pig:Own", "Cy", "Ada"),
        (PIG, script, "Di", "Eve"),
        (PIG, "own_pig:Own", "Eve", "Di"),
    )
    with ThreadPoolExecutor() as pool:
        person, own, other, _ = pool.map(lambda each: site.play(*each), players)
    assert "The roll is " in person
    assert "You won!" in person or "You lost." in person
    assert own.count("rolled ") > 3
    site.verify(person)
    site.verify(other)


def test_gnubg_and_an_agent_play_on_that_server(site: DiceServer) -> None:
    """They play a match of two points, with the doubling cube."""
    if shutil.which("gnubg", path=search_path()) is None:
        skip_without("gnubg (apt install gnubg)")
    engine = f"engine(name=gnubg,file={site.folder}/engines.toml)"

    async def play() -> dict[str, Any]:
        words = ("mcp", *site.server.address, "--name", "Mia")
        async with tools_of("playout-bridge", words, site.folder) as call:
            terms = {"opponent": "Gil", "clock": "120d12"}
            state = await call("new_match", game="backgammon(points=2)", **terms)
            return await played_to_the_end(call, state)

    with ThreadPoolExecutor() as pool:
        output = pool.submit(site.play, "backgammon(points=2)", engine, "Gil", "Mia")
        state = asyncio.run(play())
        assert state["winner"] in (1, 2), state
        site.verify(output.result())
