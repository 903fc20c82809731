"""The orders for the tasks of a cluster, as values that are sent to the workers."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from playout.games.core import spec as notation
from playout.protocol.tls import TlsSettings
from playout.protocol.tournament_spec import Entrant, Openings, TournamentSpec

#: The file with the certificate of a private authority, in the folder of the entrants.
_CA_FILE = "playout-ca.pem"


@dataclass(frozen=True)
class TravellingFile:
    """A file that entrants need: its content, and whether it can be executed."""

    content: bytes
    executable: bool


@dataclass(frozen=True)
class ClusterJob:
    """The order for all core sets of a tournament.

    `tokens` are by the names of the entrants, `files` by their paths relative to the folder in
    which entrants are started. `variables` are further environment variables of the processes.
    `tournament` is its id, empty before it is created. A match needs `cores` cores.
    """

    spec: TournamentSpec
    address: tuple[str, int]
    tokens: Mapping[str, str]
    variables: Mapping[str, str]
    files: Mapping[str, TravellingFile]
    tournament: str = ""
    cores: int = 1

    @property
    def topic(self) -> str:
        """The topic of Dask under which core sets send their reports."""
        return f"playout-{self.tournament}"

    def key(self, number: int, attempt: int) -> str:
        """Return the name of a core set's task: Dask runs one task of a name at a time."""
        return f"playout-{self.tournament}-core-set-{number}-{attempt}"

    @property
    def outline(self) -> ClusterJob:
        """The order without the content of files and without openings, for a check."""
        files = {path: replace(file, content=b"") for path, file in self.files.items()}
        return replace(self, files=files, spec=replace(self.spec, openings=Openings()))

    def variables_in(self, folder: Path) -> dict[str, str]:
        """Return the variables for processes, after `write_files` has written into a folder."""
        variables = dict(self.variables)
        if authority := variables.get("PLAYOUT_CA"):
            variables["PLAYOUT_CA"] = str(folder / authority)
        return variables

    def write_files(self, folder: Path) -> None:
        """Write the files into a folder. Raises OSError."""
        for path, file in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            target.chmod(0o700 if file.executable else 0o600)


def tls_variables(tls: TlsSettings | None) -> tuple[dict[str, str], dict[str, TravellingFile]]:
    """Return the environment variables about TLS, and the file of a private authority.

    Raises OSError if that cannot be read.
    """
    variables = dict(tls.environment) if tls else {}
    if authority := variables.get("PLAYOUT_CA"):
        variables["PLAYOUT_CA"] = _CA_FILE
        return variables, {_CA_FILE: TravellingFile(Path(authority).read_bytes(), False)}
    return variables, {}


def travelling_files(
    entrants: Iterable[Entrant], folder: Path, more: Iterable[str] = ()
) -> dict[str, TravellingFile]:
    """Return the files in the folder that entrants name, and `more` files and folders.

    Entrants name them as words of a command, as the module of a `module:Class`, and as options of a
    player. Raises OSError.
    """
    named = [*more, *(path for each in entrants for path in _named(each))]
    found = {path for name in named for path in _files_below(folder, name)}
    return {
        str(path.relative_to(folder)): TravellingFile(
            path.read_bytes(), bool(path.stat().st_mode & 0o100)
        )
        for path in sorted(found)
    }


def _named(entrant: Entrant) -> Iterator[str]:
    """Yield the words of an entrant that may be files."""
    if entrant.folder:
        yield entrant.folder
    elif entrant.command:
        yield from shlex.split(entrant.command)
    if entrant.player:
        wanted = notation.parse(entrant.player)
        module, colon, _ = wanted.name.partition(":")
        if colon:
            yield module.replace(".", "/") + ".py"
        yield from wanted.options.values()


def _files_below(folder: Path, name: str) -> Iterator[Path]:
    """Yield the file of that name in the folder, or the files of the folder of that name."""
    path = folder / name
    if not name or not path.resolve().is_relative_to(folder.resolve()) or path == folder:
        return
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (each for each in path.rglob("*") if each.is_file())
