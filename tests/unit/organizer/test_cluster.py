"""server.organizer.cluster.cluster: what the workers can connect to before the server runs."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

pytest.importorskip("distributed")

from playout.server.organizer.cluster.cluster import listening

#: More than the queue of a listening socket holds.
WORKERS = 300


def test_hundreds_of_workers_can_try_to_connect_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    with listening(address), ExitStack() as stack:
        for _ in range(WORKERS):
            stack.enter_context(socket.create_connection(address, 60))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, 60)
