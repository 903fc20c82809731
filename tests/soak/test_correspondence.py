"""Two accounts that play many matches by correspondence on large boards, which last for weeks."""

from __future__ import annotations

import contextlib
import random
import socket
from functools import partial
from pathlib import Path

import pytest

from playout import games
from playout.games import Position
from soak.attacked import HOST, AttackingPeer
from support import scale
from support.waiting import wait_until
from testbed.server_process import killable_server

pytestmark = pytest.mark.skipif(not scale.slow, reason="it takes a minute: --slow")

GAME, MATCHES, PLIES = "go(size=19)", 100, 120
#: Maximum growth of the server for each move, in bytes: 2,500 were measured, and 13,000 when all
#: positions were tuples of integers.
MOST = 4000


def _moves() -> tuple[int, ...]:
    """Return random moves of a match that does not end."""
    choose, position = random.Random(1).choice, Position(games.load(GAME))
    while position.ply < PLIES:
        position = position.play(choose(position.legal_actions[:-1]))
    return position.moves


def _resident_kib(pid: int) -> int:
    """Return the resident memory of a server without its storage process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port)):
        return True
    return False


def test_matches_by_correspondence_take_little_memory(tmp_path: Path) -> None:
    options = (
        f"--database=sqlite:///{tmp_path}/playout.db", "--http=none", "--messages-per-s=0",
        "--stored-mb-per-hour=0",
    )  # fmt: skip
    moves = _moves()
    with killable_server(options, tmp_path / "log") as server:
        wait_until(partial(_listens, server.port), "the server")
        with (
            AttackingPeer(HOST, server.port) as first,
            AttackingPeer(HOST, server.port) as second,
        ):
            for name, peer in (("Ann", first), ("Bob", second)):
                hello = {"name": name, "protocol_min": 1, "protocol_max": 1}
                assert peer.ask("hello", **hello, legal_actions=False)["type"] == "welcome"
            first.say(
                "seek", game=GAME, clock="259200/move", seat=1, opponent="Bob", matches=MATCHES
            )
            second.say(
                "seek", game=GAME, clock="259200/move", seat=2, opponent="Ann", matches=MATCHES
            )
            matches = [first.hear_until("started")["match"] for _ in range(MATCHES)]
            for _ in matches:
                second.hear_until("started")
            before = _resident_kib(server.pid)
            for ply, action in enumerate(moves):
                mover, other = (second, first) if ply % 2 else (first, second)
                for part in range(0, MATCHES, 25):
                    some = matches[part : part + 25]
                    mover.say_all([
                        {"type": "move", "match": each, "ply": ply, "action": action}
                        for each in some
                    ])  # fmt: skip
                    for peer in (mover, other):
                        for _ in some:
                            peer.hear_until("update", ply=ply)
            grown = (_resident_kib(server.pid) - before) * 1024 / (MATCHES * PLIES)
        print(f"played: {grown:,.0f} bytes a move")
        server.stop()
        server.start()
        wait_until(partial(_listens, server.port), "the server")
        restarted = (_resident_kib(server.pid) - before) * 1024 / (MATCHES * PLIES)
        print(f"after a restart: {restarted:,.0f} bytes a move")
    assert grown < MOST
    assert restarted < MOST
