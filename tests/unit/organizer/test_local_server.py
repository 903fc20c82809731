"""The organizer's own server and its ports."""

from __future__ import annotations

import socket

import pytest

from playout.commands.subprocesses import LogFolder
from playout.server.organizer import local_server
from playout.server.organizer.local_server import LocalServer, LocalServerError


def test_a_port_that_is_taken_is_said_to_be(logs: LogFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalServerError, match=f"port {port} "):
            LocalServer("sqlite://", port, logs, games=["nim"], registration="closed")


def test_the_usual_port_of_the_page_may_be_taken(
    logs: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
        options = {"games": ["nim"], "registration": "closed", "http": address}
        with pytest.raises(LocalServerError, match=f"port {address[1]} "):
            LocalServer("sqlite://", 0, logs, **options)
        monkeypatch.setattr(local_server, "USUAL_HTTP", f"127.0.0.1:{address[1]}")
        server = LocalServer("sqlite://", 0, logs, **options)
    assert server.http is not None
    assert server.http[1] not in (0, address[1])
