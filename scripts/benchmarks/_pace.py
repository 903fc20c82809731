"""Many matches at a steady pace: each has its moment in every second, whatever the server does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks._serving import Served
from benchmarks._traffic import (
    Dialogue,
    Load,
    Message,
    Player,
    measured,
    playing,
    replies,
)

#: What goes by before anything counts: all matches have begun.
WARM_UP_S = 5.0


class Paired(Dialogue):
    """The players of a match stay together, in the same seats."""

    def seek(self, player: Player) -> Message:
        """The neighbour, and nobody else."""
        first = player.number % 2 == 0
        partner = int(player.name.split()[1]) + (1 if first else -1)
        return self._seek | {"seat": 1 if first else 2, "opponent": f"player {partner}"}


@dataclass
class Paced(Load):
    """What happened, and how well this process kept the pace."""

    #: By how much each move was sent after its moment.
    late_s: list[float] = field(default_factory=list)
    #: Moments at which a match had no move to send: between matches, or the last was not answered.
    missed: int = 0


def pace(served: Served, game: str, matches: int, seconds: float) -> Paced:
    """Play so many matches at once, with a move a second in each, spread evenly over the second."""
    dialogue = Paired(game)
    with playing(served, dialogue, 2 * matches) as selector:
        held: dict[int, tuple[Player, Message]] = {}
        moment, step = time.perf_counter(), 1 / matches
        turn = 0

        def go_on(until: float, paced: Paced) -> None:
            nonlocal moment, turn
            while moment < until:
                wait_s = max(0.0, moment - time.perf_counter())
                for player, reply, now in replies(
                    selector, dialogue, wait_s, paced.latencies_s.append
                ):
                    if reply["type"] == "move":
                        held[player.number // 2] = player, reply
                    else:
                        player.send(reply, now)
                while (now := time.perf_counter()) >= moment:
                    _move(held.pop(turn, None), now, now - moment, paced)
                    moment, turn = moment + step, (turn + 1) % matches

        go_on(moment + WARM_UP_S, Paced())
        paced = Paced()
        with measured(served, paced):
            go_on(moment + seconds, paced)
        return paced
