"""`playout-tournament push`: reports a finished tournament of the local database to a server."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import click

from playout.commands.connect_options import (
    AccountChoice,
    Conversation,
    ServerAddress,
    own_account_options,
    server_option,
)
from playout.commands.options import combined
from playout.commands.progress import INTERVAL_S, doing, say
from playout.commands.text import counted
from playout.protocol.messages import Event, MatchesReported, ReportMatches
from playout.server.cli.database_commands import opened
from playout.server.model.records import StoredTournament
from playout.server.organizer.commands import database_option
from playout.server.organizer.local_server import organizer_hello
from playout.server.organizer.progress import stored_tournament
from playout.server.tournament.reported import (
    MOST_BYTES,
    MOST_MATCHES,
    lines_of,
    packed,
    whole_of,
)

#: Maximum length of the matches of a request.
_LONGEST = 48_000

_EPILOG = """
\b
Examples:
  playout-tournament push --server play.example:4242 --tls --name Ada
  playout-tournament push 19a3f0c2e10001 --server 127.0.0.1:4242 --name Ada

Exit codes: 0 reported, also if it was before; 1 something failed: the same command continues.
"""


#: Add the options about the server that a tournament is reported to.
report_options = combined(
    server_option("The server to report to.", "127.0.0.1:4242"),
    own_account_options,
    click.option(
        "--rated",
        is_flag=True,
        help="As an administrator: the matches count as those of the server.",
    ),
)


@click.command(epilog=_EPILOG)
@click.argument("tournament", metavar="[ID]", required=False)
@report_options
@database_option
def push(
    tournament: str | None,
    server: ServerAddress,
    account: AccountChoice,
    database: str,
    *,
    rated: bool,
) -> None:
    """Report the finished tournament ID, or the latest, to a server, as your account.

    The server checks that all matches follow the rules, shows the tournament as reported by you,
    and rates its players on a list of its own. Analyses and commands are not sent. What was
    reported before is not sent again.
    """
    report(tournament, server, account, database, rated=rated)


def report(
    tournament: str | None,
    server: ServerAddress,
    account: AccountChoice,
    database: str,
    *,
    rated: bool,
) -> None:
    """Report a tournament of the database at a URL, the latest without an id.

    Raises ClickException.
    """
    saved = account.saved(server)
    token = saved.token() if saved else None
    if token is None:
        raise click.ClickException(
            f"no token of {account.name} on {server} is stored here: give it by PLAYOUT_TOKEN or "
            "--token-file FILE"
        )
    with opened(database) as found, doing("Reading the tournament"):
        stored = stored_tournament(found, tournament)
        its_id = stored.created.tournament
        if not stored.ended:
            text = f"tournament {its_id} is not over: resume or conclude it first"
            raise click.ClickException(text)
        lines = list(lines_of(stored))
    hello = organizer_hello(account.name or "", token)
    was_over, sent, answer = server.converse(_report(stored, lines, rated=rated), hello)
    text = "was reported before" if was_over else f"is reported, {counted(sent, 'match')} sent now"
    click.echo(f"Tournament {its_id} {text}: it is {answer.tournament} on {server}.")


def _report(
    stored: StoredTournament, lines: Sequence[bytes], *, rated: bool
) -> Conversation[tuple[bool, int, MatchesReported]]:
    """Report matches; return whether all was known before, the number sent, and the last answer."""
    numbers, said_at = itertools.count(1), time.monotonic()

    def request(first: int = 0, matches: str = "", whole: str = "") -> ReportMatches:
        return ReportMatches(
            id=next(numbers),
            tournament=stored.created.tournament,
            at=stored.created.at,
            first=first,
            matches=matches,
            whole=whole,
            rated=rated,
        )

    answer = _checked((yield request()))
    was_over, before = answer.over, answer.matches
    while answer.matches < len(lines) and not answer.over:
        if time.monotonic() >= said_at + INTERVAL_S:
            said_at = time.monotonic()
            say(f"{answer.matches:,} of {counted(len(lines), 'match')} reported ...")
        first = answer.matches
        answer = _checked((yield request(first, _next(lines, first))))
        if answer.matches <= first:
            raise click.ClickException("the server has stored no match: try again later")
    if not answer.over:
        answer = _checked((yield request(answer.matches, "", packed(whole_of(stored)))))
    return was_over, answer.matches - before, answer


def _checked(answer: Event) -> MatchesReported:
    if not isinstance(answer, MatchesReported):
        raise click.ClickException(f"the server has answered with {answer.tag()}")
    return answer


def _next(lines: Sequence[bytes], first: int) -> str:
    """Return the next matches, as many as fit into a request. Raises ClickException."""
    most = MOST_MATCHES
    while most:
        text = b"".join(lines[first : first + most])
        if len(text) <= MOST_BYTES and len(found := packed(text)) <= _LONGEST:
            return found
        most //= 2
    raise click.ClickException(f"match number {first} of the tournament is too long to be sent")
