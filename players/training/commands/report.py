"""`playout-train report`: writes the curves of a run."""

from __future__ import annotations

from pathlib import Path

import click

from players.training import complete_files
from players.training import report as page
from players.training.commands.options import folder_argument
from players.training.errors import TrainingError
from players.training.run_folder import RunFolder


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
    folder.refuse_own(output)
    text = page.write(folder.settings(), records, folder.evaluations())
    complete_files.write(output, text.encode())
    click.echo(f"{output}: {len(records)} rounds")
