"""`playout-train run` and `resume`: learn until a limit is reached or the user interrupts."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from playout.cluster.cluster_options import dask_option, require_dask
from playout.commands.options import FiniteRange
from playout.commands.subprocesses import usable_cores
from playout.players.training import TrainingError, record
from playout.players.training.commands.folders import folder_argument, own_game
from playout.players.training.display import TrainingDisplay, showing
from playout.players.training.record import NetRound, RoundRecord, duration
from playout.players.training.run_folder import Checkpoint, RunFolder
from playout.players.training.selfplay_process import JobPlayers, Workers
from playout.players.training.settings import (
    EVALUATION,
    MOST_EVALUATIONS,
    MOST_GAMES,
    MOST_MINUTES,
    MOST_ROUNDS,
    MOST_WORKERS,
    Limits,
    TrainingSettings,
)

F = TypeVar("F", bound=Callable[..., Any])

_EPILOG = """
\b
Examples:
  playout-train run DIR                     up to the limits in settings.toml
  playout-train run DIR --minutes 15        up to a quarter of an hour
  playout-train resume DIR --minutes 60     continue, up to an hour in all
  playout-train run DIR --dask tcp://10.0.0.1:8786
                                            play on the workers of a Dask cluster

In each round, workers play against themselves with the newest net, and the net learns from the
samples of the last rounds. Then a line is printed: the games, positions and evaluations so far, the
evaluations a second, the share of self-play inside the net, the losses of policy and value, the
first player's wins, ties, the mean length of games, and the net's value of the empty board for the
player to move, from -1 to 1. Ctrl-C interrupts at any time; complete rounds are stored.

For an evaluation, a round lasts ten seconds, and threads play and learn. Its line has the games and
positions a second, the share of the weights that have been changed, and their mean step size.
"""


def _limit_options(command: F) -> F:
    """Add the options that replace the limits of the settings."""
    for option in (
        click.option(
            "--minutes",
            type=FiniteRange(0, MOST_MINUTES, min_open=True),
            help="Stop after this time, counted from the start of the run.",
        ),
        click.option(
            "--evaluations",
            type=FiniteRange(1, MOST_EVALUATIONS),
            help="Stop after this number, as in 25e6, counted from the start of the run.",
        ),
        click.option(
            "--games",
            type=click.IntRange(1, MOST_GAMES),
            help="Stop after this number of games, counted from the start of the run.",
        ),
        click.option(
            "--rounds",
            type=click.IntRange(1, MOST_ROUNDS),
            help="Stop after this number of rounds, counted from the start of the run.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(0, MOST_WORKERS),
            help="Number of playing processes, of threads for an evaluation; with --dask, most "
            "cores of the cluster.",
        ),
        dask_option("Play the games"),
    ):
        command = option(command)
    return command


@click.command(epilog=_EPILOG)
@folder_argument
@_limit_options
def run(path: Path, dask: str | None, **options: Any) -> None:
    """Train a net or an evaluation from the start, in a folder made by `new`."""
    _train(path, dask, options, is_new=True)


@click.command(epilog=_EPILOG)
@folder_argument
@_limit_options
def resume(path: Path, dask: str | None, **options: Any) -> None:
    """Continue a training that was interrupted or killed, or has reached a limit."""
    _train(path, dask, options, is_new=False)


def _train(path: Path, dask: str | None, options: dict[str, Any], is_new: bool) -> None:
    if dask:
        require_dask()
    folder = RunFolder.open(path)
    settings = _changed(folder.settings, **options)
    if dask and settings.kind == EVALUATION:
        raise click.UsageError("an evaluation is learned on one machine; leave out --dask")
    again = f"playout-train {own_game(str(settings.game))}resume {shlex.quote(str(path))}"
    with folder.locked(), showing(f"Continue: {again}") as shown:
        found = folder.read_checkpoint()
        if is_new and found:
            raise TrainingError(
                f"{path}: {found.record.round} rounds are complete; continue: {again}"
            )
        last = found.record if found else None
        if not is_new:
            shown.say(_found(folder, last))
        folder.remove_unfinished()
        if record.is_over(settings.limits, last):
            shown.say(_reached(folder))
            return
        if settings.kind == EVALUATION:
            _learn_evaluation(folder, settings, found, shown)
        else:
            _train_net(folder, settings, found, shown, dask)
        shown.say(_reached(folder))


def _learn_evaluation(
    folder: RunFolder,
    settings: TrainingSettings,
    found: Checkpoint | None,
    shown: TrainingDisplay,
) -> None:
    shown.phase("loading the rules, and looking at random games")
    from playout.players.training.evaluation_loop import EvaluationLoop

    EvaluationLoop(folder, settings, found, shown).run()


def _train_net(
    folder: RunFolder,
    settings: TrainingSettings,
    found: Checkpoint | None,
    shown: TrainingDisplay,
    dask: str | None,
) -> None:
    shown.phase("loading jax")
    require_learning()
    with _workers(folder, settings, dask, shown) as workers:  # which start during the imports
        from playout.players.training.loop import TrainingLoop

        shown.phase("loading the last net and samples")
        TrainingLoop(folder, settings, found, shown).run(workers)


def require_learning() -> None:
    """Check, without imports, that all packages are installed. Raises TrainingError if not."""
    for name in ("jax", "optax", "onnx"):
        if importlib.util.find_spec(name) is None:
            raise TrainingError(
                f"training needs the package {name}, which is missing: "
                'pip install ".[learn]" in a checkout of Playout'
            )


def _changed(
    settings: TrainingSettings, workers: int | None, **limit_options: Any
) -> TrainingSettings:
    """Return the settings with the options of the command; given limits replace all others."""
    given = {key: value for key, value in limit_options.items() if value is not None}
    if "evaluations" in given and settings.kind == EVALUATION:
        raise click.UsageError("an evaluation has no limit of --evaluations; give --games")
    if "evaluations" in given:
        given["evaluations"] = int(given["evaluations"])
    if given:
        settings = replace(settings, limits=Limits(**given))
    if workers is not None:
        settings = replace(settings, processes=replace(settings.processes, workers=workers))
    return settings


def _found(folder: RunFolder, last: RoundRecord | None) -> str:
    """Return a line about the state of the run at its start."""
    number, shards = last.round + 1 if last else 1, folder.shards()
    parts = ["no complete round"]
    if last:
        parts = [
            f"{last.round} complete round{'s' * (last.round > 1)} in {duration(last.seconds)}",
            f"{last.games:,} games",
        ]
    if isinstance(last, NetRound):
        parts += [f"{last.evaluations:,} evaluations", f"{len(shards)} shards of samples"]
    if started := sum(each.round == number for each in shards):
        parts.append(f"{started} of them played for round {number}, which continues")
    if unfinished := folder.unfinished():
        parts.append(f"{len(unfinished)} unfinished files, removed")
    return f"Found: {', '.join(parts)}."


def _reached(folder: RunFolder) -> str:
    kept, own = folder.kept, own_game(str(folder.settings.game))
    return (
        f"A limit is reached. The newest {kept.kind} is in {kept.folder.name}/; "
        f"export it: playout-train {own}export {shlex.quote(str(folder.path))} OUT{kept.suffix}"
    )


@contextlib.contextmanager
def _workers(
    folder: RunFolder, settings: TrainingSettings, dask: str | None, shown: TrainingDisplay
) -> Iterator[JobPlayers]:
    """Yield worker processes, by default one for each core, or those of a cluster."""
    if dask:
        shown.phase("connecting to the cluster")
        cluster = importlib.import_module("playout.players.training.cluster.dask_selfplay")
        with cluster.opened(dask, folder, settings, shown.say) as players:
            yield players
        return
    workers = Workers(folder)
    try:
        workers.start(settings.processes.workers or usable_cores())
        yield workers
    finally:
        workers.close()
        folder.remove_unfinished()  # of workers that were killed
