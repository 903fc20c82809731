"""`playout-lab mcp`, driven by the client of the official SDK as an agent that writes a bot."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from playout.bots.git_source import home_of
from support import scale
from support.agents import ToolCaller, tools_of
from support.commands import installed
from support.repositories import CENTRAL, LAB, LINES_TOML, RANDOM, BotRepository
from support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
LABORATORY = (ROOT / "docs" / "laboratory.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.long
def test_an_agent_mends_its_bot_until_it_is_stronger(tmp_path: Path) -> None:
    made = BotRepository(tmp_path / "bot")
    made.commit({"bot.toml": LINES_TOML, "bot.py": RANDOM, "lab.toml": LAB})

    async def work() -> None:
        homes = str(tmp_path / "laboratories")
        words = ("mcp", "--folder", str(made.top), "--laboratories", homes,
                 "--file", str(made.top / "lab.toml"))  # fmt: skip
        async with tools_of("playout-lab", words, tmp_path) as call:
            names = [tool.name for tool in (await call.client.list_tools()).tools]
            assert names == re.findall(r"^\| `(\w+)\(", LABORATORY, re.MULTILINE)
            assert "Nothing was submitted" in await call.error("test_status")
            assert "no test yet" in await call.error("losses")
            status = await call("submit_candidate", versions=["--help"])
            assert "'--help' is not a revision of git" in status["output"][-1]
            for player in ("random", "bot:Bot", "engine(name=x)"):
                assert "is a player" in await call.error("submit_candidate", versions=[player])
            made.write({"lab.toml": "games = []\n"})
            await until_stronger(call, made)

    asyncio.run(work())


@pytest.mark.parametrize("end", ["signal", "end of the input"])
def test_the_tools_end_at_once_without_a_file(tmp_path: Path, end: str) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    (copies := tmp_path / "copies").mkdir()
    homes = tmp_path / "laboratories"
    listed = home_of(homes, tmp_path.name, str(tmp_path.resolve())) / "journal.jsonl"
    listed.parent.mkdir(parents=True)
    words = ["mcp", "--folder", str(tmp_path), "--laboratories", str(homes),
             "--file", str(tmp_path / "lab.toml")]  # fmt: skip
    client = {"name": "a", "version": "1"}
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    with subprocess.Popen(
        [*installed("playout-lab"), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(copies)},
    ) as process:
        assert process.stdin
        assert process.stdout

        def send(message: dict[str, Any]) -> None:
            assert process.stdin
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()

        send({"id": 1, "method": "initialize", "params": parameters})
        assert b'"serverInfo"' in process.stdout.readline()
        assert list(copies.glob("*.toml"))
        if end == "signal":
            process.terminate()
            assert process.wait(PATIENCE_S) == 143
        else:
            os.mkfifo(listed)
            send({"method": "notifications/initialized"})
            send({"id": 2, "method": "tools/call", "params": {"name": "losses", "arguments": {}}})
            # It opens when a thread of the tool reads; nothing is written, so that it never ends.
            with listed.open("wb"):
                process.stdin.close()
                assert process.wait(PATIENCE_S) == 0
    assert not list(copies.iterdir())


async def until_stronger(call: ToolCaller, made: BotRepository) -> None:
    made.write({"bot.py": CENTRAL, "bot.toml": LINES_TOML + 'build = "echo compiling; exit 3"\n'})
    status = await call("submit_candidate")
    assert (status["running"], status["exit_code"]) == (False, 125)
    assert "exit code 3" in status["output"][-1]
    log = (await call("read_log"))["result"]
    assert "compiling" in log
    assert log[-1].startswith("== refused: ")
    made.write({"bot.toml": LINES_TOML + 'build = "exec sleep 60"\n'})
    status = await call("submit_candidate", wait_s=0)
    while "Building working tree" not in " ".join(status["output"]):
        assert status["running"], status
        status = await call("test_status", wait_s=0.1)
    assert "A test is running" in await call.error("submit_candidate")
    assert (await call("stop_test"))["exit_code"] == 130
    if not scale.slow:  # test_laboratory plays a test to its verdict
        return
    made.write({"bot.toml": LINES_TOML})
    status = await call("submit_candidate", wait_s=300)
    assert (status["running"], status["exit_code"]) == (False, 0), status
    (test,) = (await call("list_tests"))["result"]
    assert (test["state"], test["winner"]) == ("stronger", test["candidates"][0])
    lost = await call("losses", version=test["base"], seconds=1)
    assert lost["summary"].endswith(" by rules")
    assert [each["opponent"] for each in lost["matches"]] == test["candidates"] * 3
    assert "no version 'Cem'" in await call.error("losses", version="Cem")
