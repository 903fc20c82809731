"""The command `playout-tournament`."""

from __future__ import annotations

from importlib.metadata import version

import click

from server.organizer.commands import conclude, export, list_, report, resume, run, status, validate

EPILOG = """
\b
Examples:
  playout-tournament validate SPEC.toml    is the file right, and what will it be?
  playout-tournament run SPEC.toml         on this machine, with a server of its own
  playout-tournament resume                go on with the latest, after whatever stopped it
  playout-tournament status                how the latest stands
  playout-tournament report --format html --output report.html

\b
A tournament's file:
  name = "uct against rave"
  games = ["connect_four", "mnk(m=8,n=8,k=5)"]
  format = "round_robin"          # gauntlet, swiss, knockout, match, sprt
  rounds = 10                     # pairs for each pairing and game
  clock = "0.1/move"
  openings = { plies = 2 }        # or { file = "openings.txt" }
  [[entrants]]
  name = "uct"
  player = "uct(c=1.2)"           # see: playout-player --options uct
  [[entrants]]
  name = "mine"
  command = "python my_bot.py"    # finds PLAYOUT_HOST, PLAYOUT_PORT, PLAYOUT_NAME,
                                  # PLAYOUT_TOKEN, PLAYOUT_TOURNAMENT in its environment

Exit codes: 0 done, 1 something failed, 2 bad usage or a file with errors,
130 and 143 interrupted or terminated.
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("playout"), prog_name="playout-tournament")
def main() -> None:
    """Hold tournaments between bots, and find out which is stronger and how sure that is."""


for command in (run, resume, conclude, status, report, export, validate, list_):
    main.add_command(command)
