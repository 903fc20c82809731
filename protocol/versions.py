"""Versions of bots without a given one: digests of everything that decides how a bot plays.

That is its own files, and the installed games and players. The files of a bot are found by reading,
without running it: the modules that a Python file imports, and the files that the text of a program
names, again and again (`Sources`). Of a bot with a folder of its own, all files count. A program
that writes to one of its files has another version after each write, unless the file looks like
output (`_OUTPUT`).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import os
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path

from playout.games.core import spec

#: The content of a file, by its path relative to the tournament's folder; None without a file.
Files = Callable[[str], bytes | None]

_DIGITS = 12
#: The suffixes of files that programs write while they play.
_OUTPUT = (
    *(".db", ".db-shm", ".db-wal", ".err", ".jsonl", ".log", ".out", ".pgn", ".pid", ".pyc"),
    *(".sqlite", ".tmp"),
)
#: Folders without files of the bot itself.
OTHER_FOLDERS = ("__pycache__", "node_modules", "venv")
#: The name of a file in the text of a program.
_NAME = re.compile(r"[\w~.-]*[./][\w./~-]*\w")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
#: Most bytes of a file whose text is searched for names, and most files of a bot.
_LONGEST, _MOST = 2**20, 2000


def of_player(player: str, files: Files, code: str = "", folder: str | None = None) -> str:
    """Return the version of a player with its options, whose order does not matter.

    `code` identifies the installed players and games. The modules of a `module:Class` in the
    folder, and the files that options name, are included. `folder` as in `of_command`. Raises
    SpecError.
    """
    return of_spec(spec.parse(player), files, code, folder)


def of_spec(wanted: spec.Spec, files: Files, code: str = "", folder: str | None = None) -> str:
    """Return the version of a player with its options, as `of_player` does."""
    options = [f"{key}={value}" for key, value in sorted(wanted.options.items())]
    sources = Sources(files, folder or "")
    module, colon, _ = wanted.name.partition(":")
    if colon:
        sources.add_module(module)
    for value in wanted.options.values():
        sources.add(value)
    if wanted.name == "engine" and "file" not in wanted.options:
        sources.add("engines.toml")
    return _digest([each.encode() for each in (wanted.name, *options, code)], sources.found)


def of_command(command: str, files: Files, folder: str | None = None, code: str = "") -> str:
    """Return the version of a command: a digest of its words and of the bot's files.

    These are the files among the words, the modules and files that they name, and all files of the
    bot's `folder`, in which it starts, relative to that of `files`. `code` identifies the installed
    players, for a command of Playout. Raises ValueError for an unclosed quote.
    """
    words = shlex.split(command)
    sources = Sources(files, folder or "")
    if folder and isinstance(files, FolderFiles):
        for path in files.below(folder):
            sources.found[path] = files(path) or b""
    for word in words:
        sources.add(word)
        sources.add_module(word.partition(":")[0])
        sources.search(word, "")
    if words and posixpath.basename(words[0]).startswith("playout-"):
        words.append(code)
    return _digest([word.encode() for word in words], sources.found)


class Sources:
    """The files of a bot that were found so far, by path."""

    def __init__(self, files: Files, folder: str) -> None:
        """`folder`: where the bot starts, relative to the folder of `files`."""
        self.found: dict[str, bytes] = {}
        self._files = files
        self._bases = {folder: None}

    def add(self, name: str, near: str = "", suffixes: Iterable[str] = ("",)) -> bool:
        """Add a file, and all files that it names; return whether it exists.

        It is looked for where the bot starts, beside the files among the words of its command, and
        in the folder `near`, with each of the suffixes.
        """
        for base in (*self._bases, near):
            for suffix in suffixes:
                path = posixpath.normpath(posixpath.join(base, name + suffix))
                if path in self.found:
                    return True
                if path.endswith(_OUTPUT) or len(self.found) >= _MOST:
                    continue
                content = self._files(path)
                if content is not None:
                    self.found[path] = content
                    if not near:
                        self._bases.setdefault(posixpath.dirname(path))
                    self._search_file(path, content)
                    return True
        return False

    def add_module(self, name: str, near: str = "") -> None:
        """Add a module of Python, and the packages that it is in."""
        if not _MODULE.fullmatch(name):
            return
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            for suffix in (".py", "/__init__.py", "/__main__.py"):
                self.add("/".join(parts[:end]) + suffix, near or ".")

    def _search_file(self, path: str, content: bytes) -> None:
        if len(content) > _LONGEST or b"\0" in content:
            return
        text, near = content.decode(errors="replace"), posixpath.dirname(path) or "."
        if path.endswith(".py"):
            for level, name in _imports(content):
                folder = posixpath.normpath(posixpath.join(near, *[".."] * max(0, level - 1)))
                self.add_module(name, folder)
        self.search(text, near, posixpath.splitext(path)[1])

    def search(self, text: str, near: str, suffix: str = "") -> None:
        """Add the files that a text names, also without the suffix."""
        for name in dict.fromkeys(_NAME.findall(text)):
            if name.startswith("/"):
                continue  # a program of the system
            if not self.add(name, near, ("", suffix)) and suffix == ".py":
                self.add_module(name, near)


def _imports(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the names that a Python file imports, with the number of leading dots.

    The file may begin with a byte order mark, or name its encoding.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for each in node.names:
                    yield 0, each.name
            case ast.ImportFrom():
                for each in node.names:
                    yield node.level, ".".join(filter(None, (node.module, each.name)))
            case ast.Constant(value=str(value)) if _MODULE.fullmatch(value):
                yield 0, value  # as for importlib.import_module


def _digest(words: Iterable[bytes], sources: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    files = (part for path, content in sorted(sources.items()) for part in (path.encode(), content))
    for part in (*words, b"", *files):
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


class FolderFiles:
    """Reads the files in a folder; modules that are not there, in the folders of PYTHONPATH."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = os.environ.get("PYTHONPATH", "")
        self._others = [Path(each) for each in path.split(os.pathsep) if each]

    def __call__(self, path: str) -> bytes | None:
        """Return the content of a file, None if there is none."""
        others = self._others if path.endswith(".py") else []
        for folder in [self._folder, *others]:
            try:
                found = folder / path
                if found.is_file():
                    return found.read_bytes()
            except (OSError, ValueError):
                continue
        return None

    def below(self, folder: str) -> Iterator[str]:
        """Yield the paths of the files in a folder and its folders, except of output."""
        root = self._folder / folder
        for where, folders, names in os.walk(root):
            folders[:] = sorted(each for each in folders if _is_own(each))
            for name in sorted(filter(_is_own, names)):
                yield posixpath.normpath(os.path.relpath(os.path.join(where, name), self._folder))


def _is_own(name: str) -> bool:
    return not (name.startswith(".") or name in OTHER_FOLDERS or name.endswith(_OUTPUT))


def files_in(folder: Path) -> Files:
    """Return a function that reads a file in the folder, and returns None if there is none."""
    return FolderFiles(folder)
