"""Matches with chance on a server, by a person, a Python class and a script in JavaScript."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.commands import finish, invoke, running_server, start
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


def test_a_person_a_class_and_a_script_play_on_one_server(tmp_path: Path) -> None:
    """The rolls of their matches follow from the keys."""
    if shutil.which("node") is None:
        skip_without("it needs Node (apt install nodejs npm)")
    (tmp_path / "own_pig.py").write_text(CLASS)
    (tmp_path / "script.mjs").write_text(SCRIPT)
    engine = f"[script]\ncommand = \"node '{tmp_path}/script.mjs'\"\nprotocol = 'lines'\n"
    (tmp_path / "engines.toml").write_text(engine)
    database = ("--database", f"sqlite:///{tmp_path}/playout.db")
    with running_server(*database) as server, ThreadPoolExecutor() as pool:

        def plays(name: str, opponent: str, player: str, text: str = "") -> tuple[int, str]:
            terms = ("--opponent", opponent, "--clock", "120d12", *server.address)
            words = (PIG, player, "--name", name, *terms)
            return finish(start("playout-player", *words, cwd=tmp_path), text)

        players = (
            ("Ada", "Cy", "human", "roll\nhold\n" * 400),
            ("Cy", "Ada", "own_pig:Own"),
            ("Di", "Eve", f"engine(name=script,file={tmp_path}/engines.toml)"),
            ("Eve", "Di", "own_pig:Own"),
        )
        done = list(pool.map(lambda each: plays(*each), players))
        assert [code for code, _ in done] == [0] * 4, done
    person, own = done[0][1], done[1][1]
    assert "The roll is " in person
    assert "You won!" in person or "You lost." in person
    assert own.count("rolled ") > 3
    for _, output in done[::2]:
        (match,) = set(re.findall(r"Match (\w+):", output))
        code, told = invoke("playout-server", "verify", match, *database)
        assert (code, "rolls: all follow from the key" in told) == (0, True), told
