"""Requests of many guests of one address at once, of every kind that may cost much."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from soak.attacked import Attacked, AttackingPeer, attacked, in_parallel
from support import scale

pytestmark = pytest.mark.skipif(not scale.slow, reason="an attack takes half a minute: --slow")

GUESTS = 100
#: Requests of each guest at once: a burst that the limits allow.
BURST = 190


def _send(peers: list[AttackingPeer], messages: list[dict[str, Any]]) -> None:
    """Have each guest send its messages, without reading answers."""

    def send() -> None:
        for peer in peers:
            peer.socket.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                peer.say_all(messages)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for peer in peers:
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    peer.socket.recv(2**20)
            time.sleep(0.05)

    in_parallel(send)


def _flood(under: Attacked, *messages: dict[str, Any]) -> None:
    repeated = [messages[number % len(messages)] for number in range(BURST)]
    _send(under.peers(GUESTS), repeated)


def _leave_at_once(under: Attacked) -> None:
    peers = under.peers(GUESTS)
    for peer in peers:
        peer.say_all([{"type": "seek", "game": "nim", "opponent": "Nobody"}] * 2)
    for peer in peers:
        peer.hear_until("seeking")
    for peer in peers:
        peer.drop()
    time.sleep(3)


def _matches_abandoned_at_once(under: Attacked) -> None:
    pairs = [under.peers(2) for _ in range(10)]
    for first, second in pairs:
        first.say("seek", game="connect_four", clock="none", seat=1, matches=45)
        second.say("seek", game="connect_four", clock="none", seat=2, matches=45)
        for _ in range(45):
            second.hear_until("started")
    for pair in pairs:
        for peer in pair:
            peer.drop()
    time.sleep(6)


def _connections(under: Attacked) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            peers = [
                under.stack.enter_context(
                    AttackingPeer("127.0.0.1", under.server.port, "127.0.0.2")
                )
                for _ in range(50)
            ]
            for peer in peers:
                peer.drop()


SEEK = {"type": "seek", "game": "nim", "opponent": "Nobody"}
ATTACKS: dict[str, Callable[[Attacked], None]] = {
    "seeks": lambda under: _flood(under, SEEK),
    "seeks that fit": lambda under: _flood(under, {"type": "seek", "game": "nim", "clock": "none"}),
    "seeks of many clocks": lambda under: _flood(
        under, *({"type": "seek", "game": "nim", "clock": f"{n + 1}+1"} for n in range(BURST))
    ),
    "challenges of an honest player": lambda under: _flood(
        under, {"type": "seek", "game": "go", "opponent": "Honest first"}
    ),
    "lists": lambda under: _flood(under, {"type": "list"}),
    "overviews": lambda under: _flood(under, {"type": "subscribe_lobby"}),
    "ladders": lambda under: _flood(under, {"type": "watch_ladder", "game": "go(size=19)"}),
    "pings": lambda under: _flood(under, {"type": "ping"}),
    "unknown matches": lambda under: _flood(under, {"type": "watch", "match": "m"}),
    "leaving at once": _leave_at_once,
    "matches abandoned at once": _matches_abandoned_at_once,
    "connections": _connections,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_honest_players_notice_nothing(name: str) -> None:
    options = ["--reconnect-s=2"] if "abandoned" in name else []
    with attacked(*options) as under:
        ATTACKS[name](under)
    under.require_honest_moves()
