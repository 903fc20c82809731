"""The command `playout-player`: its options, and the setup of a player."""

from __future__ import annotations

import getpass
import inspect
import os
import shlex
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from playout import games, players
from playout.commands.connect_options import (
    AccountChoice,
    ServerAddress,
    account_options,
    retry_option,
    server_options,
)
from playout.commands.identity import (
    SESSION_FD,
    Identity,
    SavedAccount,
    TokenError,
    handed_over,
    random_name,
    software,
)
from playout.commands.options import add_current_folder, refuse, registered
from playout.commands.progress import doing
from playout.commands.text import printable
from playout.games import Description
from playout.games.core import spec
from playout.games.core.description import DescribedParameter
from playout.players.client.agent import PlayerCache, PlayRequest
from playout.players.client.client_process import play
from playout.players.client.log_in import log_in
from playout.players.client.player_console import PlayerConsole
from playout.players.client.templates import new_bot, new_game
from playout.players.client.trees import FORMATS, TreeFile
from playout.players.core import rendering
from playout.players.core.player import Player
from playout.protocol import versions
from playout.protocol.messages import ChallengeBot, EnterLadder, Join, Seek
from playout.protocol.versions import of_spec

#: GAME with a tournament or a ladder, and the --tournament for all in which the account is entered.
ANY = "any"
#: The options that a tournament or a ladder decides; a tournament also decides --matches.
_TERMS = ("clock", "opponent", "challenge_bot", "seat", "rated", "takebacks")
#: The parameters that have an effect with --check.
_CHECKED = ("game", "player", "options", "engines", "warm", "tournament", "ladder", "check")
#: Most characters of a name.
_LONGEST_NAME = 32
#: Most characters of `software` in `hello`, and of the version on a ladder.
_LONGEST_LABEL = 64

EPILOG = """
\b
Examples:
  playout-player new-bot my_bot                       a folder with a bot of yours
  playout-player new-game my_game                     a folder with a game of yours
  playout-player log-in Ada                           by a password or a code
  playout-player connect_four human                   you, at this terminal
  playout-player connect_four human --challenge-bot "Playout Easy"
                                                      against a bot of the server
  playout-player connect_four uct --option time=0.2   a search, 0.2 s a move
  playout-player "othello(size=6)" random --matches 20
  playout-player "mnk(m=8,n=8,k=5)" my_bot:MyBot --clock 60+1
  playout-player "my_game:Chomp(rows=4)" uct          a game of my_game.py, with a server that was
                                                      started with --game my_game:Chomp
  playout-player tic_tac_toe uct --opponent Ada       challenge Ada
  playout-player nim uct --name Bob --rated           as the account Bob
  playout-player nim uct --host play.example --tls    on another machine
  playout-player any uct --tournament any --name Bob  all tournaments where Bob is entered
  playout-player any uct --ladder connect_four        rated matches without end
  playout-player --options uct                        the options of uct
  playout-player --games                              all games
  playout-player othello "engine(name=rhino)"         an engine that engines.toml describes
  playout-player othello "engine(name=rhino)" --check   is it ready to play?

In a tournament, a player plays until it is stopped. Ctrl-C and SIGTERM
resign no match there: another player of the same account continues it.
On a ladder, Ctrl-C leaves after the current match.

\b
Exit codes: 0 all matches were played, 1 something failed, 2 bad usage,
130 and 143 interrupted or terminated.
"""


#: The commands that take the place of the argument GAME.
COMMANDS = {each.name: each for each in (new_bot, new_game, log_in)}


class _Names(click.Command):
    """A command whose help lists the games and the players; the first word may name another one."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context of this command, or of another one that the first word names."""
        other = COMMANDS.get(args[0]) if args else None
        if other is None:
            return super().make_context(info_name, args, parent, **extra)
        return other.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the words of this command. Raises UsageError for options before another command."""
        name = self.make_parser(context).parse_args(list(args))[0].get("game")
        if name in COMMANDS:
            command = f"{context.command_path} {name}"
            text = f"options before {name} have no effect on it; its own are shown by:"
            raise click.UsageError(f"{text} {command} --help", context)
        return super().parse_args(context, args)

    def invoke(self, context: click.Context) -> Any:
        """Invoke the command of the context."""
        if context.command is not self:
            return context.command.invoke(context)
        return super().invoke(context)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Games"):
            formatter.write_text(", ".join(games.names()) + ", or module:Class")
        with formatter.section("Players"):
            formatter.write_text(", ".join(players.names()) + ", or module:Class")
        super().format_epilog(context, formatter)


def _show_options(context: click.Context, _: click.Parameter, player: str | None) -> None:
    if player is not None:
        add_current_folder(player)
        try:
            click.echo(described(spec.parse(player).name))
        except games.SpecError as error:
            raise click.UsageError(str(error)) from error
        context.exit()


def _show_games(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(game_list())
        context.exit()


@click.command(cls=_Names, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("game")
@click.argument("player")
@server_options
@account_options
@click.option(
    "--clock",
    help="Time control: 1/move, 300+3, 600+5x30, 120d12 or none.  [default: the opponent's]",
)
@click.option("--opponent", help="Play only against the player of this name.")
@click.option(
    "--challenge-bot",
    metavar="BOT",
    help="Play against a bot that the server starts: the name of one that it "
    "offers, or its player.",
)
@click.option("--seat", type=click.IntRange(1, 2), help="Move first (1) or second (2).")
@click.option(
    "--matches", default=1, show_default=True, type=click.IntRange(1), help="Number of matches."
)
@click.option(
    "--tournament",
    envvar="PLAYOUT_TOURNAMENT",
    show_envvar=True,
    metavar="ID|any",
    help="Play in this tournament, or in all where --name is entered, until stopped; GAME is any.",
)
@click.option(
    "--ladder",
    metavar="GAME",
    help="Play rated matches on the ladder of this game, until stopped or as many as --matches; "
    "the argument GAME is any. Without --name, the account is named after the player and you.",
)
@click.option(
    "--bot-version",
    metavar="TEXT",
    help="Version of the player on the ladder, which rates each one.  [default: that of an engine, "
    "or a digest of the player, its options and its code]",
)
@click.option(
    "--warm",
    multiple=True,
    metavar="GAME",
    help="Prepare for this game before its clock runs; with --tournament, repeatable.",
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
    "--games",
    "listed",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_games,
    help="List all games with their rules, parameters and variants and exit.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Only check that PLAYER can play GAME, or the games of --warm, and show its number of "
    "threads; an engine also shows its name and version, and plays two moves.",
)
@click.option(
    "--engines",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File that describes engines, for engine(name=...).  [default: engines.toml in the "
    "current folder, then in the user's configuration folder]",
)
@click.option(
    "--takebacks",
    is_flag=True,
    help="Agree when the opponent asks to take a move back; a program declines otherwise.",
)
@click.option("--rated", is_flag=True, help="Play rated matches; needs --name.")
@click.option("--show", is_flag=True, help="Show the board after each move.")
@click.option("--quiet", is_flag=True, help="Do not show the player's analyses.")
@click.option(
    "--tree",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Write the search tree of each move to this file: {', '.join(FORMATS)}.",
)
@click.option(
    "--tree-visits",
    type=click.IntRange(1),
    help="Leave out nodes with fewer visits.  [default: 1 % of the root's visits]",
)
@retry_option
@click.version_option(version("playout"), prog_name="playout-player")
@click.pass_context
def main(
    context: click.Context,
    game: str,
    player: str,
    server: ServerAddress,
    account: AccountChoice,
    clock: str | None,
    opponent: str | None,
    challenge_bot: str | None,
    seat: Literal[1, 2] | None,
    matches: int,
    tournament: str | None,
    ladder: str | None,
    bot_version: str | None,
    warm: tuple[str, ...],
    options: tuple[str, ...],
    check: bool,
    engines: Path | None,
    takebacks: bool,
    rated: bool,
    show: bool,
    quiet: bool,
    tree: Path | None,
    tree_visits: int | None,
    retry_s: float,
) -> None:
    """Connect PLAYER to a server and let it play GAME.

    GAME is a name with parameters, as in "othello(size=6)", module:Class with parameters from the
    current folder, or any, with --tournament or --ladder; PLAYER is one of those below, or
    module:Class from the current folder, with options in the same way or by --option.
    """
    game, warm = registered(game), tuple(map(registered, warm))
    ladder = registered(ladder) if ladder is not None else None
    _require_order(game, player)
    known = _known_games(context, game, tournament, ladder, warm)
    if bot_version is not None and ladder is None:
        raise click.UsageError("--bot-version needs --ladder GAME")
    if challenge_bot is not None and opponent is not None:
        raise click.UsageError("--challenge-bot names the opponent: leave --opponent out")
    if engines is not None:
        options += (_engines_option(player, engines),)
    if check:
        others = {str(each.name) for each in context.command.params} - {*_CHECKED}
        refuse(context, others, "--check plays no match on a server")
        _check(player, options, known)
        return
    if ladder is not None and account.name is None:
        account = replace(account, name=_ladder_name(player))
    needing = {"--rated": rated, "--tournament": tournament, "--ladder": ladder}
    account.require(*(option for option, value in needing.items() if value))
    # An unknown game is refused before the player is loaded, which takes longer.
    usual = _usual(ladder or game) if tournament is None else ""
    saved = account.saved(server)
    cache = _player_cache(player, options, known)
    identity = _identity(player, account.name, saved, cache)
    if ladder is not None:
        known_as = bot_version or cache.version or _digest(player, options)
        enter = EnterLadder(game=usual, version=known_as[:_LONGEST_LABEL])
        given = context.get_parameter_source("matches") is not ParameterSource.DEFAULT
        request = PlayRequest(enter, matches if given else None)
    elif tournament is None:
        wanted = _match_request(usual, challenge_bot, opponent, clock=clock, seat=seat, rated=rated)
        request = PlayRequest(wanted, matches, takebacks)
    else:
        request = PlayRequest(_join(tournament))
    tree_file = _tree_file(cache.make, tree, tree_visits)
    console = PlayerConsole(rendering.console(), quiet=quiet, show=show, tree_file=tree_file)
    counts, code = play(server, cache, request, identity, console, retry_s)
    if matches > 1 or counts.played > 1:
        click.echo(counts)
    sys.exit(code)


def _check(player: str, options: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Check that the player can play. Raises UsageError, ClickException."""
    cache = _player_cache(player, options, known)
    try:
        for line in cache.check():
            click.echo(line)
    except players.PlayerError as error:
        raise click.ClickException(printable(str(error))) from error
    finally:
        cache.close()


def _engines_option(player: str, file: Path) -> str:
    """Return the option of the player for the file of --engines. Raises UsageError."""
    if spec.parse(player).name != "engine":
        raise click.UsageError("--engines is for PLAYER engine(name=...) only")
    return f"file={file}"


def _identity(
    player: str, name: str | None, account: SavedAccount | None, cache: PlayerCache
) -> Identity:
    """Return the identity of the player; without a name, one that begins with the player's.

    Raises ClickException.
    """
    wanted = spec.parse(player)
    label = wanted.options.get("name", wanted.name.split(":")[-1])  # of an engine, its own
    try:
        session = handed_over(SESSION_FD, os.environ)
    except TokenError as error:
        raise click.ClickException(printable(str(error))) from error
    program = ", ".join(filter(None, (cache.version, software("playout-player"))))
    return Identity(
        name or random_name(label),
        "human" if cache.make.human else "bot",
        program[:_LONGEST_LABEL],
        account,
        any_name=name is None,
        session=session,
    )


def _match_request(
    game: str,
    challenge_bot: str | None,
    opponent: str | None,
    *,
    clock: str | None,
    seat: Literal[1, 2] | None,
    rated: bool,
) -> Seek | ChallengeBot:
    """Return the request for a match outside tournaments."""
    if challenge_bot is not None:
        return ChallengeBot(player=challenge_bot, game=game, clock=clock, rated=rated, seat=seat)
    return Seek(game=game, clock=clock, rated=rated, opponent=opponent, seat=seat)


def _join(tournament: str) -> Join:
    return Join(
        tournament=None if tournament == ANY else tournament,
        process=_number("PLAYOUT_PROCESS"),
        core_set=_number("PLAYOUT_CORE_SET"),
    )


def _ladder_name(player: str) -> str:
    """Return the name of the account on a ladder, from those of the player and the user."""
    label = spec.parse(player).name.split(":")[-1]
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # the user of a container may have no name
        user = "bot"
    return f"{label}-{user}"[:_LONGEST_NAME]


def _digest(player: str, options: tuple[str, ...]) -> str:
    """Return the version of a player: a digest of everything that decides how it plays."""
    files = versions.files_in(Path.cwd())
    return of_spec(_with_options(player, options), files, versions.installed())


def _number(variable: str) -> int | None:
    """Return the whole number in a variable of the environment, or None."""
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else None


def _known_games(
    context: click.Context,
    game: str,
    tournament: str | None,
    ladder: str | None,
    warm: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the games that can be prepared before the first match. Raises UsageError."""
    if tournament is not None and ladder is not None:
        raise click.UsageError("choose one of --tournament and --ladder")
    if ladder is not None:
        _require_any(context, game, "--ladder", (*_TERMS, "warm"))
        return (ladder,)
    if tournament is None:
        if game == ANY:
            raise click.UsageError(
                "GAME can be any only with --tournament ID, --tournament any or --ladder GAME"
            )
        if warm:
            raise click.UsageError("--warm needs --tournament; otherwise there is only GAME")
        return (game,)
    _require_any(context, game, "--tournament", (*_TERMS, "matches"))
    return warm


def _require_any(context: click.Context, game: str, given: str, decided: tuple[str, ...]) -> None:
    """Raise UsageError for a GAME other than any, and for options that are decided elsewhere."""
    kind = given.removeprefix("--")
    if game != ANY:
        raise click.UsageError(
            f"with {given}, GAME must be any, not {game!r}: the {kind} decides the game"
        )
    refuse(context, decided, f"the {kind} decides the terms of its matches")


def _usual(text: str) -> str:
    """Return a game in its usual notation. Raises UsageError."""
    try:
        return str(games.load(text))
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error


def _require_order(game: str, player: str) -> None:
    """Raise UsageError if GAME is a player and PLAYER is a game."""

    def is_one_of(text: str, names: list[str]) -> bool:
        return text.partition("(")[0].strip() in names

    if is_one_of(game, players.names()) and is_one_of(player, games.names()):
        raise click.UsageError(
            f"GAME comes before PLAYER; did you mean: playout-player "
            f"{shlex.quote(player)} {shlex.quote(game)}"
        )


def _player_cache(player: str, options: tuple[str, ...], known: tuple[str, ...]) -> PlayerCache:
    """Return the players, prepared for the known games. Raises UsageError."""
    add_current_folder(player)
    try:
        with doing("Preparing the player"):
            cache = PlayerCache(_with_options(player, options))
            for game in known:
                cache(game)
    except players.IncompletePlayer as error:
        raise click.ClickException(printable(str(error))) from error
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    return cache


def _tree_file(
    player: type[players.Player], path: Path | None, visits: int | None
) -> TreeFile | None:
    """Return the file for the search trees. Raises UsageError."""
    if path is None:
        if visits is not None:
            raise click.UsageError("--tree-visits needs --tree FILE")
        return None
    if player.tree is players.Player.tree:
        raise click.UsageError("--tree needs a player that searches a tree, and this one does not")
    try:
        return TreeFile(path, visits)
    except ValueError as error:
        raise click.UsageError(f"--tree: {error}") from error
    except OSError as error:
        raise click.UsageError(f"--tree: cannot write there: {error}") from error


def _with_options(player: str, options: tuple[str, ...]) -> spec.Spec:
    """Return the player's specification with those options added."""
    given = spec.parse(player)
    return spec.Spec(given.name, {**given.options, **spec.parse_options(options)})


# The options of a player, and the games with their parameters and variants, as text.

#: Preferred maximum line length of the list of games.
WIDTH = 80


def described(name: str) -> str:
    """Return a player's docstring and options: defaults, values, meanings. Raises SpecError."""
    make = players.find(name)
    rows: list[tuple[str, str, str]] = []
    for key, parameter in spec.parameters_of(make, skip=1).items():
        shown = "" if parameter.default is None else spec.spelled(parameter.default)
        values = parameter.values + (", required" if parameter.required else "")
        default = f"; by default {parameter.option.default}" if parameter.option.default else ""
        rows.append((f"{key}={shown}", values, parameter.option.about + default))
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    listed = [
        f"  {option:{widths[0]}}  {values:{widths[1]}}  {meaning}".rstrip()
        for option, values, meaning in rows
    ]
    about = "\n\n".join(_docstrings(make))
    head = f"Options, for --option or {name}(...), with their defaults:" if rows else "No options."
    return "\n".join([f"{name}: {about}", "", head, *listed])


def _docstrings(make: type[Player]) -> Iterator[str]:
    """Yield the docstrings of a player's class, and of base classes with the same options."""
    options = spec.parameters_of(make, skip=1).keys()
    for base in make.__mro__[: make.__mro__.index(Player)]:
        if base.__doc__ and spec.parameters_of(base, skip=1).keys() <= options:
            yield inspect.cleandoc(base.__doc__)


def game_list() -> str:
    """Return the descriptions of all games, by group, in lines of at most WIDTH characters."""
    groups = games.by_group(map(games.describe, games.names()))
    return "\n\n".join(
        part
        for title, members in groups.items()
        for part in (f"{title}:", *("\n".join(_lines(each)) for each in members))
    )


def _lines(game: Description) -> Iterator[str]:
    yield game.name
    yield from textwrap.wrap(game.about, WIDTH, initial_indent="  ", subsequent_indent="  ")
    rows = [(_default(each), each.about or each.kind) for each in game.parameters]
    rows += [(each.game, each.about) for each in game.variants]
    width = max((len(left) for left, _ in rows), default=0)
    for left, right in rows:
        head, rest = f"  {left:{width}}  ", " " * (width + 4)
        yield from textwrap.wrap(right, WIDTH, initial_indent=head, subsequent_indent=rest)


def _default(parameter: DescribedParameter) -> str:
    """Return a parameter with its default, as in a specification of the game."""
    default = "" if parameter.default is None else str(parameter.default)
    shown = default.lower() if isinstance(parameter.default, bool) else default
    return f"{parameter.name}={shown}"
