"""Versions of entrants that were given none: digests of what decides how they play."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterable

from games.core import spec

#: What is in a file, by its path relative to the tournament's folder; None where there is no file.
Files = Callable[[str], bytes | None]

_DIGITS = 12


def of_player(player: str, files: Files, code: str = "") -> str:
    """Of a player with its options, in whatever order they are written.

    `code` says which players and games are installed. The file of a `module:Class` counts, if it is
    in the folder. Raises SpecError.
    """
    wanted = spec.parse(player)
    options = [f"{key}={value}" for key, value in sorted(wanted.options.items())]
    module, colon, _ = wanted.name.partition(":")
    own = files(module.replace(".", "/") + ".py") if colon else None
    words = [wanted.name, *options, code]
    return _digest([*(each.encode() for each in words), own or b""])


def of_command(command: str, files: Files) -> str:
    """Of a command, and of the files among its words. Raises ValueError for an unclosed quote.

    A program that writes to a file which its command names has another version each time it is
    read: it needs one that is given.
    """
    words = shlex.split(command)
    contents = [files(word) for word in words]
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
