"""Hostile peers, many at once, and what their server makes of them."""

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

from testbed.mutate import STREAMS, Input, Known, Message, Mutator, Turn, framed, packed, turn
from testbed.serving import Served

#: How many peers there are at a time, and how much each says at most.
AT_ONCE = 12
LONGEST = 60
#: The share of those who keep to frames, and say ten times as much.
STEADY = 0.03
#: A peer who waits longer for an answer, or for the end, has found a fault.
PATIENCE_S = 60.0
#: Peers whose inputs are shown when a fault is found: those that were here last.
SUSPECTS = 2 * AT_ONCE
#: What the server writes when it has a fault.
FAULTS = (b"Traceback", b"cannot handle", b" error: ", b" critical: ")
LAST = framed(packed({"type": "ping", "id": "the last"}))


@dataclass(eq=False)
class HostilePeer:
    """A connection, what is still to be said on it and what was."""

    line: socket.socket
    left: int
    steady: bool
    said: list[Input] = field(default_factory=list)
    unsent: bytes = b""
    unread: bytes = b""
    aligned: bool = True
    turns: deque[Turn] = field(default_factory=lambda: deque(maxlen=4))
    #: When it has said all, and is waiting for the end.
    silent_at: float | None = None
    #: It has got the answer to its last request, or the server has hung up.
    over: bool = False

    def say(self, said: Input) -> None:
        """Next."""
        self.said.append(said)
        self.unsent += said.data
        self.aligned = self.aligned and said.aligned

    def send(self, most: int) -> None:
        """So many bytes of what is to be said, if the line takes them."""
        try:
            sent = self.line.send(self.unsent[:most])
            self.unsent = self.unsent[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.over = True

    def hear(self) -> list[Message]:
        """What was said to it."""
        try:
            data = self.line.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        self.over = self.over or not data
        self.unread += data
        heard = []
        while len(self.unread) >= 4:
            end = 4 + int.from_bytes(self.unread[:4], "big")
            if len(self.unread) < end:
                break
            heard.append(msgpack.unpackb(self.unread[4:end]))
            self.unread = self.unread[end:]
        return heard


class Fault(NamedTuple):
    """What should not have been, and what was sent before, the last first."""

    what: str
    inputs: list[Input]

    def __str__(self) -> str:
        lines = (f"{said.kind}: {said.data.hex()}" for said in self.inputs)
        return "\n".join([self.what, "after these inputs, the last first:", *lines])


class Fuzzer:
    """Peers who say what a `Mutator` makes up; each is followed by the next."""

    def __init__(self, served: Served, seed: int, names: list[str]) -> None:
        """`names` are those of others, whom one may pretend to be."""
        self.inputs: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.peers = 0
        self.faults: list[Fault] = []
        self._served = served
        self._seed = seed
        self._known = Known()
        self._known.names += names
        self._mutator = Mutator(seed, self._known)
        self._random = self._mutator.random
        self._suspects: deque[HostilePeer] = deque(maxlen=SUSPECTS)
        self._lines = _sockets(served.pid)
        self._log_read = 0
        self._left = 0

    def run(self, inputs: int) -> None:
        """Until so many more inputs were sent, and all who sent them are gone."""
        self._left = inputs
        with selectors.DefaultSelector() as selector:
            while self._left > 0 or selector.get_map():
                while len(selector.get_map()) < AT_ONCE and self._left > 0:
                    peer = self._newcomer()
                    selector.register(peer.line, selectors.EVENT_READ, peer)
                for key in list(selector.get_map().values()):
                    self._speak(key.data)
                for key, _ in selector.select(0.0005):
                    self._listen(key.data)
                now = time.monotonic()
                for key in list(selector.get_map().values()):
                    if self._is_done(key.data, now):
                        selector.unregister(key.fileobj)
                        key.data.line.close()
                        self._read_log()

    def connections_left(self) -> int:
        """Lines to the server that are there and were not before; waits until there are none."""
        until = time.monotonic() + PATIENCE_S
        while (left := _sockets(self._served.pid) - self._lines) > 0:
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        return left

    def _newcomer(self) -> HostilePeer:
        try:
            line = socket.create_connection(("127.0.0.1", self._served.port), PATIENCE_S)
        except OSError as error:
            fault = self._found(f"the server is not there: {error}", self._suspects)
            raise click.ClickException(str(fault)) from error
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.setblocking(False)
        steady = self._random.random() < STEADY
        most = 10 * LONGEST if steady else LONGEST
        peer = HostilePeer(line, 1 + self._random.randrange(most), steady)
        if self._random.random() < 0.85:
            self._say(peer, self._mutator.hello())
        self._suspects.append(peer)
        self.peers += 1
        return peer

    def _say(self, peer: HostilePeer, said: Input) -> None:
        self._left -= 1
        self.inputs[said.kind] += 1
        peer.say(said)
        if not said.aligned:
            peer.left = min(peer.left, self._random.randrange(4))

    def _speak(self, peer: HostilePeer) -> None:
        """Make something up, and send it: at once, or as far as a byte somewhere within."""
        if self._left <= 0:
            peer.left = 0
        while peer.left and len(peer.unsent) < 1000 and self._random.random() < 0.7:
            peer.left -= 1
            streams = 0.0 if peer.steady else STREAMS
            self._say(peer, self._mutator.input(peer.turns, streams))
        if not peer.left and peer.silent_at is None:
            peer.silent_at = time.monotonic()
            if peer.aligned:
                peer.say(LAST)
        if peer.unsent:
            whole = self._random.random() < 0.7
            peer.send(len(peer.unsent) if whole else 1 + self._random.randrange(len(peer.unsent)))
        if peer.silent_at and not peer.unsent and not peer.aligned:
            with contextlib.suppress(OSError):
                peer.line.shutdown(socket.SHUT_WR)

    def _listen(self, peer: HostilePeer) -> None:
        for message in peer.hear():
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
        """What the server has written since: did it have a fault?"""
        log = self._served.log.fileno()
        written = os.pread(log, 1 << 20, self._log_read)
        if any(mark in written for mark in FAULTS):
            said = written.decode(errors="replace")
            self._found(f"the server's log says:\n{said}", self._suspects)
        self._log_read += len(written)

    def _found(self, what: str, peers: Iterable[HostilePeer]) -> Fault:
        """Note a fault, which one of these peers has found."""
        inputs = [said for peer in reversed(list(peers)) for said in reversed(peer.said)]
        fault = Fault(f"seed {self._seed}: {what}", inputs)
        self.faults.append(fault)
        return fault


def _sockets(pid: int) -> int:
    """How many a process has open."""
    count = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed just now
            count += os.readlink(file).startswith("socket:")
    return count
