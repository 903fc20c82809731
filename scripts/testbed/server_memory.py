"""What a session and a match take of a server's memory, by how it grows with many of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from testbed.machine import resident_kib
from testbed.pace import Paired
from testbed.serving import Served
from testbed.traffic import Dialogue, Message, TrafficPlayer, connected, playing, replies

GAME = "connect_four"
#: As many matches as two sessions may play at once.
TOGETHER = 100
#: So many moves, and then the players think: no match of the game can be over by then.
PLIES = 6
#: Nothing for so long, and all has been said.
QUIET_S = 0.5


class Thoughtful(Paired):
    """Two who play many matches, and stop at a ply."""

    def seek(self, player: TrafficPlayer) -> Message:
        """The neighbour, for all matches."""
        return super().seek(player) | {"matches": TOGETHER}

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Until then."""
        reply = super().answer(player, message)
        return reply if reply and reply["ply"] < PLIES else None


def kib_a_session(served: Served, sessions: int) -> float:
    """Of somebody who has said hello, and nothing since: the line and the session."""
    with connected(served, Dialogue(GAME), TOGETHER):  # what is made once is not counted
        before = resident_kib(served.pid)
        with connected(served, Dialogue(GAME), sessions):
            return (resident_kib(served.pid) - before) / sessions


def kib_a_match(served: Served, matches: int) -> float:
    """Of a match with a few moves; those who play are so few that they do not count."""
    with _resident_kib(served, TOGETHER) as before, _resident_kib(served, matches) as after:
        return (after - before) / matches


@contextlib.contextmanager
def _resident_kib(served: Served, matches: int) -> Iterator[int]:
    """While so many more matches run."""
    dialogue = Thoughtful(GAME)
    with playing(served, dialogue, 2 * matches // TOGETHER) as selector:
        while selector.select(QUIET_S):
            for player, reply, now in replies(selector, dialogue, 0.0, lambda latency_s: None):
                player.send(reply, now)
        yield resident_kib(served.pid)
