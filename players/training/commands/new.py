"""`playout-train new`: makes the folder of a run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import numpy as np

import games
from games.core import own_games, spec
from players.training import settings
from players.training.run_folder import RunFolder
from players.training.trainable import trainable

_EPILOG = """
\b
Examples:
  playout-train new connect_four
  playout-train new "mnk(m=8,n=8,k=5)" five --set limits.minutes=30
  playout-train new othello --set net.blocks=5 --set learning.schedule=cosine

The settings suit the size of the game. They are in DIR/settings.toml, with a comment on each, and
can be changed before a run and between two.
"""


@click.command(epilog=_EPILOG)
@click.argument("game")
@click.argument("path", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Of the run.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Another value than the default of a key of settings.toml; repeatable.",
)
def new(game: str, path: Path | None, seed: int, changes: tuple[str, ...]) -> None:
    """Make a folder for training a net for GAME, by default one named after the game.

    GAME is a name with parameters, or module:Class from the current folder.
    """
    try:
        rules = games.load(games.register(game))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    trainable(rules)
    lines = [f"game = '{rules}'", f"seed = {seed}", *map(_line, changes)]
    chosen = settings.parse("\n".join(lines), "--set")
    folder = RunFolder.create(path or Path(_folder_name(str(rules))), chosen)
    weights = sum(int(np.prod(shape)) for shape in chosen.net.shapes(rules).values())
    click.echo(
        f"{folder.path}: made, for a net of {weights:,} weights ({4 * weights / 1000:,.0f} kB).\n"
        f"Settings: {folder.settings_file}\n"
        f"Next: playout-train {_own_game(str(rules))}run {shlex.quote(str(folder.path))}"
    )


def _own_game(game: str) -> str:
    """The option with which the other commands know a game of a file; "" for other games."""
    own = own_games.registered().get(spec.parse(game).name)
    return f"--game {own.target} " if own else ""


def _line(change: str) -> str:
    """A line of TOML: words need no quotes. Raises UsageError without a key and a value."""
    key, equals, value = map(str.strip, change.partition("="))
    if not (re.fullmatch(r"[a-z_]+(\.[a-z_]+)?", key) and equals and value):
        raise click.UsageError(f"--set needs TABLE.KEY=VALUE, not {change!r}")
    is_word = re.fullmatch(r"[A-Za-z][\w .@<>-]*", value) and value not in ("true", "false")
    return f"{key} = '{value}'" if is_word else f"{key} = {value}"


def _folder_name(game: str) -> str:
    return re.sub(r"[^\w]+", "-", game).strip("-")
