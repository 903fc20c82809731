"""A player within a limit of the memory of its whole process."""

from __future__ import annotations

import os
from pathlib import Path

from bridges.engine.local_match import LocalMatch
from games import Game, SpecError
from games.core import spec
from players import find
from players.core.player import Limit

#: The option of players whose memory can be limited.
OPTION = "memory_mb"
#: What the process needs beside the interpreter and the search tree, in bytes: a report of the
#: search, and what Python allocates in the course of a match.
RESERVE = 32 * 2**20
#: The memory of a search that shows how much the process takes without its tree.
_SMALL_MB = 4


def within_memory(game: Game, wanted: spec.Spec, limit: int) -> LocalMatch:
    """Return a match whose player leaves the process within `limit` bytes; 0 for no limit.

    The player gets what is left by the interpreter and the compiled search, if it has an option
    for that. Raises SpecError if that is too little.
    """
    if not limit or OPTION not in spec.parameters_of(find(wanted.name), skip=1):
        return LocalMatch(game, wanted)
    trial = LocalMatch(game, _limited(wanted, _SMALL_MB))
    trial.choose(Limit(seconds=0.01, simulations=1))
    trial.close()
    del trial
    left = (limit - resident_bytes() - RESERVE) // 2**20
    if left < 1:
        raise SpecError(
            f"{limit} bytes are too little: the program itself takes {resident_bytes()}, "
            f"and the search {RESERVE} and more"
        )
    return LocalMatch(game, _limited(wanted, left))


def resident_bytes() -> int:
    """Return the resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limited(wanted: spec.Spec, megabytes: int) -> spec.Spec:
    """Return the specification with that much memory, unless it has less."""
    given = wanted.options.get(OPTION, "")
    least = min(megabytes, int(given)) if given.isdecimal() else megabytes
    return spec.Spec(wanted.name, {**wanted.options, OPTION: str(least)})
