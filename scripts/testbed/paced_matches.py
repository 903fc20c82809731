"""Many matches at a steady pace: each has its moment in every second, whatever the server does."""

from __future__ import annotations

import selectors
import time
from dataclasses import dataclass, field

from testbed.serving import Served
from testbed.traffic import Dialogue, Load, Message, TrafficPlayer, measured, playing, replies

#: What goes by before anything counts.
WARM_UP_S = 3.0


class Paired(Dialogue):
    """The two of a match stay together, in the same seats."""

    def seek(self, player: TrafficPlayer) -> Message:
        """The neighbour, and nobody else."""
        first = player.number % 2 == 0
        partner = int(player.name.split()[1]) + (1 if first else -1)
        return self._seek | {"seat": 1 if first else 2, "opponent": f"player {partner}"}


@dataclass
class Paced(Load):
    """What happened, and how well this process kept the pace."""

    #: By how much each move was sent after its moment.
    late_s: list[float] = field(default_factory=list)
    #: Moments without a move: the match has ended, or its last move is not answered yet.
    empty: int = 0


def pace(served: Served, game: str, matches: int, seconds: float) -> Paced:
    """Play so many matches at once, with a move a second in each, spread evenly over the second."""
    dialogue = Paired(game)
    with playing(served, dialogue, 2 * matches) as selector:
        pacer = _Pacer(selector, dialogue, matches)
        pacer.go_on(WARM_UP_S, Paced())
        paced = Paced()
        with measured(served, paced):
            pacer.go_on(seconds, paced)
        return paced


class _Pacer:
    """Holds each move until the moment of its match comes round."""

    def __init__(self, selector: selectors.BaseSelector, dialogue: Dialogue, matches: int) -> None:
        self._selector = selector
        self._dialogue = dialogue
        self._matches = matches
        self._held: dict[int, tuple[TrafficPlayer, Message]] = {}
        self._next = 0  # the match whose moment comes next
        self._moment = time.perf_counter()

    def go_on(self, seconds: float, paced: Paced) -> None:
        """For so long."""
        until = self._moment + seconds
        while self._moment < until:
            self._listen(paced)
            while self._moment <= (now := time.perf_counter()):
                self._move(now, paced)

    def _listen(self, paced: Paced) -> None:
        """To what comes before the next moment."""
        wait_s = max(0.0, self._moment - time.perf_counter())
        record = paced.latencies_s.append
        for player, reply, now in replies(self._selector, self._dialogue, wait_s, record):
            if reply["type"] == "move":
                self._held[player.number // 2] = player, reply
            else:
                player.send(reply, now)

    def _move(self, now: float, paced: Paced) -> None:
        """In the match whose moment has come."""
        if held := self._held.pop(self._next, None):
            player, move = held
            player.send(move, now)
            paced.late_s.append(now - self._moment)
        else:
            paced.empty += 1
        self._next = (self._next + 1) % self._matches
        self._moment += 1 / self._matches
