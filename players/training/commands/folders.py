"""`playout-train new`, `status`, `report`, `export` and `import`: folders of runs, and nets."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from playout import games
from playout.games.core import plugins, spec
from playout.players.nets import alphazero_gomoku
from playout.players.training import TrainingError, settings, training_report
from playout.players.training.display import round_lines
from playout.players.training.record import duration, progress, remaining_s
from playout.players.training.run_folder import RunFolder
from playout.players.training.settings import TrainingSettings, trainable

F = TypeVar("F", bound=Callable[..., Any])

#: The rounds that `status` shows.
_SHOWN = 10
#: Keys that --set does not take, and the arguments in their place.
_OTHERWISE = {"game": "GAME", "seed": "--seed"}


def folder_argument(command: F) -> F:
    """Add the argument `DIR` to a command, as `path`: the folder of a run."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.argument("path", metavar="DIR", type=kind)(command)


def output_argument(command: F) -> F:
    """Add the argument `OUT.onnx` to a command, as `output`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.argument("output", metavar="OUT.onnx", type=kind, callback=_loadable)(command)


def _loadable(_: click.Context, __: click.Parameter, path: Path) -> Path:
    """Return the path if `alphazero(net=...)` can load it. Raises BadParameter."""
    if path.suffix != ".onnx":
        raise click.BadParameter(f"{path} does not end in .onnx; choose a name that does")
    if "," in str(path):
        raise click.BadParameter(
            f"{path} has a comma, which separates the options of alphazero(net=...); "
            "choose another name"
        )
    return path


_EPILOG = """
\b
Examples:
  playout-train new connect_four
  playout-train new "mnk(m=8,n=8,k=5)" five --set limits.minutes=30
  playout-train new othello --set net.blocks=5 --set learning.schedule=cosine

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
def new(game: str, path: Path | None, seed: int, changes: tuple[str, ...]) -> None:
    """Make a folder for training a net for GAME, by default with the name of the game.

    GAME is a name with parameters, or module:Class from the current folder.
    """
    try:
        rules = games.load(games.register(game))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    trainable(rules)
    chosen = _chosen(str(rules), seed, changes)
    folder = RunFolder.create(path or Path(_folder_name(str(rules))), chosen)
    weights = sum(int(np.prod(shape)) for shape in chosen.net.shapes(rules).values())
    click.echo(
        f"{folder.path}: made, for a net of {weights:,} weights ({4 * weights / 1000:,.0f} kB).\n"
        f"Settings: {folder.settings_file}\n"
        f"Next: playout-train {_own_game(str(rules))}run {shlex.quote(str(folder.path))}"
    )


def _own_game(game: str) -> str:
    """Return the option by which other commands load a game of a file; "" for other games."""
    own = plugins.registered().get(spec.parse(game).name)
    return f"--game {own.target} " if own else ""


def _chosen(game: str, seed: int, changes: Sequence[str]) -> TrainingSettings:
    """Return the defaults with changes. Raises UsageError, and TrainingError with all faults."""
    first = [f"game = '{game}'", f"seed = {seed}"]
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
        value = json.dumps(value, ensure_ascii=False)
    return f"{key} = {value}"


def _folder_name(game: str) -> str:
    return re.sub(r"[^\w]+", "-", game).strip("-")


@click.command()
@folder_argument
def status(path: Path) -> None:
    """Show the settings, the last rounds and the newest net of a run."""
    folder = RunFolder.open(path)
    settings = folder.settings
    net = settings.net
    state = "a process trains" if folder.is_training() else "no process trains"
    click.echo(f"{settings.game}: {net.blocks} blocks of {net.filters} filters; {state}")
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
    click.echo(f"{progress(settings.limits, last):.0%} of the limits{shown}")
    newest = max(folder.nets().items(), default=None)
    if newest:
        click.echo(f"newest net: {newest[1]}")


@click.command()
@folder_argument
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="[default: DIR/report.html]",
)
def report(path: Path, output: Path | None) -> None:
    """Write one HTML file with the curves of the run in DIR, and Elo if a net was evaluated."""
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
@output_argument
@click.option("--author", help="The author of the net.  [default: from settings.toml]")
@click.option("--licence", help="The licence of the net.  [default: from settings.toml]")
@click.option("--half", is_flag=True, help="Store float16 numbers: half the size.")
def export(path: Path, output: Path, author: str | None, licence: str | None, half: bool) -> None:
    """Write the newest net of the run in DIR to the ONNX file OUT.onnx."""
    folder = RunFolder.open(path)
    record = folder.export_net(output, author, licence, half)
    play = ["playout-player", str(folder.settings.game), f"alphazero(net={output})"]
    click.echo(
        f"{output}: {output.stat().st_size / 1000:,.0f} kB, the net after round {record.round} "
        f"({record.evaluations:,} evaluations); play with it: {shlex.join(play)}"
    )


_IMPORT_EPILOG = """
\b
Examples:
  playout-train import best_policy_8_8_5.model net.onnx
  playout-train import mine.model net.onnx --game "mnk(m=6,n=6,k=4)"

FILE is a pickle. Its code is not run: only arrays of numbers are read.
"""


@click.command(name="import", epilog=_IMPORT_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@output_argument
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
    try:
        rules = games.load(game) if game else alphazero_gomoku.game_of(file)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    alphazero_gomoku.convert(file, output, rules, metadata)
    click.echo(f"{output}: a net of {rules}")
