"""`playout-bridge mcp`, driven by the client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from support.agents import TOOLS, ToolCaller, played_to_the_end, tools_of
from support.commands import RunningServer, installed, invoke, running_server
from support.raw_client import RawClient
from support.waiting import wait_until


def agent(
    server: RunningServer, folder: Path, *words: str
) -> AbstractAsyncContextManager[ToolCaller]:
    """An agent with a bridge of its own to the server."""
    return tools_of("playout-bridge", ("mcp", *server.address, *words), folder)


def test_an_agent_plays_whole_matches_and_reads_why_it_may_not_do_something(tmp_path: Path) -> None:
    async def play(server: RunningServer) -> None:
        async with agent(server, tmp_path, "--name", "Ada") as call:
            listed = await call.client.list_tools()
            assert [tool.name for tool in listed.tools] == TOOLS
            games = await call("list_games")
            assert "tic_tac_toe" in games["games"]
            assert games["bots"] == [{"name": "random", "player": "random"}]
            assert games["your_name"] == "Ada"
            assert games["rated_matches_possible"]
            await wrong_requests(call)
            await a_match_against_a_bot(call)
            await a_rated_match(call, server)
            await an_agreed_draw(call, server)
            ended = asyncio.create_task(asyncio.to_thread(opponent, server, "Cem"))
            await call("new_match", game="nim(chips=5)", rated=True)
        assert (await ended)["text"] == "Ada resigned"  # when the bridge's input was closed

    with running_server("--bots", "2", "--bot", "random") as server:
        asyncio.run(play(server))


async def wrong_requests(call: ToolCaller) -> None:
    """Requests that fail before any match is played."""
    assert "did you mean 'tic_tac_toe'" in await call.error(
        "new_match", game="tic_tac_two", bot="random"
    )
    assert "clock" in await call.error("new_match", game="nim", clock="soon")
    assert "is not among the bots here" in await call.error("new_match", game="nim", bot="fritz")
    assert "no other opponent" in await call.error(
        "new_match", game="nim", bot="random", opponent="Cem"
    )
    nobody = await call.error("new_match", game="nim", wait_s=0)
    assert "No opponent was found in 0 s" in nobody
    assert "random" in nobody
    assert "Your matches: none; call new_match" in await call.error("play", move="a1")
    assert "no match 'm1'" in await call.error("play", match="m1", move="a1")
    assert "no match 'm1'" in await call.error("state", match="m1")
    assert "less than or equal to 300" in await call.error("state", wait_s=1e6)


async def a_match_against_a_bot(call: ToolCaller) -> None:
    """A whole match, with wrong moves in it."""
    state = await call("new_match", game="tic_tac_toe", bot="random", clock="none", seat=1)
    assert state["status"] == "your move"
    assert state["board"] == ["  a b c", "1 . . .", "2 . . .", "3 . . ."]
    assert state["legal_moves"] == ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]
    assert "'d4' is not a legal move. Legal moves: a1, b1" in await call.error("play", move="d4")
    state = await call("play", move="B2")
    assert state["board"][2] == "2 . X ." or "O" in state["board"][2]
    assert "'b2' is not a legal move" in await call.error("play", move="b2")
    assert (await call("legal_moves"))["result"] == state["legal_moves"]
    assert (await call("offer", kind="draw"))["offer"] == "the draw was declined"
    assert "no open offer" in await call.error("answer_offer", accept=True)
    state = await call("offer", kind="takeback")
    assert state["offer"] == "your last move was taken back"
    assert (state["plies"], state["moves_seen"], state["status"]) == (0, [], "your move")
    assert "no move that could be taken back" in await call.error("offer", kind="takeback")
    over = await played_to_the_end(call, state)
    assert over["winner"] in (1, 2, -1)
    text = await call.error("play", match=over["match"], move="a1")
    assert f"Match {over['match']} is over" in text
    assert "is over" in await call.error("resign", match=over["match"])


def opponent(server: RunningServer, name: str) -> dict[str, Any]:
    """Seek a rated match with a new account, play nothing, and return how it ends."""
    with RawClient(server.host, server.port) as seeker:
        seeker.ask("hello", name=name, protocol_min=1, protocol_max=1)
        seeker.ask("seek", game="nim(chips=5)", rated=True, seat=2, clock="none")
        return seeker.hear_until("ended")


async def a_rated_match(call: ToolCaller, server: RunningServer) -> None:
    """A rated match against another account, which the agent resigns."""

    ended = asyncio.create_task(asyncio.to_thread(opponent, server, "Bob"))
    state = await call("new_match", game="nim(chips=5)", rated=True)
    assert state["players"] == ["Ada", "Bob"]
    state = await call("play", move=state["legal_moves"][0], wait_s=0)
    assert state["status"] == "the opponent is to move"
    assert "It is not your move" in await call.error("play", move="1")
    assert (await call("resign"))["status"] == "over: Ada resigned (resignation)"
    assert (await ended)["winner"] == 2


def drawing_opponent(server: RunningServer) -> str:
    """Play a move, offer a draw instead of the second one, and return how the match ends."""
    with RawClient(server.host, server.port) as seeker:
        seeker.hello()
        seeker.ask("seek", game="nim(chips=9)", seat=2, clock="none")
        match = seeker.hear_until("started")["match"]
        seeker.hear_until("update", ply=0)
        seeker.ask("move", match=match, ply=1, action=0)
        seeker.hear_until("update", ply=2)
        seeker.ask("offer", match=match, offer="draw", ply=3)
        return str(seeker.hear_until("ended")["text"])


async def an_agreed_draw(call: ToolCaller, server: RunningServer) -> None:
    """A match in which the opponent offers a draw while the agent waits."""
    ended = asyncio.create_task(asyncio.to_thread(drawing_opponent, server))
    state = await call("new_match", game="nim(chips=9)", seat=1)
    for _ in range(2):
        state = await call("play", move=state["legal_moves"][0])
    assert state["status"] == "the opponent is to move"
    assert state["offer"] == "the opponent offers a draw: call answer_offer, or move"
    state = await call("answer_offer", accept=True)
    assert (state["winner"], state["status"]) == (-1, f"over: {await ended} (agreement)")


@pytest.mark.parametrize("option", ["--name", "--token-file", "--host", "--tls"])
def test_the_options_are_those_of_a_player(option: str) -> None:
    assert option in invoke("playout-bridge", "mcp", "--help")[1]


_DIGITS = "9" * 5000
#: Values in the arguments of calls, as JSON.
_VALUES = [
    _DIGITS, "1e999", "NaN", "-Infinity", '"\\ud800"', '"\\u0000"', "[" * 100_000,
    "[" * 900 + "]" * 900, f'"{"a" * 100_000}"', '"\\u001b]52;c;AA\\u0007"', "{}",
]  # fmt: skip
_ARGUMENTS = [
    ("new_match", '{"game": {}}'), ("new_match", '{"game": "nim", "wait_s": {}}'),
    ("new_match", '{"game": "nim", "seat": {}}'), ("play", '{"move": {}}'),
    ("state", '{"match": {}}'), ("offer", '{"offer": {}}'), ("none", "{}"), ("list_games", "{}"),
]  # fmt: skip


def test_whatever_an_agent_sends_the_log_has_no_traceback(
    server: RunningServer, tmp_path: Path
) -> None:
    """The last request is answered, after bytes and numbers that no agent should send."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})]
    lines += ['{"jsonrpc": "2.0", "method": "notifications/initialized"}']
    call = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": '
    for value in _VALUES:
        for tool, arguments in _ARGUMENTS:
            told = arguments.replace("{}", value)
            lines.append(f'{call % 2}{{"name": "{tool}", "arguments": {told}}}}}')
        lines.append(f'{call % value}{{"name": "list_games"}}}}')
    sent = "\n".join(lines).encode() + b'\n\xff\xfe\0\n\n[]\n{"id": "\xff"}\n'
    output = tmp_path / "output"
    words = [*installed("playout-bridge"), "mcp", *server.address]
    with output.open("wb") as file:
        bridge = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=file, stderr=file)
    bridge_input = bridge.stdin
    assert bridge_input
    bridge_input.write(sent + f'{call % 3}{{"name": "list_games"}}}}\n'.encode())
    bridge_input.flush()
    wait_until(lambda: b'"id":3' in output.read_bytes(), "the last answer")
    bridge_input.close()
    assert bridge.wait() == 0
    assert b"Traceback" not in output.read_bytes()
