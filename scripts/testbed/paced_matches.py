"""Many matches at a steady pace: one move per second each, or more, at fixed moments.

The moments do not depend on the speed of the server.
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from testbed.machine import resident_kib
from testbed.server_process import ServerProcess
from testbed.traffic import (
    Dialogue,
    Load,
    Message,
    TrafficPlayer,
    connected,
    measured,
    playing,
    replies,
)

#: Seconds before the measurement starts.
WARM_UP_S = 3.0


class PairedDialogue(Dialogue):
    """A dialogue in which the same two players meet again and again, in the same seats."""

    def seek(self, player: TrafficPlayer) -> Message:
        """Return a seek for the neighbouring player only."""
        first = player.number % 2 == 0
        partner = int(player.name.split()[1]) + (1 if first else -1)
        return self._seek | {"seat": 1 if first else 2, "opponent": f"player {partner}"}


@dataclass
class PacedLoad(Load):
    """The measurement of a paced load, including the punctuality of this process."""

    #: Delay of each move after its moment.
    late_s: list[float] = field(default_factory=list)
    #: Moments without a move: the match has ended, or its last move has no answer yet.
    empty: int = 0


def pace(
    served: ServerProcess,
    game: str,
    matches: int,
    seconds: float,
    *,
    move_s: float = 1.0,
    dialogue: PairedDialogue | None = None,
) -> PacedLoad:
    """Play `matches` matches at once, with `move_s` seconds from a move of each to the next.

    The moves of all matches are spread evenly over this time.
    """
    dialogue = dialogue or PairedDialogue(game)
    with playing(served, dialogue, 2 * matches) as selector:
        pacer = _Pacer(selector, dialogue, matches, move_s)
        pacer.run(WARM_UP_S, PacedLoad())
        paced = PacedLoad()
        with measured(served, paced):
            pacer.run(seconds, paced)
        return paced


class _Pacer:
    """Holds each move until the next moment of its match."""

    def __init__(
        self, selector: selectors.BaseSelector, dialogue: Dialogue, matches: int, move_s: float
    ) -> None:
        self._selector = selector
        self._dialogue = dialogue
        self._matches = matches
        self._step_s = move_s / matches
        self._held: dict[int, tuple[TrafficPlayer, Message]] = {}
        self._next = 0  # the match with the next moment
        self._moment = time.perf_counter()

    def run(self, seconds: float, paced: PacedLoad) -> None:
        """Send moves for that many seconds, and record them in `paced`."""
        until = self._moment + seconds
        while self._moment < until:
            self._listen(paced)
            while self._moment <= (now := time.perf_counter()):
                self._move(now, paced)

    def _listen(self, paced: PacedLoad) -> None:
        """Receive messages until the next moment."""
        wait_s = max(0.0, self._moment - time.perf_counter())
        record = paced.latencies_s.append
        for player, reply, now in replies(self._selector, self._dialogue, wait_s, record):
            if reply["type"] == "move":
                self._held[player.number // 2] = player, reply
            else:
                player.send(reply, now)

    def _move(self, now: float, paced: PacedLoad) -> None:
        """Send the move of the match whose moment has come, if there is one."""
        if held := self._held.pop(self._next, None):
            player, move = held
            player.send(move, now)
            paced.late_s.append(now - self._moment)
        else:
            paced.empty += 1
        self._next = (self._next + 1) % self._matches
        self._moment += self._step_s


GAME = "connect_four"
#: Greatest number of matches that two sessions may play at once.
TOGETHER = 100
#: Moves per match, after which the players wait: no match of the game can be over by then.
PLIES = 6
#: After this many seconds without a message, all messages have arrived.
QUIET_S = 0.5


class StoppingDialogue(PairedDialogue):
    """The dialogue of two players that play many matches, and stop at a ply."""

    def seek(self, player: TrafficPlayer) -> Message:
        """Seek the neighbour, for all matches at once."""
        return super().seek(player) | {"matches": TOGETHER}

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Answer with moves up to ply PLIES."""
        reply = super().answer(player, message)
        return reply if reply and reply["ply"] < PLIES else None


def kib_a_session(served: ServerProcess, sessions: int) -> float:
    """Return the KiB per idle session, its connection included."""
    with connected(served, Dialogue(GAME), TOGETHER):  # what is made once is not counted
        before = resident_kib(served.pid)
        with connected(served, Dialogue(GAME), sessions):
            return (resident_kib(served.pid) - before) / sessions


def kib_a_match(served: ServerProcess, matches: int) -> float:
    """Return the KiB per match with a few moves; the players are too few to matter."""
    with _resident_kib(served, TOGETHER) as before, _resident_kib(served, matches) as after:
        return (after - before) / matches


@contextlib.contextmanager
def _resident_kib(served: ServerProcess, matches: int) -> Iterator[int]:
    """Yield the memory of the server while that many more matches run."""
    dialogue = StoppingDialogue(GAME)
    with playing(served, dialogue, 2 * matches // TOGETHER) as selector:
        while selector.select(QUIET_S):
            for player, reply, now in replies(selector, dialogue, 0.0, lambda latency_s: None):
                player.send(reply, now)
        yield resident_kib(served.pid)
