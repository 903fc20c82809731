"""A server with its default limits, an attacker of one address, and two honest players."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import time
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
#: The longest that a move of honest players may take while another address attacks.
WORST_S = 0.1
#: The longest that the attacker waits for an answer.
ANSWER_S = 30.0
#: Seconds of the honest players' matches before the attack, for comparison.
CALM_S = 2.0

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
    #: The worst moves of honest players without and with the attack, and all of those with it.
    calm_s: float = 0.0
    worst_s: float = 0.0
    latencies_s: list[float] = field(default_factory=list)

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
        """Check that no move of the honest players was slow; a busy machine is allowed for."""
        assert self.worst_s <= WORST_S + self.calm_s, (self.worst_s, self.calm_s)


@contextlib.contextmanager
def attacked(*options: str) -> Iterator[Attacked]:
    """Run a server for an attack in the block; the honest players have finished after it."""
    allow_connections(1000)
    with _serving(options) as server, playing(server.port, size=9) as honest:
        time.sleep(CALM_S)
        calm_s = max(honest.finish().latencies_s)
    with contextlib.ExitStack() as stack, _serving(options) as server:
        under = Attacked(server, stack, calm_s)
        with playing(server.port, size=9) as honest:
            yield under
            report = honest.finish()
        assert not report.fault, report.fault
        under.latencies_s = sorted(report.latencies_s)
        under.worst_s = under.latencies_s[-1]
        middle = under.latencies_s[len(under.latencies_s) // 2]
        print(
            f"honest moves: {len(under.latencies_s)}, median {middle * 1e3:.1f} ms, "
            f"worst {under.worst_s * 1e3:.0f} ms; worst before {under.calm_s * 1e3:.0f} ms"
        )


@contextlib.contextmanager
def _serving(options: Sequence[str]) -> Iterator[ServerProcess]:
    with stored() as database, serving([SERVER, "--port=0", PAGE, database, *options]) as server:
        yield server


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
