"""Serves tools of the Model Context Protocol over HTTP, on loopback and with a token."""

from __future__ import annotations

import contextlib
import hmac
import importlib
import os
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

import click

#: Bytes that are parsed at once, and the response to a body in chunks.
_PIECE = 1024
_LENGTH_REQUIRED = b"HTTP/1.1 411 Length Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def listening(port: int, option: str) -> socket.socket:
    """Return a socket that listens on loopback. Raises ClickException, which names `option`."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on port {port} ({os.strerror(error.errno or 0)}): choose another one "
            f"with {option}"
        ) from error


class HttpTransport(NamedTuple):
    """Serves MCP over HTTP on loopback, to requests with a token."""

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
        running.capture_signals = contextlib.nullcontext  # the process handles them
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
                await send({"type": "http.response.body", "body": b"the token is missing or wrong"})
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
