"""A server with its default limits, an attacker of one address, and two honest players."""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack

from soak.honest_players import playing
from support.raw_client import RawClient
from testbed.machine import resident_kib
from testbed.server_process import (
    PAGE,
    SERVER,
    ServerProcess,
    allow_connections,
    serving,
    stored,
)

HOST, ATTACKER = "127.0.0.1", "127.0.0.2"
#: The longest that the server may work for others before it answers a move of honest players. It is
#: processor time: on a busy machine, each answer takes longer.
WORST_S = 0.1
#: The longest that the attacker waits for an answer.
ANSWER_S = 30.0

_names = itertools.count(1)


class AttackingPeer(RawClient):
    """A connection of the attacker, whose messages are not checked."""

    require_described = staticmethod(lambda message: None)

    def say_all(self, messages: Sequence[dict[str, Any]]) -> None:
        """Send messages in one write."""
        bodies = map(self.encode, messages)
        self.socket.sendall(b"".join(struct.pack(">I", len(each)) + each for each in bodies))

    def drop(self) -> None:
        """Close the connection by a reset, without reading what has come."""
        linger = struct.pack("ii", 1, 0)
        self.socket.setsockopt(1, 13, linger)  # SOL_SOCKET, SO_LINGER
        self.socket.close()


@dataclass
class Attacked:
    """The server under attack, and what was measured."""

    server: ServerProcess
    stack: contextlib.ExitStack
    #: The processor time of the server during each move of the honest players.
    work_s: list[float] = field(default_factory=list)

    def peer(self, role: str = "bot", address: str = ATTACKER, **hello: Any) -> AttackingPeer:
        """Connect and say hello, by default as a guest."""
        client = self.stack.enter_context(AttackingPeer(HOST, self.server.port, address=address))
        client.socket.settimeout(ANSWER_S)
        answer = client.hello(f"Attacker {next(_names)}", role=role, **hello)
        assert answer["type"] == "welcome", answer
        return client

    def peers(self, count: int, role: str = "bot", address: str = ATTACKER) -> list[AttackingPeer]:
        """Connect several guests."""
        return [self.peer(role, address) for _ in range(count)]

    def memory_mb(self) -> float:
        """Return the resident memory of the server with its child processes."""
        return resident_kib(self.server.pid) / 1024

    def require_honest_moves(self) -> None:
        """Check that no move of the honest players had to wait for much work of the server."""
        assert 0.0 < max(self.work_s) <= WORST_S, sorted(self.work_s)[-10:]


@contextlib.contextmanager
def attacked(*options: str) -> Iterator[Attacked]:
    """Run a server for an attack in the block; the honest players have finished after it."""
    allow_connections(1000)
    with contextlib.ExitStack() as stack, _serving(options) as server:
        under = Attacked(server, stack)
        with playing(server.port, size=9, server=server.pid) as honest:
            yield under
            report = honest.finish()
        assert not report.fault, report.fault
        under.work_s = report.work_s
        for name, seconds in (("latency", report.latencies_s), ("work", report.work_s)):
            middle, worst = statistics.median(seconds), max(seconds)
            print(f"{name} of {len(seconds)} moves: {middle * 1e3:.1f} ms, worst {worst * 1e3:.0f}")


@contextlib.contextmanager
def _serving(options: Sequence[str]) -> Iterator[ServerProcess]:
    """Run a server, by default with a new database."""
    with contextlib.ExitStack() as stack:
        kept = [] if "--database" in options else [stack.enter_context(stored())]
        yield stack.enter_context(serving([SERVER, "--port=0", PAGE, *kept, *options]))


def in_parallel(*works: Callable[[], object]) -> None:
    """Fork a process for each of these, with low priority, and wait for all."""
    children = []
    for work in works:
        if child := os.fork():
            children.append(child)
            continue
        code = 1
        try:
            os.nice(10)
            work()
            code = 0
        finally:
            os._exit(code)
    assert [os.waitpid(each, 0)[1] for each in children] == [0] * len(children)


def packed(message: dict[str, Any]) -> bytes:
    """Return the frame of a message."""
    body = bytes(msgpack.packb(message))
    return struct.pack(">I", len(body)) + body
