"""The command `playout-lab`: tests versions of a bot against each other."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from platformdirs import user_data_path

from playout.bots.bot_file import FILE as BOT_FILE
from playout.bots.bot_file import BotFileError
from playout.bots.bot_file import read as read_bot
from playout.bots.git_source import LAB_FILE, SourceError
from playout.bots.site_client import SiteClient, sending_options
from playout.commands import progress
from playout.commands.agent_tools import imported
from playout.commands.connect_options import (
    AccountChoice,
    ServerAddress,
    account_options,
    server_options,
)
from playout.commands.options import (
    FiniteRange,
    OptionGroup,
    add_current_folder,
    combined,
    registered,
)
from playout.commands.text import counted, write_new
from playout.commands.toml_table import notation
from playout.games import SpecError, load
from playout.games.core import plugins
from playout.laboratory import lab_file
from playout.laboratory.journal import Journal, VersionTest
from playout.laboratory.lab_file import Conditions
from playout.laboratory.sources import UnknownVersion, Version, VersionSources
from playout.laboratory.submission import Ticket, archive_of, asked
from playout.laboratory.trial import (
    NOT_STRONGER,
    STRONGER,
    UNDECIDED,
    Built,
    Laboratory,
    NotPlayed,
    verdict,
)
from playout.players import Limit
from playout.players.client.templates import lab_toml
from playout.protocol.tournament_spec import Betting
from playout.server.cli.server_options import http_address
from playout.server.organizer.commands.push import report, report_options
from playout.server.organizer.local_server import USUAL_HTTP
from playout.server.tournament.competition_file import BOT_PROTOCOLS
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import words, writer
from playout.server.tournament.results import Results

if TYPE_CHECKING:
    from playout.laboratory.tuning import TunedProgram

F = TypeVar("F", bound=Callable[..., Any])

EPILOG = """
\b
Examples:
  playout-player new-bot my_bot              write a first bot in Python, with its lab.toml
  playout-lab new --game connect_four        write lab.toml in the folder of a bot
  playout-lab test                           the working tree against the last commit
  playout-lab test main                      the working tree against a branch
  playout-lab test main feature-1 feature-2  which of two branches is stronger than main?
  playout-lab test old/ new/                 two folders, without git
  playout-lab test "uct(c=1.4)" "uct(c=1)" --game othello
  playout-lab confirm                        the gain of the last promotion, by fresh pairs
  playout-lab tune uct                       find better values of the options in lab.toml
  playout-lab tune --time 0.1                of the parameters of the bot in this folder
  playout-lab submit main feature --name Ada  the same on a server, in a queue with others
  playout-lab list                           all tests of this bot
  playout-lab losses                         where the last candidate went wrong

The documents are in docs/laboratory.md.
"""

_TEST_EPILOG = """
\b
Examples:
  playout-lab test
  playout-lab test HEAD~3 HEAD --elo1 50
  playout-lab test main feature --pairs 2000 --summary "$GITHUB_STEP_SUMMARY"
  git bisect run playout-lab test BAD HEAD --elo1 100    which commit made it weaker?

\b
Exit codes:
  0    a candidate is stronger than the base
  1    no candidate is
  125  undecided after --pairs, not buildable, or an error; git bisect run skips it
  2    bad usage; 130 interrupted: the same command goes on

A test that was stopped or killed is continued by the same command, and with a larger --pairs a test
that was undecided. Each test is in the journal, and makes later tests against the same base
stricter, so that the last of many tries is not promoted by luck.
"""

_SUBMIT_EPILOG = """
\b
Examples:
  playout-lab submit --name Ada                    the working tree against the last commit
  playout-lab submit main feature --name Ada --elo1 50
  playout-lab submit main feature --name Ada --no-wait --priority 5
  playout-lab submit old/ new/ --name Ada --site https://lab.play.example

The token of the account is the one that a player of this user has stored; otherwise give it by
PLAYOUT_TOKEN or --token-file. --host and --port say on which server.

\b
Exit codes are those of playout-lab test: 0 stronger, 1 not stronger, 125 undecided, stopped or an
error, 2 bad usage, 130 interrupted: the test goes on without you.
"""

_TUNE_EPILOG = """
\b
Examples:
  playout-lab tune uct
  playout-lab tune --time 0.1 --pairs 500    the bot in this folder
  playout-lab tune "uct(rave=true)" --pairs 500 --simulations 1000

\b
In lab.toml:
  [parameters]
  c = { range = [0.1, 2.0], start = 1.4 }                           an option of a player
  depth = { range = [1, 9], start = 4, argument = "--depth={}" }    of the bot in the folder
  noise = { range = [0.0, 1.0], start = 0.5, environment = "NOISE" }
  hash = { range = [1, 64], start = 16, setoption = "Hash" }        of an engine, by UCI or GTP

\b
Exit codes: 0 if the test at the end shows that the tuned values are stronger, 1 if it does not, 125
after an error.

The same command continues a tuning that was stopped or killed.
"""

_folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=".",
    help="The folder of the bot.  [default: this folder]",
)
_homes_option = click.option(
    "--laboratories",
    "homes",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PLAYOUT_LABORATORIES",
    show_envvar=True,
    help="Where journals and builds are kept.  [default: in your data folder]",
)

_file_option = click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The conditions, in a file that you trust.  [default: lab.toml in the folder of the bot]",
)

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

_summary_option = click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append the verdict and the report to this file, as Markdown.",
)

#: Add the options that replace values of lab.toml.
_values_options = combined(
    click.option("--game", "games", multiple=True, help="A game, with its parameters; repeatable."),
    click.option("--clock", help="The clock of each match, such as 10+0.1 or 0.1/move."),
    click.option("--elo1", type=float, help="The gain to look for, in normalized Elo."),
    click.option("--pairs", type=int, help="The maximum number of pairs."),
    click.option("--plies", type=int, help="Random moves at the start of each pair."),
)

#: Add these, and the options of a test that this command plays.
_conditions_options = combined(
    _folder_option,
    _homes_option,
    _file_option,
    _values_options,
    click.option("--concurrency", type=int, help="Matches at once.  [default: by the cores]"),
    click.option(
        "--http",
        metavar="HOST:PORT",
        default=USUAL_HTTP,
        callback=http_address,
        help=f"Address of the pages of a running test, or none.  [default: {USUAL_HTTP}, or "
        "another port if that is in use]",
    ),
    _summary_option,
)


@click.group(
    cls=OptionGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(version_of("playout"), prog_name="playout-lab")
def main() -> None:
    """Find out whether a version of a bot is stronger than another one."""


class _VerdictCommand(click.Command):
    """A command whose exit code 1 is a verdict: after an error, it exits with that of none."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises ClickException."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if error.exit_code != NOT_STRONGER:
                raise
            error.show()
            ctx.exit(UNDECIDED)


@main.command(cls=_VerdictCommand, epilog=_TEST_EPILOG)
@click.argument("versions", nargs=-1, metavar="[BASE [CANDIDATE]...]")
@_conditions_options
def test(versions: tuple[str, ...], summary: Path | None, **options: Any) -> None:
    """Test candidates against a base: is one of them stronger?

    A version is a revision of git, a folder, or a player with its options. Without a candidate, it
    is the working tree; without a base, that is the last commit.
    """
    sources, laboratory = _opened(**options)
    with _undecided_without_files():
        base, candidates = _chosen(sources, versions)
    different = [each for each in candidates if each.id != base.id]
    if not different:
        labels = ", ".join(each.label for each in candidates)
        _say(f"{labels} has the same files as {base.label}: not stronger", summary)
        sys.exit(NOT_STRONGER)
    trial, ledger = _tested(laboratory, base, different)
    _finish(trial, ledger, summary)


@contextlib.contextmanager
def _undecided_without_files() -> Iterator[None]:
    """Exit if the files of a version cannot be read. Raises UsageError for an unknown version."""
    try:
        yield
    except UnknownVersion as error:
        raise click.UsageError(str(error)) from error
    except SourceError as error:
        click.echo(f"playout-lab: {error}", err=True)
        sys.exit(UNDECIDED)


def _chosen(sources: VersionSources, typed: Sequence[str]) -> tuple[Version, list[Version]]:
    """Return the base and the candidates, each once. Raises SourceError, UsageError."""
    if not typed:
        base, candidate = sources.last_commit(), sources.working_tree()
        if base.id == candidate.id:
            raise click.UsageError(
                "the working tree has the files of the last commit: change something, or name two "
                "versions"
            )
        return base, [candidate]
    found = [sources.version(each) for each in typed]
    if len(found) == 1:
        found.append(sources.working_tree())
    base, *candidates = found
    return base, list({each.id: each for each in candidates}.values())


def _opened(
    folder: Path,
    homes: Path | None,
    file: Path | None,
    games: tuple[str, ...],
    plies: int | None,
    http: tuple[str, int] | None,
    **values: Any,
) -> tuple[VersionSources, Laboratory]:
    """Return the sources and the laboratory of a bot. Raises ClickException."""
    given: dict[str, Any] = {key: each for key, each in values.items() if each is not None}
    if games:
        given["games"] = list(games)
    if plies is not None:
        given["openings"] = {"plies": plies}
    conditions = _conditions(folder, homes, file, given)
    sources = _sources(folder, homes)
    return sources, Laboratory(sources.home, folder, conditions, http)


def _conditions(
    folder: Path, homes: Path | None, file: Path | None, given: Mapping[str, Any]
) -> Conditions:
    """Return the conditions of a file, or of that in the folder if there is one.

    The user trusts a file by naming it. Raises ClickException.
    """
    usual, homes = folder / LAB_FILE, _homes(homes)
    if file is None and not usual.is_file():
        return lab_file.read(None, given, folder)
    try:
        if file and usual.is_file() and file.samefile(usual):
            lab_file.trust(usual, homes)
        trusted = file is not None or lab_file.is_trusted(usual, homes)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    return lab_file.read(file or usual, given, folder, trusted=trusted)


def _homes(homes: Path | None) -> Path:
    """Return the folder of all laboratories."""
    return (homes or user_data_path("playout") / "laboratory").absolute()


def _sources(folder: Path, homes: Path | None) -> VersionSources:
    """Return the versions of the bot in a folder. Raises ClickException."""
    try:
        return VersionSources(folder, _homes(homes))
    except SourceError as error:
        raise click.ClickException(str(error)) from error


def _tested(
    laboratory: Laboratory, base: Version, candidates: Sequence[Version]
) -> tuple[VersionTest, Ledger]:
    """Build the versions and play the test; exits if that fails."""

    def failed(error: SourceError) -> None:
        click.echo(f"playout-lab: {error}", err=True)

    try:
        versions = laboratory.built_versions(base, candidates, failed)
    except SourceError as error:
        failed(error)
        sys.exit(UNDECIDED)
    laboratory.require_players([built for _, built in versions])  # before the test is a try
    trial = laboratory.begun([each for each, _ in versions])
    if trial.state not in ("open", "undecided"):
        click.echo(f"Test {trial.number} has its verdict already.")
    with _played(laboratory, trial, [built for _, built in versions]) as ledger:
        return laboratory.decided(trial, ledger), ledger


@contextlib.contextmanager
def _played(
    laboratory: Laboratory, trial: VersionTest, built: Sequence[Built], *, rounds: int = 0
) -> Iterator[Ledger]:
    """Play a test, or with `rounds` a confirmation; yield the ledger while no other process plays.

    Exits if it is interrupted or fails. Raises ClickException if another process plays it.
    """
    with laboratory.journal.in_use(trial) as is_free:
        if not is_free:
            raise click.ClickException(f"another playout-lab plays test {trial.number}")
        spec = laboratory.specification(trial, built, rounds=rounds, show=click.echo)
        try:
            ledger = laboratory.play(trial, spec, rounds or laboratory.conditions.pairs)
        except NotPlayed as stopped:
            sys.exit(stopped.code)
        yield ledger


def _finish(trial: VersionTest, ledger: Ledger, summary: Path | None) -> None:
    """Show the verdict, and exit with its code."""
    report = Results(ledger).report()
    for each in report.head_to_head:
        assert each.betting
        name, evidence = report.entrants[each.first].name, words.evidence(each.betting)
        elo = f"{words.elo(each.elo)} Elo in {counted(each.pairs.count, 'pair')}"
        without = each.without_luck
        luck = f", score without luck {words.without_luck(without)}" if without else ""
        click.echo(f"{name}: {elo}{luck}, evidence {evidence}")
    _say(verdict(trial, ledger), summary, writer("markdown")(report))
    if trial.state == "stronger":
        click.echo(
            "The Elo of a promotion is too high on average, as the test has stopped when it was "
            f"high: playout-lab confirm {trial.number} plays fresh pairs"
        )
    codes = {"stronger": STRONGER, "not stronger": NOT_STRONGER}
    sys.exit(codes.get(trial.state, UNDECIDED))


def _say(text: str, summary: Path | None, report: str = "") -> None:
    """Show a verdict, and append it to the summary with a report."""
    click.echo(text)
    if summary:
        with summary.open("a", encoding="utf-8") as file:
            file.write(f"**{text}**\n\n{report}\n")


@main.command(cls=_VerdictCommand, epilog=_SUBMIT_EPILOG)
@click.argument("versions", nargs=-1, metavar="[BASE [CANDIDATE]...]")
@_folder_option
@_homes_option
@_file_option
@_values_options
@click.option("--priority", type=click.IntRange(0, 9), help="Of your tests, the highest is first.")
@click.option("--no-wait", is_flag=True, help="Return when the test is in the queue.")
@sending_options(8082, "queue of tests", "PLAYOUT_LAB_SITE")
@server_options
@account_options
@_summary_option
def submit(
    versions: tuple[str, ...],
    folder: Path,
    homes: Path | None,
    file: Path | None,
    priority: int | None,
    site: str,
    server: ServerAddress,
    account: AccountChoice,
    summary: Path | None,
    *,
    no_wait: bool,
    insecure: bool,
    **values: Any,
) -> None:
    """Hand a test in to the queue of a server, and wait for its verdict.

    The versions are those of playout-lab test. The server decides about alpha, the openings and the
    sandbox; games, clock, elo1 and pairs of lab.toml are sent, unless options replace them.
    """
    client = SiteClient.of(site, account, server, insecure=insecure)
    sources = _sources(folder, homes)
    usual = folder / LAB_FILE
    wanted = asked(file or (usual if usual.is_file() else None), values)
    with _undecided_without_files():
        base, candidates = _chosen(sources, versions)
        name, content = archive_of([base, *candidates])
    wanted |= {"base": name, "priority": priority or 0}
    ticket = Ticket.handed_in(client, content, wanted)
    click.echo(f"Test {ticket.number}: {ticket.address}")
    if not no_wait:
        sys.exit(ticket.followed(summary))


@main.command()
@click.argument("number", type=int, required=False)
@_conditions_options
def confirm(number: int | None, summary: Path | None, **options: Any) -> None:
    """Play fresh pairs after a promotion, the last one or that of test NUMBER.

    They give the gain without the winner's curse: a test stops when the results are good, so that
    its own Elo is too high on average.
    """
    sources, laboratory = _opened(**options)
    promoted = [each for each in laboratory.journal if each.state == "stronger"]
    found = [each for each in promoted if number in (None, each.number)]
    if not found:
        which = f"test {number} is no promotion" if number else "no candidate was promoted yet"
        raise click.UsageError(f"{which}: see playout-lab list")
    trial = found[-1]
    place = trial.names.index(trial.winner)
    try:
        entrants = [
            laboratory.built(laboratory.version(trial, each, sources.repository))
            for each in (place, 0)
        ]
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    laboratory.require_players(entrants)
    confirmation = laboratory.journal.begun(
        trial.base,
        (trial.candidates[place - 1],),
        (trial.names[0], trial.winner),
        (trial.players[0], trial.players[place]),
        laboratory.conditions.digest,
        confirms=trial.number,
    )
    rounds = laboratory.conditions.confirm
    with _played(laboratory, confirmation, entrants, rounds=rounds) as ledger:
        report = Results(ledger).report()
    both = report.head_to_head[0]
    repeated = f" and {report.repeated} with moves of these" if report.repeated else ""
    laboratory.journal.put(
        confirmation,
        both.elo,
        state="confirmed",
        pairs=len(ledger.results),
        winner=trial.winner,
    )
    _say(
        f"{trial.winner} against {trial.names[0]}: {words.elo(both.elo)} Elo in {both.pairs.count} "
        f"fresh pairs{repeated}; test {trial.number}, which promoted it, said {trial.claimed}",
        summary,
        writer("markdown")(report),
    )


@main.command(cls=_VerdictCommand, epilog=_TUNE_EPILOG)
@click.argument("player", required=False)
@_folder_option
@_homes_option
@_file_option
@click.option(
    "--pairs",
    type=click.IntRange(2, 1_000_000),
    default=2000,
    show_default=True,
    help="The number of pairs.",
)
@click.option(
    "--time",
    type=FiniteRange(0, min_open=True),
    help="Seconds for each move.  [default: 0.05, without --simulations]",
)
@click.option("--simulations", type=click.IntRange(1), help="Simulations for each move.")
@click.option(
    "--confirm",
    type=click.IntRange(1, 20_000),
    help="Pairs of the test at the end.  [default: confirm in lab.toml, 1000]",
)
def tune(
    player: str | None,
    folder: Path,
    homes: Path | None,
    file: Path | None,
    pairs: int,
    time: float | None,
    simulations: int | None,
    confirm: int | None,
) -> None:
    """Find better values of the options of PLAYER, or of the bot in the folder.

    Each pair compares two sets of values of the parameters in lab.toml. With one or two parameters,
    a quadratic model is fitted to all results; with more, the values move towards the better side
    (SPSA). At the end, fresh pairs test the tuned values against the start values.
    """
    # Its import takes a fifth of the time in which `test` starts.
    from playout.laboratory.tuning import Tuning, TuningTerms, require_parameters

    conditions = _conditions(folder, homes, file, {})
    if simulations and player is None:
        raise click.UsageError("--simulations limits players; a bot has --time")
    require_parameters(conditions, program=player is None)
    limit = Limit(0.05 if time is None and simulations is None else time, simulations)
    sources = _sources(folder, homes)
    program = None
    if player is None:
        program = _program(sources, Laboratory(sources.home, folder, conditions, None), folder)
    else:
        add_current_folder(player)
    terms = TuningTerms.of(player or "bot", conditions, folder, limit, pairs, program)
    tuning = Tuning(sources.home, terms)
    start, tuned = tuning.play()
    click.echo(f"Start: {terms.named(start)}\nTuned: {terms.named(tuned)}")
    click.echo(f"The values after each pair: {tuning.draw()}")
    if terms.named(start) == terms.named(tuned):
        click.echo("The tuned values are the start values.")
        sys.exit(NOT_STRONGER)
    betting = Betting(
        elo1=conditions.elo1,
        alpha=conditions.alpha,
        beta=conditions.beta,
        without_luck=conditions.without_luck,
    )
    found, process = tuning.test(start, tuned, confirm or conditions.confirm, betting)
    is_stronger = process.state == "stronger"
    click.echo(f"Tuned against the start, {found.pairs} fresh pairs: {found}")
    evidence = f"evidence {words.evidence(process)}"
    click.echo(
        f"The tuned values are {'' if is_stronger else 'not shown to be '}stronger ({evidence})"
    )
    sys.exit(STRONGER if is_stronger else NOT_STRONGER)


def _program(sources: VersionSources, laboratory: Laboratory, folder: Path) -> TunedProgram:
    """Return the built bot in a folder. Raises ClickException."""
    from playout.laboratory.tuning import TunedProgram

    try:
        if sources.repository:
            version = sources.working_tree()
        else:
            version = sources.version(f"{folder.resolve()}/")
        entrant, build = laboratory.built(version)
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    sandbox = laboratory.conditions.sandbox
    if build and sandbox:
        sandbox = build.bot.sandbox(sandbox)
    return TunedProgram(replace(entrant, name="bot"), sandbox)


@main.command("list")
@_folder_option
@_homes_option
@_json_option
def list_(folder: Path, homes: Path | None, *, as_json: bool) -> None:
    """List the tests of this bot, the last one at the end."""
    tests = list(Journal(_sources(folder, homes).home))
    if as_json:
        click.echo(msgspec.json.encode(tests).decode())
        return
    if not tests:
        click.echo("No test yet: playout-lab test")
        return
    rows = [("test", "when", "base", "candidates", "pairs", "state")]
    for each in tests:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.at))
        base, *candidates = each.names
        number, pairs = str(each.number), str(each.pairs)
        rows.append((number, when, base, ", ".join(candidates), pairs, each.summary))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


@main.command()
@click.argument("number", type=int, required=False)
@_folder_option
@_homes_option
@report_options
def push(
    number: int | None,
    folder: Path,
    homes: Path | None,
    server: ServerAddress,
    account: AccountChoice,
    *,
    rated: bool,
) -> None:
    """Report the matches of test NUMBER, or of the last one, to a server, as your account.

    The test must have a verdict. The server shows and rates them as those of playout-tournament
    push.
    """
    journal = Journal(_sources(folder, homes).home)
    test = journal.chosen(number)
    if journal.lacks_matches(test):
        raise click.UsageError(f"the matches of test {test.number} were removed")
    if test.state in ("open", "undecided"):
        text = f"test {test.number} has no verdict yet: with a larger --pairs it is continued"
        raise click.UsageError(text)
    report(None, server, account, journal.database(test), rated=rated)


@main.command()
@click.argument("number", type=int, required=False)
@click.argument("version", required=False)
@_folder_option
@_homes_option
@_json_option
@click.option(
    "--matches",
    type=click.IntRange(1, 10),
    default=3,
    show_default=True,
    help="The number of matches.",
)
@click.option(
    "--seconds",
    type=FiniteRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="The time of the search in all.",
)
def losses(
    number: int | None,
    version: str | None,
    folder: Path,
    homes: Path | None,
    matches: int,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Show the most instructive matches that a version has lost, and the moves that cost most.

    NUMBER is a test, by default the last one; VERSION is a name in the test or its beginning, by
    default the first candidate. A search finds the moves that lowered the win rate most in the
    shortest lost matches, and those with the costliest move are shown.
    """
    from playout.laboratory.losses import losses_of  # it imports players, as `tune` does

    journal = Journal(_sources(folder, homes).home)
    found = losses_of(journal, folder, number, version, matches, seconds, progress.say)
    if as_json:
        click.echo(msgspec.json.encode(found).decode())
        return
    click.echo(f"{found.version} in test {found.test}: {found.summary}")
    for each in found.matches:
        click.echo("\n".join(each.lines()))


@main.command()
@_folder_option
@_homes_option
@_file_option
def mcp(folder: Path, homes: Path | None, file: Path | None) -> None:
    """Offer tests as tools to an agent that writes the bot, by the Model Context Protocol (MCP).

    The tools build and test candidates, list the tests, and show lost matches and logs:
    docs/laboratory.md lists them. The conditions are those of lab.toml when the command starts.
    When the input is closed, a running test is interrupted.
    """
    tools = imported("playout.laboratory.lab_tools")
    conditions, sources = _conditions(folder, homes, file, {}), _sources(folder, homes)
    file = file or (folder / LAB_FILE if (folder / LAB_FILE).is_file() else None)
    laboratory = Laboratory(sources.home, folder, conditions, None)
    words = ["--folder", str(folder.absolute()), "--laboratories", str(sources.home.parent)]
    with contextlib.ExitStack() as stack:
        if file:  # the agent may change that in the folder
            fixed = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".toml"))
            fixed.write(file.read_bytes())
            fixed.flush()
            words += ["--file", fixed.name]
        offered = tools.LabTools(folder, sources, laboratory, tuple(words))
        asyncio.run(tools.serve(offered, stack.close))


@main.command()
@_folder_option
@click.option("--game", "games", multiple=True, help="A game, with its parameters; repeatable.")
@click.option("--protocol", type=click.Choice(BOT_PROTOCOLS), help="The protocol of the bot.")
@click.option("--command", help="The command that starts the bot.")
@click.option("--build", help="The command that builds it, if it has to be built.")
def new(
    folder: Path,
    games: tuple[str, ...],
    protocol: str | None,
    command: str | None,
    build: str | None,
) -> None:
    """Write lab.toml for a bot, and bot.toml if it needs one and has none.

    Missing options are asked for. Without a bot, playout-player new-bot writes a first one.
    """
    chosen = games or (click.prompt("The game", default="connect_four"),)
    try:
        loaded = [load(registered(each, folder)) for each in chosen]
    except SpecError as error:
        raise click.UsageError(str(error)) from error
    named = [plugins.as_argument(str(each)) for each in loaded]
    files: dict[Path, str] = {}
    if protocol or command or build or not _describes(folder):
        protocol = protocol or click.prompt(
            "The protocol of the bot", type=click.Choice(BOT_PROTOCOLS), default="lines"
        )
        asked = ("The command that starts it", "python3 bot.py")
        if protocol == "python":
            asked = ("The file of its class", "bot.py")
        command = command or click.prompt(asked[0], default=asked[1])
        keys = {"protocol": protocol, "command": command, "build": build}
        files[folder / BOT_FILE] = "".join(
            f"{key} = {notation(value)}\n" for key, value in keys.items() if value
        )
    files[folder / LAB_FILE] = lab_toml(named)
    write_new(files, "edit it, or remove it first")
    for path in files:
        click.echo(f"Wrote {path}")
    written = " and ".join(path.name for path in files)
    trusting = f" --file {LAB_FILE}" if any(map(plugins.is_target, named)) else ""
    click.echo(f"Next: commit {written}, change the bot, and run: playout-lab test{trusting}")


def _describes(folder: Path) -> bool:
    """Return whether the files of a folder say how its bot is started: by bot.toml or a class."""
    if (folder / BOT_FILE).exists():
        return True
    try:
        found = read_bot(folder)
    except BotFileError:
        return False
    return "Player" in (folder / found.command).read_text(encoding="utf-8", errors="replace")
