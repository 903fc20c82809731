"""`playout-train evaluation`: learns an evaluation for the player alphabeta."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from playout import games
from playout.commands.options import FiniteRange
from playout.games import SpecError
from playout.players.training import TrainingError
from playout.players.training.display import showing

if TYPE_CHECKING:  # they import compiled functions, which the other commands do not need
    from playout.players.evaluations.files import Card
    from playout.players.training.temporal_differences import EvaluationLearner

#: Seconds between two lines, in which the file is also written.
_REPORT_S = 10.0
_EPILOG = """
\b
Examples:
  playout-train evaluation othello othello.npz
  playout-train evaluation breakthrough quick.npz --minutes 1
  playout-train evaluation othello same.npz --games 5000 --seed 1
  playout-player othello "alphabeta(evaluation=othello.npz)"

It learns from games against itself, on one core, without further packages. The file is written
every ten seconds, so that Ctrl-C loses little. With --games and --seed, the result is the same each
time.
"""


@click.command(epilog=_EPILOG)
@click.argument("game")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--minutes",
    type=FiniteRange(0, 10_000, min_open=True),
    default=5.0,
    show_default=True,
    help="Time to learn.",
)
@click.option("--games", "count", type=click.IntRange(1, 10**9), help="Games, instead of a time.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of all random choices.")
@click.option("--author", default="", help="Author, for the card of the evaluation.")
@click.option("--licence", default="", help="Licence, for the card of the evaluation.")
def evaluation(
    game: str,
    file: Path,
    minutes: float,
    count: int | None,
    seed: int | None,
    author: str,
    licence: str,
) -> None:
    """Learn an evaluation of GAME into FILE, for alphabeta(evaluation=FILE)."""
    if file.suffix != ".npz" or "," in str(file):
        raise click.BadParameter("a name that ends in .npz, without a comma", param_hint="FILE")
    if file.exists():
        raise TrainingError(f"{file} exists: choose another name, or remove it")
    command = shlex.join(["playout-train", *sys.argv[1:]])
    with showing(f"The evaluation so far, if any, is in {file}.") as shown:
        shown.phase("loading the rules")
        from playout.players.evaluations import files
        from playout.players.evaluations.tables import new_tables
        from playout.players.training.temporal_differences import EvaluationLearner

        try:
            played = games.load(game)
            shown.phase("looking at random games")
            tables = new_tables(played)
            learner = EvaluationLearner(played, tables, seed)
        except SpecError as error:
            raise TrainingError(str(error)) from error
        shown.say(f"{len(tables.groups):,} groups of cells, {len(tables.weights):,} weights")
        shown.phase("learning")
        card = files.Card(game=str(played), author=author, licence=licence, command=command)
        done, started, saved = 0.0, time.monotonic(), 0.0
        while done < 1:
            learner.play(done)
            seconds = time.monotonic() - started
            done = learner.games / count if count else seconds / (60 * minutes)
            if done >= 1 or seconds - saved >= _REPORT_S:
                saved = seconds
                shown.say(_saved(file, learner, card, seconds))
        shown.say(f'Play with it: playout-player "{played}" "alphabeta(evaluation={file})"')


def _saved(file: Path, learner: EvaluationLearner, card: Card, seconds: float) -> str:
    """Write the evaluation; return a line about the learning so far. Raises TrainingError."""
    from playout.players.evaluations import files

    counts = {"games": learner.games, "positions": learner.positions, "seconds": round(seconds, 1)}
    try:
        files.write(file, learner.tables, structs.replace(card, **counts))
    except (OSError, files.EvaluationError) as error:
        raise TrainingError(f"{file} cannot be written: {error}") from error
    rate = learner.positions / max(seconds, 1e-3)
    return (
        f"{seconds:5.0f} s  {learner.games:,} games  {learner.positions:,} positions  "
        f"{rate:,.0f} a second"
    )
