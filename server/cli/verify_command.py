"""`playout-server verify`, which proves the rolls of matches with chance."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from playout.commands.text import counted
from playout.protocol.dice import verified_rolls
from playout.server.cli.database_commands import opened
from playout.server.cli.server_options import its_database_option
from playout.server.export import jsonl
from playout.server.export.replay import Contradiction, replay
from playout.server.model.records import StoredMatch

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
