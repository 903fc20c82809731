"""`playout-server --lab`: tests of several authors, from the submission to the verdict."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.commands import run
from support.lab_queues import QueueServer
from support.repositories import CENTRAL, LINES_TOML, RANDOM, BotRepository


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_test_is_handed_in_by_command_and_has_the_verdict_of_the_laboratory(
    tmp_path: Path,
) -> None:
    made = BotRepository(tmp_path / "bot")
    made.commit({"bot.toml": LINES_TOML, "bot.py": RANDOM})
    made.write({"bot.py": CENTRAL})
    queue = QueueServer(tmp_path)
    token = queue.account("Ada")
    words = ("--folder", str(made.top), "--site", queue.site, "--name", "Ada")
    summary = tmp_path / "summary.md"
    with queue.running():
        code, output = run(
            "playout-lab", "submit", *words, "--token-file", str(token), "--summary", str(summary)
        )
        assert code == 0, output
        assert re.search(
            r"^working tree \w{7} is stronger than \w{7} \w{7} \(test 1, ", output, re.M
        )
        told = queue.told(1)
    assert (told["state"], told["author"], told["tried"]) == ("stronger", "Ada", 0)
    assert [each["state"] for each in told["history"]] == [
        *("waiting", "building", "running", "stronger")
    ]
    assert told["verdict"] in summary.read_text()
    (slots,) = queue.fixtures()
    assert len(slots) == len(set(slots)) >= 2 * told["pairs"]
