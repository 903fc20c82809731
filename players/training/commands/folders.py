"""`playout-train new`, `status`, `report`, `export` and `import`: folders of runs, and nets."""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from playout import games
from playout.commands import toml_table
from playout.games.core import plugins, spec
from playout.players.nets import alphazero_gomoku
from playout.players.training import TrainingError, settings, training_report
from playout.players.training.display import round_lines, showing
from playout.players.training.evaluation import PLAYERS
from playout.players.training.record import NetRound, RoundRecord, duration, progress, remaining_s
from playout.players.training.run_folder import RunFolder
from playout.players.training.settings import EVALUATION, NET, TrainingSettings, trainable

F = TypeVar("F", bound=Callable[..., Any])

#: The rounds that `status` shows.
_SHOWN = 10
#: Keys that --set does not take, and the arguments in their place.
_OTHERWISE = {"game": "GAME", "kind": "--evaluation", "seed": "--seed"}


def folder_argument(command: F) -> F:
    """Add the argument `DIR` to a command, as `path`: the folder of a run."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.argument("path", metavar="DIR", type=kind)(command)


def output_argument(name: str) -> Callable[[F], F]:
    """Return a decorator that adds the argument `output`, shown as `name`, to a command."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.argument("output", metavar=name, type=kind)


def _loadable(path: Path, suffix: str) -> None:
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


_EPILOG = """
\b
Examples:
  playout-train new connect_four
  playout-train new "mnk(m=8,n=8,k=5)" five --set limits.minutes=30
  playout-train new othello --set net.blocks=5 --set learning.schedule=cosine
  playout-train new othello oth --evaluation    learn an evaluation for alphabeta, no net

The default settings depend on the size of the game. They are in DIR/settings.toml, each with a
comment, and can be changed before `run` and before `resume`.
"""


@click.command(epilog=_EPILOG)
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
    default=NET,
    help="Learn an evaluation for the player alphabeta, instead of a net for alphazero.",
)
def new(game: str, path: Path | None, seed: int, changes: tuple[str, ...], kind: str) -> None:
    """Make a folder for a training for GAME, by default with the name of the game.

    GAME is a name with parameters, or module:Class from the current folder.
    """
    try:
        rules = games.load(games.register(game))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    chosen = _chosen(str(rules), kind, seed, changes)
    size = _evaluation_size(chosen) if kind == EVALUATION else _net_size(chosen)
    folder = RunFolder.create(path or Path(_folder_name(str(rules))), chosen)
    click.echo(
        f"{folder.path}: made, for {size}.\n"
        f"Settings: {folder.settings_file}\n"
        f"Next: playout-train {own_game(str(rules))}run {shlex.quote(str(folder.path))}"
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


def own_game(game: str) -> str:
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


def _folder_name(game: str) -> str:
    return re.sub(r"[^\w]+", "-", game).strip("-")


@click.command()
@folder_argument
def status(path: Path) -> None:
    """Show the settings, the last rounds and the newest net or evaluation of a run."""
    folder = RunFolder.open(path)
    settings = folder.settings
    state = "a process trains" if folder.is_training() else "no process trains"
    click.echo(f"{settings.game}: {settings.learned}; {state}")
    records = folder.records()
    if not records:
        click.echo("No round is complete.")
        return
    last = records[-1]
    lines = [
        line
        for place, record in enumerate(records[-_SHOWN:])
        for line in round_lines(record, None, has_head=place == 0)
    ]
    click.echo("\n".join(lines))
    left = remaining_s(settings.limits, last)
    shown = f", about {duration(left)} left" if left else ""
    click.echo(f"{progress(settings.limits, last.used):.0%} of the limits{shown}")
    newest = max(folder.kept.paths().items(), default=None)
    if newest:
        click.echo(f"newest {settings.kind}: {newest[1]}")


@click.command()
@folder_argument
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="[default: DIR/report.html]",
)
def report(path: Path, output: Path | None) -> None:
    """Write one HTML file with the curves of the run in DIR, and Elo after `evaluate`."""
    folder = RunFolder.open(path)
    records = folder.records()
    if not records:
        raise TrainingError(f"{path}: no round is complete, so there is nothing to report")
    output = output or path / "report.html"
    text = training_report.write(folder.settings, records, folder.evaluations())
    folder.write_beside(output, text.encode())
    click.echo(f"{output}: {len(records)} rounds")


@click.command()
@folder_argument
@output_argument("OUT")
@click.option("--author", help="The author of the file.  [default: from settings.toml]")
@click.option("--licence", help="The licence of the file.  [default: from settings.toml]")
@click.option("--half", is_flag=True, help="Store float16 numbers of a net: half the size.")
def export(path: Path, output: Path, author: str | None, licence: str | None, half: bool) -> None:
    """Write the newest net or evaluation of the run in DIR to a file.

    OUT ends in .onnx for a net, in .npz for an evaluation.
    """
    folder = RunFolder.open(path)
    _loadable(output, folder.kept.suffix)
    if folder.settings.kind == EVALUATION:
        evaluations = importlib.import_module("playout.players.training.evaluation_loop")
        record: RoundRecord = evaluations.export(folder, output, author, licence)
    else:
        record = folder.export_net(output, author, licence, half)
    player, option = PLAYERS[output.suffix]
    game = plugins.as_argument(str(folder.settings.game))
    play = ["playout-player", game, f"{player}({option}={output})"]
    click.echo(
        f"{output}: {output.stat().st_size / 1000:,.0f} kB, the {folder.settings.kind} after round "
        f"{record.round} ({_work(record)}); play with it: {shlex.join(play)}"
    )


def _work(record: RoundRecord) -> str:
    """Return in words how much a run has learned from."""
    if isinstance(record, NetRound):
        return f"{record.evaluations:,} evaluations"
    return f"{record.games:,} games"


_IMPORT_EPILOG = """
\b
Examples:
  playout-train import best_policy_8_8_5.model net.onnx
  playout-train import mine.model net.onnx --game "mnk(m=6,n=6,k=4)"

FILE is a pickle. Its code is not run: only arrays of numbers are read.
"""


@click.command(name="import", epilog=_IMPORT_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@output_argument("OUT.onnx")
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
    _loadable(output, ".onnx")
    try:
        rules = games.load(game) if game else alphazero_gomoku.game_of(file)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    alphazero_gomoku.convert(file, output, rules, metadata)
    click.echo(f"{output}: a net of {rules}")
