"""`playout-server export`, `import` and `verify`: stored matches as text, and their rolls."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import click

from playout.commands.progress import INTERVAL_S, doing, say
from playout.commands.text import counted
from playout.protocol import sgf, text_files
from playout.protocol.dice import verified_rolls
from playout.server.cli.database_commands import opened, stored_game
from playout.server.cli.server_options import its_database_option
from playout.server.export import FORMATS, backgammon, jsonl, writer
from playout.server.export.replay import Contradiction, replay
from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper

#: The number of bad lines after which no more lines are read.
_BAD_LINES = 20


@click.command("export", context_settings={"help_option_names": ["-h", "--help"]})
@its_database_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl: all that is stored, for import. sgf: backgammon and games of placing stones. "
    "mat: backgammon. pgn: text like PGN. auto: sgf if the game allows it, otherwise pgn.",
)
@click.option("--match", help="Only the match with this id.")
@click.option("--game", help="Only this game; without parameters, with any parameters.")
@click.option("--player", help="Only matches of this player.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Only matches that started on this day (UTC) or later.",
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

    A match that cannot be written in this format is reported and left out; then the exit code is 1.
    """
    progress = _Progress("written")
    game = game and stored_game(game)
    with opened(database) as archive, doing("Writing the matches"):
        start = since.replace(tzinfo=UTC).timestamp() if since else None
        matches = archive.matches(match=match, game=game, player=player, since=start)
        written, failed = write_matches(matches, format_, file, progress.show)
    if match and not written + failed:
        raise click.ClickException(f"there is no match {match!r} that meets the conditions")
    _say(f"{_counted(written)} written" + (f", {failed} left out" if failed else ""))
    sys.exit(1 if failed else 0)


def write_matches(
    matches: Iterable[StoredMatch],
    format_: str,
    file: IO[str],
    show: Callable[[int], None] = lambda written: None,
) -> tuple[int, int]:
    """Write matches to a file; return how many were written, and how many were left out.

    Those that cannot be written in the format are left out, and reported on standard error: one
    line for each reason, with the number of matches and the first of them. `show` is called after
    each match with the number of those written so far.
    """
    write = writer(format_)
    written = 0
    left_out: dict[str, list[str]] = {}
    for stored in matches:
        try:
            text = write(stored)
        except ValueError as error:
            left_out.setdefault(str(error), []).append(stored.started.match)
            continue
        file.write(text)
        written += 1
        show(written)
    for reason, ids in left_out.items():
        which = f"match {ids[0]} is" if len(ids) == 1 else f"{_counted(len(ids))} are"
        first = "" if len(ids) == 1 else f" (first {ids[0]})"
        click.echo(f"{which} left out: {reason}{first}", err=True)
    return written, sum(map(len, left_out.values()))


@click.command("import", context_settings={"help_option_names": ["-h", "--help"]})
@its_database_option
@click.argument("file", type=click.File("rb"))
def import_(database: str, file: IO[bytes]) -> None:
    """Store the matches of FILE, as `export --format jsonl` wrote them; - is standard input.

    FILE may also be one of backgammon: a `.mat`, as Jellyfish and gnubg write it, or SGF. A game
    that is part of no whole match by the rules is stored as a match of one point, without its
    doubles. Each match is first checked against the rules. Matches that are stored already stay as
    they are. Bad lines are reported and left out; after 20 of them, no more lines are read.
    """
    with opened(database, create=True) as archive:
        reader = _Reader(file, _Progress("read"))
        with doing("Reading the matches"):
            new = archive.add(reader.matches())
        with doing("Computing the ratings"):
            _keep_ratings(archive)
    known = reader.read - new
    _say(
        f"{_counted(new)} imported"
        + (f", {known:,} known before" if known else "")
        + (f", {reader.running} left out that had not ended" if reader.running else "")
        + (f", {reader.bad} bad lines left out" if reader.bad else "")
    )
    if reader.bad == _BAD_LINES:
        text = f"{_BAD_LINES} bad lines: expected a file written by export --format jsonl"
        raise click.ClickException(f"stopped after {text}")
    sys.exit(1 if reader.bad else 0)


def _keep_ratings(archive: Database) -> None:
    """Store the ratings that follow from the matches; a running server updates them later."""
    with contextlib.closing(Reader(archive.url.render_as_string(hide_password=False))) as reader:
        for records in RatingKeeper(reader).updates():
            archive.save(records)


class _Reader:
    """Reads matches from lines, and counts those that it reads and those that it leaves out."""

    def __init__(self, file: IO[bytes], progress: _Progress) -> None:
        self._file = file
        self._progress = progress
        self.read = self.running = self.bad = 0

    def matches(self) -> Iterator[StoredMatch]:
        """Yield the ended matches; no client could take the seats in the others."""
        for stored in self._read():
            if isinstance(stored, ValueError):
                self.bad += 1
                _say(str(stored))
                if self.bad == _BAD_LINES:
                    return
                continue
            if stored.ended is None:
                self.running += 1
                continue
            self.read += 1
            self._progress.show(self.read)
            yield stored

    def _read(self) -> Iterator[StoredMatch | ValueError]:
        """Yield the matches, or what is wrong with one."""
        first = self._file.readline()
        lines: Iterable[bytes] = itertools.chain([first], self._file)
        if not first.removeprefix(codecs.BOM_UTF8).startswith(b"{"):
            content = b"".join(lines)
            try:
                is_sgf = content.lstrip().startswith(b"(")
                text = sgf.decoded(content) if is_sgf else text_files.decoded(content)
            except text_files.TextFileError as error:
                yield ValueError(f"the file {error}")
                return
            if backgammon.is_written(text):
                yield from backgammon.read(text, time.time())
                return
            lines = text.encode(errors="replace").splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield jsonl.read(line, number)
                except jsonl.BadLine as error:
                    yield error


class _Progress:
    """Says the number of matches so far on standard error, at most every two seconds."""

    def __init__(self, done: str) -> None:
        self._done = done
        self._said_at = time.monotonic()

    def show(self, count: int) -> None:
        if time.monotonic() >= self._said_at + INTERVAL_S:
            self._said_at = time.monotonic()
            say(f"{_counted(count)} {self._done} ...")


def _counted(count: int) -> str:
    return f"{count:,} match{'' if count == 1 else 'es'}"


def _say(text: str) -> None:
    click.echo(f"playout-server: {text}", err=True)


_EPILOG = """
\b
Examples:
  playout-server verify 1a2da2b69cd0002
  playout-server verify 1a2da2b69cd0002.json     downloaded from the page of the match

Exit codes: 0 all rolls follow from the key, 1 one does not, or the key is not known.
"""


@click.command(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@its_database_option
@click.argument("match")
def verify(database: str, match: str) -> None:
    """Verify the rolls of MATCH: a stored match by its id, or a JSON file of matches.

    Each roll has to follow from the key of the match, whose SHA-256 both players got with its
    start. The file is the JSON download of a match, or one that export --format jsonl wrote. With a
    file, no database is read.
    """
    file = Path(match)
    is_right = True
    for stored in _read(file) if file.is_file() else _stored(database, match):
        is_right &= _verify(stored)
    sys.exit(0 if is_right else 1)


def _stored(database: str, match: str) -> Iterator[StoredMatch]:
    with opened(database) as archive:
        found = list(archive.matches(match=match, read_analysis=None))
    if not found:
        raise click.ClickException(f"{match!r} is neither a stored match nor a file")
    yield from found


def _read(file: Path) -> Iterator[StoredMatch]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield jsonl.read(line, number)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    except jsonl.BadLine as error:
        text = f"{file}: {error}; expected a match as /matches/ID.json or export has it"
        raise click.ClickException(text) from error


def _verify(stored: StoredMatch) -> bool:
    """Print the rolls of a match; return whether all follow from its key."""
    started = stored.started
    click.echo(f"match {started.match}: {started.game}, {' against '.join(started.players)}")
    try:
        position = replay(stored).position
    except Contradiction as error:
        raise click.ClickException(f"match {started.match}: {error}") from error
    if not position.game.has_chance:
        click.echo("It has no rolls.")
        return True
    if started.dice is None:
        why = "" if stored.ended else ", which is published when the match is over"
        raise click.ClickException(f"match {started.match} has no key{why}")
    click.echo(f"SHA-256 of its key: {started.dice.commitment}")
    rolls = list(verified_rolls(position, started.dice, started.opening))
    for roll in rolls:
        game, state = position.game, position.states[roll.ply]
        derived = "" if roll.is_right else f", not {game.action_name(state, roll.derived)}"
        click.echo(f"ply {roll.ply}: {roll.name}{derived}")
    if started.opening:
        click.echo(f"The first {counted(started.opening, 'move')} are an opening, and not rolled.")
    if wrong := sum(not roll.is_right for roll in rolls):
        click.echo(f"{wrong} of {counted(len(rolls), 'roll')} do not follow from the key.")
    else:
        click.echo(f"{counted(len(rolls), 'roll')}: all follow from the key.")
    return not wrong
