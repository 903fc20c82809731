"""The protocol over WebSocket: a match, and messages of hostile pages and programs."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wsproto.frame_protocol import Opcode

from support.commands import RunningServer
from support.hostile import HELLO, MOVE, PLAIN, error, send_until_refused
from support.raw_client import TIMEOUT_S, Message, RawClient
from support.scale import repetitions
from support.two_clients import WON, TwoClients
from support.web_client import WebClient, upgrade

MAX_MESSAGE = 64 * 1024
MAX_FIRST_MESSAGE = 4 * 1024


@pytest.fixture
def page(server: RunningServer) -> tuple[str, int]:
    assert server.page
    return server.page


@pytest.fixture
def peer(page: tuple[str, int]) -> Iterator[WebClient]:
    """A WebSocket connection without a hello."""
    with WebClient(page) as client:
        yield client


@pytest.fixture
def two_clients(server: RunningServer, page: tuple[str, int]) -> Iterator[TwoClients]:
    """A WebSocket client and a TCP client after two moves. Their match must end by the rules."""
    with WebClient(page) as person, RawClient(server.host, server.port) as bot:
        honest = TwoClients(person, bot)
        honest.play(2)
        yield honest
        honest.finish()


# The same as over TCP.


def test_both_see_the_same_match(server: RunningServer, page: tuple[str, int]) -> None:
    with WebClient(page) as person, RawClient(server.host, server.port) as bot:
        TwoClients(person, bot).finish()
        for kind in ("started", "update", "ended"):
            seen = [
                [{k: v for k, v in m.items() if k not in ("re", "seat")} for m in p.heard
                 if m["type"] == kind]
                for p in (person, bot)
            ]  # fmt: skip
            assert seen[0] == seen[1]
            assert seen[0]


def test_a_session_goes_on_over_another_kind_of_line(
    server: RunningServer, page: tuple[str, int]
) -> None:
    with RawClient(server.host, server.port) as bot:
        person = WebClient(page)
        two_clients = TwoClients(person, bot)
        welcome = person.heard[0]
        person.socket.close()
        with RawClient(server.host, server.port) as again:
            again.hello(name=welcome["name"], session=welcome["session"])
            assert again.hear_until("started")["match"] == two_clients.match
            two_clients.players = (again, bot)
            two_clients.finish()


def test_a_spectator_receives_every_move_and_position(
    page: tuple[str, int], server: RunningServer
) -> None:
    with (
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
        WebClient(page) as spectator,
    ):
        two_clients = TwoClients(first, second)
        spectator.hello(role="spectator", views=True)
        assert spectator.ask("watch", match=two_clients.match)["board"]["rows"] == 3
        two_clients.finish()
        for ply, action in enumerate(WON):
            update = spectator.hear_until("update")
            assert (update["ply"], update["action"]) == (ply, action)
            assert update["view"]["last"] == [action]
        assert spectator.hear()["type"] == "ended"


def test_names_are_text(page: tuple[str, int], server: RunningServer) -> None:
    name = "<img src=x onerror=1>"
    with WebClient(page) as person, RawClient(server.host, server.port) as bot:
        assert person.hello(name=name, software="</script><script>")["name"] == name
        bot.hello()
        person.say("seek", game="nim", opponent=bot.heard[0]["name"])
        bot.say("seek", game="nim", opponent=name)
        assert name in person.hear_until("started")["players"]
        thought = {"win_rate": "<script>"}
        refusal = person.ask("move", match="m", ply=0, action=0, info=thought)
        assert refusal["code"] == "invalid"


# Who may have a line.


@pytest.mark.parametrize(
    "origin",
    ["https://elsewhere.example", "http://127.0.0.1", "http://127.0.0.1:1", "null", "http://[",
     "http://localhost:{port}", "http://127.0.0.1:{port}.elsewhere.example"],
)  # fmt: skip
def test_a_page_from_elsewhere_is_refused(page: tuple[str, int], origin: str) -> None:
    with socket.create_connection(page, TIMEOUT_S) as line:
        response = upgrade(line, page, Origin=origin.format(port=page[1]))
        assert (response.status, response.read()) == (403, b"this page is from another site\n")


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", ""])
def test_a_page_from_here_and_a_program_are_let_in(page: tuple[str, int], origin: str) -> None:
    with WebClient(page, Origin=origin.format(port=page[1])) as client:
        assert client.is_alive()


def test_the_same_host_in_capitals_is_the_same(page: tuple[str, int]) -> None:
    host = f"LocalHost:{page[1]}"
    with WebClient(page, Host=host, Origin=f"https://{host.lower()}") as client:
        assert client.is_alive()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Upgrade": ""}, 400),
        ({"Upgrade": "h2c"}, 400),
        ({"Connection": "close"}, 400),
        ({"Sec_WebSocket_Version": "8"}, 426),
        ({"Sec_WebSocket_Version": ""}, 426),
        ({"Sec_WebSocket_Key": ""}, 400),
        ({"Sec_WebSocket_Key": "c2hvcnQ="}, 400),
        ({"Sec_WebSocket_Key": "???"}, 400),
        ({"Sec_WebSocket_Key": "\u00e9" * 12}, 400),
    ],
    ids=repr,
)
def test_invalid_handshakes_are_refused(
    page: tuple[str, int], headers: dict[str, str], status: int
) -> None:
    with socket.create_connection(page, TIMEOUT_S) as line:
        response = upgrade(line, page, **headers)
        assert response.status == status
        assert response.read().endswith(b"\n")
        assert (response.getheader("Sec-WebSocket-Version") == "13") == (status == 426)


def test_a_message_that_follows_the_request_at_once_is_read(page: tuple[str, int]) -> None:
    with socket.create_connection(page, TIMEOUT_S) as line:
        client = WebClient.__new__(WebClient)
        ping = client.frame(json.dumps({"type": "ping", "id": 7}).encode())
        line.sendall(
            b"GET /socket HTTP/1.1\r\nHost: localhost\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            + ping
        )
        heard = b""
        while b"pong" not in heard:
            heard += line.recv(4096)
        assert heard.endswith(b'\r\n\r\n\x81\x16{"type":"pong","re":7}')


# What is no message.


def closes_with(peer: WebClient, code: str, close_code: int) -> None:
    assert error(peer) == code
    assert peer.close_code() == close_code
    assert peer.is_closed()


@pytest.mark.parametrize("size", [MAX_MESSAGE + 1, 2**20])
@pytest.mark.usefixtures("two_clients")
def test_a_message_that_is_too_long_ends_the_line(peer: WebClient, size: int) -> None:
    peer.hello()
    peer.socket.sendall(peer.frame(b"x" * size)[: MAX_MESSAGE + 100])
    closes_with(peer, "frame_too_large", 1009)


def test_before_hello_messages_are_short(peer: WebClient) -> None:
    peer.send(b"x" * MAX_FIRST_MESSAGE)
    assert error(peer) == "malformed"
    peer.send(b"x" * (MAX_FIRST_MESSAGE + 1))
    closes_with(peer, "frame_too_large", 1009)


def test_the_longest_message_is_read(peer: WebClient) -> None:
    peer.hello()
    peer.send(b"x" * MAX_MESSAGE)
    assert error(peer) == "malformed"
    assert peer.is_alive()


def test_fragments_count_together(peer: WebClient) -> None:
    peer.hello()
    peer.socket.sendall(peer.frame(b"x" * 1000, final=False))
    peer.socket.sendall(peer.frame(b"x" * 1000, Opcode.CONTINUATION, final=False) * 65)
    closes_with(peer, "frame_too_large", 1009)


@pytest.mark.usefixtures("two_clients")
def test_fragments_without_end_and_content_end_the_line(peer: WebClient) -> None:
    peer.hello()
    peer.socket.sendall(peer.frame(b"", final=False))
    peer.socket.sendall(peer.frame(b"", Opcode.CONTINUATION, final=False) * 250)
    closes_with(peer, "rate_limited", 1008)


@pytest.mark.parametrize("opcode", [Opcode.PING, Opcode.PONG], ids=str)
@pytest.mark.usefixtures("two_clients")
def test_a_flood_of_pings_ends_the_line(peer: WebClient, opcode: Opcode) -> None:
    peer.hello()
    peer.socket.sendall(peer.frame(b"", opcode) * 250)
    closes_with(peer, "rate_limited", 1008)


@pytest.mark.parametrize(
    ("sent", "close_code"),
    [
        (b"\x82\x81\0\0\0\0x", 1003),
        (b"\x81\x82\0\0\0\0\xc3\x28", 1007),
        (b"\x81\x83\0\0\0\0\xed\xa0\x80", 1007),
        (b"\x81\x81\0\0\0\0\xc3", 1007),
        (b"\xc1\x81\0\0\0\0x", 1002),
        (b"\xa1\x81\0\0\0\0x", 1002),
        (b"\x91\x81\0\0\0\0x", 1002),
        (b"\x81\x01x", 1002),
        (b"\x80\x81\0\0\0\0x", 1002),
        (b"\x83\x80\0\0\0\0", 1002),
        (b"\x8b\x80\0\0\0\0", 1002),
        (b"\x09\x80\0\0\0\0", 1002),
        (b"\x89\xfe\0\x80\0\0\0\0" + b"x" * 128, 1002),
        (b"\x81\xff\x80\0\0\0\0\0\0\0", 1002),
        (b"\x81\xfe\0\x01\0\0\0\0x", 1002),
        (b"\x01\x80\0\0\0\0\x81\x80\0\0\0\0", 1002),
    ],
    ids=[
        "binary", "not UTF-8", "a surrogate", "half a letter", "compressed", "reserved 2",
        "reserved 3", "unmasked", "continues nothing", "unknown", "unknown control",
        "ping in pieces", "long ping", "negative length", "length spelled long",
        "text within text",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("two_clients")
def test_bytes_that_are_no_frame_end_the_connection(
    peer: WebClient, sent: bytes, close_code: int
) -> None:
    peer.socket.sendall(sent)
    closes_with(peer, "malformed", close_code)


def test_pieces_are_put_together_wherever_they_were_cut(peer: WebClient) -> None:
    text = '{"type": "ping", "id": "é 🎲"}'.encode()
    parts = [text[i : i + 1] for i in range(len(text))]
    frames = [peer.frame(parts[0], final=False)]
    frames += [peer.frame(part, Opcode.CONTINUATION, final=False) for part in parts[1:-1]]
    frames.append(peer.frame(b"", Opcode.PING))
    frames.append(peer.frame(parts[-1], Opcode.CONTINUATION))
    for byte in b"".join(frames):
        peer.socket.sendall(bytes([byte]))
    assert peer.next_frame().opcode is Opcode.PONG
    assert peer.hear() == {"type": "pong", "re": "é 🎲"}


def test_a_ping_is_answered_with_what_it_said(peer: WebClient) -> None:
    peer.socket.sendall(peer.frame(b"there?", Opcode.PING))
    pong = peer.next_frame()
    assert (pong.opcode, pong.payload) == (Opcode.PONG, b"there?")


def test_a_close_frame_is_answered(peer: WebClient) -> None:
    peer.socket.sendall(peer.frame(b"\x03\xe8", Opcode.CLOSE))
    assert peer.close_code() == 1000
    assert peer.is_closed()


# Messages of text.


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "malformed"),
        ("ping", "malformed"),
        ("null", "malformed"),
        ('["ping"]', "malformed"),
        ('{"type": "ping"} {}', "malformed"),
        ('{"type": "ping", "id": NaN}', "malformed"),
        ('{"type": "ping", "id": 1e999}', "invalid"),
        ('{"type": "ping", "id": "\\ud800"}', "malformed"),
        ('{"type": "ping", "id": 18446744073709551616}', "invalid"),
        ('{"type": "ping", "id": ' + "9" * 4000 + "}", "invalid"),
        ('{"type": "ping", "id": ' + "[" * 60_000, "malformed"),
        ('{"type": "ping", "x": [' + "0," * 5000 + "0]}", "invalid"),
        ('{"type": "ping", "x": "' + "x" * 5000 + '"}', "invalid"),
        ("{" + ",".join(f'"{i}": 0' for i in range(65)) + "}", "unknown_type"),
        ('{"type": "ping", "id": 3.0}', "invalid"),
        ('{"type": "ping", "id": true}', "invalid"),
        ('{"type": ' + "[" * 400 + "]" * 400 + "}", "unknown_type"),
        ('{"type": "pong", "type": "list", "x": 1}', "invalid"),
    ],
    ids=lambda text: text[:40],
)
def test_malformed_messages_are_answered(peer: WebClient, text: str, code: str) -> None:
    peer.hello()
    peer.send(text.encode())
    assert error(peer) == code
    assert peer.is_alive()


def test_the_last_of_two_equal_keys_counts(peer: WebClient) -> None:
    peer.send(b'{"type": "ping", "id": 1, "id": 2}')
    assert peer.hear() == {"type": "pong", "re": 2}
    peer.send(b'{"type": "list", "type": "ping"}')
    assert error(peer) == "invalid"


@pytest.mark.parametrize("request_", [MOVE | {"ply": 2, "action": 1}, {"type": "resign"}], ids=repr)
def test_a_hand_in_the_match_of_others(
    peer: WebClient, two_clients: TwoClients, request_: Message
) -> None:
    peer.hello()
    peer.send(peer.encode(request_ | {"match": two_clients.match}))
    assert error(peer) == "not_your_match"
    assert peer.is_alive()


def test_a_move_for_the_other_seat_is_not_made(two_clients: TwoClients) -> None:
    person, bot = two_clients.players
    assert two_clients.move(bot, two_clients.ply, 1)["code"] == "not_your_turn"
    assert two_clients.move(person, two_clients.ply, 0)["code"] == "illegal_action"
    forged = person.ask("move", match=two_clients.match, ply=two_clients.ply, action=1, seat=2)
    assert forged["code"] == "invalid"


def test_a_spectator_cannot_move(peer: WebClient, two_clients: TwoClients) -> None:
    peer.hello(role="spectator")
    assert peer.ask("watch", match=two_clients.match)["type"] == "started"
    assert peer.ask("move", match=two_clients.match, ply=2, action=1)["code"] == "not_allowed"


def test_a_client_that_does_not_read_is_not_served(
    peer: WebClient, two_clients: TwoClients
) -> None:
    for direction in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        peer.socket.setsockopt(socket.SOL_SOCKET, direction, 2**15)
    peer.hello()
    ping = peer.frame(peer.encode({"type": "ping", "id": "x" * 64}))
    send_until_refused(peer, ping, limit=2**25)
    two_clients.play(1)
    peer.socket.settimeout(TIMEOUT_S)
    pongs = 0
    while (answer := peer.hear())["type"] == "pong":
        pongs += 1
    # A burst of 200 messages is allowed, with hello, and 50 more each second until it is used up.
    assert 199 <= pongs < 2000
    assert (answer["type"], answer["code"]) == ("error", "rate_limited")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=6,
)
nearly: st.SearchStrategy[Any] = st.builds(
    lambda message, field, value: message | {field: value},
    st.sampled_from(PLAIN),
    st.sampled_from(sorted({*HELLO, *MOVE, "id", "info"})),
    values,
)
payloads = st.binary(max_size=200) | (values | nearly).map(lambda each: json.dumps(each).encode())


@settings(
    max_examples=repetitions(30, short=10),
)
@given(st.lists(payloads, min_size=1, max_size=15), st.booleans(), st.booleans())
def test_arbitrary_bytes_are_answered_or_end_the_connection(
    page: tuple[str, int], two_clients: TwoClients, said: list[bytes], politely: bool, framed: bool
) -> None:
    with WebClient(page) as peer:
        if politely:
            peer.hello()
        try:
            for payload in said:
                peer.socket.sendall(peer.frame(payload) if framed else payload)
            if framed:
                peer.is_alive()
        except (EOFError, ConnectionError):
            pass  # text that is not UTF-8, and what is not even a frame
    assert all(player.is_alive() for player in two_clients.players)
