"""Memory per session and per match, by the growth of a server's memory with many of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from testbed.machine import resident_kib
from testbed.paced_matches import PairedDialogue
from testbed.server_process import ServerProcess
from testbed.traffic import Dialogue, Message, TrafficPlayer, connected, playing, replies

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
