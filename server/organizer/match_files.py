"""Files to which the matches of a tournament are appended when they end: PGN or JSON Lines.

A match is written once, also after a resumption: the ids in a file tell which matches it has.
Matches without a result are left out, because their pairs are played again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from msgspec import Struct, json

from playout.protocol.messages import Fixture
from playout.server.export import writer
from playout.server.model.records import StoredMatch

#: Returns a stored match by its id, None if it is not stored.
FindMatch = Callable[[str], StoredMatch | None]

_PGN_ID = re.compile(rb'^\[GameId "([^"]+)"\]', re.MULTILINE)


class _Line(Struct):
    """The part of a line of JSON with the id of the match."""

    match: str = ""


class MatchFile:
    """A file of one format, `pgn` or `jsonl`, to which matches are appended."""

    def __init__(self, path: Path, format_: str) -> None:
        """Raises ClickException if the file cannot be read and written."""
        self._path = path
        self._write = writer(format_)
        try:
            with path.open("ab"):
                content = path.read_bytes()
        except OSError as error:
            raise click.ClickException(f"{path}: {error.strerror}") from error
        self._known = set(_PGN_ID.findall(content) if format_ == "pgn" else _ids(content))
        ends = b"\n\n" if format_ == "pgn" else b"\n"
        #: The end of the last match, if another program has not written it.
        self._before = b"" if not content or content.endswith(ends) else ends

    def lacks(self, match: str) -> bool:
        """Return whether a match is not in the file."""
        return match.encode() not in self._known

    def add(self, stored: StoredMatch) -> None:
        """Append a match, as a whole or not at all. Raises OSError, ValueError."""
        text = self._before + self._write(stored).encode()
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(file).st_size
            written = os.write(file, text)
            if written < len(text):
                os.ftruncate(file, size)
                raise OSError(f"only {written} of {len(text)} bytes could be written")
        finally:
            os.close(file)
        self._before = b""
        self._known.add(stored.started.match.encode())


class MatchFiles:
    """The files of a tournament. A fault of one is shown, and its matches are tried again later."""

    def __init__(
        self, files: Iterable[MatchFile], find: FindMatch, show: Callable[[str], None]
    ) -> None:
        """`show` shows a line to the user."""
        self._files = tuple(files)
        self._find = find
        self._show = show
        self._waiting: dict[str, None] = {}
        self._shown: set[str] = set()

    def match_ended(self, fixture: Fixture) -> None:
        """Write an ended match, and those that could not be written before."""
        if not self._files or not fixture.winner:
            return
        self._waiting[fixture.match] = None
        for match in list(self._waiting):
            if self._written(match):
                del self._waiting[match]

    def _written(self, match: str) -> bool:
        lacking = [file for file in self._files if file.lacks(match)]
        stored = self._find(match) if lacking else None
        for file in lacking if stored else ():
            assert stored
            try:
                file.add(stored)
            except ValueError as error:
                self._complain(f"match {match} is not written: {error}")
            except OSError as error:
                self._complain(f"matches cannot be written, and are tried again: {error}")
                return False
        return stored is not None or not lacking

    def _complain(self, text: str) -> None:
        """Show a fault once: it may repeat with every match."""
        if text not in self._shown:
            self._shown.add(text)
            self._show(text)


def _ids(content: bytes) -> Iterable[bytes]:
    """Yield the ids of the matches in JSON Lines; other lines are skipped."""
    for line in content.splitlines():
        try:
            yield json.decode(line, type=_Line).match.encode()
        except (ValueError, RecursionError):
            continue
