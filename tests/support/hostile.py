"""Messages and steps of clients that break the protocol."""

from __future__ import annotations

from typing import Any

from support.raw_client import Message, RawClient


def error(peer: RawClient) -> Any:
    """Return the code of the next error."""
    message = peer.hear()
    assert message["type"] == "error", message
    assert message["text"]
    return message["code"]


HELLO = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": "raw"}


SEEK = {"type": "seek", "game": "tic_tac_toe"}


MOVE = {"type": "move", "match": "m", "ply": 0, "action": 0}


def send_until_refused(peer: RawClient, frame: bytes, limit: int) -> int:
    """Send a frame until the server reads no more; return how often it was sent."""
    peer.socket.settimeout(1.0)
    sent = 0
    try:
        while sent < limit:
            sent += peer.socket.send(frame[sent % len(frame) :] + frame * 500)
    except TimeoutError:
        return sent // len(frame)
    raise AssertionError("the server accepts everything that it is sent")


PLAIN: list[Message] = [
    HELLO,
    SEEK,
    MOVE,
    {"type": "cancel", "seek": "s"},
    {"type": "watch", "match": "m"},
    {"type": "list"},
    {"type": "ping"},
]
