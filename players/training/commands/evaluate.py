"""`playout-train evaluate`: plays what a run has learned against another player."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from playout.cluster.cluster_options import dask_option, require_dask
from playout.commands.options import FiniteRange
from playout.commands.subprocesses import usable_cores
from playout.games import SpecError
from playout.players import Limit, PlayerError
from playout.players.training import TrainingError
from playout.players.training.commands.folders import folder_argument
from playout.players.training.display import TrainingDisplay, showing
from playout.players.training.evaluation import (
    PLAYERS,
    EvaluatedPlayer,
    EvaluationTerms,
    played,
    score,
)
from playout.players.training.record import EvaluationRecord
from playout.players.training.run_folder import RunFolder
from playout.players.training.settings import EVALUATION, NET
from playout.ratings.openings import OpeningError
from playout.ratings.pairs import PairScore

#: Simulations or nodes of a move without another limit, by what the run learns.
_SIMULATIONS = {NET: 400, EVALUATION: 10_000}
_EPILOG = """
\b
Examples:
  playout-train evaluate DIR                             against the start of the run
  playout-train evaluate DIR --against "uct" --time 0.1
  playout-train evaluate DIR --against other.onnx --simulations 400 --pairs 100
  playout-train evaluate DIR --against other.onnx --simulations 400
                --options c_puct=5,batch=1,solver=false,decisive=false,reuse=false
  playout-train evaluate DIR --against other.npz --time 0.1      for an evaluation
  playout-train evaluate DIR --pairs 1000 --dask tcp://10.0.0.1:8786

A net plays by alphazero, an evaluation by alphabeta. A pair is two matches from an opening of
random moves, with colours swapped. With --simulations, several pairs are played at a time; with
--time, one; with --dask, one for each core of the workers. Results are stored in the folder of the
run, and `report` shows them.
"""


@click.command(epilog=_EPILOG)
@folder_argument
@click.option(
    "--against",
    metavar="FILE|PLAYER",
    help="A net or an evaluation, or a player with options.  [default: that of the start]",
)
@click.option(
    "--pairs", default=50, show_default=True, type=click.IntRange(1), help="Pairs of matches."
)
@click.option("--time", type=FiniteRange(0, min_open=True), help="Seconds for each move of both.")
@click.option(
    "--simulations",
    type=click.IntRange(1),
    help="Simulations or nodes for each move of both.  [default: 400; 10000 for an evaluation]",
)
@click.option(
    "--options",
    default="",
    metavar="K=V,...",
    help="Options of alphazero or alphabeta, where both use it for both.",
)
@click.option(
    "--round", "number", type=click.IntRange(0), help="Round to play.  [default: the newest]"
)
@click.option(
    "--plies",
    default=2,
    show_default=True,
    type=click.IntRange(0),
    help="Random moves at the start.",
)
@click.option("--seed", default=1, show_default=True, help="Seed of the random moves.")
@dask_option("Play the pairs")
def evaluate(
    path: Path,
    against: str | None,
    pairs: int,
    time: float | None,
    simulations: int | None,
    options: str,
    number: int | None,
    plies: int,
    seed: int,
    dask: str | None,
) -> None:
    """Play pairs of matches with what the run in DIR learned, and show its score and Elo."""
    folder = RunFolder.open(path)
    game = folder.settings.game
    number = max(folder.kept.paths(), default=0) if number is None else number
    limit = Limit(time, simulations if time or simulations else _SIMULATIONS[folder.settings.kind])
    other, opponent = _opponent(folder, against, options)
    both = (_with_file(folder.kept.path(number), options), other)
    try:
        for each in both:  # so that a fault is reported before the first pair
            each.make(game).close()
    except SpecError as error:
        raise click.UsageError(str(error)) from error
    terms = EvaluationTerms(game, both, limit, plies, seed)
    results = []
    with showing() as shown:
        shown.phase(f"round {number} against {opponent}: no pair yet")
        try:
            for result in _pairs(dask, terms, pairs, shown):
                results.append(result)
                shown.phase(f"round {number} against {opponent}: {score(results)}")
        except (OpeningError, PlayerError) as error:
            raise TrainingError(str(error)) from error
    found = score(results)
    folder.append_evaluation(EvaluationRecord(number, opponent, _terms(limit, options), found))
    click.echo(f"round {number} against {opponent}, {_terms(limit, options)}: {found}")


def _with_file(learned: Path, options: str) -> EvaluatedPlayer:
    name, _ = PLAYERS[learned.suffix]
    return EvaluatedPlayer(f"{name}({options})", learned)


def _opponent(folder: RunFolder, against: str | None, options: str) -> tuple[EvaluatedPlayer, str]:
    """Return the opponent and its name. The options are for one with a file."""
    if against is None:
        return _with_file(folder.kept.path(0), options), "round 0"
    if Path(against).suffix in PLAYERS:
        return _with_file(Path(against), options), Path(against).name
    return EvaluatedPlayer(against), against


def _pairs(
    dask: str | None, terms: EvaluationTerms, pairs: int, shown: TrainingDisplay
) -> Iterator[PairScore]:
    """Play the pairs on this machine or on a cluster, and yield their results."""
    if not dask:
        return played(terms, pairs, 1 if terms.limit.seconds else usable_cores())
    require_dask()
    module = importlib.import_module("playout.players.training.cluster.dask_evaluation")
    return cast(Iterator[PairScore], module.played(dask, terms, pairs, shown.say))


def _terms(limit: Limit, options: str) -> str:
    """Return the limit of a move and the options as text."""
    move = f"{limit.seconds:g} s" if limit.seconds else f"{limit.simulations} simulations"
    return f"{move} a move" + (f", {options}" if options else "")
