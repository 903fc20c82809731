"""The command `playout-train`: its options and subcommands."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import numpy as np

from playout import games
from playout.cluster import dask_option, require_dask
from playout.commands import toml_table
from playout.commands.cores import usable_cores
from playout.commands.options import FiniteRange, OptionGroup, game_option, registered
from playout.commands.text import as_file_name
from playout.games import SpecError
from playout.games.core import plugins, spec
from playout.players import Limit, PlayerError
from playout.players.comparison.pairs import score
from playout.players.nets import alphazero_gomoku
from playout.players.nets.files import NetError
from playout.players.training import TrainingError, run_folder, settings, training_report
from playout.players.training.display import TrainingDisplay, round_lines, showing
from playout.players.training.jobs import (
    PLAYERS,
    EvaluatedPlayer,
    EvaluationTerms,
    LocalPlayers,
    ShardPlayers,
    played,
)
from playout.players.training.run_folder import (
    Checkpoint,
    NetRound,
    RoundRecord,
    RunFolder,
    ScoreRecord,
    duration,
)
from playout.players.training.settings import (
    EVALUATION,
    MOST_EVALUATIONS,
    MOST_GAMES,
    MOST_MINUTES,
    MOST_ROUNDS,
    MOST_WORKERS,
    NET,
    Limits,
    TrainingSettings,
    trainable,
)
from playout.ratings.pairs import OpeningError, PairScore

F = TypeVar("F", bound=Callable[..., Any])

_EPILOG = """
\b
Examples:
  playout-train new "mnk(m=6,n=6,k=4)" four    a folder with settings that suit the game
  playout-train run four --minutes 10          train; Ctrl-C interrupts
  playout-train resume four --minutes 20       continue, up to 20 minutes in all
  playout-train status four                    show the progress
  playout-train evaluate four --against uct    measure the strength
  playout-train report four                    write the curves as four/report.html
  playout-train export four four.onnx          write the net, for alphazero(net=four.onnx)
  playout-train --game my_game:Chomp new chomp
                                               a game of my_game.py, as for the others
  playout-train import best_policy_8_8_5.model net.onnx
                                               a net of AlphaZero_Gomoku
  playout-train new othello oth --evaluation   an evaluation, for the player alphabeta

\b
Training of nets needs more packages: pip install ".[learn]" in a checkout of Playout
Exit codes: 0 done, 1 failed, 2 bad usage, 130 and 143 interrupted or terminated.
"""


class _ClearErrors(OptionGroup):
    """A group whose commands report errors of trainings and nets in one line."""

    def invoke(self, context: click.Context) -> Any:
        """Invoke a subcommand. Raises ClickException."""
        try:
            return super().invoke(context)
        except (TrainingError, NetError) as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=_ClearErrors, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@game_option("A game of a file in the current folder or on PYTHONPATH, by its class;")
@click.version_option(version("playout"), prog_name="playout-train")
def main() -> None:
    """Train nets for the player alphazero, and evaluations for alphabeta, by self-play."""


#: The rounds that `status` shows.
_SHOWN = 10
#: Keys that --set does not take, and the arguments in their place.
_OTHERWISE = {"game": "GAME", "kind": "--evaluation", "seed": "--seed"}


def _folder_argument(command: F) -> F:
    """Add the argument `DIR` to a command, as `path`: the folder of a run."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.argument("path", metavar="DIR", type=kind)(command)


def _output_argument(name: str) -> Callable[[F], F]:
    """Return a decorator that adds the argument `output`, shown as `name`, to a command."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.argument("output", metavar=name, type=kind)


def _require_loadable(path: Path, suffix: str) -> None:
    """Raise BadParameter for a path that no option of the player for such files can name."""
    player, option = PLAYERS[suffix]
    if path.suffix != suffix:
        text = f"{path} does not end in {suffix}; choose a name that does"
    elif "," in str(path):
        text = (
            f"{path} has a comma, which separates the options of {player}({option}=...); "
            "choose another name"
        )
    else:
        return
    raise click.BadParameter(text, param_hint="OUT")


_NEW_EPILOG = """
\b
Examples:
  playout-train new connect_four
  playout-train new "mnk(m=8,n=8,k=5)" five --set limits.minutes=30
  playout-train new othello --set net.blocks=5 --set learning.schedule=cosine
  playout-train new othello oth --evaluation    learn an evaluation for alphabeta, no net

The default settings depend on the size of the game. They are in DIR/settings.toml, each with a
comment, and can be changed before `run` and before `resume`.
"""


@main.command(epilog=_NEW_EPILOG)
@click.argument("game")
@click.argument("path", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, settings.MOST_SEED),
    help="Seed of the run.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="A value in place of a default in settings.toml; repeatable.",
)
@click.option(
    "--evaluation",
    "kind",
    flag_value=EVALUATION,
    help="Learn an evaluation for the player alphabeta, instead of a net for alphazero.  "
    "[default for games with chance]",
)
def new(
    game: str, path: Path | None, seed: int, changes: tuple[str, ...], kind: str | None
) -> None:
    """Make a folder for a training for GAME, by default with the name of the game.

    GAME is a name with parameters, or module:Class from the current folder.
    """
    try:
        rules = games.load(registered(game))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    kind = kind or (EVALUATION if rules.has_chance else NET)
    chosen = _chosen(str(rules), kind, seed, changes)
    size = _evaluation_size(chosen) if kind == EVALUATION else _net_size(chosen)
    folder = RunFolder.create(path or Path(as_file_name(str(rules))), chosen)
    click.echo(
        f"{folder.path}: made, for {size}.\n"
        f"Settings: {folder.settings_file}\n"
        f"Next: playout-train {_own_game(str(rules))}run {shlex.quote(str(folder.path))}"
    )


def _net_size(chosen: TrainingSettings) -> str:
    """Return the size of a net in words. Raises TrainingError if none can be trained."""
    trainable(chosen.game)
    weights = sum(int(np.prod(shape)) for shape in chosen.net.shapes(chosen.game).values())
    return f"a net of {weights:,} weights ({4 * weights / 1000:,.0f} kB)"


def _evaluation_size(chosen: TrainingSettings) -> str:
    """Return the size of an evaluation in words. Raises TrainingError if none can be learned."""
    with showing() as shown:
        shown.phase("loading the rules, and looking at random games")
        evaluations = importlib.import_module("playout.players.training.evaluation_loop")
        return str(evaluations.size(chosen))


def _own_game(game: str) -> str:
    """Return the option by which other commands load a game of a file; "" for other games."""
    own = plugins.registered().get(spec.parse(game).name)
    return f"--game {own.target} " if own else ""


def _chosen(game: str, kind: str, seed: int, changes: Sequence[str]) -> TrainingSettings:
    """Return the defaults with changes. Raises UsageError, and TrainingError with all faults."""
    first = [f"game = '{game}'", f"kind = '{kind}'", f"seed = {seed}"]
    lines = [*first, *map(_line, changes)]

    def change(line: re.Match[str]) -> str:
        return f"--set {changes[int(line[1]) - len(first) - 1]}:"

    try:
        return settings.parse("\n".join(lines), "--set")
    except TrainingError as error:
        text = re.sub(r"^--set:(\d+):", change, str(error), flags=re.MULTILINE)
        raise TrainingError(text) from error


def _line(change: str) -> str:
    """Return a line of TOML, with quotes for text. Raises UsageError without a key and a value."""
    key, equals, value = map(str.strip, change.partition("="))
    if not (re.fullmatch(r"[a-z_]+(\.[a-z_]+)?", key) and equals and value):
        raise click.UsageError(f"--set needs TABLE.KEY=VALUE, not {change!r}")
    if key in _OTHERWISE:
        raise click.UsageError(f"--set {change}: give it as {_OTHERWISE[key]}")
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        value = toml_table.notation(value)
    return f"{key} = {value}"


@main.command()
@_folder_argument
def status(path: Path) -> None:
    """Show the settings, the last rounds and the newest net or evaluation of a run."""
    folder = RunFolder.open(path)
    chosen = folder.settings
    state = "a process trains" if folder.is_training() else "no process trains"
    click.echo(f"{chosen.game}: {chosen.learned}; {state}")
    records = folder.records()
    if not records:
        click.echo("No round is complete.")
        return
    last = records[-1]
    lines = [
        line
        for place, each in enumerate(records[-_SHOWN:])
        for line in round_lines(each, None, has_head=place == 0)
    ]
    click.echo("\n".join(lines))
    left = run_folder.remaining_s(chosen.limits, last)
    shown = f", about {duration(left)} left" if left else ""
    click.echo(f"{run_folder.progress(chosen.limits, last.used):.0%} of the limits{shown}")
    newest = max(folder.kept.paths().items(), default=None)
    if newest:
        click.echo(f"newest {chosen.kind}: {newest[1]}")


@main.command()
@_folder_argument
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="[default: DIR/report.html]",
)
@click.option(
    "--tensorboard",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Add an event file to FOLDER, for `tensorboard --logdir FOLDER`, in place of the HTML "
    'file. Needs: pip install ".[tensorboard]" in a checkout of Playout',
)
def report(path: Path, output: Path | None, tensorboard: Path | None) -> None:
    """Write one HTML file with the curves of the run in DIR, and Elo after `evaluate`."""
    if output and tensorboard:
        raise click.UsageError("--output names the HTML file; leave it out with --tensorboard")
    folder = RunFolder.open(path)
    records = folder.records()
    if not records:
        raise TrainingError(f"{path}: no round is complete, so there is nothing to report")
    if tensorboard:
        training_report.write_tensorboard(tensorboard, records)
        click.echo(f"{tensorboard}: {len(records)} rounds")
        return
    output = output or path / "report.html"
    text = training_report.write(folder.settings, records, folder.scores())
    folder.write_beside(output, text.encode())
    click.echo(f"{output}: {len(records)} rounds")


@main.command()
@_folder_argument
@_output_argument("OUT")
@click.option("--author", help="The author of the file.  [default: from settings.toml]")
@click.option("--licence", help="The licence of the file.  [default: from settings.toml]")
@click.option("--half", is_flag=True, help="Store float16 numbers of a net: half the size.")
def export(path: Path, output: Path, author: str | None, licence: str | None, half: bool) -> None:
    """Write the newest net or evaluation of the run in DIR to a file.

    OUT ends in .onnx for a net, in .npz for an evaluation.
    """
    folder = RunFolder.open(path)
    _require_loadable(output, folder.kept.suffix)
    if folder.settings.kind == EVALUATION:
        evaluations = importlib.import_module("playout.players.training.evaluation_loop")
        last: RoundRecord = evaluations.export(folder, output, author, licence)
    else:
        last = folder.export_net(output, author, licence, half)
    player, option = PLAYERS[output.suffix]
    game = plugins.as_argument(str(folder.settings.game))
    play = ["playout-player", game, f"{player}({option}={output})"]
    click.echo(
        f"{output}: {output.stat().st_size / 1000:,.0f} kB, the {folder.settings.kind} after round "
        f"{last.round} ({_work(last)}); play with it: {shlex.join(play)}"
    )


def _work(last: RoundRecord) -> str:
    """Return the number of evaluations or games that a run has learned from, with the noun."""
    if isinstance(last, NetRound):
        return f"{last.evaluations:,} evaluations"
    return f"{last.games:,} games"


_IMPORT_EPILOG = """
\b
Examples:
  playout-train import best_policy_8_8_5.model net.onnx
  playout-train import mine.model net.onnx --game "mnk(m=6,n=6,k=4)"

FILE is a pickle. Its code is not run: only arrays of numbers are read.
"""


@main.command(name="import", epilog=_IMPORT_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@_output_argument("OUT.onnx")
@click.option("--game", help="Its game.  [default: from the name of the file]")
@click.option("--author", default="unknown", show_default=True, help="The author of the net.")
@click.option("--licence", default="unknown", show_default=True, help="The licence of the net.")
@click.option(
    "--trained",
    default="by AlphaZero_Gomoku",
    show_default=True,
    help="How and how long it was trained.",
)
def import_(file: Path, output: Path, game: str | None, **metadata: str) -> None:
    """Read a net of AlphaZero_Gomoku, and write it to the ONNX file OUT.onnx."""
    _require_loadable(output, ".onnx")
    try:
        rules = games.load(registered(game)) if game else alphazero_gomoku.game_of(file)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    alphazero_gomoku.convert(file, output, rules, metadata)
    click.echo(f"{output}: a net of {rules}")


_RUN_EPILOG = """
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


@main.command(epilog=_RUN_EPILOG)
@_folder_argument
@_limit_options
def run(path: Path, dask: str | None, **options: Any) -> None:
    """Train a net or an evaluation from the start, in a folder made by `new`."""
    _train(path, dask, options, is_new=True)


@main.command(epilog=_RUN_EPILOG)
@_folder_argument
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
    again = f"playout-train {_own_game(str(settings.game))}resume {shlex.quote(str(path))}"
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
        if run_folder.is_over(settings.limits, last):
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
    kept, own = folder.kept, _own_game(str(folder.settings.game))
    return (
        f"A limit is reached. The newest {kept.kind} is in {kept.folder.name}/; "
        f"export it: playout-train {own}export {shlex.quote(str(folder.path))} OUT{kept.suffix}"
    )


@contextlib.contextmanager
def _workers(
    folder: RunFolder, settings: TrainingSettings, dask: str | None, shown: TrainingDisplay
) -> Iterator[ShardPlayers]:
    """Yield worker processes, by default one for each core, or those of a cluster."""
    if dask:
        shown.phase("connecting to the cluster")
        cluster = importlib.import_module("playout.players.training.cluster_players")
        with cluster.opened_players(dask, settings.processes, shown.say) as players:
            yield players
        return
    workers = LocalPlayers(settings.processes.workers or usable_cores(), folder.log)
    try:
        workers.start_processes()
        yield workers
    finally:
        workers.close()


#: Simulations or nodes of a move without another limit, by what the run learns.
_SIMULATIONS = {NET: 400, EVALUATION: 10_000}
_EVALUATE_EPILOG = """
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


@main.command(epilog=_EVALUATE_EPILOG)
@_folder_argument
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
    """Play pairs of matches with the result of the run in DIR, and show its score and Elo."""
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
    folder.append_record(ScoreRecord(number, opponent, _terms(limit, options), found))
    click.echo(f"round {number} against {opponent}, {_terms(limit, options)}: {found}")


def _with_file(learned: Path, options: str) -> EvaluatedPlayer:
    name, _ = PLAYERS[learned.suffix]
    return EvaluatedPlayer(f"{name}({options})", learned)


def _opponent(folder: RunFolder, against: str | None, options: str) -> tuple[EvaluatedPlayer, str]:
    """Return the opponent and its name. The options are for an opponent from a file."""
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
    module = importlib.import_module("playout.players.training.cluster_players")
    return cast(Iterator[PairScore], module.played(dask, terms, pairs, shown.say))


def _terms(limit: Limit, options: str) -> str:
    """Return the limit of a move and the options as text."""
    move = f"{limit.seconds:g} s" if limit.seconds else f"{limit.simulations} simulations"
    return f"{move} a move" + (f", {options}" if options else "")
