"""Options that several players have, with their meanings and ranges."""

from __future__ import annotations

from typing import Annotated

from playout.games import Option

MAX_THREADS = 256

Time = Annotated[
    float | None,
    Option(
        "time for each move, in seconds", gt=0, default="as the clock allows; 1 s without a clock"
    ),
]
Simulations = Annotated[
    int | None, Option("maximum number of simulations for each move", ge=1, default="no limit")
]
Seed = Annotated[
    int | None,
    Option(
        "seed of the random choices: equal seeds give equal moves, unless time limits the search",
        default="a new one each time",
    ),
]
Ponder = Annotated[bool, Option("whether it thinks on the opponent's time")]
Threads = Annotated[int, Option("number of parallel searches", ge=1, le=MAX_THREADS)]
Exploration = Annotated[float, Option("weight of exploration", ge=0)]
Candidates = Annotated[int, Option("number of moves that an analysis compares", ge=1)]
