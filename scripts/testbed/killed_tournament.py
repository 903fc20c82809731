"""A tournament by `playout-tournament` whose processes are killed and resumed, and its check."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from playout import games
from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.ratings.book import Book
from playout.server.model.records import StoredMatch, StoredTournament
from playout.server.storage import Database
from playout.server.tournament import formats
from playout.server.tournament.ledger import LEGS, MatchSlot, parse_slot
from testbed.machine import children, runs
from testbed.server_process import LONGEST_QUOTE, TOURNAMENT

#: Time limit of a tournament.
PATIENCE_S = 1800.0
_SERVER = "playout.server.server_command"
VICTIMS = ("the runner", "the server", "an entrant")

#: Starts playout-tournament with arguments and streams.
Start = Callable[..., subprocess.Popen[bytes]]


@dataclass(frozen=True)
class PlayedTournament:
    """A tournament at its end: as it is stored, the number of kills by victim, the seconds."""

    stored: StoredTournament
    kills: Counter[str]
    seconds: float


def start_tournament(*words: str, **streams: Any) -> subprocess.Popen[bytes]:
    """Start the installed command playout-tournament."""
    return subprocess.Popen([TOURNAMENT, *words], **streams)


def play_tournament(
    text: str, folder: Path, *, kills: int = 0, seed: int = 1, start: Start = start_tournament
) -> PlayedTournament:
    """Play the tournament of a specification, killing processes at random moments and resuming it.

    Its files are in the folder. Raises ClickException if playout-tournament exits with an error.
    """
    spec, url = folder / "spec.toml", f"sqlite:///{folder / 'tournament.db'}"
    spec.write_text(text)
    killed, draw = Counter[str](), random.Random(seed)
    began, command = time.monotonic(), ["run", str(spec)]
    with (folder / "log").open("ab") as log:
        while True:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            runner = start(*command, f"--database={url}", **streams)
            try:
                _kill_some(runner, killed, kills, draw)
                code = runner.wait(PATIENCE_S)
            finally:
                runner.kill()
            if code == 0:
                return PlayedTournament(stored(url), killed, time.monotonic() - began)
            if code != -signal.SIGKILL:
                output = Path(log.name).read_text(errors="replace")[-LONGEST_QUOTE:]
                raise click.ClickException(f"playout-tournament exits with {code}:\n{output}")
            command = ["resume"] if _has_started(url) else ["run", str(spec)]


def _has_started(url: str) -> bool:
    with contextlib.closing(Database(url)) as database:
        database.require(create=True)
        return bool(database.tournaments())


def _kill_some(
    runner: subprocess.Popen[bytes], killed: Counter[str], kills: int, draw: random.Random
) -> None:
    """Kill processes until the runner is one of them, the kills are used up, or the run ends.

    A server and entrants are waited for, so that each kind of process is killed as often.
    """
    while killed.total() < kills and runner.poll() is None:
        time.sleep(draw.uniform(0.5, 4.0))
        victim = draw.choice(VICTIMS)
        while runner.poll() is None and not (pids := _pids(runner.pid, victim)):
            time.sleep(0.05)
        if runner.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(pids), signal.SIGKILL)
                killed[victim] += 1
            if victim == "the runner":
                return


def _pids(runner: int, victim: str) -> list[int]:
    """The processes of a kind that run now.

    Before the server is started, the entrants are tried: one that is killed is refused.
    """
    if victim == "the runner":
        return [runner]
    started = children(runner)
    servers = [pid for pid in started if runs(pid, _SERVER)]
    if victim == "the server" or not servers:
        return servers
    return [pid for pid in started if pid not in servers]


def stored(url: str) -> StoredTournament:
    """Return the only tournament of a database."""
    with contextlib.closing(Database(url)) as database:
        (tournament,) = database.tournaments()
        found = database.tournament(tournament.created.tournament)
    assert found is not None
    return found


def violations(tournament: StoredTournament) -> list[str]:
    """Return a line for each difference to an undisturbed run.

    The schedule of the format must not depend on results.
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
