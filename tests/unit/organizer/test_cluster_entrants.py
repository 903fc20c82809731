"""A tournament on a cluster: its slow workers, and its address before the server runs."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

pytest.importorskip("distributed")

from playout.cluster.workers import CheckedWorker
from playout.server.organizer.cluster_entrants import listening, slow_workers

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


def test_a_slow_worker_is_reported_beside_the_others() -> None:
    usual = CheckedWorker("one", (), "lab1", 4, 100.0)
    slow = CheckedWorker("two", (), "lab9", 4, 50.0)
    (line,) = slow_workers([usual, slow, usual])
    assert line.startswith("worker two (lab9) computes at 50% of the median speed")
