"""Checks before the first match that the entrants of a tournament can be started.

A player is created in a process of its own, `playout-player --check`, for all games.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from games.core.cores import usable_cores
from server.model.tournament_spec import Entrant, TournamentSpec
from server.runtime.subprocesses import own, own_environment
from server.tournament.spec_validation import MOST_ENTRANTS, MOST_GAMES

#: Longest time to check a player: the first time on a machine, its search is compiled.
_CHECK_S = 600.0
#: What `playout-player --check` writes of the program of others that plays.
_VERSION = re.compile(r"^version: (.+)$", re.MULTILINE)
_LONGEST_VERSION = 64


class EntrantCheck(NamedTuple):
    """What is wrong with an entrant, and the version that an engine of others says."""

    fault: str | None = None
    version: str | None = None


def checks(spec: TournamentSpec, folder: Path) -> Iterator[tuple[int, EntrantCheck]]:
    """The checks of all entrants that are started here: the place of each, and the result.

    A specification may have faults: games that are empty texts are passed over, and one with more
    entrants or games than are allowed is not checked.
    """
    games = [game for game in spec.games if game]
    if len(spec.entrants) > MOST_ENTRANTS or not 0 < len(games) <= MOST_GAMES:
        return
    for place, each in enumerate(spec.entrants):
        if each.command and (fault := _missing(each.command, folder)):
            yield place, EntrantCheck(fault)
    places = [place for place, each in enumerate(spec.entrants) if each.player]
    with ThreadPoolExecutor(usable_cores()) as pool:
        found = pool.map(lambda place: _check_player(spec.entrants[place], games, folder), places)
        yield from zip(places, found, strict=True)


def _missing(command: str, folder: Path) -> str | None:
    """What is wrong with a command whose program does not exist."""
    program = shlex.split(command)[0]
    where = str(folder / program) if os.sep in program else program
    return None if shutil.which(where) else f"there is no program {program!r} that can be run"


def _check_player(entrant: Entrant, games: Sequence[str], folder: Path) -> EntrantCheck:
    """Whether a player can play these games."""
    warm = [word for game in games for word in ("--warm", game)]
    options = ("--tournament", "any", "--check", *warm)
    words = own("players.client.main:main", *options, "--", "any", entrant.player or "")
    try:
        done = _run(words, folder)
        if done.returncode < 0:  # it was killed: no fault of the player
            done = _run(words, folder)
    except subprocess.TimeoutExpired:
        return EntrantCheck(f"is not ready after {_CHECK_S:g} seconds")
    if done.returncode == 0:
        version = _VERSION.search(done.stdout)
        return EntrantCheck(version=version[1][:_LONGEST_VERSION] if version else None)
    output = (done.stderr or done.stdout).strip().splitlines()
    last = output[-1].removeprefix("Error: ") if output else f"exit code {done.returncode}"
    return EntrantCheck(last)


def _run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of Playout to its end. Raises TimeoutExpired."""
    return subprocess.run(
        words,
        cwd=folder,
        env=own_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_CHECK_S,
        check=False,
    )
