"""Versions of bots without a given one: digests of everything that decides how a bot plays.

That is its own files, and the installed games and players.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import posixpath
import shlex
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from pathlib import Path

from playout.games.core import spec

#: The content of a file, by its path relative to the tournament's folder; None without a file.
Files = Callable[[str], bytes | None]

_DIGITS = 12


def of_player(player: str, files: Files, code: str = "") -> str:
    """Return the version of a player with its options, whose order does not matter.

    `code` identifies the installed players and games. The file of a `module:Class` is included if
    it is in the folder. Raises SpecError.
    """
    return of_spec(spec.parse(player), files, code)


def of_spec(wanted: spec.Spec, files: Files, code: str = "") -> str:
    """Return the version of a player with its options, as `of_player` does."""
    options = [f"{key}={value}" for key, value in sorted(wanted.options.items())]
    module, colon, _ = wanted.name.partition(":")
    own = files(module.replace(".", "/") + ".py") if colon else None
    words = [wanted.name, *options, code]
    return _digest([*(each.encode() for each in words), own or b""])


def of_command(command: str, files: Files, folder: str | None = None) -> str:
    """Return the version of a command: a digest of its words and of the files among them.

    `folder`: the folder in which it starts, relative to that of `files`; None for that one. Raises
    ValueError for an unclosed quote. A program that writes to a file of its command has another
    version after each write: give it a version instead.
    """
    words = shlex.split(command)
    contents = [files(posixpath.join(folder or "", word)) for word in words]
    return _digest(
        part
        for word, content in zip(words, contents, strict=True)
        for part in (word.encode(), content or b"")
    )


def _digest(parts: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return whole.hexdigest()[:_DIGITS]


@functools.cache
def installed() -> str:
    """Return a text that identifies the installed games and players, for the versions of bots.

    It is a digest of the source files of games and players, with the versions of the plugins.
    """
    digest = hashlib.sha256()
    for package in ("playout.games", "playout.players"):
        found = importlib.util.find_spec(package)
        assert found
        for folder in found.submodule_search_locations or ():
            for file in sorted(Path(folder).rglob("*.py")):
                digest.update(file.name.encode() + file.read_bytes())
    plugins = {
        f"{point.dist.name} {point.dist.version}"
        for group in ("playout.games", "playout.players")
        for point in entry_points(group=group)
        if point.dist
    }
    return " ".join([digest.hexdigest(), *sorted(plugins)])


def files_in(folder: Path) -> Files:
    """Return a function that reads a file in the folder, and returns None if there is none."""

    def content(path: str) -> bytes | None:
        try:
            found = folder / path
            return found.read_bytes() if found.is_file() else None
        except (OSError, ValueError):
            return None

    return content
