"""Requests about games that are being compiled: they wait, and their senders are told how long."""

from __future__ import annotations

from collections.abc import Callable

from playout.games import NotReady
from playout.protocol.messages import Code, Notice, Request
from playout.server.core.match import Refused
from playout.server.net.transport import ClientTransport
from playout.server.runtime.scheduler import CallScheduler

#: Seconds between two notices to a client that waits.
NOTICE_S = 1.8
#: The most requests of a connection that wait.
MOST = 8


class HeldRequests:
    """Holds requests until their games are ready, and then has them handled again."""

    def __init__(
        self, timer: CallScheduler, handle: Callable[[ClientTransport, Request], None]
    ) -> None:
        """`handle` is called with each request when its game is ready or has failed."""
        self._timer = timer
        self._handle = handle
        self._held: list[tuple[ClientTransport, Request, NotReady]] = []
        self._is_telling = False

    def hold(self, connection: ClientTransport, request: Request, why: NotReady) -> None:
        """Keep a request, and tell its sender. Raises Refused if too many wait."""
        if sum(each is connection for each, _, _ in self._held) >= MOST:
            raise Refused(Code.TOO_MANY, f"{MOST} of your requests wait already: {why}")
        self._held.append((connection, request, why))
        _tell(connection, why)
        if not self._is_telling:
            self._is_telling = True
            self._timer.callLater(NOTICE_S, self._tell_all)

    def release(self, game: str) -> None:
        """Have the requests handled that wait for a game."""
        due = [each for each in self._held if each[2].game == game]
        self._held = [each for each in self._held if each[2].game != game]
        for connection, request, _ in due:
            self._handle(connection, request)

    def drop(self, connection: ClientTransport) -> None:
        """Forget the requests of a connection that is closed."""
        self._held = [each for each in self._held if each[0] is not connection]

    def _tell_all(self) -> None:
        self._is_telling = bool(self._held)
        if self._held:
            self._timer.callLater(NOTICE_S, self._tell_all)
        for connection, why in {each: why for each, _, why in self._held}.items():
            _tell(connection, why)


def _tell(connection: ClientTransport, why: NotReady) -> None:
    notice = Notice(code="game_compiling", text=str(why))
    connection.send(connection.format.encode(notice))
