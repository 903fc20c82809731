"""The organizer's own server and its ports."""

from __future__ import annotations

import socket

import pytest

from playout.commands.subprocesses import LogFolder
from playout.server.organizer.local_server import LocalServer, LocalServerError, is_free


def test_a_port_that_is_taken_is_said_to_be(logs: LogFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalServerError, match=f"port {port} "):
            LocalServer("sqlite://", port, logs, games=["nim"], registration="closed")


def test_the_usual_port_of_the_page_may_be_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not is_free("127.0.0.1", taken.getsockname()[1])
    assert is_free("127.0.0.1", 0)
