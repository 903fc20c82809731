"""What a server hears that is open to everybody, while two honest players play on."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.commands import RunningServer
from support.hostile import HELLO, MOVE, PLAIN, SEEK, error, send_until_refused
from support.raw_client import TIMEOUT_S, Message, RawClient
from support.scale import repetitions
from support.two_clients import WON, TwoClients

MAX_FRAME = 64 * 1024
MAX_FIRST_FRAME = 4 * 1024


@pytest.fixture
def peer(server: RunningServer) -> Iterator[RawClient]:
    """A third client, which has not said hello."""
    with RawClient(server.host, server.port) as client:
        yield client


@pytest.fixture
def two_clients(server: RunningServer) -> Iterator[TwoClients]:
    """An honest match, two moves on, which must come to its honest end."""
    with (
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
    ):
        honest = TwoClients(first, second)
        honest.play(2)
        yield honest
        honest.finish()


# Frames.


@pytest.mark.parametrize("length", [MAX_FRAME + 1, 2**20, 2**32 - 1])
@pytest.mark.parametrize("follows", [b"", b"x" * 1000, b"x" * 300_000], ids=len)
@pytest.mark.usefixtures("two_clients")
def test_an_oversized_frame_ends_the_connection(
    peer: RawClient, length: int, follows: bytes
) -> None:
    peer.socket.sendall(struct.pack(">I", length) + follows)
    assert error(peer) == "frame_too_large"
    assert peer.is_closed()


def test_before_hello_frames_are_short(peer: RawClient) -> None:
    peer.send(b"\xc1" * MAX_FIRST_FRAME)
    assert error(peer) == "malformed"
    peer.send(b"\xc1" * (MAX_FIRST_FRAME + 1))
    text = peer.hear()["text"]
    assert text.endswith(f"not {MAX_FIRST_FRAME + 1}; after hello {MAX_FRAME}")
    assert peer.is_closed()


def test_the_largest_frame_is_read(peer: RawClient) -> None:
    peer.hello()
    peer.send(b"\xc1" * MAX_FRAME)
    assert error(peer) == "malformed"
    assert peer.is_alive()
    peer.send(b"\xc1" * (MAX_FRAME + 1))
    assert peer.hear()["text"].endswith(f"not {MAX_FRAME + 1}")


@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0", b"\0\0\0\x0a", b"\0\0\0\x0a\x81\xa4typ"])
@pytest.mark.usefixtures("two_clients")
def test_a_frame_may_stop_in_the_middle(
    peer: RawClient, server: RunningServer, sent: bytes
) -> None:
    peer.socket.sendall(sent)
    peer.socket.close()
    with RawClient(server.host, server.port) as another:
        assert another.is_alive()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\0",
        b"\xc1",
        b"\xff" * 100,
        bytes(range(256)),
        b"GET / HTTP/1.1\r\n\r\n",
        b'{"type": "ping"}',
        msgpack.packb(None),
        msgpack.packb(42),
        msgpack.packb("ping"),
        msgpack.packb(["ping"]),
        msgpack.packb({"type": "ping"}) + b"\xc0",
        msgpack.packb({1: "ping"}),
        b"\x91" * 60_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
    ],
    ids=lambda payload: repr(payload)[:30],
)
@pytest.mark.usefixtures("two_clients")
def test_bytes_that_are_no_message_are_malformed(peer: RawClient, payload: bytes) -> None:
    peer.hello()
    peer.send(payload)
    assert error(peer) == "malformed"
    assert peer.is_alive()


def test_frames_may_come_in_pieces_and_together(peer: RawClient) -> None:
    peer.hello()
    ping = msgpack.packb({"type": "ping", "id": 1})
    frame = struct.pack(">I", len(ping)) + ping
    for byte in frame:
        peer.socket.sendall(bytes([byte]))
    assert peer.hear() == {"type": "pong", "re": 1}
    peer.socket.sendall(frame * 100)
    assert [peer.hear() for _ in range(100)] == [{"type": "pong", "re": 1}] * 100


# Messages.

#: Nested so deeply that to show it would exceed the stack.
DEEP = msgpack.packb({"type": 0})[:-1] + b"\x91" * 1000 + b"\xc0"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({}, "unknown_type"),
        ({"type": None}, "unknown_type"),
        ({"type": "pong"}, "unknown_type"),
        ({"type": "Hello"}, "unknown_type"),
        (DEEP, "malformed"),
        ({"type": "hello"}, "invalid"),
        (HELLO | {"name": None}, "invalid"),
        (HELLO | {"name": 5}, "invalid"),
        (HELLO | {"name": "x" * 33}, "invalid"),
        (HELLO | {"protocol_max": True}, "invalid"),
        (HELLO | {"protocol_min": "1"}, "invalid"),
        (HELLO | {"colour": "red"}, "invalid"),
        (HELLO | {"role": "administrator"}, "invalid"),
        (HELLO | {"protocol_min": 2, "protocol_max": 2}, "unsupported_protocol"),
        (HELLO | {"name": "raw\0"}, "bad_name"),
        (HELLO | {"session": "0" * 32}, "unknown_session"),
        (SEEK, "not_allowed"),
        (MOVE, "not_allowed"),
        ({"type": "cancel", "seek": "s"}, "not_allowed"),
        ({"type": "resign", "match": "m"}, "not_allowed"),
        ({"type": "watch", "match": "m"}, "not_allowed"),
        ({"type": "unwatch", "match": "m"}, "not_allowed"),
        ({"type": "list"}, "not_allowed"),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("two_clients")
def test_before_hello(peer: RawClient, message: Message | bytes, code: str) -> None:
    peer.send(message if isinstance(message, bytes) else msgpack.packb(message))
    assert error(peer) == code
    assert peer.is_alive()
    assert peer.hello()["type"] == "welcome"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (HELLO, "not_allowed"),
        ({"type": "seek"}, "invalid"),
        (SEEK | {"matches": 10**6}, "invalid"),
        (SEEK | {"matches": 2**64 - 1}, "invalid"),
        (SEEK | {"game": "x" * 501}, "invalid"),
        (SEEK | {"game": "chess960"}, "bad_game"),
        (SEEK | {"game": "os.system"}, "bad_game"),
        (SEEK | {"game": "nim(chips=-1)"}, "bad_game"),
        (SEEK | {"game": "nim(chips=1e9)"}, "bad_game"),
        (SEEK | {"game": "nim(chips=" + "9" * 400 + ")"}, "bad_game"),
        (SEEK | {"game": "mnk(m=100000,n=100000,k=5)"}, "bad_game"),
        (SEEK | {"game": "nim((((((("}, "bad_game"),
        (SEEK | {"game": ""}, "bad_game"),
        (SEEK | {"clock": "1/year"}, "bad_clock"),
        (SEEK | {"clock": "0/move"}, "bad_clock"),
        (SEEK | {"clock": ""}, "bad_clock"),
        ({"type": "cancel", "seek": "none"}, "unknown_seek"),
        ({"type": "watch", "match": "none"}, "unknown_match"),
        ({"type": "unwatch", "match": "none"}, "unknown_match"),
        ({"type": "resign", "match": "none"}, "unknown_match"),
        (MOVE, "unknown_match"),
        (MOVE | {"ply": -1}, "invalid"),
        (MOVE | {"action": 2**40}, "invalid"),
        (MOVE | {"info": {"win_rate": float("nan")}}, "invalid"),
        (MOVE | {"info": {"seconds": float("inf")}}, "invalid"),
        (MOVE | {"info": {"pv": list(range(101))}}, "invalid"),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("two_clients")
def test_after_hello(peer: RawClient, message: Message, code: str) -> None:
    peer.hello()
    peer.send(msgpack.packb(message))
    assert error(peer) == code
    assert peer.is_alive()


def test_the_name_of_another(peer: RawClient, two_clients: TwoClients) -> None:
    assert peer.hello(name=two_clients.names[0].upper())["code"] == "name_taken"
    assert peer.is_alive()


@pytest.mark.parametrize("request_", [MOVE | {"ply": 2, "action": 1}, {"type": "resign"}], ids=repr)
def test_a_hand_in_the_match_of_others(
    peer: RawClient, two_clients: TwoClients, request_: Message
) -> None:
    peer.hello()
    peer.send(msgpack.packb(request_ | {"match": two_clients.match}))
    assert error(peer) == "not_your_match"
    assert peer.is_alive()


def test_a_client_that_does_not_read_is_not_served(
    peer: RawClient, two_clients: TwoClients
) -> None:
    for direction in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        peer.socket.setsockopt(socket.SOL_SOCKET, direction, 2**15)
    peer.hello()
    ping = msgpack.packb({"type": "ping", "id": "x" * 64})
    frame = struct.pack(">I", len(ping)) + ping
    send_until_refused(peer, frame, limit=2**25)
    two_clients.play(1)
    peer.socket.settimeout(TIMEOUT_S)
    pongs = 0
    while (answer := peer.hear())["type"] == "pong":
        pongs += 1
    # A burst of 200 messages is allowed, with hello, and 50 more each second until it is used up.
    assert 199 <= pongs < 2000
    assert (answer["type"], answer["code"]) == ("error", "rate_limited")
    assert 0 < answer["seconds"] <= 4


# The players themselves.

Deed = Callable[[TwoClients], Message]
DEEDS: list[tuple[str, str, Deed]] = [
    (
        "out of turn",
        "not_your_turn",
        lambda two_clients: two_clients.move(two_clients.waiting, two_clients.ply, 8),
    ),
    (
        "for an earlier ply",
        "wrong_ply",
        lambda two_clients: two_clients.move(two_clients.to_move, 0, 8),
    ),
    (
        "for a later ply",
        "wrong_ply",
        lambda two_clients: two_clients.move(two_clients.to_move, two_clients.ply + 1, 8),
    ),
    (
        "where a mark is",
        "illegal_action",
        lambda two_clients: two_clients.move(two_clients.to_move, two_clients.ply, 3),
    ),
    (
        "off the board",
        "illegal_action",
        lambda two_clients: two_clients.move(two_clients.to_move, two_clients.ply, 9),
    ),
    (
        "far away",
        "illegal_action",
        lambda two_clients: two_clients.move(two_clients.to_move, two_clients.ply, 2**31 - 1),
    ),
]


@pytest.mark.parametrize(("code", "deed"), [deed[1:] for deed in DEEDS], ids=[d[0] for d in DEEDS])
def test_a_move_that_does_not_fit(two_clients: TwoClients, code: str, deed: Deed) -> None:
    refusal = deed(two_clients)
    assert (refusal["type"], refusal["code"]) == ("error", code)
    assert all(player.is_alive() for player in two_clients.players)


def test_a_repeated_move_is_answered_and_not_played_twice(two_clients: TwoClients) -> None:
    for ply in (0, 1, 0):
        again = two_clients.move(two_clients.players[ply % 2], ply, WON[ply])
        assert (again["type"], again["ply"], again["action"]) == ("update", ply, WON[ply])


def test_a_move_after_the_end(server: RunningServer) -> None:
    with (
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
    ):
        two_clients = TwoClients(first, second)
        two_clients.finish()
        for player, action in ((first, 2), (second, 8)):
            assert two_clients.move(player, 5, action)["code"] == "match_over"
            assert player.is_alive()


def test_too_many_illegal_moves_end_only_that_match(
    server: RunningServer, two_clients: TwoClients
) -> None:
    with (
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
    ):
        spoilt = TwoClients(first, second)
        codes = [first.ask("move", match=spoilt.match, ply=0, action=9)["code"] for _ in range(4)]
        assert codes == ["illegal_action"] * 4
        ended = second.hear_until("ended")
        assert (ended["winner"], ended["reason"]) == (2, "illegal_moves")


# Anything at all.

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=40)
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=6,
)
fields = st.sampled_from(sorted({field for message in PLAIN for field in message} | {"id", "info"}))
nearly = st.builds(
    lambda message, field, value: msgpack.packb(message | {field: value}),
    st.sampled_from(PLAIN),
    fields,
    values,
)
payloads = st.binary(max_size=200) | values.map(msgpack.packb) | nearly


@settings(
    max_examples=repetitions(50, short=10),
)
@given(st.lists(payloads, min_size=1, max_size=15), st.booleans())
def test_arbitrary_messages_are_answered(
    server: RunningServer, two_clients: TwoClients, said: list[bytes], politely: bool
) -> None:
    with RawClient(server.host, server.port) as peer:
        if politely:
            peer.hello()
        for payload in said:
            peer.send(payload)
        assert peer.is_alive()
    assert all(player.is_alive() for player in two_clients.players)
