"""Servers of the Model Context Protocol (MCP), which offer tools to language models.

The package `mcp`, an extra, is imported when a server starts.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from importlib.metadata import version
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import click

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


def tool_server(instructions: str, tools: Iterable[Callable[..., Awaitable[Any]]]) -> Any:
    """Return a server (`MCPServer`) with these tools.

    Their docstrings and the descriptions of their parameters are for the agent. An AgentError is
    the result of a tool that failed.
    """
    from mcp.server.mcpserver import MCPServer

    server: MCPServer[Any] = MCPServer(
        "playout", instructions=instructions, version=version("playout"), log_level="WARNING"
    )
    for tool in tools:
        server.add_tool(_with_tool_errors(tool))
    return server


def _with_tool_errors(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return await tool(*arguments, **named)
        except AgentError as error:
            raise ToolError(str(error)) from error

    return call
