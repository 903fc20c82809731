"""Input that waits for a turn, and the limits on output that peers do not read."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.abstract import FileDescriptor
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from playout.protocol.codec import MAX_FRAME
from playout.server.net.connection import COLLECTED_BYTES, OutputLimits
from playout.server.net.tcp import TcpConnection
from playout.server.runtime.reactor import queued_bytes
from playout.server.runtime.scheduler import LoopScheduler


class StuckTransport(FileDescriptor):
    """A transport whose peer reads nothing until it is told to."""

    socket: Any = None

    def __init__(self) -> None:
        super().__init__(reactor=self)
        self.connected = 1
        self.aborted = False
        self.reads = True

    def addWriter(self, writer: object) -> None: ...
    def removeWriter(self, writer: object) -> None: ...

    def addReader(self, reader: object) -> None:
        self.reads = True

    def removeReader(self, reader: object) -> None:
        self.reads = False

    def writeSomeData(self, data: bytes) -> int:
        return len(data)

    def abortConnection(self) -> None:
        self.aborted = True


class Peers:
    """Connections with common limits, in one loop."""

    def __init__(self, per_peer: int, total: int) -> None:
        self.clock = Clock()
        self.limits = OutputLimits(per_peer, total)
        self._scheduler = LoopScheduler(self.clock)
        self._numbers = itertools.count()
        #: The frames that were handled, and the connections whose input waits for a turn.
        self.frames: list[bytes] = []
        self.waiting: list[Any] = []
        self.is_over = False
        self._driver: Any = SimpleNamespace(
            new_number=lambda: next(self._numbers),
            received=lambda connection, frame: self.frames.append(frame),
            turns=SimpleNamespace(is_over=lambda each: self.is_over, wait=self.waiting.append),
        )

    def connect(self) -> tuple[TcpConnection, StuckTransport]:
        connection = TcpConnection(self._driver, self._scheduler, output=self.limits)
        connection.transport = transport = StuckTransport()
        transport.registerProducer(connection, streaming=True)
        return connection, transport


@pytest.mark.parametrize("when_idle", [False, True])
def test_output_is_bounded_where_it_waits_even_if_the_loop_never_sends_it(when_idle: bool) -> None:
    peers = Peers(per_peer=300_000, total=0)
    connection, transport = peers.connect()
    most = 0
    while not transport.aborted:
        connection.send(b"x" * 1000, when_idle=when_idle)  # and no iteration of the loop ends
        most = max(most, connection.waiting_bytes())
    assert 300_000 < most < 300_000 + 3 * COLLECTED_BYTES


def test_a_peer_may_be_sent_one_message_above_the_limit() -> None:
    connection, transport = Peers(per_peer=1000, total=0).connect()
    connection.send(b"x" * MAX_FRAME * 2)
    connection.send(b"x" * 900)
    assert not transport.aborted
    connection.send(b"x" * MAX_FRAME)
    connection.send(b"x" * 900)
    connection.send(b"x" * MAX_FRAME)
    assert transport.aborted


def test_output_that_was_read_does_not_count() -> None:
    peers = Peers(per_peer=1000, total=0)
    connection, transport = peers.connect()
    for _ in range(20):
        connection.send(b"x" * 900)
        peers.clock.advance(0)
        transport.doWrite()
    assert not transport.aborted
    assert peers.limits.waiting == 0


def test_the_sum_is_bounded_and_those_with_the_most_are_disconnected() -> None:
    peers = Peers(per_peer=0, total=1_000_000)
    all_peers = [peers.connect() for _ in range(10)]
    honest, honest_transport = all_peers[0]
    for _ in range(30):
        for connection, transport in all_peers:
            if not transport.aborted:
                connection.send(b"x" * (200 if connection is honest else 8000))
                peers.clock.advance(0)
                assert peers.limits.waiting <= 1_000_000
    assert not honest_transport.aborted
    assert any(transport.aborted for _, transport in all_peers)


def test_the_sum_forgets_what_was_read_meanwhile() -> None:
    peers = Peers(per_peer=0, total=100_000)
    connections = [peers.connect() for _ in range(10)]
    for _ in range(20):
        for connection, transport in connections:
            connection.send(b"x" * 9000)
            peers.clock.advance(0)
            transport.doWrite()  # no producer is told, because it was never paused
    assert not any(transport.aborted for _, transport in connections)
    assert sum(queued_bytes(transport) for _, transport in connections) == 0


def test_input_that_waits_for_its_turn_is_kept_and_only_once_more_is_read() -> None:
    peers = Peers(per_peer=0, total=0)
    connection, transport = peers.connect()
    connection.dataReceived(b"\0\0\0\1a\0\0\0")
    peers.is_over = True
    connection.dataReceived(b"\1b\0\0\0\1c")
    assert (peers.frames, peers.waiting, transport.reads) == ([b"a"], [connection], True)
    connection.dataReceived(b"\0\0\0\1d")
    assert (len(peers.waiting), transport.reads) == (1, False)
    peers.is_over = False
    connection.take_turn()
    assert (peers.frames, transport.reads) == ([b"a", b"b", b"c", b"d"], True)


def test_a_paused_connection_handles_its_input_when_nothing_pauses_it() -> None:
    peers = Peers(per_peer=0, total=0)
    connection, transport = peers.connect()
    connection.pause_reading()
    connection.pauseProducing()
    connection.dataReceived(b"\0\0\0\1a")
    connection.resumeProducing()
    assert (peers.frames, transport.reads) == ([], False)
    connection.resume_reading()
    assert (peers.frames, transport.reads) == ([b"a"], True)


def test_a_peer_may_leave_while_its_input_waits() -> None:
    peers = Peers(per_peer=0, total=0)
    connection, transport = peers.connect()
    peers.is_over = True
    connection.dataReceived(b"\0\0\0\1a")
    transport.connectionLost(Failure(ConnectionDone()))
    peers.is_over = False
    connection.take_turn()
    assert peers.frames == []
