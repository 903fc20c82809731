"""`playout-bridge mcp`: serves the tools of an agent over its standard streams, or over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import importlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import click
from twisted.internet import asyncioreactor

from playout.bots.site_client import SiteClient, site_option
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
#: Bytes that are parsed at once, and the response to a body in chunks.
_PIECE = 1024
_LENGTH_REQUIRED = b"HTTP/1.1 411 Length Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

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
    transport = HttpTransport(_listening(http), token) if http is not None else None

    def serve(session: AgentSession) -> Awaitable[None]:
        offered = tools.agent_server(session, sites)
        found: Awaitable[None] = (
            transport.serve(offered) if transport else offered.run_stdio_async()
        )
        return found

    sys.exit(_serve(serve, identity, server, retry_s))


def _listening(port: int) -> socket.socket:
    """Return a socket that listens on loopback. Raises ClickException."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on port {port} ({os.strerror(error.errno or 0)}): choose another one "
            "with --http PORT"
        ) from error


class HttpTransport(NamedTuple):
    """Serves MCP over HTTP on loopback, to requests with the token of the account."""

    listener: socket.socket
    token: Callable[[], str | None]

    async def serve(self, offered: Any) -> None:
        """Serve until the process ends."""
        uvicorn = importlib.import_module("uvicorn")
        app = offered.streamable_http_app()
        protocol = importlib.import_module("uvicorn.protocols.http.h11_impl").H11Protocol
        words = {"log_level": "warning", "lifespan": "on", "http": _without_chunks(protocol)}
        config = uvicorn.Config(self._checked(app), **words)
        running = uvicorn.Server(config)
        running.capture_signals = contextlib.nullcontext  # `_leave` handles them
        await running.serve([self.listener])

    def _checked(self, app: Any) -> Any:
        """Return the application that answers other requests with 401."""

        async def checked(scope: Any, receive: Any, send: Any) -> None:
            told = dict(scope.get("headers", ())).get(b"authorization", b"")
            token = self.token()
            expected = f"Bearer {token}".encode()
            if scope["type"] == "http" and not (token and hmac.compare_digest(told, expected)):
                headers = [(b"www-authenticate", b"Bearer"), (b"connection", b"close")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send(
                    {"type": "http.response.body", "body": b"the account's token is missing"}
                )
            else:
                await app(scope, receive, send)

        return checked


def _without_chunks(protocol: Any) -> Any:
    """Return the protocol of uvicorn that refuses bodies in chunks.

    It parses each chunk before the token is checked: minutes for many connections.
    """

    class Protocol(protocol):  # type: ignore[misc]
        """Refuses a request with Transfer-Encoding when its head has come."""

        def data_received(self, data: bytes) -> None:
            for start in range(0, len(data), _PIECE):
                super().data_received(data[start : start + _PIECE])
                scope: Any = self.scope or {}
                if any(name == b"transfer-encoding" for name, _ in scope.get("headers", ())):
                    self.transport.write(_LENGTH_REQUIRED)
                    self.transport.close()
                if self.transport.is_closing():
                    return

    return Protocol


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
