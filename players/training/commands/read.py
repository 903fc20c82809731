"""`playout-train export`: writes the newest net of a run as one file for others."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from playout.players.training import TrainingError
from playout.players.training import report as page
from playout.players.training.commands.training_options import folder_argument, output_argument
from playout.players.training.display import round_lines
from playout.players.training.record import duration, progress, remaining_s
from playout.players.training.run_folder import RunFolder

# `playout-train status`: shows how far a run is.


_SHOWN = 10


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


# `playout-train report`: writes the curves of a run.


@click.command()
@folder_argument
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="[default: DIR/report.html]",
)
def report(path: Path, output: Path | None) -> None:
    """Write one HTML file with the curves of the run in DIR, and Elo if it was evaluated."""
    folder = RunFolder.open(path)
    records = folder.records()
    if not records:
        raise TrainingError(f"{path}: no round is complete, so there is nothing to report")
    output = output or path / "report.html"
    text = page.write(folder.settings, records, folder.evaluations())
    folder.write_beside(output, text.encode())
    click.echo(f"{output}: {len(records)} rounds")


@click.command()
@folder_argument
@output_argument
@click.option("--author", help="Who trained it.  [default: that of settings.toml]")
@click.option("--licence", help="What others may do with it.  [default: that of settings.toml]")
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
