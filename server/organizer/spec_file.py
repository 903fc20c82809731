"""Reads a tournament file, and checks it as far as that is possible before the first match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import games
from server.client.program_files import files_in, installed
from server.model import version
from server.model.codec import ADMINISTRATORS_FRAME, encode
from server.model.messages import CreateTournament
from server.model.tournament_spec import Entrant, TournamentSpec
from server.organizer import entrant_check, estimate
from server.tournament import spec_parser, validators
from server.tournament.spec_parser import ClusterSettings
from server.tournament.toml_table import Faults
from server.tournament.toml_text import TomlSyntaxError
from server.tournament.validators import Check

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
    for place, found in entrant_check.checks(spec, path.parent):
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
        return games.load(games.register(validators.text(value), str(folder)))

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
    found = list(entrant_check.checks(spec, folder))
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


def _is_digest(version: str) -> bool:
    """Whether a version was computed, and not given."""
    return _DIGEST.fullmatch(version) is not None


def _version(entrant: Entrant, files: version.Files) -> str:
    """The present version; of an entrant that is not started here, the one that was given."""
    if entrant.player:
        return version.of_player(entrant.player, files, installed())
    return version.of_command(entrant.command, files) if entrant.command else entrant.version
