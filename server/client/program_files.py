"""What decides how a program plays: its own files, and the games and players that are installed."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from importlib.metadata import entry_points
from pathlib import Path

from server.model.version import Files


@functools.cache
def installed() -> str:
    """Identifies the installed games and players, as part of the versions of bots.

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


def files_in(folder: Path) -> Files:
    """Return a function that reads a file in the folder, and returns None if there is none."""

    def content(path: str) -> bytes | None:
        try:
            found = folder / path
            return found.read_bytes() if found.is_file() else None
        except (OSError, ValueError):
            return None

    return content
