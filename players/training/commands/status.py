"""`playout-train status`: shows how far a run is."""

from __future__ import annotations

from pathlib import Path

import click

from players.training import limits
from players.training.commands.options import folder_argument
from players.training.display import duration, round_lines
from players.training.run_folder import RunFolder

_SHOWN = 10


@click.command()
@folder_argument
def status(path: Path) -> None:
    """Show the settings, the last rounds and the newest net of a run."""
    folder = RunFolder.open(path)
    settings = folder.settings()
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
    left = limits.remaining_s(settings.limits, last)
    shown = f", about {duration(left)} left" if left else ""
    click.echo(f"{limits.progress(settings.limits, last):.0%} of the limits{shown}")
    newest = max(folder.nets().items(), default=None)
    if newest:
        click.echo(f"newest net: {newest[1]}")
