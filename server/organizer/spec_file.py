"""Reads a tournament file, and checks it as far as that is possible before the first match."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from playout import games
from playout.commands import toml_table
from playout.commands.subprocesses import own_environment, usable_cores
from playout.commands.toml_table import Check, Faults, TomlSyntaxError
from playout.protocol import versions
from playout.protocol.codec import ADMINISTRATORS_FRAME, encode
from playout.protocol.messages import CreateTournament
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.protocol.versions import files_in, installed
from playout.server.organizer import estimate
from playout.server.organizer.supervisor import player_words
from playout.server.tournament import spec_parser
from playout.server.tournament.spec_parser import ClusterSettings
from playout.server.tournament.spec_validation import MOST_ENTRANTS, MOST_GAMES

# Checks before the first match that the entrants of a tournament can be started.
#
# A player is created in a process of its own, `playout-player --check`, for all games.


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
    words = player_words(entrant.player or "", games, "--tournament", "any", "--check")
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


#: Largest tournament in a message: what the server takes, less the other fields of the message.
_MAX_BYTES = ADMINISTRATORS_FRAME - 100
_DIGEST = re.compile(r"[0-9a-f]{12}")


class SpecFileError(click.ClickException):
    """A tournament file has errors. The text has a line for each, with its place in the file."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the errors without a prefix, as compilers do."""
        click.echo(self.message, err=True)


def cluster_settings(path: Path) -> ClusterSettings:
    """The settings of a file about the cluster; none if the file cannot be read."""
    try:
        return spec_parser.cluster_settings(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, TomlSyntaxError):
        return ClusterSettings()  # `read` reports it


def read_and_check(path: Path, cores: int | None = None) -> TournamentSpec:
    """The tournament of a file, all of whose entrants can be started.

    `cores` decide how many matches are played at once, if the file does not; None: those here. An
    engine of others has the version that it says, unless the file gives one. Raises
    SpecFileError with the faults of the file and of all entrants.
    """
    spec, faults = _parsed(path)
    said = {}
    for place, found in checks(spec, path.parent):
        if found.fault:
            key = "player" if spec.entrants[place].player else "command"
            faults.add(("entrants", place, key), f"{spec.entrants[place].name}: {found.fault}")
        elif found.version:
            said[place] = found.version
    return _with_versions(_sized(_without_faults(spec, faults), f"{path}: ", cores), said)


def checked(values: Mapping[str, object], folder: Path, cores: int | None = None) -> TournamentSpec:
    """The tournament with the values that a file in the folder would have. Raises SpecFileError.

    `cores`: as in `read_and_check`.
    """
    try:
        spec = spec_parser.of_values(
            values, files=files_in(folder), code=installed(), game=_games_in(folder)
        )
    except spec_parser.TournamentSpecError as error:
        raise SpecFileError(str(error)) from error
    spec = _sized(spec, "", cores)
    return _with_versions(spec, check(spec, folder))


def _with_versions(spec: TournamentSpec, said: Mapping[int, str]) -> TournamentSpec:
    """The tournament with the versions that engines say, unless others are given."""
    entrants = tuple(
        replace(each, version=said[place]) if place in said and _is_digest(each.version) else each
        for place, each in enumerate(spec.entrants)
    )
    return replace(spec, entrants=entrants)


def read(path: Path) -> TournamentSpec:
    """The tournament of a file. Raises SpecFileError.

    If it does not say how many matches are played at once, that follows from the number of cores.
    """
    return _sized(_without_faults(*_parsed(path)), f"{path}: ")


def _parsed(path: Path) -> tuple[TournamentSpec, Faults]:
    """The tournament of a file, and its faults. Raises SpecFileError if there is none."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise SpecFileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecFileError(f"{path}: is not encoded in UTF-8") from error
    files = files_in(path.parent)
    try:
        return spec_parser.read_leniently(
            text, where=str(path), files=files, code=installed(), game=_games_in(path.parent)
        )
    except spec_parser.TournamentSpecError as error:
        raise SpecFileError(str(error)) from error


def _games_in(folder: Path) -> Check[games.Game]:
    """The check of a game that the user names, perhaps as module:Class in the folder."""

    def check(value: object) -> games.Game:
        return games.load(games.register(toml_table.text(value), str(folder)))

    return check


def _without_faults(spec: TournamentSpec, faults: Faults) -> TournamentSpec:
    if faults.found:
        raise SpecFileError(faults.text())
    return spec


def _sized(spec: TournamentSpec, where: str, cores: int | None = None) -> TournamentSpec:
    """The tournament with a number of matches at once; raises SpecFileError if it is too large."""
    size = len(encode(CreateTournament(spec=spec)))
    if size > _MAX_BYTES:
        raise SpecFileError(
            f"{where}as a message to the server, the tournament has {size:,} bytes; at most "
            f"{_MAX_BYTES:,} are allowed: use fewer or shorter openings, or several tournaments"
        )
    return replace(spec, concurrency=spec.concurrency or estimate.concurrency(spec, cores))


def check(spec: TournamentSpec, folder: Path) -> dict[int, str]:
    """Raises SpecFileError if a player or a command cannot be started in the folder.

    Returns the versions of the engines of others, by the place of the entrant.
    """
    found = list(checks(spec, folder))
    faults = [f"{spec.entrants[place].name}: {each.fault}" for place, each in found if each.fault]
    if faults:
        raise SpecFileError("\n".join(faults))
    return {place: each.version for place, each in found if each.version}


def changed(entrants: Iterable[Entrant], folder: Path) -> list[str]:
    """The names of the entrants whose versions differ from those of the programs in the folder.

    A version that the user gave, and not a digest, is taken as it is.
    """
    files = files_in(folder)
    return [
        each.name
        for each in entrants
        if _is_digest(each.version) and each.version != _version(each, files)
    ]


def differences(spec: TournamentSpec, stored: TournamentSpec) -> list[str]:
    """The fields in which a file differs from the stored tournament.

    Of the entrants only the names are compared.
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
    """Whether a version was computed, and not given."""
    return _DIGEST.fullmatch(given) is not None


def _version(entrant: Entrant, files: versions.Files) -> str:
    """The present version; of an entrant that is not started here, the one that was given."""
    if entrant.player:
        return versions.of_player(entrant.player, files, installed())
    return versions.of_command(entrant.command, files) if entrant.command else entrant.version
