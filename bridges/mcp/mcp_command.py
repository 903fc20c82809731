"""`playout-bridge mcp`: serves the tools of an agent over its standard streams."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from typing import Any

import click
from twisted.internet import asyncioreactor

from playout.bridges.mcp.agent_session import AgentSession
from playout.commands.agent_tools import imported
from playout.commands.connect_options import (
    AccountChoice,
    ServerAddress,
    account_options,
    retry_option,
    server_options,
)
from playout.commands.identity import Identity, random_name, software
from playout.commands.text import printable

#: Seconds for sending the last messages.
_FAREWELL_S = 0.2

EPILOG = """
\b
Examples:
  playout-bridge mcp                       a guest on the server of this machine
  playout-bridge mcp --name Ada            the account Ada, for rated matches
  playout-bridge mcp --host play.example --tls --name Ada

The program that runs the agent starts the command. Its settings must have the
command, as in

\b
  {"mcpServers": {"playout": {"command": "playout-bridge",
                              "args": ["mcp", "--name", "Ada"]}}}

It needs the package mcp: pip install ".[mcp]" in a checkout of Playout
"""


@click.command(epilog=EPILOG)
@server_options
@account_options
@retry_option
def command(server: ServerAddress, account: AccountChoice, retry_s: float) -> None:
    """Let a language model play, through the Model Context Protocol (MCP).

    The agent gets the tools list_games, new_match, legal_moves, play, state, offer, answer_offer
    and resign. When the program that runs it closes the input, the bridge resigns running matches
    and ends.
    """
    tools = imported("playout.bridges.mcp.tools")
    identity = Identity(
        account.name or random_name("agent"),
        "bot",
        software("playout-bridge"),
        account.saved(server),
        any_name=account.name is None,
    )
    sys.exit(_serve(tools, identity, server, retry_s))


def _serve(tools: Any, identity: Identity, server: ServerAddress, retry_s: float) -> int:
    """Serve until the input ends or a signal comes; return the exit code."""
    loop = asyncio.new_event_loop()
    asyncioreactor.install(loop)
    reactor: Any = importlib.import_module("twisted.internet.reactor")

    async def serve() -> None:
        session = AgentSession(identity, lambda text: click.echo(printable(text), err=True))
        connection = server.connection(reactor, session, retry_s, repeats_requests=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _leave, loop, session, 128 + number)
        session.open(connection)
        try:
            await tools.agent_server(session).run_stdio_async()
        finally:
            session.close()
            loop.call_later(_FAREWELL_S, reactor.stop)

    task = loop.create_task(serve())
    reactor.run(installSignalHandlers=False)
    task.result()
    return 0


def _leave(loop: asyncio.AbstractEventLoop, session: AgentSession, code: int) -> None:
    """Resign, and exit: the thread that reads the input cannot be stopped in another way."""
    session.close()
    loop.call_later(_FAREWELL_S, os._exit, code)
