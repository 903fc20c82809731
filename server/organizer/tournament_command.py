"""The command `playout-tournament`: its options and subcommands."""

from __future__ import annotations

from importlib.metadata import version

import click

from playout.commands.options import ImportedCommand, OptionGroup, game_option
from playout.server.organizer.commands.conclude import conclude
from playout.server.organizer.commands.push import push
from playout.server.organizer.commands.read import export, list_, report, status, validate
from playout.server.organizer.commands.run import match, resume, run

EPILOG = """
\b
Examples:
  playout-tournament validate SPEC.toml    check the file, and estimate the time
  playout-tournament run SPEC.toml         play it on this machine, with a local server
  playout-tournament match connect_four "uct(c=0.7)" "uct(c=1.4)"    two bots, without a file
  playout-tournament compare --game othello uct rave best    players, without a server
  playout-tournament openings othello --number 200    openings after which neither is ahead
  playout-tournament resume                continue the latest after an interruption
  playout-tournament status                show the standings of the latest
  playout-tournament report --format html --output report.html

\b
A tournament file:
  name = "uct against rave"
  games = ["connect_four", "mnk(m=8,n=8,k=5)"]
  format = "round_robin"          # gauntlet, swiss, ladder, knockout, match, sprt
  rounds = 10                     # pairs for each pairing and game
  clock = "0.1/move"
  openings = { plies = 2 }        # or { file = "openings.txt" }
  [[entrants]]
  name = "uct"
  player = "uct(c=1.2)"           # see: playout-player --options uct
  [[entrants]]
  name = "mine"
  command = "python my_bot.py"    # gets PLAYOUT_HOST, PLAYOUT_PORT, PLAYOUT_NAME,
                                  # PLAYOUT_TOKEN, PLAYOUT_TOURNAMENT in its environment

Exit codes: 0 done, 1 something failed, 2 bad usage or a file with errors,
130 and 143 interrupted or terminated.
"""


@click.group(
    cls=OptionGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@game_option(
    "A game of a file in the current folder or on PYTHONPATH, for the commands that do not have "
    "its name: resume, status, report, export;"
)
@click.version_option(version("playout"), prog_name="playout-tournament")
def main() -> None:
    """Play tournaments between bots, and find out which is stronger, with error bars."""


for command in (run, match, resume, conclude, status, report, export, push, validate, list_):
    main.add_command(command)
# They need the players, of which the server's modules import nothing.
for name, module, about in (
    (
        "compare",
        "playout.players.comparison.compare_command",
        "Compare players without a server, and show which are stronger.",
    ),
    (
        "openings",
        "playout.players.comparison.openings_command",
        "Write a book of openings after which neither side is ahead.",
    ),
):
    main.add_command(ImportedCommand(name, module, about))
