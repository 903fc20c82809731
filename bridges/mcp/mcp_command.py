"""`playout-bridge mcp`: serves the tools of an agent over its standard streams, or over HTTP."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import click
from twisted.internet import asyncioreactor

from playout.bots.site_client import SiteClient, site_option
from playout.bridges.mcp.agent_session import AgentSession
from playout.commands.agent_http import HttpTransport, listening
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
  playout-bridge mcp --name Ada --http 8765  over HTTP, to agents with Ada's token

The program that runs the agent starts the command. Its settings must have the
command, as in

\b
  {"mcpServers": {"playout": {"command": "playout-bridge",
                              "args": ["mcp", "--name", "Ada"]}}}

It needs the package mcp: pip install ".[mcp]" in a checkout of Playout
"""


_http = click.option(
    "--http",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve agents over HTTP, at http://127.0.0.1:PORT/mcp.  [default: standard streams]",
)


@click.command(epilog=EPILOG)
@server_options
@account_options
@retry_option
@site_option(8081, "competitions", "PLAYOUT_SITE")
@site_option(8080, "pages", "PLAYOUT_WEB", "--web")
@site_option(8082, "laboratory", "PLAYOUT_LAB_SITE", "--laboratory")
@_http
def command(
    server: ServerAddress,
    account: AccountChoice,
    retry_s: float,
    site: str,
    web: str,
    laboratory: str,
    http: int | None,
) -> None:
    """Let a language model play and write bots, through the Model Context Protocol (MCP).

    The agent gets tools for matches, puzzles, ladders, tournaments, competitions and the
    laboratory: docs/agents.md lists them. When the program that runs it closes the input, the
    bridge resigns running matches and ends.

    With --http, agents send the token of the account in the header Authorization, after Bearer.
    """
    tools = imported("playout.bridges.mcp.tools")
    if http is not None and (account.name is None or account.guest):
        raise click.UsageError("--http needs an account, whose token agents send: --name NAME")

    def client(address: str) -> SiteClient:
        return SiteClient.of(address, account, server, insecure=False)

    def token() -> str | None:
        saved = account.saved(server)
        return saved.token() if saved else None

    sites = tools.Sites(web, site, laboratory, client)
    identity = Identity(
        account.name or random_name("agent"),
        "bot",
        software("playout-bridge"),
        account.saved(server),
        any_name=account.name is None,
    )
    transport = HttpTransport(listening(http, "--http PORT"), token) if http is not None else None

    def serve(session: AgentSession) -> Awaitable[None]:
        offered = tools.agent_server(session, sites)
        found: Awaitable[None] = (
            transport.serve(offered) if transport else offered.run_stdio_async()
        )
        return found

    code = _serve(serve, identity, server, retry_s)
    sys.stdout.flush()
    os._exit(code)  # a thread may search or ask a site, and cannot be stopped


def _serve(
    offer: Callable[[AgentSession], Awaitable[None]],
    identity: Identity,
    server: ServerAddress,
    retry_s: float,
) -> int:
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
            await offer(session)
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
