"""One takes what others need: places in lists, connections, ladders; a server that takes terminals.

Each attack is a program against a real server with its default limits, or, for a hostile server, a
real `playout-player` against a program.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
import struct
from collections.abc import Callable
from threading import Thread
from typing import Any

import msgpack
import pytest

from soak.attacked import HOST, Attacked, attacked
from support import scale
from support.commands import run

pytestmark = pytest.mark.skipif(not scale.slow, reason="an attack takes half a minute: --slow")

#: The game of the honest players with other parameters: the server has loaded its rules.
GAME = "mnk(m=8,n=8,k=5)"

# Seeks: the lobby shows a limited number.


def _seeks_of_one(under: Attacked) -> None:
    under.peer("human").say_all([{"type": "seek", "game": GAME, "clock": "60+1"}] * 100)


def _seeks_of_many(under: Attacked) -> None:
    for peer in under.peers(20, "human"):
        peer.say_all([{"type": "seek", "game": GAME, "clock": "60+1"}] * 100)


def _seeks_of_many_games(under: Attacked) -> None:
    for size, peer in enumerate(under.peers(20, "human"), start=5):
        game = f"mnk(m={size % 8 + 5},n=9)"
        peer.say_all([{"type": "seek", "game": game, "clock": f"{n + 1}+1"} for n in range(100)])


def _seeks_that_are_left(under: Attacked) -> None:
    for _ in range(3):
        peers = under.peers(5)
        for peer in peers:
            peer.say_all([{"type": "seek", "game": GAME, "clock": "60+1"}] * 100)
            peer.hear_until("seeking")
        for peer in peers:
            peer.drop()


@pytest.mark.parametrize(
    "attack", [_seeks_of_one, _seeks_of_many, _seeks_of_many_games, _seeks_that_are_left]
)
def test_the_lobby_shows_the_seeks_of_others(attack: Callable[[Attacked], None]) -> None:
    with attacked() as under:
        attack(under)
        seeker, observer = (under.peer("human", address) for address in ("127.0.0.7", "127.0.0.8"))
        seek = seeker.ask("seek", game="nim", clock="60+1")["seek"]
        assert seek in [each["seek"] for each in observer.ask("list")["seeks"]]
        lobby = observer.ask("subscribe_lobby")
        assert seek in json.dumps(lobby)
    under.require_honest_moves()


# Connections: those of bots, administrators and health are reserved.


def _silent(port: int, address: str, sent: bytes) -> socket.socket:
    made = socket.create_connection((HOST, port), 10, source_address=(address, 0))
    made.sendall(sent)
    return made


BOT = {"player": "Playout Easy", "game": "connect_four", "clock": "60+1"}
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
IDLE: dict[str, Callable[[Attacked, str], socket.socket]] = {
    "silent": lambda under, address: _silent(under.server.port, address, b""),
    "half a hello": lambda under, address: _silent(under.server.port, address, b"\0\0\0\x40\x85"),
    "half requests": lambda under, address: _silent(
        under.server.page, address, b"GET / HTTP/1.1\r\n"
    ),
    "guests": lambda under, address: under.peer(address=address).socket,
}


@pytest.mark.parametrize("kind", IDLE)
def test_idle_connections_leave_room_for_bots_and_health(kind: str) -> None:
    with attacked("--connections=120") as under:
        person = under.peer("human", "127.0.0.7")
        refused = 0
        for number in itertools.count():
            if refused > 5 or number == 300:
                break
            address = f"127.0.1.{number // 20 + 1}"
            try:
                under.stack.enter_context(IDLE[kind](under, address))
            except (OSError, EOFError, AssertionError):
                refused += 1
        assert person.ask("challenge_bot", **BOT)["type"] == "seeking"
        assert person.hear_until("started")
        with _silent(under.server.page, "127.0.0.9", GET) as own:
            assert own.recv(100).startswith(b"HTTP/1.1 200")


# Ladders: versions are work.


@pytest.mark.parametrize("kind", ["versions", "accounts"])
def test_new_versions_are_few(kind: str) -> None:
    with attacked() as under:
        entered, before = 0, under.memory_mb()
        for account in range(10):
            peer = under.peer(guest=False)
            for version in range(60):
                named = f"{account}.{version}" if kind == "versions" else ""
                answer = peer.ask("enter_ladder", game="nim", version=named)
                entered += answer["type"] == "ok"
                peer.ask("leave_ladder", game="nim")
        # Of an address, 120 in an hour, and one more in each 30 s; a version that enters again is
        # not new.
        assert 120 <= entered <= 130 if kind == "versions" else entered == 600
        assert under.memory_mb() - before < 100
    under.require_honest_moves()


# A hostile server: what it sends reaches the terminal of a player.

EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b]0;title\x07\x9b31m\u202eevil\r\n"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
#: What a hostile server sends after the hello of a player, by kind.
TOLD: dict[str, list[dict[str, Any]]] = {
    "notice": [{"type": "notice", "code": "storage_down", "text": EVIL}],
    "refusal": [{"type": "error", "code": "too_many", "text": EVIL, "re": None}],
    "closing": [{"type": "closing", "seconds": 0.1, "kept": True}],
    "challenge": [
        {"type": "challenged", "seek": EVIL, "name": EVIL, "game": f"nim{EVIL}", "clock": EVIL}
    ],
    "match": [
        {"type": "seeking", "seek": "s", "name": EVIL, "game": f"nim{EVIL}", "clock": EVIL},
        {"type": "started", "match": EVIL, "game": f"nim{EVIL}", "players": [EVIL, EVIL]},
    ],
    "no message": [{"type": EVIL, EVIL: EVIL}],
}


def _serve(listener: socket.socket, events: list[dict[str, Any]]) -> None:
    """Answer one hello with hostile names, then send events and close."""
    with contextlib.suppress(OSError, EOFError), listener.accept()[0] as peer:
        peer.settimeout(20)
        (size,) = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))
        hello = msgpack.unpackb(peer.recv(size, socket.MSG_WAITALL))
        welcome = {
            "type": "welcome", "re": hello.get("id"), "protocol": 1, "name": EVIL, "session": "s",
            "server": EVIL, "games": [f"nim{EVIL}"], "bots": [], "registered": False,
        }  # fmt: skip
        refusal = {"type": "error", "re": hello.get("id"), "code": "kicked", "text": EVIL}
        for each in (welcome, *events, refusal):
            body = bytes(msgpack.packb(each))
            peer.sendall(struct.pack(">I", len(body)) + body)
        with contextlib.suppress(OSError):
            peer.recv(1000)


@pytest.mark.parametrize("kind", TOLD)
def test_a_hostile_server_commands_no_terminal(kind: str) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        thread = Thread(target=_serve, args=(listener, TOLD[kind]))
        thread.start()
        words = ("nim", "random", "--guest", "--host", HOST, "--port", str(port), "--retry-s", "0")
        _, output = run("playout-player", *words)
        thread.join()
    assert not _CONTROLS.search(output), repr(output)
    assert "Traceback" not in output
    assert output
