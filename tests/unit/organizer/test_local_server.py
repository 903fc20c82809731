"""The organizer's own server and its ports."""

from __future__ import annotations

import signal
import socket

import pytest

from playout.commands.child import LogFolder, Program
from playout.commands.subprocesses import own_environment
from playout.server.organizer import local_server
from playout.server.organizer.local_server import LocalServer, LocalServerError
from support.waiting import wait_until


def test_a_port_that_is_taken_is_said_to_be(logs: LogFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalServerError, match=f"port {port} "):
            LocalServer("sqlite://", port, logs, games=["nim"], accounts=(), registration="closed")


def test_the_usual_port_of_the_page_may_be_taken(
    logs: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
        options = {"games": ["nim"], "accounts": (), "registration": "closed", "http": address}
        with pytest.raises(LocalServerError, match=f"port {address[1]} "):
            LocalServer("sqlite://", 0, logs, **options)
        monkeypatch.setattr(local_server, "USUAL_HTTP", f"127.0.0.1:{address[1]}")
        server = LocalServer("sqlite://", 0, logs, **options)
    assert server.http is not None
    assert server.http[1] not in (0, address[1])


def test_the_usual_port_of_the_page_may_be_taken_later(
    logs: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    exits = Program(["sh", "-c", "exit 1"], own_environment(), death=signal.SIGTERM)
    monkeypatch.setattr(LocalServer, "_program", lambda _: exits)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    monkeypatch.setattr(local_server, "USUAL_HTTP", f"127.0.0.1:{address[1]}")
    options = {"games": ["nim"], "accounts": (), "registration": "closed", "http": address}
    server = LocalServer("sqlite://", 0, logs, **options)
    assert server.http == address
    server.poll(0.0)
    with socket.create_server(address):
        wait_until(lambda: server.poll(0.0), "the exit of the first")
        server.poll(1000.0)
    assert server.http[1] not in (0, address[1])
    server.stop()


def test_players_take_over_at_once_when_a_tournament_is_resumed_and_reconnect_later(
    logs: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(program: Program, log: object) -> None:
        words = program.words
        started.append(words[words.index("--take-over-after-s") + 1])

    monkeypatch.setattr(Program, "start", start)
    for players_return in (True, False):
        server = LocalServer(
            "sqlite://",
            0,
            logs,
            games=["nim"],
            accounts=(),
            registration="closed",
            players_return=players_return,
        )
        server._start()
        server._start()
    assert started == ["3.0", "3.0", "0.0", "3.0"]
