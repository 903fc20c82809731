"""Clients of the Model Context Protocol, as agents use them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playout.games.core.compilation_cache import caches

if TYPE_CHECKING:  # it takes a second in each process of the tests
    import mcp

ROOT = Path(__file__).parents[2]
_MODULES = {
    "playout-bridge": "playout.bridges.bridge_command",
    "playout-lab": "playout.laboratory.laboratory_command",
}
_SECTION = (ROOT / "docs" / "agents.md").read_text("utf-8").partition("## An agent on a server")[2]
#: The tools of `playout-bridge mcp` in their document.
TOOLS = re.findall(r"^\| `(\w+)\W", _SECTION, re.MULTILINE)


class ToolCaller:
    """Calls the tools of a command."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool says; it must not fail."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> str:
        """Return the text with which a tool fails."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        (content,) = result.content
        assert content.type == "text"
        return content.text


@asynccontextmanager
async def tools_of(command: str, words: Sequence[str], home: Path) -> AsyncIterator[ToolCaller]:
    """Start a command of Playout with a home folder, and call the tools that it offers."""
    import mcp

    code = (
        f"import sys; sys.argv[0] = {command!r}; from {_MODULES[command]} import main; "
        f"main(prog_name={command!r})"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": str(home)}
    environment["XDG_CACHE_HOME"] = str(caches().parents[1])  # compiled games
    parameters = mcp.StdioServerParameters(
        command=sys.executable, args=["-P", "-c", code, *words], env=environment
    )
    async with mcp.Client(parameters) as client:
        yield ToolCaller(client)


async def played_to_the_end(call: ToolCaller, state: dict[str, Any]) -> dict[str, Any]:
    """Play the first legal move until the match is over."""
    while not state["status"].startswith("over"):
        if state["status"] == "your move":
            state = await call("play", match=state["match"], move=state["legal_moves"][0])
        else:
            state = await call("state", match=state["match"], wait_s=60)
    return state
