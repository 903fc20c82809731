"""server.net.driver: requests wait for their games, and their senders are told."""

from __future__ import annotations

from typing import Any, cast

import pytest
from twisted.internet.task import Clock

from playout.games import NotReady
from playout.protocol.codec import MessageFormat, decode_event, decode_request, encode
from playout.protocol.messages import Code, Notice, Seek
from playout.server.core.match import Refused
from playout.server.net.connection import StreamConnection
from playout.server.net.driver import MOST_HELD, NOTICE_S, HeldRequests

GO, NIM = Seek(game="go"), Seek(game="nim")


class KeptMessages:
    """Keeps what a client is sent."""

    format = MessageFormat(encode, decode_request)

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, data: bytes) -> None:
        self.sent.append(decode_event(data))


class Held:
    """Held requests, and those that were handled."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.left_s = 9
        self.handled: list[Seek] = []
        self.requests = HeldRequests(self.clock, lambda _, request: self.handled.append(request))

    def hold(self, connection: KeptMessages, request: Seek) -> None:
        """Hold a request of a connection."""
        why = NotReady(request.game, lambda: f"{request.game}: {self.left_s} s")
        self.requests.hold(cast(StreamConnection, connection), request, why)


def texts(connection: KeptMessages) -> list[str]:
    assert all(type(each) is Notice and each.code == "game_compiling" for each in connection.sent)
    return [each.text for each in connection.sent]


def test_a_client_is_told_again_and_again_until_its_request_is_handled() -> None:
    held, ada, bob = Held(), KeptMessages(), KeptMessages()
    held.hold(ada, GO)
    held.hold(bob, NIM)
    held.left_s = 7
    held.clock.advance(NOTICE_S)
    assert texts(ada) == ["go: 9 s", "go: 7 s"]
    held.requests.release("go")
    assert held.handled == [GO]
    held.clock.advance(NOTICE_S)
    assert (len(ada.sent), len(bob.sent)) == (2, 3)
    held.requests.release("nim")
    assert held.handled == [GO, NIM]
    held.clock.advance(NOTICE_S)
    assert not held.clock.getDelayedCalls()


def test_the_requests_of_a_closed_connection_are_forgotten() -> None:
    held, ada = Held(), KeptMessages()
    held.hold(ada, GO)
    held.requests.drop(cast(StreamConnection, ada))
    held.clock.advance(NOTICE_S)
    held.requests.release("go")
    assert (len(ada.sent), held.handled) == (1, [])


def test_a_connection_has_only_some_requests_that_wait() -> None:
    held, ada = Held(), KeptMessages()
    for _ in range(MOST_HELD):
        held.hold(ada, GO)
    with pytest.raises(Refused) as refused:
        held.hold(ada, NIM)
    assert refused.value.code is Code.TOO_MANY
    held.hold(KeptMessages(), NIM)
