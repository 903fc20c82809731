"""`playout-bridge mcp` beyond matches: an agent writes a bot that climbs, and two clients."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playout.commands.agent_tools import MOST, shortened
from support import scale
from support.agents import TOOLS, ToolCaller, played_to_the_end, tools_of
from support.commands import invoke, start
from support.competitions import Cup, ask, require_sandbox
from support.requirements import skip_without
from support.waiting import wait_until
from testbed.machine import reserve_port

NODE = Path(__file__).parents[1] / "node"
#: A bot that always wins at nim if it can, once its import is mended.
BROKEN = """\
from playout import Player, PlayResult
import numpi

class LastChip(Player):
    def choose(self, position, limit, report=None):
        chips = sum(position.state[2:])
        best = [a for a in position.legal_actions if (chips - a - 1) % 4 == 0]
        return PlayResult((best or position.legal_actions)[0])
"""
#: Paths that a file of a bot may not have.
_PATHS = ("../bot.py", "/etc/passwd", "a/../../b", "")


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cup]:
    require_sandbox()
    options = ("--http", "127.0.0.1:0", "--bots", "1", "--bot", "random", "--bot", "uct")
    found = Cup(tmp_path_factory.mktemp("cup"), options=options)
    found.account("Ada")
    with found.running():
        yield found


def words(cup: Cup, folder: Path) -> tuple[str, ...]:
    """Return the options of a bridge for Ada."""
    assert cup.server
    assert cup.server.page
    (token := folder / "ada.token").write_text(cup.tokens["Ada"])
    token.chmod(0o600)
    host, port = cup.server.page
    return (
        *("mcp", *cup.server.address, "--name", "Ada", "--token-file", str(token)),
        *("--web", f"http://{host}:{port}", "--site", f"http://127.0.0.1:{cup.port}"),
        *("--laboratory", f"http://127.0.0.1:{reserve_port()}"),  # there is none
    )


def leads(cup: Cup) -> bool:
    """Return whether Ada's bot has won four matches and is the first in the standings."""
    first = next(iter(cup.ask("GET", "state")[1]["standings"]), None)
    return bool(first) and first["name"] == "Ada" and first["points"] >= 4


@pytest.mark.long
def test_an_agent_writes_a_bot_that_climbs_and_is_told_what_it_may_not_do(
    cup: Cup, tmp_path: Path
) -> None:
    async def work() -> None:
        async with tools_of("playout-bridge", words(cup, tmp_path), tmp_path) as call:
            # At once: a bot is checked in other processes.
            await asyncio.gather(writes_a_bot(call, cup), refusals(call))

    asyncio.run(work())


async def writes_a_bot(call: ToolCaller, cup: Cup) -> None:
    """Hand in a bot with a fault and then a good one, and wait until that leads."""
    (prompt,) = (
        await call.client.get_prompt("write_a_bot", {"game": "nim", "competition": "cup"})
    ).messages
    assert "class MyBot(Player)" in prompt.content.text
    with pytest.raises(Exception, match="unknown game 'nimm'"):
        await call.client.get_prompt("write_a_bot", {"game": "nimm"})
    assert "max_take" in json.dumps(await call("rules", game="nim"))
    told = await call("hand_in", competition="cup", files={"bot.py": BROKEN}, wait_s=300)
    assert (told["state"], told["stage"]) == ("refused", "check"), told
    (module,) = [w.strip("'") for w in told["reason"].split() if w == "'numpi'"]
    mended = BROKEN.replace(f"import {module}\n", "")
    told = await call("hand_in", competition="cup", files={"bot.py": mended}, wait_s=300)
    assert told["state"] == "accepted", told
    listed = await call("submissions", competition="cup")
    assert (len(listed["submissions"]), listed["of"]) == (2, 2)
    if not scale.slow:
        return
    await asyncio.to_thread(wait_until, lambda: leads(cup), "Ada's place")
    shown = await call("competition", competition="cup")
    assert shown["standings"][0]["name"] == "Ada"
    ladder = await call("ladders", game="nim")
    assert ladder["standings"][0]["name"] == "Ada"


async def refusals(call: ToolCaller) -> None:
    """Ask each tool for something that it refuses."""
    for path in _PATHS:
        text = await call.error("hand_in", competition="cup", files={path: "x"})
        assert "is not a path within the folder" in text
    assert "1 to 200 files" in await call.error("hand_in", competition="cup", files={})
    assert "no competition 'x'" in await call.error("competition", competition="x")
    submitted = {"submit_candidate": {"versions": {"base": {"bot.py": "x"}}}}
    for tool in TOOLS[TOOLS.index("laboratory") :]:
        given = submitted.get(tool, {"test": 1})
        assert "cannot be reached" in await call.error(tool, **given)
    assert "unknown game" in await call.error("rules", game="nimm")
    assert (await call("tournaments"))["items"] == []
    assert "there is no tournament" in await call.error("tournaments", tournament="a1")
    await a_puzzle(call)
    await a_finished_match(call)
    assert "unknown game 'nimm'" in await call.error("puzzles", game="nimm")
    assert len(await call.error("competition", competition="x" * 70_000)) < 500
    for uri, text in (("rules/nimm", "unknown game 'nimm'"), ("protocol/x", "no request 'x'")):
        with pytest.raises(Exception, match=text):
            await call.client.read_resource(f"playout://{uri}")
    listed = await call.client.list_resources()
    assert [str(each.uri) for each in listed.resources] == ["playout://protocol"]
    for uri, part in (
        ("playout://protocol", "\nresign: "),
        ("playout://protocol/resign", "match"),
        ("playout://rules/nim", "heap"),
    ):
        (content,) = (await call.client.read_resource(uri)).contents
        assert part in content.text


async def a_puzzle(call: ToolCaller) -> None:
    """Solve a puzzle, after a move that is not legal."""
    listed = min((await call("puzzles", game="tic_tac_toe"))["puzzles"], key=lambda p: p["turns"])
    puzzle = {"game": "tic_tac_toe", "puzzle": listed["puzzle"]}
    shown = await call("puzzles", **puzzle)
    assert "is not a legal move" in await call.error("puzzles", **puzzle, moves=["z9"])
    lines: list[list[str]] = [[]]
    while shown["state"] != "solved":
        line = lines.pop(0)
        for move in (await call("puzzles", **puzzle, moves=line))["legal_moves"]:
            shown = await call("puzzles", **puzzle, moves=[*line, move])
            if shown["state"] == "open":
                lines.append([*line, move])
            elif shown["state"] == "solved":
                break


async def a_finished_match(call: ToolCaller) -> None:
    """Analyse a position of an own match after its end, and not before."""
    state = await call("new_match", game="tic_tac_toe", bot="random", seat=1)
    match = state["match"]
    text = await call.error("analyse", match=match, ply=0)
    assert text.endswith("Only positions of your own finished matches are analysed.")
    await played_to_the_end(call, state)
    found = await call("analyse", match=match, ply=0, seconds=1)
    assert (found["to_move"], found["played"]) == (1, "a1")
    assert found["best_line"]
    assert "ply must be from 0 to" in await call.error("analyse", match=match, ply=99)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_client_of_javascript_calls_every_tool_over_http(cup: Cup, tmp_path: Path) -> None:
    if not (NODE / "node_modules" / "@modelcontextprotocol").is_dir():
        skip_without("the MCP client of JavaScript, then: cd tests/node && npm ci")
    port = reserve_port()
    bridge = start("playout-bridge", *words(cup, tmp_path), "--http", str(port))

    def status(**headers: str) -> int | None:
        try:
            return ask(port, "POST", "mcp", "{}", headers)[0]
        except OSError:
            return None

    try:
        wait_until(lambda: status() == 401, "the bridge")
        assert status(Authorization="Bearer wrong") == 401
        assert status(**{"Transfer-Encoding": "chunked"}) == 411
        arguments = [str(port), cup.tokens["Ada"]]
        script = ["node", str(NODE / "mcp_client.cjs"), *arguments]
        output = subprocess.run(script, capture_output=True, text=True, check=False)
        assert output.returncode == 0, output.stderr
        called: dict[str, str] = json.loads(output.stdout)
    finally:
        bridge.kill()
        bridge.communicate()
    assert list(called) == TOOLS
    assert all(len(text) <= MOST for text in called.values())
    assert "nim" in called["list_games"]
    assert "submissions" in called["submissions"]


def test_a_port_that_is_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, output = invoke("playout-bridge", "mcp", "--name", "Ada", "--http", str(port))
    assert code == 1
    assert f"cannot listen on port {port} (Address already in use): choose another" in output


@pytest.mark.parametrize(
    "answer",
    [
        {"items": [{"name": "x" * 100}] * 500},
        {"legal_moves": [f"a{number}" for number in range(900)]},
        "x" * 100_000,
        {"log": ["y" * 5000] * 50, "text": "z" * 100_000},
        {"deep": [[{"a": list(range(100))}] * 20] * 20},
        {f"key {number}": number for number in range(10_000)},
        {"outputs": {"k" * 5000 + str(number): "o" * 5000 for number in range(300)}},
    ],
)
def test_answers_are_short(answer: Any) -> None:
    from mcp.server.mcpserver.utilities.func_metadata import _convert_to_content  # what it sends

    (content,) = _convert_to_content(shortened(answer))
    assert len(content.text) <= MOST
    assert shortened({"few": [1, 2]}) == {"few": [1, 2]}
