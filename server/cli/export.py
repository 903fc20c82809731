"""`playout-server export` and `import`: stored matches as text, and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO

import click
from rich.console import Console

from server.cli.database import opened
from server.cli.options import its_database_option
from server.export import FORMATS, jsonl, writer
from server.model.records import StoredMatch

#: After so many bad lines, the file is taken for something else.
_BAD_LINES = 20
#: How many matches go by before progress is shown again.
_STEP = 100


@click.command("export", context_settings={"help_option_names": ["-h", "--help"]})
@its_database_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl: everything, to be imported again. sgf: games of placing stones. "
    "pgn: text in the manner of PGN. auto: sgf where it will do, otherwise pgn.",
)
@click.option("--match", help="Only the match with this id.")
@click.option("--game", help="Only this game; without parameters, with any.")
@click.option("--player", help="Only matches of this player.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Only matches that began on this day (in UTC) or later.",
)
@click.argument("file", type=click.File("w", encoding="utf-8", lazy=True), default="-")
def export(
    database: str,
    format_: str,
    match: str | None,
    game: str | None,
    player: str | None,
    since: datetime | None,
    file: IO[str],
) -> None:
    """Write stored matches to FILE, or to standard output.

    Those that cannot be written in that format are named; the others are written all the same.
    """
    write = writer(format_)
    written = failed = 0
    with opened(database) as archive, _Progress("written") as progress:
        begun = since.replace(tzinfo=UTC).timestamp() if since else None
        for kept in archive.matches(match=match, game=game, player=player, since=begun):
            try:
                text = write(kept)
            except ValueError as error:
                failed += 1
                _say(f"match {kept.started.match} is left out: {error}")
                continue
            file.write(text)
            written += 1
            progress.show(written)
    if match and not written + failed:
        raise click.ClickException(f"there is no match {match!r} like that")
    _say(f"{_counted(written)} written" + (f", {failed} left out" if failed else ""))
    sys.exit(1 if failed else 0)


@click.command("import", context_settings={"help_option_names": ["-h", "--help"]})
@its_database_option
@click.argument("file", type=click.File("rb"))
def import_(database: str, file: IO[bytes]) -> None:
    """Store the matches of FILE, which `export --format jsonl` has written; - is standard input.

    Each is played through by the rules first. What is stored already is left as it is.
    """
    with opened(database) as archive, _Progress("read") as progress:
        reader = _Reader(file, progress)
        new = archive.add(reader.matches())
    known = reader.read - new
    _say(
        f"{_counted(new)} imported"
        + (f", {known:,} known before" if known else "")
        + (f", {reader.running} left out that had not ended" if reader.running else "")
        + (f", {reader.bad} bad lines left out" if reader.bad else "")
    )
    sys.exit(1 if reader.bad else 0)


class _Reader:
    """Reads lines, and counts what they are."""

    def __init__(self, file: IO[bytes], progress: _Progress) -> None:
        self._file = file
        self._progress = progress
        self.read = self.running = self.bad = 0

    def matches(self) -> Iterator[StoredMatch]:
        """Matches that have ended; of the others, nobody could take up the players' seats."""
        for number, line in enumerate(self._file, 1):
            if not line.strip():
                continue
            try:
                kept = jsonl.read(line, number)
            except jsonl.BadLine as error:
                self._refuse(error)
                continue
            if kept.ended is None:
                self.running += 1
                continue
            self.read += 1
            self._progress.show(self.read)
            yield kept

    def _refuse(self, error: jsonl.BadLine) -> None:
        self.bad += 1
        _say(str(error))
        if self.bad == _BAD_LINES:
            text = f"{_BAD_LINES} bad lines are enough. Is this what export --format jsonl wrote?"
            raise click.ClickException(text)


class _Progress:
    """How many matches there were so far, on standard error where that is a terminal."""

    def __init__(self, done: str) -> None:
        self._done = done
        self._status = Console(stderr=True).status(f"{_counted(0)} {done}")

    def __enter__(self) -> _Progress:
        if sys.stderr.isatty():
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def show(self, count: int) -> None:
        if count % _STEP == 0:
            self._status.update(f"{_counted(count)} {self._done}")


def _counted(count: int) -> str:
    return f"{count:,} match{'' if count == 1 else 'es'}"


def _say(text: str) -> None:
    click.echo(f"playout-server: {text}", err=True)
