"""The command `playout-player`."""

from __future__ import annotations

import importlib
import os
import secrets
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

import games
import players
from games.core import spec
from players.client import report
from players.client.agent import Agent, Wish
from players.client.link import Link
from players.client.options import described
from players.client.trees import FORMATS, TreeFile
from server.messages import Seek

EPILOG = """
\b
Examples:
  playout-player connect_four human                   you, at this terminal
  playout-player connect_four uct --option time=0.2   a search, 0.2 s a move
  playout-player "othello(size=6)" random --matches 20
  playout-player "mnk(m=8,n=8,k=5)" my_bot:MyBot --clock 60+1
  playout-player tic_tac_toe uct --opponent Ada       challenge Ada
  playout-player --options uct                        what uct can be told

Exit codes: 0 all matches were played, 1 something failed, 2 bad usage,
130 and 143 interrupted or terminated.
"""


class _Names(click.Command):
    """A command that lists what can be played, and by whom, in its help."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Games"):
            formatter.write_text(", ".join(games.names()))
        with formatter.section("Players"):
            formatter.write_text(", ".join(players.names()) + ", or module:Class")
        super().format_epilog(context, formatter)


def _show_options(context: click.Context, _: click.Parameter, player: str | None) -> None:
    if player is not None:
        _let_find(player)
        try:
            click.echo(described(spec.parse(player).name))
        except games.SpecError as error:
            raise click.UsageError(str(error)) from error
        context.exit()


@click.command(cls=_Names, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("game")
@click.argument("player")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where the server is.")
@click.option("--port", default=4242, show_default=True, type=click.IntRange(1, 65535))
@click.option("--name", help="What others know you by.  [default: one made up]")
@click.option("--clock", help="As 1/move, 300+3, 600+5x30 or none.  [default: the opponent's]")
@click.option("--opponent", help="Play only against the player of this name.")
@click.option("--seat", type=click.IntRange(1, 2), help="Move first (1) or second (2).")
@click.option("--matches", default=1, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--option", "options", multiple=True, metavar="K=V", help="An option of the player.")
@click.option(
    "--options",
    "described",
    metavar="PLAYER",
    is_eager=True,
    expose_value=False,
    callback=_show_options,
    help="List the options of PLAYER and exit.",
)
@click.option("--rated", is_flag=True, help="Let the matches count.")
@click.option("--show", is_flag=True, help="Show the board after each move.")
@click.option("--quiet", is_flag=True, help="Do not show what the player thinks.")
@click.option(
    "--tree",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Write the search tree of each move to this file: {', '.join(FORMATS)}.",
)
@click.option(
    "--tree-visits",
    type=click.IntRange(1),
    help="Leave out what was visited less often.  [default: 1 % of the root's visits]",
)
@click.option(
    "--retry-s",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds to go on trying to reach the server.",
)
@click.version_option(version("playout"), prog_name="playout-player")
def main(
    game: str,
    player: str,
    host: str,
    port: int,
    name: str | None,
    clock: str | None,
    opponent: str | None,
    seat: int | None,
    matches: int,
    options: tuple[str, ...],
    rated: bool,
    show: bool,
    quiet: bool,
    tree: Path | None,
    tree_visits: int | None,
    retry_s: float,
) -> None:
    """Connect PLAYER to a server and let it play GAME.

    GAME is a name with parameters, as in "othello(size=6)"; PLAYER is one of those below, or
    module:Class from the current folder, with options in the same way or by --option.
    """
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    _let_find(player)
    if not games.compiled_before():
        click.echo("Compiling the rules and the search for this machine, once ...", err=True)
    try:
        made = players.load(_with_options(player, options), games.load(game))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    tree_file = _tree_file(made, tree, tree_visits)
    wish = Wish(
        seek=Seek(
            game=str(made.game),
            clock=clock,
            rated=rated,
            opponent=opponent,
            seat=seat,  # type: ignore[arg-type]
        ),
        matches=matches,
        name=name or f"{spec.parse(player).name.split(':')[-1][:27]}-{secrets.token_hex(2)}",
        any_name=name is None,
        role="human" if made.human else "bot",
        software=f"playout-player {version('playout')}",
    )
    codes: list[int] = []

    def finished(code: int) -> None:
        codes.append(code)
        reactor.callLater(0.05, reactor.stop)

    agent = Agent(
        reactor,
        made,
        wish,
        report.console(),
        finished,
        quiet=quiet,
        show=show,
        tree_file=tree_file,
    )
    agent.link = Link(reactor, host, port, agent, retry_s)
    reactor.callWhenRunning(agent.link.open)
    signal.signal(signal.SIGINT, lambda *_: reactor.callFromThread(agent.interrupt))
    signal.signal(signal.SIGTERM, lambda *_: reactor.callFromThread(agent.leave, 143))
    reactor.run(installSignalHandlers=False)
    made.close()
    tally = agent.tally
    if matches > 1 or tally.played > 1:
        void = f", {tally.void} without result" if tally.void else ""
        click.echo(f"{tally.won} won, {tally.lost} lost, {tally.tied} tied{void}")
    sys.exit(codes[0] if codes else 1)


def _let_find(player: str) -> None:
    """Let `module:Class` be found in the current folder."""
    if ":" in player:
        sys.path.append(os.getcwd())


def _tree_file(player: players.Player, path: Path | None, visits: int | None) -> TreeFile | None:
    """Where the trees go. Raises UsageError."""
    if path is None:
        if visits is not None:
            raise click.UsageError("--tree-visits needs --tree FILE")
        return None
    if type(player).tree is players.Player.tree:
        raise click.UsageError("--tree is for players that search a tree, and this one does not")
    try:
        return TreeFile(path, visits)
    except ValueError as error:
        raise click.UsageError(f"--tree: {error}") from error
    except OSError as error:
        raise click.UsageError(f"--tree: cannot write there: {error}") from error


def _with_options(player: str, options: tuple[str, ...]) -> spec.Spec:
    """The player's specification with those options added."""
    given = spec.parse(player)
    return spec.Spec(given.name, {**given.options, **spec.parse_options(options)})
