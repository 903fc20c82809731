"""Many hostile peers at once against one server, and the faults that they find."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import click
import msgpack

from testbed.fuzz_inputs import (
    STREAMS,
    Input,
    KnownValues,
    Message,
    Mutator,
    Turn,
    framed,
    packed,
    turn,
)
from testbed.server_process import ServerProcess

#: Number of peers at a time, and the most inputs of each.
AT_ONCE = 12
LONGEST = 60
#: Share of the peers that send whole frames only, and ten times as many inputs.
STEADY = 0.03
#: A peer that waits longer for an answer, or for the end of its connection, has found a fault.
PATIENCE_S = 60.0
#: Number of most recent peers whose inputs are shown when a fault is found.
SUSPECTS = 2 * AT_ONCE
#: Texts in the server's log that show a fault.
FAULTS = (b"Traceback", b"cannot handle", b" error: ", b" critical: ")
LAST = framed(packed({"type": "ping", "id": "the last"}))


@dataclass(eq=False)
class HostilePeer:
    """A connection with its inputs, sent and unsent."""

    connection: socket.socket
    left: int
    steady: bool
    inputs: list[Input] = field(default_factory=list)
    unsent: bytes = b""
    unread: bytes = b""
    aligned: bool = True
    turns: deque[Turn] = field(default_factory=lambda: deque(maxlen=4))
    #: When it has sent everything and starts to wait for the end.
    silent_at: float | None = None
    #: Whether it has the answer to its last request, or the server has disconnected.
    over: bool = False

    def append(self, said: Input) -> None:
        """Append an input to those to be sent."""
        self.inputs.append(said)
        self.unsent += said.data
        self.aligned = self.aligned and said.aligned

    def send(self, most: int) -> None:
        """Send at most that many bytes, as far as the socket accepts them."""
        try:
            sent = self.connection.send(self.unsent[:most])
            self.unsent = self.unsent[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.over = True

    def receive(self) -> list[Message]:
        """Return the messages that have arrived."""
        try:
            data = self.connection.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        self.over = self.over or not data
        self.unread += data
        messages = []
        while len(self.unread) >= 4:
            end = 4 + int.from_bytes(self.unread[:4], "big")
            if len(self.unread) < end:
                break
            messages.append(msgpack.unpackb(self.unread[4:end]))
            self.unread = self.unread[end:]
        return messages


class FuzzFault(NamedTuple):
    """A fault of the server, and the inputs before it, the last first."""

    what: str
    inputs: list[Input]

    def __str__(self) -> str:
        lines = (f"{said.kind}: {said.data.hex()}" for said in self.inputs)
        return "\n".join([self.what, "after these inputs, newest first:", *lines])


class Fuzzer:
    """Runs peers that send inputs of a `Mutator`; a new peer replaces each finished one."""

    def __init__(self, served: ServerProcess, seed: int, names: list[str]) -> None:
        """Take the server, a seed, and the names of other players, which inputs may use."""
        self.inputs: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.peers = 0
        self.faults: list[FuzzFault] = []
        self._served = served
        self._seed = seed
        self._known = KnownValues()
        self._known.names += names
        self._mutator = Mutator(seed, self._known)
        self._random = self._mutator.random
        self._suspects: deque[HostilePeer] = deque(maxlen=SUSPECTS)
        self._connections_before = _connections(served.pid)
        self._log_read = 0
        self._left = 0

    def run(self, inputs: int) -> None:
        """Send that many more inputs, and wait until all peers have disconnected."""
        self._left = inputs
        with selectors.DefaultSelector() as selector:
            while self._left > 0 or selector.get_map():
                while len(selector.get_map()) < AT_ONCE and self._left > 0:
                    peer = self._new_peer()
                    selector.register(peer.connection, selectors.EVENT_READ, peer)
                for key in list(selector.get_map().values()):
                    self._send(key.data)
                for key, _ in selector.select(0.0005):
                    self._receive(key.data)
                now = time.monotonic()
                for key in list(selector.get_map().values()):
                    if self._is_done(key.data, now):
                        selector.unregister(key.fileobj)
                        key.data.connection.close()
                        self._read_log()

    def connections_left(self) -> int:
        """Return how many connections the server has not closed, after waiting for zero."""
        until = time.monotonic() + PATIENCE_S
        while (left := _connections(self._served.pid) - self._connections_before) > 0:
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        return left

    def _new_peer(self) -> HostilePeer:
        try:
            connection = socket.create_connection(("127.0.0.1", self._served.port), PATIENCE_S)
        except OSError as error:
            fault = self._found(f"the server refuses connections: {error}", self._suspects)
            raise click.ClickException(str(fault)) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        steady = self._random.random() < STEADY
        most = 10 * LONGEST if steady else LONGEST
        peer = HostilePeer(connection, 1 + self._random.randrange(most), steady)
        if self._random.random() < 0.85:
            self._append(peer, self._mutator.hello())
        self._suspects.append(peer)
        self.peers += 1
        return peer

    def _append(self, peer: HostilePeer, said: Input) -> None:
        self._left -= 1
        self.inputs[said.kind] += 1
        peer.append(said)
        if not said.aligned:
            peer.left = min(peer.left, self._random.randrange(4))

    def _send(self, peer: HostilePeer) -> None:
        """Create inputs and send them, whole or up to a random byte."""
        if self._left <= 0:
            peer.left = 0
        while peer.left and len(peer.unsent) < 1000 and self._random.random() < 0.7:
            peer.left -= 1
            streams = 0.0 if peer.steady else STREAMS
            self._append(peer, self._mutator.input(peer.turns, streams))
        if not peer.left and peer.silent_at is None:
            peer.silent_at = time.monotonic()
            if peer.aligned:
                peer.append(LAST)
        if peer.unsent:
            whole = self._random.random() < 0.7
            peer.send(len(peer.unsent) if whole else 1 + self._random.randrange(len(peer.unsent)))
        if peer.silent_at and not peer.unsent and not peer.aligned:
            with contextlib.suppress(OSError):
                peer.connection.shutdown(socket.SHUT_WR)

    def _receive(self, peer: HostilePeer) -> None:
        for message in peer.receive():
            kind = message["code"] if message["type"] == "error" else message["type"]
            self.answers[kind] += 1
            self._known.learn(message)
            if stands := turn(message):
                peer.turns.append(stands)
            if kind == "internal":
                self._found(f"the server answered {message}", [peer])
            peer.over = peer.over or message.get("re") == "the last"

    def _is_done(self, peer: HostilePeer, now: float) -> bool:
        if not peer.over and peer.silent_at and now - peer.silent_at > PATIENCE_S:
            self._found(f"no answer within {PATIENCE_S:g} seconds", [peer])
            return True
        return peer.over

    def _read_log(self) -> None:
        """Read the new part of the server's log, and look for faults."""
        log = self._served.log.fileno()
        written = os.pread(log, 1 << 20, self._log_read)
        if any(mark in written for mark in FAULTS):
            said = written.decode(errors="replace")
            self._found(f"the server's log says:\n{said}", self._suspects)
        self._log_read += len(written)

    def _found(self, what: str, peers: Iterable[HostilePeer]) -> FuzzFault:
        """Record a fault that one of these peers has caused."""
        inputs = [said for peer in reversed(list(peers)) for said in reversed(peer.inputs)]
        fault = FuzzFault(f"seed {self._seed}: {what}", inputs)
        self.faults.append(fault)
        return fault


def _connections(pid: int) -> int:
    """Return the number of TCP sockets that a process has open, not those to its own processes."""
    lines = [
        line
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]
    ]
    sockets = {f"socket:[{line.split()[9]}]" for line in lines}
    count = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed just now
            count += os.readlink(file) in sockets
    return count
