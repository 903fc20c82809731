"""The command `playout-train`: its options and subcommands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import click

from playout.commands.options import game_option
from playout.players.nets.files import NetError
from playout.players.training import TrainingError
from playout.players.training.commands import (
    evaluate,
    export,
    import_,
    new,
    report,
    resume,
    run,
    status,
)

EPILOG = """
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


class _ClearErrors(click.Group):
    """A group whose commands report errors of trainings and nets in one line."""

    def invoke(self, context: click.Context) -> Any:
        """Invoke a subcommand. Raises ClickException."""
        try:
            return super().invoke(context)
        except (TrainingError, NetError) as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=_ClearErrors, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@game_option("A game of a file in the current folder or on PYTHONPATH, by its class;")
@click.version_option(version("playout"), prog_name="playout-train")
def main() -> None:
    """Train nets for the player alphazero, and evaluations for alphabeta, by self-play."""


for command in (new, run, resume, status, evaluate, report, export, import_):
    main.add_command(command)
