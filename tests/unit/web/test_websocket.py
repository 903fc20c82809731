"""WebSocket connections as bytes in memory, with time that the test advances."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from wsproto.frame_protocol import Frame, FrameProtocol, Opcode

from playout.server.core.effects import (
    CheckFile,
    CheckPassword,
    Effect,
    EndAnalysis,
    RateLadder,
    StartAnalysis,
)
from playout.server.core.hub import Hub
from playout.server.core.policy import Policy
from playout.server.net.connection import OutputLimits
from playout.server.net.driver import Driver, EffectWorkers
from playout.server.runtime.reactor import LoopTime
from playout.server.runtime.scheduler import LoopScheduler
from playout.server.web.http_server import ADDRESS_SHARE, MAX_CONNECTIONS, REQUEST_S
from playout.server.web.site import make_site
from playout.server.web.websocket import LOST_S, PING_S, PLAYER_PING_S, WebSocketResource
from support.web import HERE, metrics
from support.web_client import KEY

REQUEST = (
    "GET {path} HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13"
)


class Transport(StringTransport):
    """The part of a transport that a connection uses; its peer may stop reading."""

    def setTcpNoDelay(self, on: bool) -> None:
        """Do nothing: no delay."""

    kept_alive = False

    def setTcpKeepAlive(self, on: bool) -> None:
        self.kept_alive = on

    @property
    def socket(self) -> Any:
        return self

    def setsockopt(self, *option: int) -> None:
        """Do nothing: no options."""

    def getsockopt(self, *option: int) -> bytes:
        return b""


def not_expected(effect: Effect) -> None:
    raise AssertionError(f"no test here leads to {effect}")


class WebSocketsInMemory:
    """A site with a hub behind it."""

    def __init__(self, *, proxied: bool = False) -> None:
        self.clock = Clock()
        self.hub = Hub(Policy(analyses=0), random.Random(1))
        scheduler = LoopScheduler(self.clock)
        self.driver = Driver(
            self.hub,
            self.clock,
            scheduler,
            lambda: None,
            lambda _: EffectWorkers(
                dict.fromkeys(
                    (RateLadder, StartAnalysis, EndAnalysis, CheckPassword, CheckFile), not_expected
                )
            ),
            None,
            LoopTime(self.clock.seconds),
        )
        sockets = WebSocketResource(
            self.driver,
            scheduler,
            self.clock,
            output=OutputLimits(),
            proxied=proxied,
        )
        self.site: Any = make_site(metrics(), lambda: None, socket=sockets)
        self.site.reactor = self.clock

    def line(self, *headers: str) -> WebSocketLine:
        line = WebSocketLine(self)
        assert line.ask(*headers) == 101
        return line

    def wait(self, seconds: float) -> None:
        """Advance the time in steps, so that timers are called in order."""
        self.clock.pump([0.5] * int(seconds * 2))


class WebSocketLine:
    def __init__(self, web: WebSocketsInMemory) -> None:
        self.web = web
        self.protocol = web.site.buildProtocol(HERE)
        self.transport = Transport(peerAddress=HERE)
        self.protocol.makeConnection(self.transport)
        self._frames = FrameProtocol(client=True, extensions=[])

    def ask(self, *headers: str, path: str = "/socket") -> int:
        """The status of the answer to an upgrade request."""
        host = () if any(each.startswith("Host:") for each in headers) else ("Host: localhost",)
        request = "\r\n".join([REQUEST.replace("{path}", path), *host, *headers, "", ""])
        self.protocol.dataReceived(request.encode())
        status = int(self.transport.value().split()[1])
        self.transport.clear()
        return status

    def send(self, opcode: Opcode, payload: bytes = b"") -> None:
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126, *size.to_bytes(2)])
        self.protocol.dataReceived(bytes([0x80 | opcode]) + length + bytes(4) + payload)
        self.web.clock.advance(0)

    def say(self, kind: str, **fields: object) -> None:
        self.send(Opcode.TEXT, json.dumps({"type": kind} | fields).encode())

    def heard(self) -> list[Frame]:
        """The frames since the last call."""
        self._frames.receive_bytes(self.transport.value())
        self.transport.clear()
        return list(self._frames.received_frames())

    @property
    def open(self) -> bool:
        return not (self.transport.disconnecting or self.transport.disconnected)

    def hang_up(self) -> None:
        self.protocol.connectionLost(Failure(ConnectionDone()))


def hello(line: WebSocketLine, name: str = "Ann") -> None:
    line.say("hello", protocol_min=1, protocol_max=1, name=name, guest=True)
    (welcome,) = line.heard()
    assert json.loads(str(welcome.payload))["type"] == "welcome"


def test_a_line_outlives_the_time_that_a_request_may_take() -> None:
    web = WebSocketsInMemory()
    line = web.line()
    hello(line)
    web.wait(REQUEST_S * 1.8)
    assert line.open
    line.say("ping", id=1)
    (pong,) = line.heard()
    assert json.loads(str(pong.payload)) == {"type": "pong", "re": 1}


def test_a_client_that_answers_pings_stays_connected() -> None:
    web = WebSocketsInMemory()
    line = web.line()
    hello(line)
    for _ in range(10):
        web.wait(PING_S)
        (ping,) = line.heard()
        assert ping.opcode is Opcode.PING
        line.send(Opcode.PONG)
    assert line.open


def test_a_client_that_answers_no_ping_is_disconnected() -> None:
    web = WebSocketsInMemory()
    line = web.line()
    hello(line)
    web.wait(LOST_S)
    assert [frame.opcode for frame in line.heard()] == [Opcode.PING] * 2
    assert line.open
    web.wait(PING_S)
    assert line.transport.disconnected


def test_a_client_whose_input_waits_is_not_silent() -> None:
    """Its answer arrives, and is read when the input goes on."""
    web = WebSocketsInMemory()
    line = web.line()
    hello(line)
    web.wait(PING_S)
    line.transport.producer.pauseProducing()  # as the client does not read its output
    line.send(Opcode.PONG)
    web.wait(LOST_S + PING_S)
    assert line.open
    line.transport.producer.resumeProducing()
    for _ in range(4):
        web.wait(PING_S)
        line.send(Opcode.PONG)
    assert line.open


def test_a_silent_player_is_away_until_it_answers_or_its_match_is_lost() -> None:
    web = WebSocketsInMemory()
    ann, lobby, bob = web.line(), web.line(), web.line()
    fields = {"protocol_min": 1, "protocol_max": 1, "guest": True, "views": True}
    for seat, (line, name) in enumerate(((ann, "Ann"), (lobby, "Bob")), start=1):
        line.say("hello", name=name, **fields)
        line.say("seek", game="tic_tac_toe", clock="none", seat=seat)
    key = json.loads(str(lobby.heard()[0].payload))["session"]
    bob.say("hello", name="Bob", session=key, **fields)
    bobs_end = LOST_S + web.hub.policy.reconnect_s

    def presences() -> list[dict[str, object]]:
        told = [json.loads(str(each.payload)) for each in ann.heard() if each.payload]
        return [each for each in told if each["type"] in ("presence", "ended")]  # without pings

    def wait(seconds: float) -> None:
        for _ in range(int(seconds)):
            web.wait(1)
            ann.send(Opcode.PONG)

    assert [each["connected"] for each in presences()] == [False, True]
    wait(PLAYER_PING_S + 1)
    assert presences() == []
    wait(PLAYER_PING_S)
    (away,) = presences()
    left_s = away.pop("seconds")
    assert isinstance(left_s, float)
    assert bobs_end - 2 * PLAYER_PING_S <= left_s < bobs_end
    assert (away["player"], away["connected"]) == (2, False)
    bob.send(Opcode.PONG)
    (back,) = presences()
    assert (back["player"], back["connected"]) == (2, True)
    wait(LOST_S + 2 * PLAYER_PING_S)
    assert bob.transport.disconnected
    bob.protocol.connectionLost(Failure(ConnectionAborted()))
    wait(1)
    assert [each["connected"] for each in presences()] == [False, False]
    wait(web.hub.policy.reconnect_s + 1)
    assert presences()[-1]["type"] == "ended"


@pytest.mark.parametrize(
    ("reason", "closes", "left"),
    [
        (ConnectionDone(), True, True),
        (ConnectionDone(), False, True),
        (ConnectionLost(), False, True),
        (ConnectionAborted(), False, False),
    ],
)
def test_the_hub_is_told_whether_the_page_was_closed(
    monkeypatch: pytest.MonkeyPatch, reason: Exception, closes: bool, left: bool
) -> None:
    web = WebSocketsInMemory()
    told: list[bool] = []

    def disconnect(number: int, now: float, *, left: bool) -> list[Effect]:
        told.append(left)
        return []

    monkeypatch.setattr(web.hub, "disconnect", disconnect)
    line = web.line()
    hello(line)
    if closes:
        line.send(Opcode.CLOSE)
    line.protocol.connectionLost(Failure(reason))
    assert told == [left]


def test_the_system_notices_a_peer_whose_machine_is_gone() -> None:
    assert WebSocketsInMemory().line().transport.kept_alive


def test_a_closed_connection_gets_no_pings() -> None:
    web = WebSocketsInMemory()
    line = web.line()
    hello(line)
    line.hang_up()
    assert not web.hub.registry.connections
    web.wait(PING_S * 3)
    assert line.heard() == []


def test_nothing_follows_the_frame_that_closes_a_connection() -> None:
    web = WebSocketsInMemory()
    leaves, stays = web.line(), web.line()
    for line, name in (leaves, "Ann"), (stays, "Bo"):
        hello(line, name)
        line.say("seek", id=1, game="tic_tac_toe")
        if line is leaves:
            line.send(Opcode.CLOSE)
            assert leaves.heard()[-1].opcode is Opcode.CLOSE
    assert "started" in [json.loads(str(frame.payload))["type"] for frame in stays.heard()]
    web.wait(PING_S)
    assert leaves.transport.value() == b""


def test_websockets_do_not_count_as_http_connections() -> None:
    web = WebSocketsInMemory()
    for _ in range(MAX_CONNECTIONS + 5):
        assert web.line().open
    assert len(web.hub.registry.connections) == MAX_CONNECTIONS + 5
    lines = [WebSocketLine(web) for _ in range(MAX_CONNECTIONS // ADDRESS_SHARE)]
    assert all(line.open for line in lines)


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ([], "127.0.0.1"),
        (["X-Forwarded-For: 192.0.2.7"], "192.0.2.7"),
        (["X-Forwarded-For: 198.51.100.1, 192.0.2.7"], "192.0.2.7"),
        (["X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 192.0.2.7"], "192.0.2.7"),
        (["X-Forwarded-For: 2001:db8::1"], "2001:db8::1"),
        (["X-Forwarded-For: unknown"], "127.0.0.1"),
    ],
)
def test_the_address_of_a_connection_behind_a_proxy(headers: list[str], address: str) -> None:
    web = WebSocketsInMemory(proxied=True)
    web.line(*headers)
    (connection,) = web.hub.registry.connections.values()
    assert connection.address == address


def test_without_a_proxy_a_forwarded_address_is_ignored() -> None:
    web = WebSocketsInMemory()
    web.line("X-Forwarded-For: 192.0.2.7")
    (connection,) = web.hub.registry.connections.values()
    assert connection.address == "127.0.0.1"


def test_input_of_a_client_that_does_not_read_is_paused() -> None:
    web = WebSocketsInMemory()
    line = web.line()
    hello(line)
    line.transport.producer.pauseProducing()
    line.say("ping", id="a")
    assert line.heard() == []
    line.transport.producer.resumeProducing()
    web.clock.advance(0)
    (pong,) = line.heard()
    assert json.loads(str(pong.payload)) == {"type": "pong", "re": "a"}


@pytest.mark.parametrize("path", ["/socket/", "/socket/../metrics", "/socket/more"])
def test_only_its_own_path_is_upgraded(path: str) -> None:
    assert WebSocketLine(WebSocketsInMemory()).ask(path=path) == 404
