"""Servers of the Model Context Protocol (MCP), which offer tools to language models.

The package `mcp`, an extra, is imported when a server starts.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from importlib.metadata import version
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import click

#: The maximum number of characters of an answer: 2,000 tokens of three characters.
MOST = 6000
#: The lengths to which the lists of an answer are cut until it is short enough.
_CUTS = (400, 200, 100, 50, 25, 12, 6, 3, 1)
#: The maximum number of characters of a text, and of keys of a map, for each element that lists
#: may have.
_TEXT, _KEYS = 100, 10

#: Lines of a log in an answer, and their characters.
LINES, _LINE = 30, 300

#: The code of JSON-RPC for wrong parameters.
_INVALID_PARAMETERS = -32602

#: An answer as a map for JSON.
Described = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


class AgentError(Exception):
    """A tool failed; the message tells the agent why, and what to do."""


def imported(module: str) -> ModuleType:
    """Import a module that needs the package `mcp`. Raises ClickException without it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic"):
            raise
        raise click.ClickException(
            'this needs the package mcp: pip install ".[mcp]" in a checkout of Playout'
        ) from error


def tool_server(instructions: str, *owners: object, most: int = MOST) -> Any:
    """Return a server (`MCPServer`) whose tools are the public coroutines of some objects.

    Raises ClickException without the package `mcp`.

    Their docstrings and the descriptions of their parameters are for the agent. An AgentError is
    the result of a tool that failed. Answers are `shortened` to `most` characters.
    """
    server = imported("mcp.server.mcpserver").MCPServer(
        "playout", instructions=instructions, version=version("playout"), log_level="WARNING"
    )
    for owner in owners:
        for name, member in vars(type(owner)).items():
            if inspect.iscoroutinefunction(member) and not name.startswith("_"):
                server.add_tool(_with_tool_errors(getattr(owner, name), most))
    return server


def request_errors(answer: Callable[P, T]) -> Callable[P, T]:
    """Return the function of a resource or of a prompt with `shortened` answers.

    An AgentError is the error of the request.
    """
    from mcp.shared.exceptions import MCPError

    @wraps(answer)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return shortened(answer(*arguments, **named))
        except AgentError as error:
            raise MCPError(_INVALID_PARAMETERS, shortened(str(error))) from None

    return call


def last_lines(lines: Sequence[str], number: int = LINES) -> list[str]:
    """Return the last lines of a log, shortened."""
    return [each[:_LINE] for each in lines[-number:]]


def shortened(answer: T, longest: int = MOST) -> T:
    """Return an answer whose lists, maps and texts are cut to at most `longest` characters."""
    found, cuts = answer, iter(_CUTS)
    # The package `mcp` writes it with this indent.
    while len(json.dumps(found, ensure_ascii=False, indent=2)) > longest and (
        most := next(cuts, 0)
    ):
        found = _cut(answer, most)
    return found


def _cut(value: Any, most: int) -> Any:
    match value:
        case str():
            limit = most * _TEXT
            return value if len(value) <= limit else f"{value[:limit]} ..."
        case dict():
            kept = list(value.items())[: most * _KEYS]
            found = {key[:_TEXT]: _cut(each, most) for key, each in kept}
            left_out = len(value) - len(found)
            return found | ({"left_out": f"{left_out} more"} if left_out else {})
        case list() if len(value) > most:
            rest = f"{len(value) - most} more"
            more: Any = rest if isinstance(value[0], str) else {"left_out": rest}
            return [*(_cut(each, most) for each in value[:most]), more]
        case list():
            return [_cut(each, most) for each in value]
    return value


def _with_tool_errors(tool: Callable[P, Awaitable[T]], most: int) -> Callable[P, Awaitable[T]]:
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return shortened(await tool(*arguments, **named), most)
        except AgentError as error:
            raise ToolError(shortened(str(error))) from error

    return call
