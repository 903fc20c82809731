"""`playout-train export`: writes the newest net of a run as one file for others."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import click

from players.training.commands.options import folder_argument, output_argument
from players.training.errors import TrainingError
from players.training.nets import write_net
from players.training.run_folder import RunFolder


@click.command()
@folder_argument
@output_argument
@click.option("--author", help="Who trained it.  [default: that of settings.toml]")
@click.option("--licence", help="What others may do with it.  [default: that of settings.toml]")
@click.option("--half", is_flag=True, help="Store float16 numbers: half the size.")
def export(path: Path, output: Path, author: str | None, licence: str | None, half: bool) -> None:
    """Write the newest net of the run in DIR to the ONNX file OUT.onnx."""
    folder = RunFolder.open(path)
    folder.refuse_own(output)
    settings = folder.settings()
    settings = replace(
        settings, author=author or settings.author, licence=licence or settings.licence
    )
    checkpoint = folder.read_checkpoint(settings)
    if checkpoint is None:
        raise TrainingError(f"{path}: no round is complete, so there is no net that has learned")
    record = checkpoint.record
    write_net(output, settings, checkpoint.parameters, record, half)
    play = ["playout-player", str(settings.game), f"alphazero(net={output})"]
    click.echo(
        f"{output}: {output.stat().st_size / 1000:,.0f} kB, the net after round {record.round} "
        f"({record.evaluations:,} evaluations); play with it: {shlex.join(play)}"
    )
