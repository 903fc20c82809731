"""The common part of TCP and WebSocket connections: sending output, and pausing input."""

from __future__ import annotations

import socket
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from twisted.internet import tcp
from twisted.internet.interfaces import ISSLTransport

from playout.protocol.codec import MessageFormat
from playout.server.runtime.reactor import queued_bytes
from playout.server.runtime.scheduler import DelayedCall, LoopScheduler

if TYPE_CHECKING:
    from playout.server.net.driver import Driver

#: The longest frame in bytes that a client may send before hello.
MAX_FIRST_FRAME = 4 * 1024

# Where Linux stores the shortest recent round trip, in microseconds, in `struct tcp_info`. The mean
# would include delayed acknowledgements of messages that a client need not answer.
_MIN_RTT_OFFSET = 148
_UNKNOWN = 2**32 - 1
#: The system is asked for the round trip once in this number of calls of `lag_s`.
_LAG_EVERY = 8

#: Seconds in which a peer has to read the rest of the output when its connection is to be closed,
#: and to complete the ending of TLS.
CLOSE_S = 3.0

#: Output of a peer, in bytes, that is collected until the loop is idle, or its iteration ends. More
#: is sent at once, so that the system tells whether the peer reads.
COLLECTED_BYTES = 64 * 1024
#: Maximum number of bytes that Linux holds before it sends them. Without a limit it holds megabytes
#: for each peer that does not read, which no limit of this process counts.
KERNEL_BYTES = 128 * 1024

#: Options of a socket, where the system has them. A peer whose machine is gone is noticed after 30
#: seconds of silence and 3 probes, 10 seconds apart.
_OPTIONS = (
    ("TCP_KEEPIDLE", 30),
    ("TCP_KEEPINTVL", 10),
    ("TCP_KEEPCNT", 3),
    ("TCP_NOTSENT_LOWAT", KERNEL_BYTES),
)


class OutputLimits:
    """The limits on output that waits for peers: for each one, and for all together."""

    #: Above its limit, the total falls to this share of it.
    _CLEARED = 0.9

    def __init__(self, per_peer: int = 0, total: int = 0) -> None:
        """`per_peer` and `total` are numbers of bytes; 0 is no limit."""
        self.per_peer = per_peer
        self._most = total
        self._waiting: dict[StreamConnection, int] = {}
        #: The sum for all peers, at least: output that was read since is still counted.
        self._sum = 0

    @property
    def waiting(self) -> int:
        """The bytes that wait for all peers now."""
        for connection in list(self._waiting):
            self._put(connection, connection.waiting_bytes())
        return self._sum

    def update(self, connection: StreamConnection, size: int) -> None:
        """Note how many bytes wait for a peer; abort the peers with the most above the limit."""
        self._put(connection, size)
        if not 0 < self._most < self._sum or self.waiting <= self._most:
            return
        for each in sorted(self._waiting, key=self._waiting.__getitem__, reverse=True):
            if self._sum <= self._most * self._CLEARED:
                break
            self._put(each, 0)
            each.abort()

    def _put(self, connection: StreamConnection, size: int) -> None:
        self._sum += size - self._waiting.pop(connection, 0)
        if size:
            self._waiting[connection] = size


class StreamConnection(ABC):
    """A connection to a client, over a stream of bytes; subclasses separate the messages."""

    #: The encoding of its messages.
    format: MessageFormat
    #: Whether it is of a process that the server has started.
    is_own = False
    transport: Any  # ITCPTransport, whose methods, being declared by zope, have no `self`

    def __init__(self, driver: Driver, scheduler: LoopScheduler, *, output: OutputLimits) -> None:
        """`output`: the limits on output that the peer does not read, with other connections."""
        super().__init__()
        self.number = driver.new_number()
        self._driver = driver
        self._scheduler = scheduler
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        #: Whether `_unsent` is sent at the end of this iteration of the loop.
        self._flush_is_due = False
        self._output = output
        #: Maximum number of bytes that were written at once since the peer had read everything.
        #: These bytes do not count towards the limit: the answer to a request may be large.
        self._largest = 0
        self._closing = False
        #: Aborts the connection if the peer keeps it from being closed.
        self._abort: DelayedCall | None = None
        #: Whether output can be written to the socket: without TLS.
        self._direct = False
        #: Whether the handshake of TLS is not complete, so that no output reaches the peer.
        self._awaits_tls = False
        self._lag_s = 0.0
        self._lag_calls = 0
        #: The reasons why no input is handled at the moment.
        self._paused_by: set[str] = set()
        #: Whether no more is read from the peer.
        self._reading_is_stopped = False

    def opened(self) -> None:
        """Set the socket's options, and tell the driver that the connection is open."""
        self._direct = isinstance(self.transport, tcp.Connection)
        self._awaits_tls = ISSLTransport.providedBy(self.transport)
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        for option, value in _OPTIONS:
            if hasattr(socket, option):
                raw = self.transport.socket
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        # Pauses reading from a client that does not read the answers.
        self.transport.registerProducer(self, streaming=True)
        self._driver.connected(self)

    def closed(self, *, left: bool = False) -> None:
        """Drop unsent output, and tell the driver that the connection is closed.

        For `left` see `Hub.disconnect`.
        """
        self._unsent, self._unsent_bytes = [], 0
        self._closing = True
        self._output.update(self, 0)
        if self._abort and self._abort.active():
            self._abort.cancel()
        self._driver.disconnected(self, left=left)

    @abstractmethod
    def address(self) -> str | None:
        """Return the client's IP address; None until a proxy has announced it."""

    @abstractmethod
    def set_frame_limit(self, most: int) -> None:
        """Allow messages of up to `most` bytes, now that the client has said hello."""

    @abstractmethod
    def handle_input(self) -> None:
        """Handle the input that waits, until `must_wait`."""

    def must_wait(self) -> bool:
        """Whether no more input may be handled now; then this waits for its next turn.

        The first input that comes meanwhile is kept, and no more is read: most clients that wait
        for their turn have sent one message, and to stop and start reading are two system calls.
        """
        if self._closing:
            return True
        if self._paused_by:
            self._reading_is_stopped = True
            self.transport.pauseProducing()
            return True
        turns = self._driver.turns
        if not turns.is_over(self):
            return False
        self._paused_by.add("turn")
        turns.wait(self)
        return True

    def take_turn(self) -> None:
        """Handle the input that has waited for its turn."""
        self._resume("turn")

    def send(self, data: bytes, *, when_idle: bool = False) -> None:
        """Send bytes at the end of this iteration of the loop, or later, with `when_idle`.

        A peer that leaves more output unread than the limits allow is disconnected. After `close`
        nothing is sent: the end of a WebSocket connection must be its last frame.
        """
        if self._closing:
            return
        if not when_idle and not self._flush_is_due:
            self._flush_is_due = True
            self._scheduler.end_of_iteration(self._flush)
        elif not self._unsent:
            self._scheduler.when_idle(self._flush)
        self._unsent.append(data)
        self._unsent_bytes += len(data)
        if self._unsent_bytes > COLLECTED_BYTES:
            self._flush()

    def close(self, *, at_once: bool = False) -> None:
        """Handle no more input, and close the connection when all output was sent.

        After `CLOSE_S` seconds it is aborted: the peer may not read, or not finish TLS. It is
        aborted now before the handshake of TLS, and with `at_once` if there is output that the
        system does not accept.
        """
        if self._closing:
            return
        self._closing = True
        self._flush()
        self.transport.unregisterProducer()
        if self._awaits_tls:
            self.transport.abortConnection()
            return
        if at_once and not (self._direct and not queued_bytes(self.transport)):
            self.transport.abortConnection()
            return
        self.transport.loseConnection()
        self._abort = self._scheduler.later(CLOSE_S, self.transport.abortConnection)

    def pause_reading(self) -> None:
        """Stop reading from the peer until `resume_reading`."""
        self._paused_by.add("driver")

    def resume_reading(self) -> None:
        """Read from the peer again, after `pause_reading`."""
        self._resume("driver")

    def pauseProducing(self) -> None:
        """Called by Twisted: the transport has more to send than the peer reads."""
        self._paused_by.add("unread")

    def resumeProducing(self) -> None:
        """Called by Twisted: the peer has read what was sent."""
        self._resume("unread")

    def stopProducing(self) -> None:
        """Called by Twisted: nothing can be sent any more."""
        self._closing = True

    def lag_s(self) -> float:
        """Return the recent round-trip time in seconds, as the system measured it; 0 if unknown.

        Most calls return an earlier value: it changes slowly, and to ask the system costs as much
        as to read a request.
        """
        if not self._lag_calls % _LAG_EVERY:
            self._lag_s = self._measured_lag_s()
        self._lag_calls += 1
        return self._lag_s

    def _measured_lag_s(self) -> float:
        if not hasattr(socket, "TCP_INFO"):
            return 0.0
        info = self.transport.socket.getsockopt(
            socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT_OFFSET + 4
        )
        if len(info) < _MIN_RTT_OFFSET + 4:
            return 0.0
        (round_trip_us,) = struct.unpack_from("=I", info, _MIN_RTT_OFFSET)
        return 0.0 if round_trip_us == _UNKNOWN else round_trip_us / 1e6

    def waiting_bytes(self) -> int:
        """Return how many bytes wait for the peer in this process."""
        return self._unsent_bytes + queued_bytes(self.transport)

    def abort(self) -> None:
        """Close the connection now; output that the system does not hold is dropped."""
        self._closing = True
        self._unsent, self._unsent_bytes = [], 0
        self.transport.abortConnection()

    def _flush(self) -> None:
        self._flush_is_due = False
        if not self._unsent:
            return
        data = b"".join(self._unsent)
        self._unsent, self._unsent_bytes = [], 0
        before = queued_bytes(self.transport)
        if not before:
            self._largest = 0
            if self._direct:
                data = self._sent_at_once(data)
        if not data:
            return
        self.transport.write(data)
        self._largest = max(self._largest, len(data))
        if 0 < self._output.per_peer < before + len(data) - self._largest:
            self.abort()
        else:
            self._output.update(self, before + len(data))

    def _sent_at_once(self, data: bytes) -> bytes:
        """Send as much as the system accepts now, and return the rest.

        Through `transport.write` each message costs another iteration of the loop and two calls of
        epoll_ctl: 12 % of the processor time of a move with 64 matches at once, and more with one.
        """
        try:
            return data[self.transport.socket.send(data) :]
        except OSError:  # the transport meets the same error, and handles it
            return data

    def _resume(self, reason: str) -> None:
        if reason in self._paused_by:
            self._paused_by.remove(reason)
            if not self._paused_by and not self._closing:
                if self._reading_is_stopped:
                    self._reading_is_stopped = False
                    self.transport.resumeProducing()
                self.handle_input()
