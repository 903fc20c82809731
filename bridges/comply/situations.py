"""The situations in which a bot is tested: their table, and the interference in each.

An `Interference` changes the messages between the bot and the server, or passes them on unchanged.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Protocol

from playout.bridges.comply.proxy import Frame, Link
from playout.games import Game, SpecError

#: The clock of a situation that is not about another one.
CLOCK = "10+1"
#: An action that every game refuses, and every message can hold.
_NO_ACTION = 2**31 - 1
#: Seconds that a refused bot is told to wait.
_WAIT_S = 0.2


class Arbiter(Protocol):
    """The actions of an interference besides changing messages."""

    async def restart_server(self) -> None:
        """Stop the server, and start it again."""

    async def abort_match(self) -> None:
        """End the match without result, as an administrator."""

    async def next_message(self) -> None:
        """Wait for the next message of the bot."""


class Interference:
    """Changes the messages of a bot; each method here passes messages on unchanged."""

    #: The codes of errors that it causes; other errors are the bot's own.
    causes: ClassVar[frozenset[str]] = frozenset()
    #: Whether it cuts connections, after which requests may cross with events.
    cuts: ClassVar[bool] = False
    #: Whether it waits for an event that a short match may not have.
    waits: ClassVar[bool] = True

    def __init__(self, arbiter: Arbiter) -> None:
        self.arbiter = arbiter
        #: The number of moves that the bot has sent.
        self.moves = 0
        #: Whether it has interfered.
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
    """Passes all messages on unchanged."""

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


class Rolls(Interference):
    """Rolls follow a move of the bot, in its `update`."""

    async def from_server(self, frame: Frame, link: Link) -> None:
        if self.moves and self.has_rolls(frame) and not self.done:
            self.done = True
            await self.rolled(frame, link)
        else:
            await link.to_bot(frame)

    def has_rolls(self, frame: Frame) -> bool:
        """Return whether it is an `update` with rolls."""
        return frame.type == "update" and bool(frame.message.get("rolls"))

    async def rolled(self, frame: Frame, link: Link) -> None:
        """The first such `update` after a move of the bot."""
        await link.to_bot(frame)


class LostRolls(Rolls):
    """The connection is cut before the first `update` with rolls."""

    cuts = True

    async def rolled(self, frame: Frame, link: Link) -> None:
        link.close("the move has arrived; the connection is cut before its update, which has rolls")


class ServerRestart(LostMove):
    """The server is restarted when the bot sends its first move, which is lost."""

    async def lose(self, link: Link) -> None:
        await self.arbiter.restart_server()


@dataclass(frozen=True)
class Situation:
    """A match with an interference, and the reason of its end if the bot behaves correctly.

    `about` describes the situation, and `duty` the correct behaviour. In a tournament, the first
    illegal move loses: `ends_in_tournament`. `chance`: whether it needs a game with chance.
    """

    name: str
    about: str
    duty: str
    interference: type[Interference] = Undisturbed
    clock: str = CLOCK
    seat: int = 1
    ends: str = "rules"
    ends_in_tournament: str | None = None
    chance: bool = False

    def end(self, *, tournament: bool) -> str:
        """Return the reason with which the match must end."""
        return self.ends_in_tournament or self.ends if tournament else self.ends


_PLAYS = "play to the end, in time"

SITUATIONS = (
    Situation("seat 1", "The bot moves first.", _PLAYS),
    Situation("seat 2", "The bot moves second.", _PLAYS, seat=2),
    Situation("clock per move", "Clock 5/move.", _PLAYS, clock="5/move"),
    Situation("clock with increment", "Clock 10+0.5.", _PLAYS, clock="10+0.5"),
    Situation("clock with periods", "Clock 2+3x5.", _PLAYS, clock="2+3x5"),
    Situation("clock with delay", "Clock 10d1.", _PLAYS, clock="10d1"),
    Situation(
        "no clock",
        "Clock none: time_control and clocks are left out.",
        _PLAYS,
        clock="none",
    ),
    Situation(
        "ping",
        "While the bot waits for an opponent, the server sends ping.",
        "answer with ping",
        ServerPingSent,
    ),
    Situation(
        "unknown messages",
        "Every event has a field, and follows a message, that the protocol does not have yet.",
        "ignore them",
        UnknownMessages,
    ),
    Situation(
        "frames in parts",
        "Frames arrive in three parts, the first of two bytes.",
        "wait for the rest",
        Pieces,
    ),
    Situation(
        "rate_limited",
        "The first seek or join, and the first move, are refused with rate_limited.",
        "send them again after the seconds in the error",
        RateLimit,
    ),
    Situation(
        "illegal_action",
        "The first move arrives as an illegal action, and is refused.",
        "send another move for the same ply; in a tournament the match is lost",
        IllegalMove,
        ends_in_tournament="illegal_moves",
    ),
    Situation(
        "repeated move",
        "The first two moves arrive twice, so that their update comes twice.",
        "ignore an update for a ply that it knows",
        RepeatedMove,
    ),
    Situation(
        "late move",
        "The second move arrives when the time is up: match_over, then ended.",
        "go on after match_over, and take the loss",
        LateMove,
        clock="3/move",
        ends="time",
    ),
    Situation(
        "match aborted",
        "An administrator ends the match before the second move arrives: ended has no winner.",
        "take it as a match without result",
        AbortedMatch,
        ends="administrator",
    ),
    Situation(
        "cut, move lost",
        "The connection is cut before the first move arrives.",
        "connect, resume the session, and send the move again",
        LostMove,
    ),
    Situation(
        "cut, update lost",
        "The connection is cut after the first move arrives, before its update.",
        "connect, resume the session, and play on from its started",
        LostUpdate,
    ),
    Situation(
        "server restart",
        "The server is restarted when the first move is under way.",
        "connect again until the server is back, resume the session, send the move again",
        ServerRestart,
    ),
    Situation(
        "rolls",
        "In a game with chance, an update of a move of the bot has rolls.",
        "play on at the ply after the rolls",
        Rolls,
        chance=True,
    ),
    Situation(
        "cut, rolls lost",
        "The connection is cut before an update that has rolls.",
        "connect, resume the session, and play on from its started, which has the rolls",
        LostRolls,
        chance=True,
    ),
)


def situations_of(game: Game, only: Collection[str]) -> list[Situation]:
    """Return the situations of these names that a game has; without names, all.

    Raises SpecError for a named one that needs a game with chance.
    """
    found = [each for each in SITUATIONS if not only or each.name in only]
    if only and not game.has_chance and (lost := [each.name for each in found if each.chance]):
        raise SpecError(f"{lost[0]!r} needs a game with chance, such as pig: {game} has none")
    return [each for each in found if game.has_chance or not each.chance]


#: The name of the last row, the errors that the bot itself caused in any situation.
OWN_ERRORS = "no errors of its own"
