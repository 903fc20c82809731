"""The command `playout-engine`: its options and subcommands.

A subcommand imports its engine when it runs: the engines have the notations of games, whose rules
are compiled when they are imported.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Any

import click

from playout import games
from playout.commands import interrupts
from playout.commands.options import OptionGroup, add_current_folder
from playout.games.core import spec
from playout.players.engines.engine_server import LineInput, checked_player

EPILOG = """
\b
Examples, as the command of an engine in the other program:
  playout-engine gtp uct --game othello      GoGui plays Othello
  playout-engine gtp "rave(time=2)"          gomoku, two seconds a move
  playout-engine gomocup rave                Piskvork, Gomocup
  playout-engine uci alphabeta               chess in PyChess, Arena, lichess-bot

\b
PLAYER is spelled as for playout-player, which lists the options of
each: playout-player --options uct
Exit codes: 0 the other program quit, 1 something failed, 2 bad usage,
130 interrupted.
"""


class _ClearErrors(OptionGroup):
    """A group that reports invalid specifications as one line."""

    def invoke(self, context: click.Context) -> Any:
        """Invoke a subcommand. Raises UsageError."""
        try:
            with interrupts.with_cleanup():
                return super().invoke(context)
        except games.SpecError as error:
            raise click.UsageError(str(error)) from error
        except BrokenPipeError:  # the other program has exited
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None


@click.group(
    cls=_ClearErrors, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(version("playout"), prog_name="playout-engine")
def main() -> None:
    """Let a player of Playout play in another program, over standard input and output."""


@main.command()
@click.argument("player")
@click.option(
    "--game",
    default="gomoku",
    show_default=True,
    help='The game, with its parameters: "othello(size=6)".',
)
@click.option(
    "--forced-passes",
    type=click.Choice(["say", "skip"]),
    default="say",
    show_default=True,
    help="Whether a player without a move says pass, or is skipped, as GRhino does.",
)
def gtp(player: str, game: str, forced_passes: str) -> None:
    """Be a GTP engine for GoGui, Sabaki, and programs that pair engines.

    It plays games whose moves are single cells. A board size from the other program changes the
    game if it has such a parameter.
    """
    from playout.players.engines.gtp_engine import GtpServer

    wanted = _checked(player)
    skips_passes = forced_passes == "skip"
    GtpServer(games.load(game), wanted, _standard_input(), skips_passes=skips_passes).run()


@main.command()
@click.argument("player")
def gomocup(player: str) -> None:
    """Be a brain for Piskvork and managers of Gomocup: gomoku on 5 to 20 rows and columns."""
    from playout.players.engines.gomocup_engine import GomocupBrain

    GomocupBrain(_checked(player), _standard_input()).run()


@main.command()
@click.argument("player")
@click.option(
    "--game",
    default="chess",
    show_default=True,
    help="The first game, if the other program does not set UCI_Variant: breakthrough.",
)
def uci(player: str, game: str) -> None:
    """Be a UCI engine for programs that play chess, and for those that pair engines.

    The option UCI_Variant changes the game: breakthrough, clobber, clobber10, ataxx, amazons,
    flipello, which is Othello, and flipello10. Its moves are those of Fairy-Stockfish.
    """
    from playout.players.engines.uci_engine import UciServer

    wanted = _checked(player)
    UciServer(games.load(game), wanted, _standard_input()).run()


def _checked(player: str) -> spec.Spec:
    """Return the specification of a player. Raises SpecError."""
    add_current_folder(player)
    return checked_player(player)


def _standard_input() -> LineInput:
    """Return the lines of standard input, unbuffered, so that its thread need not end."""
    return LineInput(open(0, "rb", buffering=0, closefd=False))
