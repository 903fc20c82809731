"""playout.server.runtime.reactor with Twisted's own classes: fails when Twisted changes them."""

from __future__ import annotations

import contextlib
import inspect
import socket
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet import tcp
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactor

from playout.server.runtime.reactor import (
    ACCEPTS,
    EVENTS_S,
    LoopTime,
    Polled,
    Port,
    poll_without_log_context,
    queued_bytes,
)

#: More bytes than the buffers of a socket hold.
LARGE = b"x" * 16 * 2**20


class _Reader:
    """A descriptor for the reactor that notes when it may read."""

    def __init__(self, reactor: Any, end: socket.socket) -> None:
        self.end = end
        self.reactor = reactor
        self.read = b""
        self.lost: list[Any] = []
        self.removes: _Reader | None = None
        self.error: Exception | None = None

    def fileno(self) -> int:
        return self.end.fileno()

    def doRead(self) -> None:
        self.read += self.end.recv(100)
        if self.error:
            raise self.error
        if self.removes:
            self.reactor.removeReader(self.removes)

    def connectionLost(self, reason: Any) -> None:
        self.lost.append(reason)

    def logPrefix(self) -> str:
        raise AssertionError("a log context was set up")


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        yield one, other


@pytest.fixture
def transport(ends: tuple[socket.socket, socket.socket]) -> Any:
    made: Any = tcp.Connection(ends[0], Protocol(), MemoryReactor())  # type: ignore[no-untyped-call]
    made.connected = True
    return made


@pytest.fixture
def reactor(ends: tuple[socket.socket, socket.socket]) -> Iterator[Any]:
    """Twisted's reactor for epoll; it is closed before the ends are."""
    if not sys.platform.startswith("linux"):
        pytest.skip("there is no epoll")
    from twisted.internet.epollreactor import EPollReactor

    made: Any = EPollReactor()  # type: ignore[no-untyped-call]
    yield made
    for each in made.removeAll():
        each.connectionLost(None)
    made._poller.close()


def test_a_transport_has_queued_bytes_until_the_system_has_taken_them(
    transport: Any, ends: tuple[socket.socket, socket.socket]
) -> None:
    assert queued_bytes(transport) == 0
    transport.write(b"bytes")
    assert queued_bytes(transport) == 5
    transport.doWrite()
    assert queued_bytes(transport) == 0
    assert ends[1].recv(100) == b"bytes"


def test_a_transport_whose_peer_reads_slowly_keeps_queued_bytes(
    transport: Any, ends: tuple[socket.socket, socket.socket]
) -> None:
    transport.write(LARGE)
    assert queued_bytes(transport) == len(LARGE)
    transport.doWrite()
    assert 0 < queued_bytes(transport) < len(LARGE)
    read = 0
    while queued_bytes(transport):
        read += len(ends[1].recv(2**20))
        transport.doWrite()
    ends[0].close()
    while data := ends[1].recv(2**20):
        read += len(data)
    assert read == len(LARGE)


def test_polling_hands_events_to_their_descriptors(
    reactor: Any, ends: tuple[socket.socket, socket.socket]
) -> None:
    reader = _Reader(reactor, ends[0])
    reactor.addReader(reader)
    poll_without_log_context(reactor, 0.0, LoopTime(), deque())
    assert reader.read == b""
    ends[1].send(b"bytes")
    poll_without_log_context(reactor, None, LoopTime(), deque())
    assert reader.read == b"bytes"


def test_polling_leaves_out_a_descriptor_that_an_earlier_event_removed(reactor: Any) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    one, other = (_Reader(reactor, near) for near, _ in pairs)
    one.removes, other.removes = other, one
    for reader, (_, far) in zip((one, other), pairs, strict=True):
        reactor.addReader(reader)
        far.send(b"bytes")
    poll_without_log_context(reactor, 1.0, LoopTime(), deque())
    assert sorted([one.read, other.read]) == [b"", b"bytes"]
    reactor.removeReader(one)
    reactor.removeReader(other)
    for pair in pairs:
        for end in pair:
            end.close()


def test_a_descriptor_that_fails_while_polling_is_disconnected(
    reactor: Any, ends: tuple[socket.socket, socket.socket], caplog: pytest.LogCaptureFixture
) -> None:
    reader = _Reader(reactor, ends[0])
    reader.error = OSError("a fault")
    reactor.addReader(reader)
    ends[1].send(b"bytes")
    poll_without_log_context(reactor, 1.0, LoopTime(), deque())
    assert [failure.value for failure in reader.lost] == [reader.error]
    assert reader not in reactor.getReaders()


def test_events_after_the_time_of_an_iteration_are_left_to_the_next_whatever_fails(
    reactor: Any,
) -> None:
    at, rest = [0.0], deque[Polled]()
    loop_time = LoopTime(lambda: at[0])

    class SlowReader(_Reader):
        def doRead(self) -> None:
            super().doRead()
            at[0] += 2 * EVENTS_S

        def connectionLost(self, reason: Any) -> None:
            reactor.removeReader(self)
            raise RuntimeError("a fault")

    pairs = [socket.socketpair() for _ in range(3)]
    readers = [SlowReader(reactor, near) for near, _ in pairs]
    for reader, (_, far) in zip(readers, pairs, strict=True):
        reader.error = OSError("a fault")
        reactor.addReader(reader)
        far.send(b"bytes")
    for count in (1, 2, 3):
        with pytest.raises(RuntimeError):
            poll_without_log_context(reactor, 1.0, loop_time, rest)
        assert sum(each.read == b"bytes" for each in readers) == count
    assert not rest
    for pair in pairs:
        for end in pair:
            end.close()


def test_twisted_itself_still_does_the_same_with_a_log_context(reactor: Any) -> None:
    source = inspect.getsource(type(reactor).doPoll)
    assert "log.callWithLogger(selectable, _drdw, selectable, fd, event)" in source
    assert "_drdw = self._doReadOrWrite" in source
    assert type(reactor).doIteration is type(reactor).doPoll


def test_a_port_accepts_few_connections_at_once() -> None:
    accepted: list[Any] = []
    factory = Factory()
    factory.buildProtocol = accepted.append  # type: ignore[method-assign,assignment]
    port = Port(0, factory, interface="127.0.0.1", reactor=MemoryReactor())  # type: ignore[no-untyped-call]
    port.startListening()  # type: ignore[no-untyped-call]
    with contextlib.ExitStack() as opened:
        where = ("127.0.0.1", port.getHost().port)  # type: ignore[no-untyped-call]
        for _ in range(3 * ACCEPTS):
            opened.enter_context(socket.create_connection(where))
        for count in (1, 2, 3):
            port.doRead()  # type: ignore[no-untyped-call]
            assert len(accepted) == count * ACCEPTS
    port.connectionLost(None)  # type: ignore[no-untyped-call]
