"""The programs that a server starts for tournaments that it hosts.

`check` checks the file of a tournament. `main` is an organizer: it starts the entrants that have a
player, and ends when the tournament is over. Nothing is lost if it is killed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from twisted.logger import Logger

from playout import games
from playout.commands import toml_table
from playout.commands.child import Child, LogFolder
from playout.commands.connect_options import ServerAddress
from playout.commands.identity import hello, software
from playout.commands.subprocesses import Parent
from playout.commands.toml_table import Faults, TomlError
from playout.protocol.messages import Fixture, Tournament, TournamentDraft, TournamentFault
from playout.protocol.tournament_spec import Entrant, TournamentSpec, without_folders
from playout.protocol.versions import installed
from playout.server.core.accounts import entrant_token
from playout.server.core.effects import CheckFile, OrganizerFault, StartOrganizer
from playout.server.organizer import estimate, spec_file
from playout.server.organizer.entrants import LocalEntrants, RunnerCalls
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.runner import Runner, RunRequest
from playout.server.organizer.supervisor import starter
from playout.server.runtime import process
from playout.server.tournament import spec_parser
from playout.server.tournament.spec_validation import MOST_HOSTED, NOT_HOSTED, hosted_faults

_HOST = "127.0.0.1"
#: Seconds to keep trying to reach the server, which has started this process.
_PATIENCE_S = 60.0
#: Maximum number of characters of a file, and of faults in an answer.
LONGEST, _MOST_FAULTS = 60_000, 200

_log = Logger(namespace="organizer")


# Checks of files.


def checked(order: CheckFile) -> TournamentDraft:
    """Return the file of an order with its faults; its players are started, which takes seconds.

    It reads no other file: those with openings are on the machine of the user.
    """
    try:
        text = order.toml if order.values is None else tomli_w.dumps(order.values)
        if len(text) > LONGEST:
            raise TomlError(f"tournament:1: has more than {LONGEST:,} characters")
        values, _ = toml_table.load(text, "tournament")
        spec, faults = spec_parser.read(text, where="", code=installed())
    except (TomlError, TypeError, ValueError, games.NotReady) as error:
        return _unreadable(order, str(error))
    for path in _not_hosted(values):
        faults.placed[:] = [each for each in faults.placed if each[1] != path]
        faults.add(path, f"{path[-1]}: {NOT_HOSTED['.'.join(path)]}")
    for fault in hosted_faults(spec, order.players):
        faults.add_new(fault.path, f"{fault.key}: {fault.text}")
    if not faults.found:
        _start_players(spec, faults)
    if not faults.found:
        usual = min(estimate.concurrency(spec), MOST_HOSTED)
        spec = replace(spec, concurrency=spec.concurrency or usual)
    return TournamentDraft(
        toml=text,
        values=_sendable(values),
        faults=_listed(faults),
        spec=None if faults.found else spec,
    )


def _not_hosted(values: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the keys in a file that are not for a hosted tournament, except those of entrants."""
    for key in NOT_HOSTED:
        table, _, name = key.rpartition(".")
        within = values.get(table) if table else values
        if isinstance(within, dict) and name in within:
            yield tuple(key.split("."))


def _start_players(spec: TournamentSpec, faults: Faults) -> None:
    """Start each player once, and add its fault to all entrants that have it."""
    players = tuple(dict.fromkeys(each.player for each in spec.entrants if each.player))
    sample = replace(spec, entrants=tuple(Entrant(each, "", player=each) for each in players))
    wrong = {players[at]: found.fault for at, found in spec_file.checks(sample, Path())}
    for place, each in enumerate(spec.entrants):
        if fault := wrong.get(each.player or ""):
            faults.add(("entrants", place, "player"), f"player: {fault}")


def _sendable(value: Any) -> Any:
    """Return values of TOML as those of a message, whose whole numbers have at most 64 bits."""
    match value:
        case dict():
            return {key: _sendable(each) for key, each in value.items()}
        case list():
            return [_sendable(each) for each in value]
        case int() if not -(2**63) <= value < 2**63:
            return str(value)
    return msgspec.to_builtins(value)


def _listed(faults: Faults) -> tuple[TournamentFault, ...]:
    found = sorted(faults.placed, key=lambda each: each[0])
    return tuple(TournamentFault(path, line, text) for line, path, text in found[:_MOST_FAULTS])


def _unreadable(order: CheckFile, error: str) -> TournamentDraft:
    """Return the answer about a text that is no TOML; `error` may begin with its place."""
    place, _, rest = error.removeprefix("tournament:").partition(":")
    line, text = (int(place), rest.strip()) if place.isdecimal() else (1, error)
    faults = (TournamentFault((), line, text),)
    return TournamentDraft(toml=order.toml[:LONGEST], values=order.values or {}, faults=faults)


def check() -> None:
    """Check the file of the order on standard input, a socket, which also gets the result."""
    server = Parent()
    if order := server.order(CheckFile):
        server.say(checked(order))


# The program of an organizer.


class _Tokens(Mapping[str, str]):
    """The tokens of all entrants, which follow from a key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __getitem__(self, name: str) -> str:
        return entrant_token(self._key, name)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


class _LogDisplay:
    """Writes what an organizer says to the log of the server."""

    def show(self, text: str) -> None:
        _log.info("{text}", text=text)

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Results are on the page."""

    def wait(self, text: str, now: float) -> None:
        """Waits are short."""

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Standings are on the page."""

    def close(self) -> None:
        """There is nothing to close."""


def main() -> None:
    """Run the organizer of the order on standard input, for the server at a port of loopback."""
    server = Parent()
    order = server.order(StartOrganizer)
    assert order
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    port, as_json = int(sys.argv[1]), sys.argv[2] == "json"
    process.begin(as_json=as_json)
    logs = LogFolder()
    address = ServerAddress(_HOST, port)
    #: The players of entrants in messages lack the folders of files.
    players = {without_folders(each): each for each in order.players}

    def startable(entrant: Entrant) -> Entrant:
        """Return an entrant with a player that the server offers, or none."""
        return replace(entrant, player=players.get(without_folders(entrant.player or "")))

    def entrants_of(event: Tournament, calls: RunnerCalls) -> LocalEntrants:
        start = starter(event.spec, Path.cwd(), (_HOST, port), event.tournament, _Tokens(order.key))

        def start_own(entrant: Entrant, number: int, log: Path) -> Child:
            return start(startable(entrant), number, log)

        return LocalEntrants(event, start_own, logs, calls, shares_cores=True)

    spec = replace(order.spec, entrants=tuple(map(startable, order.spec.entrants)))
    request = RunRequest(spec, order.tournament, anyway=True, program="organizer", to_resume=None)
    runner = Runner(reactor, request, entrants_of, None, _LogDisplay(), logs)
    resumes = hello(order.name, "spectator", software("organizer"), session=order.token)
    runner.use(address.connection(reactor, runner, _PATIENCE_S), resumes)
    runner.run()
    logs.close()
    if runner.fault:
        server.say(OrganizerFault(runner.fault))
    sys.exit(runner.code)
