"""`playout-train import`: reads a net of AlphaZero_Gomoku and writes it as ONNX."""

from __future__ import annotations

from pathlib import Path

import click

import games
from players.nets import alphazero_gomoku
from players.training.commands.options import output_argument

_EPILOG = """
\b
Examples:
  playout-train import best_policy_8_8_5.model net.onnx
  playout-train import mine.model net.onnx --game "mnk(m=6,n=6,k=4)"

Nothing of FILE is run: it is a pickle, of which only arrays of numbers are read.
"""


@click.command(name="import", epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@output_argument
@click.option("--game", help="Its game.  [default: what the name of the file tells]")
@click.option("--author", default="unknown", show_default=True, help="Who trained it.")
@click.option("--licence", default="unknown", show_default=True, help="What others may do with it.")
@click.option(
    "--trained", default="by AlphaZero_Gomoku", show_default=True, help="How, and how long."
)
def import_(file: Path, output: Path, game: str | None, **metadata: str) -> None:
    """Read a net of AlphaZero_Gomoku, and write it to the ONNX file OUT.onnx."""
    try:
        rules = games.load(game) if game else alphazero_gomoku.game_of(file)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    alphazero_gomoku.convert(file, output, rules, metadata)
    click.echo(f"{output}: a net of {rules}")
