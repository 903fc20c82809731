"""A tournament's file, read and checked as far as that can be done before it begins."""

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

from server.model.codec import ADMINISTRATORS_FRAME, encode
from server.model.messages import CreateTournament
from server.model.tournament_spec import Entrant, TournamentSpec
from server.organizer import estimate
from server.runtime.subprocesses import own, own_environment
from server.tournament import spec_parser, version
from server.tournament.toml_lines import Path as Place
from server.tournament.toml_lines import lines_of

#: The first time on a machine, the search is compiled.
_CHECK_S = 600.0
#: What a server takes as one message, less what there is to it beside the tournament.
_MOST_BYTES = ADMINISTRATORS_FRAME - 100
_DIGEST = re.compile(r"[0-9a-f]{12}")


class SourceError(Exception):
    """The tournament cannot be played as it is: what to tell the user, a line for each error."""


def read(path: Path) -> TournamentSpec:
    """The tournament of a file, with as many matches at once as it says or there are cores for.

    Raises SourceError.
    """
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is no text in UTF-8") from error
    try:
        spec = spec_parser.read(
            text, where=str(path), files=files_in(path.parent), code=installed()
        )
    except spec_parser.TournamentSpecError as error:
        raise SourceError(str(error)) from error
    size = len(encode(CreateTournament(spec=spec)))
    if size > _MOST_BYTES:
        raise SourceError(
            f"{path}: as a message to the server, the tournament has {size:,} bytes, and may have "
            f"{_MOST_BYTES:,}: give fewer or shorter openings, or several tournaments a part each"
        )
    return replace(spec, concurrency=spec.concurrency or estimate.concurrency(spec))


@functools.cache
def installed() -> str:
    """Which players and games there are: a digest of Playout's own, and the versions of others'."""
    digest = hashlib.sha256()
    for package in ("games", "players"):
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations or () if found else ():
            for file in sorted(Path(folder).rglob("*.py")):
                digest.update(file.name.encode() + file.read_bytes())
    others = {
        f"{point.dist.name} {point.dist.version}"
        for group in ("playout.games", "playout.players")
        for point in entry_points(group=group)
        if point.dist
    }
    return " ".join([digest.hexdigest(), *sorted(others)])


def files_in(folder: Path) -> version.Files:
    """What files have in them, by their paths from there; None where there is none."""

    def content(path: str) -> bytes | None:
        try:
            found = folder / path
            return found.read_bytes() if found.is_file() else None
        except (OSError, ValueError):
            return None

    return content


def check(spec: TournamentSpec, folder: Path, file: Path | None = None) -> None:
    """Can its players and commands be started, from that folder? `file` is where they stand.

    Raises SourceError.
    """
    faults = [*_missing(spec.entrants, folder), *_unusable(spec, folder)]
    if faults:
        lines = lines_of(file.read_text(encoding="utf-8")) if file else {}
        raise SourceError("\n".join(
            f"{_where(file, lines, place)}{spec.entrants[place].name}: {fault}"
            for place, fault in sorted(faults)
        ))  # fmt: skip


def changed(entrants: Iterable[Entrant], folder: Path) -> list[str]:
    """The names of those that are not any more what they were, as far as their versions tell."""
    files = files_in(folder)
    return [
        each.name
        for each in entrants
        if _DIGEST.fullmatch(each.version) and each.version != _version(each, files)
    ]


def differences(spec: TournamentSpec, stored: TournamentSpec) -> list[str]:
    """In what a file differs from the tournament that was begun, but for its entrants."""
    names = [[each.name for each in one.entrants] for one in (spec, stored)]
    found = ["entrants"] if names[0] != names[1] else []
    same = replace(spec, entrants=stored.entrants, concurrency=stored.concurrency)
    return found + [
        key
        for key in TournamentSpec.__dataclass_fields__
        if getattr(same, key) != getattr(stored, key)
    ]


def _version(entrant: Entrant, files: version.Files) -> str:
    """As it is now. One who logs in from elsewhere has what it was given."""
    if entrant.player:
        return version.of_player(entrant.player, files, installed())
    return version.of_command(entrant.command, files) if entrant.command else entrant.version


def _where(file: Path | None, lines: Mapping[Place, int], place: int) -> str:
    """The line on which it stands who an entrant is."""
    found = (lines.get(("entrants", place, key)) for key in ("player", "command"))
    line = next((each for each in found if each), None)
    return f"{file}:{line}: " if line else ""


def _missing(entrants: Iterable[Entrant], folder: Path) -> Iterator[tuple[int, str]]:
    """Commands that cannot be run: the place of the entrant, and why."""
    for place, each in enumerate(entrants):
        program = shlex.split(each.command)[0] if each.command else ""
        where = str(folder / program) if os.sep in program else program
        if program and shutil.which(where) is None:
            yield place, f"there is no program {program!r} that could be run"


def _unusable(spec: TournamentSpec, folder: Path) -> Iterator[tuple[int, str]]:
    """Players that cannot be had: the place of the entrant, and why."""
    places = [place for place, each in enumerate(spec.entrants) if each.player]
    with ThreadPoolExecutor(estimate.cores()) as pool:
        faults = pool.map(lambda place: _fault(spec.entrants[place], spec, folder), places)
        for place, fault in zip(places, faults, strict=True):
            if fault:
                yield place, fault


def _fault(entrant: Entrant, spec: TournamentSpec, folder: Path) -> str | None:
    """Why a player cannot play this tournament."""
    ready = [word for game in spec.games for word in ("--warm", game)]
    options = ("--tournament", "any", "--check", *ready)
    words = own("players.client.main:main", *options, "--", "any", entrant.player or "")
    try:
        done = _run(words, folder)
        if done.returncode < 0:  # somebody has ended it, which says nothing of the player
            done = _run(words, folder)
    except subprocess.TimeoutExpired:
        return f"is not ready after {_CHECK_S:g} seconds"
    if done.returncode == 0:
        return None
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[-1].removeprefix("Error: ") if said else f"exit code {done.returncode}"


def _run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Raises TimeoutExpired."""
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
