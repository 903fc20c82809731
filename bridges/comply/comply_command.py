"""`playout-bridge comply`: tests a bot in all situations, and prints passes and failures."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import click

from playout import games, players
from playout.bridges.comply import player_checks
from playout.bridges.comply.processes import BotCommand, PrivateServer, in_child
from playout.bridges.comply.situations import (
    CLOCK,
    OWN_ERRORS,
    SITUATIONS,
    Situation,
    situations_of,
)
from playout.bridges.comply.trial import ComplyTerms, Finding, SituationTrial
from playout.commands import interrupts
from playout.commands.options import (
    FiniteRange,
    add_current_folder,
    register_game,
    typed_option,
)
from playout.commands.progress import doing
from playout.games.core import spec

#: The last lines of a transcript that are printed.
_LINES = 14
_WIDTH = max(len(each.name) for each in SITUATIONS) + 2


class BotReferee:
    """Runs situations one after the other on a private server, each with a new bot process."""

    def __init__(self, server: PrivateServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._number = 0

    async def findings(
        self, terms: ComplyTerms, situations: Iterable[Situation]
    ) -> AsyncGenerator[Finding, None]:
        """Yield the result of each situation, and then the bot's own errors in all of them."""
        own_errors: list[str] = []
        for situation in situations:
            self._number += 1
            trial = SituationTrial(terms, situation, self._server, self._number)
            finding = await trial.run(self._folder)
            if finding.problem is None:  # a problem would explain them
                own_errors += [f"{situation.name}: {error}" for error in finding.own_errors]
            yield finding
        yield Finding(
            OWN_ERRORS,
            "send nothing that the server refuses",
            "the server refused messages" if own_errors else None,
            transcript=own_errors,
        )


@asynccontextmanager
async def bot_referee(game: str) -> AsyncIterator[BotReferee]:
    """Within the block, run a private server for a referee of a game.

    Raises ClickException if the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="playout-comply-") as name:
        folder = Path(name)
        server = PrivateServer(folder, [game])
        try:
            with doing("Starting a private server", at_once=True):
                await server.start()
            yield BotReferee(server, folder)
        finally:
            server.close()


EPILOG = """
\b
Examples:
  playout-bridge comply connect_four "python bot.py {host} {port} {game} {name}"
  playout-bridge comply connect_four "./my_bot --port {port}" --only ping --only "seat 2"
  playout-bridge comply tic_tac_toe "playout-player {game} random"
  playout-bridge comply nim "playout-player any random" --tournament
  playout-bridge comply othello "engine(name=rhino)" --player
  playout-bridge comply --list          what happens in each situation

In COMMAND, {host}, {port}, {game} and {name} are replaced; {name} is for a
guest. The environment also has PLAYOUT_HOST and PLAYOUT_PORT, PLAYOUT_NAME of
an account, and PLAYOUT_TOKEN_FD, the descriptor from which its token can be
read; with --tournament also PLAYOUT_TOURNAMENT.
The bot has to seek a match of {game}, or to join the tournament, and play it.
Then it may end with exit code 0, or wait for another match.

\b
Exit codes: 0 all situations were passed, 1 one was failed, 2 bad usage,
130 and 143 interrupted or terminated.
"""


def _list_situations(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        for each in SITUATIONS:
            click.echo(f"{each.name:{_WIDTH}}{each.about} The bot has to {each.duty}.")
        click.echo(f"{OWN_ERRORS:{_WIDTH}}In no situation the server refuses a message of the bot.")
        click.echo("\nWith --player:")
        for check in player_checks.CHECKS:
            click.echo(f"{check.name:{_WIDTH}}{check.about} The player has to {check.duty}.")
        context.exit()


def _command(context: click.Context, _: click.Parameter, text: str) -> BotCommand:
    try:
        return BotCommand.of(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no command: {error}") from error


def _game(context: click.Context, _: click.Parameter, text: str) -> str:
    try:
        with doing("Loading the game"):
            return str(games.load(register_game(text, Path.cwd())))
    except games.SpecError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog=EPILOG)
@click.argument("game", callback=_game)
@click.argument("command", callback=_command)
@click.option(
    "--only",
    multiple=True,
    metavar="SITUATION",
    type=click.Choice([each.name for each in SITUATIONS]),
    help="Test this situation only; repeatable.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_situations,
    help="List the situations and exit.",
)
@click.option(
    "--tournament", is_flag=True, help="Test the bot as an entrant of a tournament: it sends join."
)
@click.option(
    "--player",
    is_flag=True,
    help="COMMAND is a player of playout-player, such as engine(name=NAME): test its matches only, "
    "without a server.",
)
@click.option(
    "--patience-s",
    default=30.0,
    show_default=True,
    type=FiniteRange(0.1),
    help="Longest silence of the bot, in seconds, while it must send a message.",
)
@click.option(
    "--transcripts",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write the whole transcript of each situation to a file in this folder.",
)
@click.option(
    "--seed", default=1, show_default=True, type=int, help="Seed of the referee's random moves."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    game: str,
    command: BotCommand,
    only: tuple[str, ...],
    tournament: bool,
    player: bool,
    patience_s: float,
    transcripts: Path | None,
    seed: int,
) -> None:
    """Test a bot in any language: run COMMAND through a table of situations, playing GAME.

    A proxy between the bot and a private server cuts the connection, repeats a move, or delays it.
    The referee plays the other side, at random.
    """
    of_situations = ("only", "tournament", "patience_s", "transcripts", "seed")
    if player and (typed := typed_option(context, of_situations)):
        raise click.UsageError(f"{typed} has no use with --player")
    try:
        situations = situations_of(games.load(game), only)
    except spec.SpecError as error:
        raise click.BadParameter(str(error), param_hint="'--only'") from error
    terms = ComplyTerms(command, game, patience_s, tournament, seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with interrupts.with_text("Interrupted."):
        if player:
            passed = _passes_as_player(" ".join(command.words), game)
        else:
            passed = asyncio.run(_test(terms, situations, transcripts))
    sys.exit(0 if passed else 1)


def _passes_as_player(player: str, game: str) -> bool:
    """Print the rows of a player; return whether it passes. Raises UsageError."""
    add_current_folder(player)
    try:
        wanted = spec.parse(player)
        players.find(wanted.name)
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    rules = games.load(game)
    return in_child(lambda: player_checks.passes(lambda: players.load(wanted, rules), rules, CLOCK))


async def _test(terms: ComplyTerms, situations: list[Situation], folder: Path | None) -> bool:
    """Print the result of each situation; return whether all were passed."""
    failed: list[Finding] = []
    async with (
        bot_referee(terms.game) as referee,
        aclosing(referee.findings(terms, situations)) as findings,
    ):
        for name in (*(each.name for each in situations), OWN_ERRORS):
            click.echo(f"{name:{_WIDTH}}", nl=False)
            finding = await anext(findings)
            click.echo("passed" if finding.problem is None else f"FAILED: {finding.problem}")
            if finding.problem is not None:
                failed.append(finding)
            if folder:
                _write(finding, folder)
    for finding in failed:
        click.echo(_described(finding))
    click.echo(f"\n{len(situations) + 1 - len(failed)} passed, {len(failed)} failed")
    return not failed


def _described(finding: Finding) -> str:
    """Return the end of the transcript of a situation that the bot has failed."""
    left_out = len(finding.transcript) - _LINES
    head = [f"  ... {left_out} lines before: see --transcripts FOLDER"] if left_out > 0 else []
    output = ["The output of the bot ends:", *finding.output] if finding.output else []
    return "\n  ".join(
        [
            f"\n{finding.situation}: {finding.problem}",
            f"The bot has to {finding.duty}.",
            *head,
            *finding.transcript[-_LINES:],
            *output,
        ]
    )


def _write(finding: Finding, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^a-z0-9]+', '_', finding.situation)}.txt"
    lines = [finding.problem or "passed", "", *finding.transcript, "", *finding.output]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
