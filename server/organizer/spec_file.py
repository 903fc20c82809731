"""Reads a tournament file, and checks before the first match that its entrants can be started.

A player is checked in a process of its own, `playout-player --check`, for all games.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from playout import games
from playout.commands import toml_table
from playout.commands.cores import usable_cores
from playout.commands.options import register_game
from playout.commands.subprocesses import own_environment, script_fault
from playout.commands.toml_table import Check, Faults, TomlError
from playout.protocol import versions
from playout.protocol.codec import ADMINISTRATORS_FRAME, encode
from playout.protocol.messages import CreateTournament
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.protocol.versions import files_in, installed
from playout.server.organizer import estimate
from playout.server.organizer.supervisor import entrant_words
from playout.server.tournament import spec_parser
from playout.server.tournament.spec_parser import ClusterSettings
from playout.server.tournament.spec_validation import MOST_ENTRANTS, MOST_GAMES

#: Largest tournament in a message: the longest frame, less the other fields of the message.
_MAX_BYTES = ADMINISTRATORS_FRAME - 100
_DIGEST = re.compile(r"[0-9a-f]{12}")
#: Longest time to check a player: its first use on a machine compiles its search.
_CHECK_S = 600.0
#: The line of `playout-player --check` with the version of an engine.
_VERSION = re.compile(r"^version: (.+)$", re.MULTILINE)
_LONGEST_VERSION = 64


class EntrantCheck(NamedTuple):
    """The fault of an entrant, and the version that an engine reports."""

    fault: str | None = None
    version: str | None = None


def checks(spec: TournamentSpec, folder: Path) -> Iterator[tuple[int, EntrantCheck]]:
    """Check all entrants that are started here; yield the place of each, and the result.

    A specification may have faults: games that are empty texts are skipped, and a specification
    with too many entrants or games is not checked.
    """
    games = [game for game in spec.games if game]
    if len(spec.entrants) > MOST_ENTRANTS or not 0 < len(games) <= MOST_GAMES:
        return
    for place, each in enumerate(spec.entrants):
        if each.command and not each.protocol and (fault := _program_fault(each, folder)):
            yield place, EntrantCheck(fault)
    known = replace(spec, games=tuple(games))
    places = [place for place, each in enumerate(spec.entrants) if each.player or each.protocol]
    with ThreadPoolExecutor(usable_cores()) as pool:
        found = pool.map(lambda place: _check_player(spec.entrants[place], known, folder), places)
        yield from zip(places, found, strict=True)


def missing_program(entrant: Entrant, folder: Path) -> str | None:
    """Return the program of an entrant's command if it does not exist in the folder."""
    program, path = _program(entrant, folder)
    return None if path else program


def _program_fault(entrant: Entrant, folder: Path) -> str:
    """Return why the program of an entrant's command cannot be run; "" if it can."""
    program, path = _program(entrant, folder)
    if path is None:
        return f"there is no program {program!r} that can be run"
    fault = script_fault(path)
    return f"{path} {fault}" if fault else ""


def _program(entrant: Entrant, folder: Path) -> tuple[str, str | None]:
    """Return the program of an entrant's command, and its path, None if it cannot be run."""
    program = shlex.split(entrant.command or "")[0]
    own = folder / (entrant.folder or "")
    return program, shutil.which(str(own / program) if os.sep in program else program)


def _check_player(entrant: Entrant, spec: TournamentSpec, folder: Path) -> EntrantCheck:
    """Check whether a player, or a program with a protocol, can play the games."""
    with tempfile.TemporaryDirectory(prefix="playout-check-") as own:
        file = Path(own, "engines.toml")
        words = entrant_words(entrant, spec, folder, file, "--tournament", "any", "--check")
        found = _checked_player(words, folder)
    return found if entrant.player else found._replace(version=None)  # the digest has its files


def _checked_player(words: list[str], folder: Path) -> EntrantCheck:
    """Run the check of a player, and return its result."""
    try:
        done = _run(words, folder)
        if done.returncode < 0:  # it was killed, which is not the player's fault
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


class SpecFileError(click.ClickException):
    """A tournament file has errors; the message has a line for each, with its place."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the errors without a prefix, as compilers do."""
        click.echo(self.message, err=True)


def cluster_settings(path: Path) -> ClusterSettings:
    """Return the settings of a file about the cluster; the defaults if it cannot be read."""
    try:
        return spec_parser.cluster_settings(toml_table.text_of(path))
    except TomlError:
        return ClusterSettings()  # `read` reports it


def read_and_check(path: Path, cores: int | None = None) -> TournamentSpec:
    """Return the tournament of a file after checking that all its entrants can be started.

    If the file does not set the number of matches at once, it follows from the `cores`, by default
    those of this machine. An engine has the version that it reports, unless the file sets one.
    Raises SpecFileError with the faults of the file and of all entrants.
    """
    spec, faults = _parsed(path)
    said = {}
    for place, found in checks(spec, path.parent):
        if found.fault:
            key = "player" if spec.entrants[place].player else "command"
            faults.add(("entrants", place, key), f"{spec.entrants[place].name}: {found.fault}")
        elif found.version:
            said[place] = found.version
    valid = _sized(_without_faults(spec, faults), f"{path}: ", cores)
    return _with_evaluation(_with_versions(valid, said), path.parent)


def checked(values: Mapping[str, object], folder: Path, cores: int | None = None) -> TournamentSpec:
    """Return the tournament of the values of a file in the folder. Raises SpecFileError.

    `cores`: as in `read_and_check`.
    """
    spec = valid(values, folder, cores)
    return _with_versions(spec, check(spec, folder))


def valid(values: Mapping[str, object], folder: Path, cores: int | None = None) -> TournamentSpec:
    """Return the same as `checked` without the check that the entrants can be started."""
    found = spec_parser.of_values(
        values, files=files_in(folder), code=installed(), game=games_in(folder)
    )
    return _with_evaluation(_sized(_without_faults(*found), "", cores), folder)


def _with_evaluation(spec: TournamentSpec, folder: Path) -> TournamentSpec:
    """Return the tournament with the absolute path of its evaluation. Raises SpecFileError."""
    if spec.evaluation == TournamentSpec.evaluation:
        return spec
    path = (folder / spec.evaluation).absolute()
    if not path.is_file():
        text = f"evaluation: {path} is no file; expected one made by playout-train export"
        raise SpecFileError(text)
    return replace(spec, evaluation=str(path))


def _with_versions(spec: TournamentSpec, said: Mapping[int, str]) -> TournamentSpec:
    """Return the tournament with the versions that engines report, unless others are set."""
    entrants = tuple(
        replace(each, version=said[place]) if place in said and _is_digest(each.version) else each
        for place, each in enumerate(spec.entrants)
    )
    return replace(spec, entrants=entrants)


def _parsed(path: Path) -> tuple[TournamentSpec, Faults]:
    """Return the tournament of a file, and its faults. Raises SpecFileError if it is no TOML."""
    files, game = files_in(path.parent), games_in(path.parent)
    try:
        text = toml_table.text_of(path)
        found = spec_parser.read(text, where=str(path), files=files, code=installed(), game=game)
    except TomlError as error:
        raise SpecFileError(str(error)) from error
    for note in found[1].notes:
        click.echo(note, err=True)
    return found


def games_in(folder: Path) -> Check[games.Game]:
    """Return the check of a game, which may be a module:Class in the folder."""

    def check(value: object) -> games.Game:
        return games.load(register_game(toml_table.text(value), folder))

    return check


def _without_faults(spec: TournamentSpec, faults: Faults) -> TournamentSpec:
    if faults.found:
        raise SpecFileError(faults.text())
    return spec


def _sized(spec: TournamentSpec, where: str, cores: int | None = None) -> TournamentSpec:
    """Return the tournament with a number of matches at once. Raises SpecFileError if too large."""
    size = len(encode(CreateTournament(spec=spec)))
    if size > _MAX_BYTES:
        raise SpecFileError(
            f"{where}as a message to the server, the tournament has {size:,} bytes; at most "
            f"{_MAX_BYTES:,} are allowed: use fewer or shorter openings, or several tournaments"
        )
    return replace(spec, concurrency=spec.concurrency or estimate.concurrency(spec, cores))


def check(spec: TournamentSpec, folder: Path) -> dict[int, str]:
    """Raise SpecFileError if a player or a command cannot be started in the folder.

    Returns the versions that engines report, by the place of the entrant.
    """
    found = list(checks(spec, folder))
    faults = [f"{spec.entrants[place].name}: {each.fault}" for place, each in found if each.fault]
    if faults:
        raise SpecFileError("\n".join(faults))
    return {place: each.version for place, each in found if each.version}


def changed(entrants: Iterable[Entrant], folder: Path) -> list[str]:
    """Return the names of the entrants whose versions differ from the programs in the folder.

    Only digests are compared, not versions that the user has set.
    """
    files = files_in(folder)
    return [
        each.name
        for each in entrants
        if _is_digest(each.version) and each.version != _version(each, files)
    ]


def differences(spec: TournamentSpec, stored: TournamentSpec) -> list[str]:
    """Return the fields in which a file differs from the stored tournament.

    Of the entrants, only the names are compared.
    """
    names = [[each.name for each in one.entrants] for one in (spec, stored)]
    found = ["entrants"] if names[0] != names[1] else []
    same = replace(
        spec,
        entrants=stored.entrants,
        concurrency=stored.concurrency,
        machine=stored.machine,
    )
    return found + [
        key
        for key in TournamentSpec.__dataclass_fields__
        if getattr(same, key) != getattr(stored, key)
    ]


def _is_digest(given: str) -> bool:
    """Return whether a version was computed, not set by the user."""
    return _DIGEST.fullmatch(given) is not None


def _version(entrant: Entrant, files: versions.Files) -> str:
    """Return the current version; of an entrant that is not started here, the given one."""
    if entrant.player:
        return versions.of_player(entrant.player, files, installed(), entrant.folder)
    if entrant.command:
        return versions.of_command(entrant.command, files, entrant.folder, installed())
    return entrant.version
