"""The command `playout-competition`: describes, checks, closes and evaluates competitions."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

import click
from msgspec import structs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from playout import games, players
from playout.bots.site_client import site_option
from playout.bots.uploads import REQUEST_S
from playout.cluster import require_dask
from playout.commands.options import OptionGroup
from playout.commands.progress import doing
from playout.commands.subprocesses import begin, own, own_environment
from playout.commands.text import csv_text, utc, write_new
from playout.competition import final as finals
from playout.competition.submissions import CHANGES, FolderInUse, Submissions
from playout.competition.submit_command import SITE
from playout.games.core import spec
from playout.sandbox import machine
from playout.server.cli.database_commands import opened
from playout.server.cli.server_options import its_database_option
from playout.server.core.accounts import Directory, digest
from playout.server.model.records import Account
from playout.server.organizer.spec_file import SpecFileError
from playout.server.storage import Database
from playout.server.tournament.competition_file import Competition, CompetitionFileError, read
from playout.server.tournament.report import writer
from playout.server.tournament.results import Results

#: Seconds between two looks at the queue.
_LOOK_S = 0.5

EPILOG = """
\b
Examples:
  playout-competition new autumn.toml --game connect_four
  playout-competition check autumn.toml
  playout-competition accounts autumn.toml > tokens.csv     of the roster
  playout-server --competition autumn.toml          serves it
  playout-competition status autumn.toml
  playout-competition ban autumn.toml Reds
  playout-competition close autumn.toml             accepts nothing more
  playout-competition final autumn.toml             plays the final
  playout-competition export autumn.toml --csv grades.csv

Everything that is handed in is in the folder autumn/ beside the file.

\b
Exit codes: 0 done, 1 something failed, 2 bad usage or a file with errors.
"""

_TEMPLATE = """\
# A competition of Playout: see docs/competitions.md.
title = "{title}"
{games}
clock = "10+1"                        # 10 seconds for a match, and 1 for each move
# opens = {now}        # otherwise at once
deadline = {deadline}
# roster = "class.csv"                # account,team,name; without it, every account may hand in
# protocols = ["python", "lines"]     # otherwise also gtp, uci and gomocup
# builds = false                      # no build commands
# build_hosts = ["pypi.org", "files.pythonhosted.org"]  # what builds may reach
submission_mb = 16
submissions_per_day = 20
pause_s = 60                          # longest wait of a bot between two pairs of matches
cores = 1                             # of a match, which its two bots share
visible = true                        # whether everybody sees the standings

[sandbox]                             # of each bot: see docs/sandbox.md
memory_mb = 512
processes = 64
{without}
[[house]]                             # submissions have to play two matches against the first one
name = "House random"
player = "random"

[[house]]
name = "House search"
player = "uct(simulations=200)"

[final]
format = "round_robin"
rounds = 2                            # pairs of matches for each two bots
seed = 1
"""


@click.group(
    cls=OptionGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(version("playout"), prog_name="playout-competition")
def main() -> None:
    """Run competitions of bots that are handed in as code."""


_file = click.argument(
    "file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False)
)


@main.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--game",
    "named",
    multiple=True,
    default=("connect_four",),
    show_default="connect_four",
    help="A game; repeatable.",
)
@click.option(
    "--days", default=14, show_default=True, type=click.IntRange(1), help="Days to the deadline."
)
def new(file: Path, named: tuple[str, ...], days: int) -> None:
    """Write the FILE of a new competition, to be edited."""
    try:
        loaded = [games.load(each) for each in named]
    except games.SpecError as error:
        raise click.UsageError(str(error)) from error
    chosen = [f'"{game}"' for game in loaded]
    now = datetime.now(UTC).replace(microsecond=0, second=0)
    lacking = machine.missing()
    text = _TEMPLATE.format(
        title=file.stem,
        games=f"games = [{', '.join(chosen)}]" if len(chosen) > 1 else f"game = {chosen[0]}",
        now=now.isoformat(),
        deadline=(now + timedelta(days=days)).isoformat(),
        without='without = ["cgroup"]                  # there is no systemd here\n'
        if "cgroup" in lacking
        else "",
    )
    write_new({file: text}, "choose another name")
    click.echo(f"Wrote {file}. Next: playout-competition check {file}")


@main.command()
@_file
def check(file: Path) -> None:
    """Check FILE, its house bots, and whether this machine can enforce its sandbox."""
    competition = _read(file)
    if competition.cluster:
        require_dask()
    faults = []
    for bot, game in itertools.product(competition.house, competition.games):
        try:
            with doing(f"Preparing {bot.name}"):
                players.load(spec.parse(bot.player), games.load(game)).close()
        except games.SpecError as error:
            faults.append(f"{file}: {bot.name}: {error}")
    try:
        machine.require(competition.sandbox, network=bool(competition.build_hosts))
    except machine.SandboxError as error:
        faults.append(f"{file}: sandbox: {error}")
    if faults:
        raise SpecFileError("\n".join(faults))
    roster = competition.roster
    click.echo(
        f"{competition.title}: {', '.join(competition.games)}, clock {competition.clock}, until "
        f"{utc(competition.deadline):%Y-%m-%d %H:%M UTC}, "
        + (f"{len(roster)} accounts on the roster" if roster is not None else "for every account")
    )
    click.echo(f"It can be served: playout-server --competition {file}")


@main.command()
@_file
@site_option(*SITE)
@its_database_option
def accounts(file: Path, site: str, database: str) -> None:
    """Make the accounts of the roster of FILE that do not exist, and print their tokens as CSV.

    With its link, which begins with --site, a student is logged in on the page of the competition.
    The accounts are in the server's --database. Each token is shown only once. The names of teams
    and house bots become accounts without a token, so that nobody else takes them.
    """
    competition = _read(file)
    roster = competition.roster
    if roster is None:
        raise click.UsageError(f'{file} has no roster: add roster = "class.csv"')
    click.echo(csv_text([("account", "name", "token", "link")]), nl=False)
    with opened(database, create=True) as stored:
        known = Directory(stored.accounts()[0])
        for each in roster.values():
            if known.like(each.account) is None:
                token = secrets.token_hex(16)
                _make_account(stored, known, each.account, digest(token))
                query = urlencode({"account": each.account, "token": token})
                link = f"{site.rstrip('/')}/{competition.name}/#{query}"
                click.echo(csv_text([(each.account, each.name, token, link)]), nl=False)
        teams = [each.team for each in roster.values()]
        for name in (*teams, *competition.others):
            if known.like(name) is None:
                _make_account(stored, known, name, "")


@main.command()
@_file
def status(file: Path) -> None:
    """Show how far the submissions of FILE have come."""
    submissions = Submissions(_read(file))
    table = Table(box=None)
    for column in ("No.", "team", "file", "handed in (UTC)", "state", "stage", "version", "reason"):
        table.add_column(column, overflow="fold", no_wrap=column == "version")
    for each in submissions:
        at = f"{utc(each.at):%m-%d %H:%M:%S}"
        row = (str(each.id), each.team, each.file, at, each.state, each.stage, each.version)
        table.add_row(*map(Text, (*row, each.reason)))
    Console().print(table)
    counts = Counter(each.state for each in submissions)
    shown = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    click.echo(f"{_period(submissions)} {shown or 'Nothing was handed in'}.")


@main.command()
@_file
def close(file: Path) -> None:
    """Accept nothing more, and wait until the queue of FILE is empty.

    The file of the final is written then. After the deadline, this does not change what counts.
    """
    submissions = Submissions(_read(file))
    submissions.change(lambda changes: structs.replace(changes, closed=True))
    with doing("Waiting for the queue"):
        while waiting := Submissions(submissions.competition).unfinished():
            if not _is_served(submissions.competition):
                raise click.ClickException(
                    f"closed; but {waiting} submissions are in the queue, and no server handles "
                    f"them: start playout-server --competition {file}"
                )
            time.sleep(_LOOK_S)
    path = _final_file(Submissions(submissions.competition))
    click.echo(f"Closed. The final is {path}: playout-competition final {file}")


@main.command()
@_file
@click.argument("until", metavar="TIME")
def extend(file: Path, until: str) -> None:
    """Extend the deadline of FILE to TIME, such as 2026-12-18T20:00+01:00; also after a close."""
    submissions = Submissions(_read(file))
    _change("extend", submissions, until)
    click.echo(_period(submissions))


@main.command()
@_file
@click.argument("numbers", metavar="[NUMBER]...", nargs=-1)
def retry(file: Path, numbers: tuple[str, ...]) -> None:
    """Put submissions of FILE that met a fault of the server into the queue again.

    Without a NUMBER, all of them.
    """
    submissions = Submissions(_read(file))
    chosen = numbers or [str(each.id) for each in submissions if each.state == "failed"]
    for number in chosen:
        _change("retry", submissions, number)
    click.echo(f"{len(chosen)} submissions are in the queue again.")


@main.command()
@_file
@click.argument("team", metavar="TEAM")
@click.option("--no", "never", is_flag=True, help="Lift the ban.")
def ban(file: Path, team: str, never: bool) -> None:
    """Ban TEAM: it hands in nothing, and its bot leaves the ladder and the final of FILE.

    A match that it plays goes on.
    """
    _change("unban" if never else "ban", Submissions(_read(file)), team)
    click.echo(f"{team} is {'not banned' if never else 'banned'}.")


@main.command()
@_file
@click.option("--here", is_flag=True, help="Play on this machine, even if FILE has a [cluster].")
@click.argument("options", metavar="[-- OPTION...]", nargs=-1, type=click.UNPROCESSED)
def final(file: Path, here: bool, options: tuple[str, ...]) -> None:
    """Play the final of FILE, a tournament of the last accepted version of each team.

    The workers of its [cluster] play it, if there is one. It can be interrupted: the same command
    continues it. Its report is written as HTML and CSV. OPTIONs are those of playout-tournament
    run.
    """
    submissions = Submissions(_read(file))
    if submissions.is_open(time.time() - REQUEST_S):
        raise click.UsageError(
            f"it is still open, and for {REQUEST_S / 60:g} minutes after the deadline for uploads "
            f"that began before: playout-competition close {file}"
        )
    if waiting := submissions.unfinished():
        raise click.ClickException(f"{waiting} submissions are still in the queue")
    path = submissions.folder / "final.toml"
    words = ["run", str(path)]
    if _has_final(submissions):
        words = ["resume", "--spec", str(path)]
    else:
        _final_file(submissions)
    if (cluster := submissions.competition.cluster) and not here:
        words += ["--dask", cluster.dask, "--host", cluster.server[0]]
    words += ["--database", finals.database_of(submissions), "--http", "none", *options]
    _run(own("playout.server.organizer.tournament_command:main", *words))
    report = Results(finals.ledger_of(submissions)).report(public=True)
    for format_ in ("csv", "html"):  # the page shows the latter
        path = path.with_suffix(f".{format_}")
        path.write_text(writer(format_)(report), encoding="utf-8")
    click.echo(f"The report is {path}. Next: playout-competition export {file} --csv FILE")


@main.command()
@_file
@click.option(
    "--csv",
    "output",
    required=True,
    type=click.File("w", encoding="utf-8", lazy=True),
    metavar="FILE",
    help="The file to write; - is the standard output.",
)
@its_database_option
def export(file: Path, output: IO[str], database: str) -> None:
    """Write a ranking for grades: by the final if it was played, otherwise by the ladder.

    The ladder is read from the server's --database.
    """
    submissions = Submissions(_read(file))
    if not _has_final(submissions):
        with opened(database):
            pass  # it exists
    output.write(finals.grades_text(submissions, database))


def _change(name: str, submissions: Submissions, value: str) -> None:
    """Change something in a competition; a running server notices it. Raises UsageError."""
    try:
        CHANGES[name](submissions, value)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _read(file: Path) -> Competition:
    try:
        return read(file)
    except CompetitionFileError as error:
        raise SpecFileError(str(error)) from error


def _make_account(stored: Database, known: Directory, name: str, its_digest: str) -> None:
    account = Account(id=secrets.token_hex(8), name=name, digest=its_digest, created_at=time.time())
    stored.put_account(account)
    known.put(account)


def _period(submissions: Submissions) -> str:
    """Return a sentence about when submissions are taken."""
    opens, deadline = utc(submissions.competition.opens), utc(submissions.deadline)
    if submissions.changes.closed:
        return "Closed."
    if submissions.is_open(time.time()):
        return f"Open until {deadline:%Y-%m-%d %H:%M UTC}."
    if time.time() < opens.timestamp():
        return f"Opens on {opens:%Y-%m-%d %H:%M UTC}."
    return f"The deadline was on {deadline:%Y-%m-%d %H:%M UTC}."


def _is_served(competition: Competition) -> bool:
    """Return whether a server runs the competition: it has the lock of its folder."""
    try:
        with Submissions.locked(competition.folder):
            return False
    except FolderInUse:
        return True


def _final_file(submissions: Submissions) -> Path:
    try:
        return finals.write_file(submissions)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _has_final(submissions: Submissions) -> bool:
    """Return whether the final has begun. Raises ClickException if its database has a fault."""
    if (submissions.folder / finals.DATABASE).exists():
        with opened(finals.database_of(submissions)):
            pass  # it can be used
    return finals.has_begun(submissions)


def _run(words: list[str]) -> None:
    """Run a command of Playout at this terminal; exit with its code if it fails.

    It ends with this process, also if that is killed.
    """
    first = partial(begin, os.getpid(), signal.SIGKILL, 0)
    code = subprocess.run(words, env=own_environment(), check=False, preexec_fn=first).returncode
    if code:
        sys.exit(code if code > 0 else 128 - code)
