"""A tournament by `playout-tournament` whose processes are killed and resumed, and its check."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import click

from playout import games
from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.ratings.openings import Book
from playout.server.model.records import StoredMatch, StoredTournament
from playout.server.storage import Database
from playout.server.tournament import formats
from playout.server.tournament.state import LEGS, MatchSlot, parse_slot
from testbed.machine import children, runs

COMMAND = str(Path(sys.executable).with_name("playout-tournament"))
#: Time limit of a tournament.
PATIENCE_S = 1800.0
_SERVER = "playout.server.server_command"
VICTIMS = ("the runner", "the server", "an entrant")


@dataclass
class KillCounts:
    """Number of kills by victim, and the seconds of the whole tournament."""

    kills: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class TournamentProcess(Protocol):
    """A process of playout-tournament, as `subprocess.Popen`."""

    @property
    def pid(self) -> int:
        """The number of the process."""

    def poll(self) -> int | None:
        """Return the exit code, None before the end."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code."""

    def kill(self) -> None:
        """Send SIGKILL to the process."""


def _start(*words: str, **streams: Any) -> TournamentProcess:
    return subprocess.Popen([COMMAND, *words], **streams)


def run_tournament(
    spec: Path,
    url: str,
    log: Path,
    kills: int = 0,
    seed: int = 1,
    start: Callable[..., TournamentProcess] = _start,
) -> KillCounts:
    """Run a tournament to its end, killing `kills` processes at random moments and resuming it.

    `start` starts playout-tournament with arguments and streams. Raises ClickException if it exits
    with an error.
    """
    counts, draw = KillCounts(), random.Random(seed)
    started, command = time.monotonic(), ["run", str(spec)]
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(log.open("ab"))
        while True:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
            runner = start(*command, f"--database={url}", **streams)
            try:
                _kill_some(runner, counts, kills, draw, started)
                code = runner.wait(PATIENCE_S)
            finally:
                runner.kill()
            if code == 0:
                counts.seconds = time.monotonic() - started
                return counts
            if code != -signal.SIGKILL:
                raise click.ClickException(f"playout-tournament exits with {code}; see {log}")
            command = ["resume"] if _has_started(url) else ["run", str(spec)]


def _has_started(url: str) -> bool:
    database = Database(url)
    try:
        database.require(create=True)
        return bool(database.tournaments())
    finally:
        database.close()


def _kill_some(
    runner: TournamentProcess,
    counts: KillCounts,
    kills: int,
    draw: random.Random,
    started: float,
) -> None:
    """Kill processes until the runner is one of them, the kills are used up, or the run ends."""
    while counts.kills.total() < kills and runner.poll() is None:
        time.sleep(draw.uniform(1.0, 5.0))
        victim = draw.choice(VICTIMS)
        pids = {
            "the runner": [runner.pid],
            "the server": [pid for pid in children(runner.pid) if runs(pid, _SERVER)],
            "an entrant": [pid for pid in children(runner.pid) if not runs(pid, _SERVER)],
        }[victim]
        if pids and runner.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(pids), signal.SIGKILL)
                counts.kills[victim] += 1
            if victim == "the runner":
                return


def stored(url: str) -> StoredTournament:
    """Return the only tournament of a database."""
    database = Database(url)
    try:
        (tournament,) = database.tournaments()
        found = database.tournament(tournament.created.tournament)
        assert found is not None
        return found
    finally:
        database.close()


def violations(tournament: StoredTournament) -> list[str]:
    """Return a line for each difference to an undisturbed run.

    This is for formats whose schedule does not depend on results.
    """
    spec = loads(tournament.created.spec)
    if tournament.ended is None:
        return ["the tournament is not over"]
    expected, played = _expected(spec), _counted(tournament)
    return [
        *(f"{slot} was not played" for slot in expected.keys() - played.keys()),
        *(f"{slot} is not in the schedule" for slot in played.keys() - expected.keys()),
        *(
            f"{slot} was played {len(played[slot])} times"
            for slot in played
            if len(played[slot]) > 1
        ),
        *(
            f"{slot} was {_terms(match)}, and not {expected[slot]}"
            for slot in expected.keys() & played.keys()
            for match in played[slot]
            if _terms(match) != expected[slot]
        ),
    ]


Terms = tuple[str, tuple[str, str], tuple[int, ...]]


def _expected(spec: TournamentSpec) -> dict[tuple[int, ...], Terms]:
    """Return game, players and opening by round, board, number and leg."""
    books = {game: Book(game, spec.openings, spec.seed) for game in spec.games}
    names = [entrant.name for entrant in spec.entrants]
    expected: dict[tuple[int, ...], Terms] = {}
    for pair in formats.load(spec).pairs({}):
        first, second = (names[place] for place in pair.entrants)
        opening = books[pair.game][pair.opening]
        for leg in LEGS:
            players = (first, second) if leg == 1 else (second, first)
            expected[(*pair.key, leg)] = (pair.game, players, opening)
    return expected


def _counted(tournament: StoredTournament) -> dict[tuple[int, ...], list[StoredMatch]]:
    """Return the matches with a result in each pair's last attempt."""
    slots = [(parse_slot(match.started.fixture or ""), match) for match in tournament.matches]
    last = Counter[tuple[int, int, int]]()
    for slot, _ in slots:
        last[slot.key] = max(last[slot.key], slot.attempt)
    counted: dict[tuple[int, ...], list[StoredMatch]] = {}
    for slot, match in slots:
        if slot.attempt == last[slot.key] and match.ended and match.ended.winner:
            counted.setdefault(_place(slot), []).append(match)
    return counted


def _place(slot: MatchSlot) -> tuple[int, ...]:
    return (*slot.key, slot.leg)


def _terms(match: StoredMatch) -> Terms:
    started = match.started
    opening = tuple(move.action for move in match.moves[: started.opening])
    return str(games.load(started.game)), started.players, opening
