"""The command `playout-player`."""

from __future__ import annotations

import importlib
import os
import secrets
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource
from platformdirs import user_data_path

import games
import players
from games.core import spec
from players.client import report, tokens
from players.client.agent import Agent
from players.client.console import PlayerConsole
from players.client.identity import Identity
from players.client.options import described
from players.client.play_request import PlayRequest
from players.client.player_cache import PlayerCache
from players.client.trees import FORMATS, TreeFile
from server.client.connection import ServerConnection
from server.client.tls import security, tls_options
from server.model.messages import ChallengeBot, Join, Seek

#: What is played if that is for the tournament to say, and the tournament if any will do.
ANY = "any"
#: Options that are for the tournament to say.
_TERMS = ("clock", "opponent", "summon", "seat", "matches", "rated")

EPILOG = """
\b
Examples:
  playout-player connect_four human                   you, at this terminal
  playout-player connect_four human --summon "uct(time=0.3)"
                                                      against a bot of the server
  playout-player connect_four uct --option time=0.2   a search, 0.2 s a move
  playout-player "othello(size=6)" random --matches 20
  playout-player "mnk(m=8,n=8,k=5)" my_bot:MyBot --clock 60+1
  playout-player tic_tac_toe uct --opponent Ada       challenge Ada
  playout-player nim uct --name Bob --rated           as Bob, whom nobody else can be
  playout-player nim uct --host play.example --tls    at a server far away
  playout-player any uct --tournament any --name Bob  whatever is played where Bob is entered
  playout-player --options uct                        what uct can be told

In a tournament, a player goes on until it is stopped. Ctrl-C and SIGTERM
resign nothing then: who comes back as the same account plays on.

\b
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
@click.option(
    "--host",
    default="127.0.0.1",
    envvar="PLAYOUT_HOST",
    show_default=True,
    show_envvar=True,
    help="Where the server is.",
)
@click.option(
    "--port",
    default=4242,
    envvar="PLAYOUT_PORT",
    show_default=True,
    show_envvar=True,
    type=click.IntRange(1, 65535),
)
@tls_options
@click.option(
    "--name",
    envvar="PLAYOUT_NAME",
    show_envvar=True,
    help="Your account; it is registered if it is new.  [default: a guest's, made up]",
)
@click.option("--guest", is_flag=True, help="Use --name without an account.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The token of the account.  [default: PLAYOUT_TOKEN, or the one kept for it]",
)
@click.option("--clock", help="As 1/move, 300+3, 600+5x30 or none.  [default: the opponent's]")
@click.option("--opponent", help="Play only against the player of this name.")
@click.option(
    "--summon",
    metavar="PLAYER",
    help="Play a bot that the server starts itself, if it offers this one.",
)
@click.option("--seat", type=click.IntRange(1, 2), help="Move first (1) or second (2).")
@click.option("--matches", default=1, show_default=True, type=click.IntRange(1), help="How many.")
@click.option(
    "--tournament",
    envvar="PLAYOUT_TOURNAMENT",
    show_envvar=True,
    metavar="ID|any",
    help="Play in this tournament, or in any where --name is entered, until stopped; GAME is any.",
)
@click.option(
    "--warm",
    multiple=True,
    metavar="GAME",
    help="Be ready for this game before its clock runs; with --tournament, repeatable.",
)
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
@click.option(
    "--check",
    is_flag=True,
    help="Only see whether PLAYER can be had, for GAME or those of --warm, and with how many "
    "threads it thinks.",
)
@click.option("--rated", is_flag=True, help="Let the matches count; needs --name.")
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
@click.pass_context
def main(
    context: click.Context,
    game: str,
    player: str,
    host: str,
    port: int,
    tls: bool,
    ca: Path | None,
    tls_name: str | None,
    name: str | None,
    guest: bool,
    token_file: Path | None,
    clock: str | None,
    opponent: str | None,
    summon: str | None,
    seat: Literal[1, 2] | None,
    matches: int,
    tournament: str | None,
    warm: tuple[str, ...],
    options: tuple[str, ...],
    check: bool,
    rated: bool,
    show: bool,
    quiet: bool,
    tree: Path | None,
    tree_visits: int | None,
    retry_s: float,
) -> None:
    """Connect PLAYER to a server and let it play GAME.

    GAME is a name with parameters, as in "othello(size=6)", or any, with --tournament; PLAYER is
    one of those below, or module:Class from the current folder, with options in the same way or by
    --option.
    """
    known = _known_games(context, game, tournament, warm)
    if summon is not None and (rated or opponent is not None):
        raise click.UsageError("--summon says who is played, in a match that does not count: "
                               "leave --opponent and --rated out")  # fmt: skip
    if check:
        click.echo(f"threads: {_roster(player, options, known).threads}")
        return
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    needing = {"--rated": rated, "--token-file": token_file, "--tournament": tournament}
    _require_account(name, guest, [option for option, value in needing.items() if value])
    account = None if guest or name is None else _account(name, (host, port), token_file)
    trusted = security(host, tls, ca, tls_name)
    roster = _roster(player, options, known)
    identity = Identity(
        name or f"{spec.parse(player).name.split(':')[-1][:27]}-{secrets.token_hex(2)}",
        "human" if roster.make.human else "bot",
        f"playout-player {version('playout')}",
        account,
        any_name=name is None,
        session=os.environ.get("PLAYOUT_SESSION"),
    )
    if tournament is None:
        rules = str(games.load(game))
        if summon is None:
            seek = Seek(game=rules, clock=clock, rated=rated, opponent=opponent, seat=seat)
            wish = PlayRequest(seek, matches)
        else:
            wish = PlayRequest(
                ChallengeBot(player=summon, game=rules, clock=clock, seat=seat), matches
            )
    else:
        process = os.environ.get("PLAYOUT_PROCESS", "")
        wish = PlayRequest(
            Join(
                tournament=None if tournament == ANY else tournament,
                process=int(process) if process.isdecimal() else None,
            )
        )
    tree_file = _tree_file(roster.make, tree, tree_visits)
    screen = PlayerConsole(report.console(), quiet=quiet, show=show, tree_file=tree_file)
    codes: list[int] = []

    def finished(code: int) -> None:
        codes.append(code)
        reactor.callLater(0.05, reactor.stop)

    agent = Agent(reactor, roster, wish, identity, screen, finished)
    connection = ServerConnection(
        reactor,
        (host, port),
        agent,
        retry_s,
        trusted,
        measures_round_trip=True,
        repeats_requests=True,
    )
    agent.use(connection)
    reactor.callWhenRunning(connection.open)
    signal.signal(signal.SIGINT, lambda *_: reactor.callFromThread(agent.interrupt))
    signal.signal(signal.SIGTERM, lambda *_: reactor.callFromThread(agent.leave, 143))
    reactor.run(installSignalHandlers=False)
    roster.close()
    if matches > 1 or agent.tally.played > 1:
        click.echo(agent.tally)
    sys.exit(codes[0] if codes else 1)


def _known_games(
    context: click.Context, game: str, tournament: str | None, warm: tuple[str, ...]
) -> tuple[str, ...]:
    """The games that are known before there is a match. Raises UsageError."""
    if tournament is None:
        if game == ANY:
            raise click.UsageError(
                "GAME can be any in a tournament only: --tournament ID, or --tournament any"
            )
        if warm:
            raise click.UsageError("--warm needs --tournament; otherwise there is only GAME")
        return (game,)
    if game != ANY:
        raise click.UsageError(
            f"with --tournament, GAME must be any, not {game!r}: the tournament says what is played"
        )
    for term in _TERMS:
        if context.get_parameter_source(term) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"with --tournament, --{term} is not for the players to say")
    return warm


def _roster(player: str, options: tuple[str, ...], known: tuple[str, ...]) -> PlayerCache:
    """Who plays, ready for the games that are known. Raises UsageError."""
    _let_find(player)
    if not games.compiled_before():
        click.echo("Compiling the rules and the search for this machine, once ...", err=True)
    try:
        roster = PlayerCache(_with_options(player, options))
        for game in known:
            roster(game)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    return roster


def _require_account(name: str | None, guest: bool, options: list[str]) -> None:
    """These options are not for guests. Raises UsageError."""
    if options and (guest or name is None):
        raise click.UsageError(f"{options[0]} needs an account: --name NAME, without --guest")


def _account(name: str, server: tuple[str, int], token_file: Path | None) -> tokens.SavedAccount:
    """As whom to play. Raises ClickException."""
    host, port = server
    kept = tokens.TokenFile(user_data_path("playout"), _warn)
    try:
        given = tokens.given(token_file, os.environ.get("PLAYOUT_TOKEN"), _warn)
        account = tokens.SavedAccount(kept, f"{host}:{port}", name, given)
        account.token()  # better now than when the server is there
    except tokens.TokenError as error:
        raise click.ClickException(str(error)) from error
    return account


def _warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


def _let_find(player: str) -> None:
    """Let `module:Class` be found in the current folder."""
    if ":" in player:
        sys.path.append(os.getcwd())


def _tree_file(
    player: type[players.Player], path: Path | None, visits: int | None
) -> TreeFile | None:
    """Where the trees go. Raises UsageError."""
    if path is None:
        if visits is not None:
            raise click.UsageError("--tree-visits needs --tree FILE")
        return None
    if player.tree is players.Player.tree:
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
