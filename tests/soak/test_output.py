"""Peers that read nothing, while others have the server write to them."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from soak.attacked import Attacked, AttackingPeer, attacked
from support import scale

pytestmark = pytest.mark.skipif(not scale.slow, reason="an attack takes a minute: --slow")

GAME = "mnk(m=19,n=19,k=19)"
MATCHES, SPECTATORS = 24, 150


def _matches(under: Attacked, count: int) -> tuple[AttackingPeer, AttackingPeer, list[str]]:
    """Begin matches between two guests."""
    first, second = under.peer(legal_actions=False), under.peer(legal_actions=False)
    first.say("seek", game=GAME, clock="none", seat=1, matches=count)
    second.say("seek", game=GAME, clock="none", seat=2, matches=count)
    matches = [first.hear_until("started")["match"] for _ in range(count)]
    for _ in matches:
        second.hear_until("started")
    return first, second, matches


def _play(
    first: AttackingPeer, second: AttackingPeer, matches: list[str], plies: int = 340
) -> None:
    """Play moves in the order of the cells, which makes a row of 19 at move 342."""
    for ply in range(plies):
        mover, other = (second, first) if ply % 2 else (first, second)
        mover.say_all([
            {"type": "move", "match": each, "ply": ply, "action": ply} for each in matches
        ])  # fmt: skip
        for peer in (mover, other):
            for _ in matches:
                assert peer.hear_until("update", ply=ply)


def _silent(under: Attacked, role: str = "bot", **hello: Any) -> AttackingPeer:
    """A guest that reads nothing more; its system takes little, so that the rest waits."""
    peer = under.peer(role, **hello)
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    return peer


def _watch(under: Attacked, matches: list[str], **fields: object) -> None:
    for _ in range(SPECTATORS):
        spectator = _silent(under, "spectator", views=True)
        spectator.say_all([{"type": "watch", "match": each} | fields for each in matches])


def _subscribe(under: Attacked, matches: list[str]) -> None:
    for _ in range(SPECTATORS):
        _silent(under, "human").say("subscribe_lobby")
    seeker = under.peer()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for _ in range(40):
            seeker.say("seek", game="nim", clock="none", opponent="Nobody")
        time.sleep(1)


def _ask(kind: str) -> Callable[[Attacked, list[str]], None]:
    def ask(under: Attacked, matches: list[str]) -> None:
        for _ in range(SPECTATORS):
            peer = _silent(under)
            peer.socket.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                frame: dict[str, object] = {"type": kind}
                if kind == "watch":
                    frame["match"] = matches[0]
                peer.say_all([frame] * 190)
        time.sleep(5)

    return ask


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(_watch, id="moves"),
        pytest.param(lambda under, matches: _watch(under, matches, preview=True), id="previews"),
        pytest.param(_subscribe, id="the lobby"),
        pytest.param(_ask("list"), id="lists"),
        pytest.param(_ask("watch"), id="the same match again and again"),
        pytest.param(_ask("ping"), id="pongs"),
    ],
)
def test_unread_output_is_bounded(attack: Callable[[Attacked, list[str]], None]) -> None:
    with attacked() as under:
        first, second, matches = _matches(under, MATCHES)
        before = under.memory_mb()
        attack(under, matches)
        _play(first, second, matches)
        grown = under.memory_mb() - before
        print(f"the server has grown by {grown:.0f} MB")
    assert grown < 400
    under.require_honest_moves()
