"""Requests of many guests of one address at once, of every kind that may cost much."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from playout import games
from playout.games import Position
from soak.attacked import ATTACKER, Attacked, AttackingPeer, attacked, in_parallel
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


def _pages(under: Attacked, *paths: str) -> None:
    """Ask for pages on 20 connections, four requests at a time on each."""

    def ask() -> None:
        requests = itertools.cycle(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in paths
        )
        end = time.monotonic() + 10
        lines: list[socket.socket] = []
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                while len(lines) < 20:
                    address = ("127.0.0.1", under.server.page)
                    lines.append(socket.create_connection(address, 5, (ATTACKER, 0)))
                    lines[-1].setblocking(False)
                    lines[-1].sendall(b"".join(itertools.islice(requests, 4)))
            time.sleep(0.02)
            for line in list(lines):
                with contextlib.suppress(BlockingIOError):
                    try:
                        while line.recv(2**16):
                            line.sendall(next(requests))
                    except ConnectionError:
                        pass
                    lines.remove(line)
                    line.close()

    in_parallel(ask)


def _games(path: str) -> list[str]:
    """Return this path for a hundred games."""
    return [path + f"mnk(m%3D{m},n%3D{n},k%3D5)" for m in range(5, 15) for n in range(5, 15)]


def _long_match() -> str:
    """Return the address of the positions of a long match of Go."""
    position, draw = Position(games.load("go(size=19)")), random.Random(1)
    while position.ply < 300:
        position = position.play(draw.choice(position.legal_actions))
    moves = ",".join(map(str, position.moves))
    return f"/analysis/positions?game=go(size%3D19)&moves={moves}"


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
    "analyses": lambda under: _flood(
        under, {"type": "analyse", "game": "nim"}, {"type": "analyse", "game": "chess"}
    ),
    "attempts at puzzles": lambda under: _flood(under, {"type": "attempt_puzzle", "puzzle": "p"}),
    "codes": lambda under: _flood(under, {"type": "make_code"}, {"type": "list_logins"}),
    "lists on pages": lambda under: _pages(
        under, "/matches", "/players", "/ladders", "/tournaments", "/api/matches?per_page=100"
    ),
    "feeds": lambda under: _pages(under, "/tournaments.atom"),
    "positions on pages": lambda under: _pages(under, _long_match()),
    "boards of many games": lambda under: _pages(under, *_games("/analysis?game=")),
    "ladders of many games": lambda under: _pages(under, *_games("/ladders/")),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_honest_players_notice_nothing(name: str) -> None:
    options = ["--reconnect-s=2"] if "abandoned" in name else []
    with attacked(*options) as under:
        ATTACKS[name](under)
    under.require_honest_moves()
