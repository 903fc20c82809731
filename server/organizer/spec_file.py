"""Reads a tournament file, and checks it as far as that is possible before the first match."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import click

from server.model.codec import ADMINISTRATORS_FRAME, encode
from server.model.messages import CreateTournament
from server.model.tournament_spec import Entrant, TournamentSpec
from server.organizer import estimate
from server.runtime.subprocesses import own, own_environment
from server.tournament import spec_parser, version
from server.tournament.toml_lines import Path as Place
from server.tournament.toml_lines import lines_of

#: Longest time to check a player: the first time on a machine, its search is compiled.
_CHECK_S = 600.0
#: Largest tournament in a message: what the server takes, less the other fields of the message.
_MAX_BYTES = ADMINISTRATORS_FRAME - 100
_DIGEST = re.compile(r"[0-9a-f]{12}")
#: What `playout-player --check` writes of the program of others that plays.
_VERSION = re.compile(r"^version: (.+)$", re.MULTILINE)
_LONGEST_VERSION = 64


class _PlayerCheck(NamedTuple):
    """What is wrong with a player, and the version that it says."""

    fault: str | None = None
    version: str | None = None


class SpecFileError(click.ClickException):
    """A tournament file has errors. The text has a line for each, with its place in the file."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the errors without a prefix, as compilers do."""
        click.echo(self.message, err=True)


def read_and_check(path: Path) -> TournamentSpec:
    """The tournament of a file, all of whose entrants can be started. Raises SpecFileError.

    An engine of others has the version that it says, unless the file gives one.
    """
    spec = read(path)
    return _with_versions(spec, check(spec, path.parent, path))


def checked(values: Mapping[str, object], folder: Path) -> TournamentSpec:
    """The tournament with the values that a file in the folder would have. Raises SpecFileError."""
    try:
        spec = spec_parser.of_values(values, files=files_in(folder), code=installed())
    except spec_parser.TournamentSpecError as error:
        raise SpecFileError(str(error)) from error
    spec = _sized(spec, "")
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
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise SpecFileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecFileError(f"{path}: is not encoded in UTF-8") from error
    try:
        spec = spec_parser.read(
            text, where=str(path), files=files_in(path.parent), code=installed()
        )
    except spec_parser.TournamentSpecError as error:
        raise SpecFileError(str(error)) from error
    return _sized(spec, f"{path}: ")


def _sized(spec: TournamentSpec, where: str) -> TournamentSpec:
    """The tournament with a number of matches at once; raises SpecFileError if it is too large."""
    size = len(encode(CreateTournament(spec=spec)))
    if size > _MAX_BYTES:
        raise SpecFileError(
            f"{where}as a message to the server, the tournament has {size:,} bytes; at most "
            f"{_MAX_BYTES:,} are allowed: use fewer or shorter openings, or several tournaments"
        )
    return replace(spec, concurrency=spec.concurrency or estimate.concurrency(spec))


@functools.cache
def installed() -> str:
    """Identifies the installed games and players, as part of the versions of entrants.

    It is a digest of the source files of Playout, with the versions of the plugins.
    """
    digest = hashlib.sha256()
    for package in ("games", "players"):
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations or () if found else ():
            for file in sorted(Path(folder).rglob("*.py")):
                digest.update(file.name.encode() + file.read_bytes())
    plugins = {
        f"{point.dist.name} {point.dist.version}"
        for group in ("playout.games", "playout.players")
        for point in entry_points(group=group)
        if point.dist
    }
    return " ".join([digest.hexdigest(), *sorted(plugins)])


def files_in(folder: Path) -> version.Files:
    """Return a function that reads a file in the folder, and returns None if there is none."""

    def content(path: str) -> bytes | None:
        try:
            found = folder / path
            return found.read_bytes() if found.is_file() else None
        except (OSError, ValueError):
            return None

    return content


def check(spec: TournamentSpec, folder: Path, file: Path | None = None) -> dict[int, str]:
    """Raises SpecFileError if a player or a command cannot be started in the folder.

    `file`: the tournament file, so that the error names the lines. Returns the versions of the
    engines of others, by the place of the entrant.
    """
    checks = list(_checks(spec, folder))
    faults = [*_missing(spec.entrants, folder)]
    faults += [(place, check.fault) for place, check in checks if check.fault]
    if faults:
        lines = lines_of(file.read_text(encoding="utf-8")) if file else {}
        raise SpecFileError("\n".join(
            f"{_where(file, lines, place)}{spec.entrants[place].name}: {fault}"
            for place, fault in sorted(faults)
        ))  # fmt: skip
    return {place: check.version for place, check in checks if check.version}


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
    same = replace(spec, entrants=stored.entrants, concurrency=stored.concurrency)
    return found + [
        key
        for key in TournamentSpec.__dataclass_fields__
        if getattr(same, key) != getattr(stored, key)
    ]


def _is_digest(version: str) -> bool:
    """Whether a version was computed, and not given."""
    return _DIGEST.fullmatch(version) is not None


def _version(entrant: Entrant, files: version.Files) -> str:
    """The present version; of an entrant that is not started here, the one that was given."""
    if entrant.player:
        return version.of_player(entrant.player, files, installed())
    return version.of_command(entrant.command, files) if entrant.command else entrant.version


def _where(file: Path | None, lines: Mapping[Place, int], place: int) -> str:
    """The file and the line of an entrant's player or command, as the start of an error."""
    found = (lines.get(("entrants", place, key)) for key in ("player", "command"))
    line = next((each for each in found if each), None)
    return f"{file}:{line}: " if line else ""


def _missing(entrants: Iterable[Entrant], folder: Path) -> Iterator[tuple[int, str]]:
    """The commands without a program: the place of the entrant, and the error."""
    for place, each in enumerate(entrants):
        program = shlex.split(each.command)[0] if each.command else ""
        where = str(folder / program) if os.sep in program else program
        if program and shutil.which(where) is None:
            yield place, f"there is no program {program!r} that can be run"


def _checks(spec: TournamentSpec, folder: Path) -> Iterator[tuple[int, _PlayerCheck]]:
    """The checks of all players: the place of the entrant, and the result."""
    places = [place for place, each in enumerate(spec.entrants) if each.player]
    with ThreadPoolExecutor(estimate.cores()) as pool:
        found = pool.map(lambda place: _check_player(spec.entrants[place], spec, folder), places)
        yield from zip(places, found, strict=True)


def _check_player(entrant: Entrant, spec: TournamentSpec, folder: Path) -> _PlayerCheck:
    """Whether a player can play this tournament."""
    warm = [word for game in spec.games for word in ("--warm", game)]
    options = ("--tournament", "any", "--check", *warm)
    words = own("players.client.main:main", *options, "--", "any", entrant.player or "")
    try:
        done = _run(words, folder)
        if done.returncode < 0:  # it was killed: no fault of the player
            done = _run(words, folder)
    except subprocess.TimeoutExpired:
        return _PlayerCheck(f"is not ready after {_CHECK_S:g} seconds")
    if done.returncode == 0:
        version = _VERSION.search(done.stdout)
        return _PlayerCheck(version=version[1][:_LONGEST_VERSION] if version else None)
    output = (done.stderr or done.stdout).strip().splitlines()
    last = output[-1].removeprefix("Error: ") if output else f"exit code {done.returncode}"
    return _PlayerCheck(last)


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
