"""What the referee does to the messages of a bot: one class for each kind of interference."""

from __future__ import annotations

from typing import ClassVar, Protocol

from playout.bridges.comply.frames import Frame
from playout.bridges.comply.proxy import Link

#: An action that every game refuses, and every message can hold.
_NO_ACTION = 2**31 - 1
#: Seconds that a refused bot is told to wait.
_WAIT_S = 0.2


class Arbiter(Protocol):
    """What an interference may do besides changing messages."""

    async def restart_server(self) -> None:
        """Stop the server, and start it again."""

    async def abort_match(self) -> None:
        """End the match without result, as an administrator."""

    async def next_message(self) -> None:
        """Wait for the next message of the bot."""


class Interference:
    """What is done to the messages of a bot; each method here passes everything on unchanged."""

    #: The codes of errors that it causes; other errors are the bot's own.
    causes: ClassVar[frozenset[str]] = frozenset()
    #: Whether connections are lost, after which any request may cross with what happened meanwhile.
    cuts: ClassVar[bool] = False
    #: Whether it waits for a moment that a short match may not have.
    waits: ClassVar[bool] = True

    def __init__(self, arbiter: Arbiter) -> None:
        self.arbiter = arbiter
        #: The number of moves that the bot has sent.
        self.moves = 0
        #: Whether it has done what it is for.
        self.done = not self.waits

    async def before_match(self, link: Link) -> None:
        """Called when the bot waits for an opponent."""

    async def from_bot(self, frame: Frame, link: Link) -> None:
        """The bot sent a frame."""
        if frame.type == "move":
            self.moves += 1
            await self.move(frame, link)
        else:
            await link.to_server(frame)

    async def move(self, frame: Frame, link: Link) -> None:
        """The bot sent a move."""
        await link.to_server(frame)

    async def from_server(self, frame: Frame, link: Link) -> None:
        """The server sent a frame to the bot."""
        await link.to_bot(frame)


class Undisturbed(Interference):
    """Nothing is done to the messages."""

    waits = False


class ServerPingSent(Interference):
    """The server asks a bot that waits for an opponent whether it is still there."""

    async def before_match(self, link: Link) -> None:
        await link.to_bot(Frame.of({"type": "ping", "seconds": 60.0}))
        await self.arbiter.next_message()
        self.done = True


class UnknownMessages(Interference):
    """A later server sends fields and messages that the bot does not know."""

    waits = False

    async def from_server(self, frame: Frame, link: Link) -> None:
        await link.to_bot(Frame.of({"type": "brand_new", "data": [1, {"a": None}]}))
        await link.to_bot(Frame.of(frame.message | {"brand_new": {"list": [1.5, "text"]}}))


class Pieces(Interference):
    """Each frame reaches the bot in three parts."""

    waits = False

    async def from_server(self, frame: Frame, link: Link) -> None:
        link.in_pieces = True
        await link.to_bot(frame)


class RateLimit(Interference):
    """The first request for a match and the first move are refused: too many messages."""

    causes = frozenset({"rate_limited"})

    def __init__(self, arbiter: Arbiter) -> None:
        super().__init__(arbiter)
        self._refused: set[object] = set()

    async def from_bot(self, frame: Frame, link: Link) -> None:
        if frame.type not in ("seek", "join", "move") or frame.type in self._refused:
            await super().from_bot(frame, link)
            return
        self._refused.add(frame.type)
        self.done = frame.type == "move"
        error = {"type": "error", "code": "rate_limited", "seconds": _WAIT_S}
        error["text"] = f"too many messages; the server reads no further message for {_WAIT_S} s"
        if (number := frame.message.get("id")) is not None:
            error["re"] = number
        await link.to_bot(Frame.of(error))


class IllegalMove(Interference):
    """The bot's first move is turned into an illegal one, which the server refuses."""

    causes = frozenset({"illegal_action", "match_over"})

    async def move(self, frame: Frame, link: Link) -> None:
        if not self.done:
            self.done = True
            frame = Frame.of(frame.message | {"action": _NO_ACTION})
        await link.to_server(frame)


class RepeatedMove(Interference):
    """The bot's first two moves arrive twice, so that it gets their `update` twice."""

    async def move(self, frame: Frame, link: Link) -> None:
        await link.to_server(frame)
        if self.moves <= 2:
            self.done = True
            await link.to_server(frame)


class LateMove(Interference):
    """The bot's second move arrives after its time is up: `match_over`, then `ended`."""

    causes = frozenset({"match_over"})

    def __init__(self, arbiter: Arbiter) -> None:
        super().__init__(arbiter)
        self._held: Frame | None = None
        self._ended: Frame | None = None

    async def move(self, frame: Frame, link: Link) -> None:
        if self.moves == 2:
            self._held = frame
        else:
            await link.to_server(frame)

    async def from_server(self, frame: Frame, link: Link) -> None:
        if frame.type == "ended" and self._held:
            self._ended = frame
            await link.to_server(self._held)
            return
        await link.to_bot(frame)
        if frame.message.get("code") == "match_over" and self._ended:
            self.done = True
            await link.to_bot(self._ended)


class AbortedMatch(Interference):
    """An administrator ends the match before the bot's second move arrives."""

    async def move(self, frame: Frame, link: Link) -> None:
        if self.moves != 2:
            await link.to_server(frame)
            return
        self.done = True
        await self.arbiter.abort_match()


class LostMove(Interference):
    """The connection is cut before the bot's first move arrives."""

    cuts = True

    async def move(self, frame: Frame, link: Link) -> None:
        if self.done:
            await link.to_server(frame)
            return
        self.done = True
        await self.lose(link)

    async def lose(self, link: Link) -> None:
        """Called for the first move, which is not passed on."""
        link.close("the connection is cut before the move arrives")


class LostUpdate(Interference):
    """The connection is cut after the bot's first move has arrived, before its `update`."""

    cuts = True

    async def from_server(self, frame: Frame, link: Link) -> None:
        if frame.type == "update" and self.moves and not self.done:
            self.done = True
            link.close("the move has arrived; the connection is cut before its update")
            return
        await link.to_bot(frame)


class ServerRestart(LostMove):
    """The server is restarted when the bot sends its first move, which is lost."""

    async def lose(self, link: Link) -> None:
        await self.arbiter.restart_server()
