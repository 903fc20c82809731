"""What lines of bytes have in common: when they are sent, and what becomes of one who is slow."""

from __future__ import annotations

import socket
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from twisted.internet import tcp

from server.model.codec import MessageFormat
from server.runtime.scheduler import LoopScheduler
from server.runtime.twisted_internals import has_queued_output

if TYPE_CHECKING:
    from server.net.driver import Driver

#: What one may send at once before it has said hello.
MAX_FIRST_FRAME = 4 * 1024

# Where Linux keeps the shortest round trip of late, in microseconds, in `struct tcp_info`. The mean
# would count the time that a client's system takes to acknowledge what its program need not answer.
_MIN_RTT_OFFSET = 148
_UNKNOWN = 2**32 - 1
#: Of so many times that it is wanted, it is asked for once.
_LAG_EVERY = 8

# A peer whose machine is gone is noticed after so many seconds of silence, and so many probes.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class StreamConnection(ABC):
    """A `service.Line`, but for how messages are marked off from each other."""

    language: MessageFormat
    transport: Any  # ITCPTransport, whose methods, being declared by zope, have no `self`

    def __init__(self, service: Driver, turn: LoopScheduler, *, unread_bytes: int) -> None:
        """`unread_bytes`: what is kept at most for one that does not read; 0 for any amount."""
        super().__init__()
        self.number = service.new_number()
        self._service = service
        self._turn = turn
        self._unsent: list[bytes] = []
        #: Will it be sent at the end of this turn?
        self._hurried = False
        self._unread_bytes = unread_bytes
        self._unread = 0
        self._closing = False
        #: Is what is written what the socket is to send, with nothing in between?
        self._direct = False
        self._lag_s = 0.0
        self._lag_asked = 0
        #: Why it is not listened to at the moment.
        self._deaf: set[str] = set()

    def opened(self) -> None:
        """The line is there."""
        self._direct = isinstance(self.transport, tcp.Connection)
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        for option, value in _KEEPALIVE:
            if hasattr(socket, option):
                line = self.transport.socket
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        # Who does not read the answers is not asked for more questions.
        self.transport.registerProducer(self, streaming=True)
        self._service.connected(self)

    def closed(self) -> None:
        """The line is gone."""
        self._unsent = []
        self._service.disconnected(self)

    @abstractmethod
    def address(self) -> str | None:
        """Where it comes from, None as long as that is not known."""

    @abstractmethod
    def trust(self, most: int) -> None:
        """It has said who it is: its messages may have so many bytes."""

    @abstractmethod
    def turn_away(self) -> None:
        """Read nothing, until `turn_to`."""

    @abstractmethod
    def turn_to(self) -> None:
        """Read what has come meanwhile, and what comes."""

    def say(self, data: bytes, *, patient: bool = False) -> None:
        """Send bytes at the end of the turn, or, if `patient`, at leisure.

        Who lets too much wait is dropped.
        """
        if not patient and not self._hurried:
            self._hurried = True
            self._turn.end_of_iteration(self._send)
        elif not self._unsent:
            self._turn.when_idle(self._send)
        self._unsent.append(data)

    def close(self) -> None:
        """Say no more and hear no more; what was said still goes out."""
        self._closing = True
        self._send()
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def ignore(self) -> None:
        """Do not listen, until `listen`."""
        self._stop_listening("ignored")

    def listen(self) -> None:
        """Listen again."""
        self._listen_again("ignored")

    def pauseProducing(self) -> None:
        """The transport has more to send than the peer reads."""
        self._unread = 0
        self._stop_listening("unread")

    def resumeProducing(self) -> None:
        """The peer has read what was sent."""
        self._listen_again("unread")

    def lag_s(self) -> float:
        """How long there and back takes, as the system measured it of late; 0 if it does not say.

        It is asked every now and then: the figure changes slowly, and asking costs as much as
        reading what a client says.
        """
        if not self._lag_asked % _LAG_EVERY:
            self._lag_s = self._measured_lag_s()
        self._lag_asked += 1
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

    def _send(self) -> None:
        if not self._unsent:
            return
        data = b"".join(self._unsent)
        self._unsent = []
        self._hurried = False
        if "unread" in self._deaf:
            self._unread += len(data)
            if 0 < self._unread_bytes < self._unread:
                self.transport.abortConnection()
                return
        if self._direct and not has_queued_output(self.transport):
            data = self._sent_at_once(data)
        if data:
            self.transport.write(data)

    def _sent_at_once(self, data: bytes) -> bytes:
        """Send what the system takes now; the rest.

        Through the reactor, each message costs a turn of its loop and two calls of epoll_ctl.
        """
        try:
            return data[self.transport.socket.send(data) :]
        except OSError:  # the transport will find out what it is, and whether it matters
            return data

    def _stop_listening(self, why: str) -> None:
        if not self._deaf:
            self.turn_away()
        self._deaf.add(why)

    def _listen_again(self, why: str) -> None:
        if why in self._deaf:
            self._deaf.remove(why)
            if not self._deaf and not self._closing:
                self.turn_to()
