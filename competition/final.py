"""The final of a competition: a tournament of the last accepted versions, and the grades.

Its file, `NAME/final.toml`, is one of `playout-tournament`, so that everything about tournaments
holds for it: its report, its resumption, and that the same seed gives the same pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import tomli_w

from playout.commands.text import csv_text
from playout.competition.stages import tournament_spec
from playout.competition.standings import OverallStanding, overall, standings
from playout.competition.submissions import Submissions, read_uses
from playout.players.engines.process import MatchUse
from playout.protocol.messages import Fixture, Reason
from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import Entrant
from playout.server.organizer.progress import stored_ledger, stored_tournament
from playout.server.organizer.supervisor import entrant_table, sandbox_table
from playout.server.storage import Database
from playout.server.tournament.competition_file import Competition
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import Report
from playout.server.tournament.results import Results

#: The file in the folder of a competition with what bots have used in matches of the final.
USES = "final.jsonl"
#: The report on the final, in the folder of a competition, and the database with its matches.
REPORT, DATABASE = "final.html", "final.db"
#: The endings of lost matches that are failures of a bot, not of its play.
_FAILURES = (
    Reason.TIME,
    Reason.ILLEGAL_MOVES,
    Reason.ABANDONMENT,
    Reason.RESIGNATION,
    Reason.CRASH,
)
_COLUMNS = ("place", "team", "accounts", "names", "version", "points", "matches", "rating",
            "error", "failures", "cpu_s", "memory_mb")  # fmt: skip


class Grade(msgspec.Struct, frozen=True):
    """A team's row in the ranking; `failures` is None where it is not known."""

    team: str
    version: str
    points: float
    matches: int
    rating: float | None
    error: float | None
    failures: int | None = None


def write_file(submissions: Submissions) -> Path:
    """Write the file of the final, and return its path. Raises ValueError for too few bots."""
    competition = submissions.competition
    entered = list(submissions.accepted().values())
    if not entered:
        raise ValueError("no submission was accepted: there is no final")
    spec = tournament_spec(submissions, entered)
    top = {
        "name": f"{competition.title}: final",
        "games": competition.games,
        "format": competition.final.format,
        "rounds": competition.final.rounds,
        "seed": competition.final.seed,
        "clock": competition.clock,
        "openings": {"plies": 2},
    }
    path = submissions.folder / "final.toml"
    house = (Entrant(each.name, "", player=each.player) for each in competition.house)
    tables = [_entrant(each, submissions.folder) for each in (*spec.entrants, *house)]
    assert spec.sandbox
    sandbox = sandbox_table(replace(spec.sandbox, uses=USES))
    values = {**top, "sandbox": sandbox, "entrants": tables}
    path.write_text(tomli_w.dumps(values), encoding="utf-8")
    return path


def _entrant(entrant: Entrant, folder: Path) -> dict[str, object]:
    """Return the keys of an entrant; folders are relative to that of the file."""
    table = entrant_table(entrant)
    if entrant.folder:
        table["folder"] = str(Path(entrant.folder).relative_to(folder))
    return table


def grades_of_final(report: Report, competition: Competition) -> list[Grade]:
    """Return the ranking by the final, without house bots."""
    house = {skeleton(each.name) for each in competition.house}
    found = []
    for row in report.standings:
        entrant = report.entrants[row.entrant]
        if skeleton(entrant.name) in house:
            continue
        rating = report.ratings[row.entrant] if report.ratings else None
        endings = report.endings[row.entrant]
        counts = row.counts
        found.append(
            Grade(
                entrant.name,
                entrant.version,
                row.points,
                counts.won + counts.tied + counts.lost,
                rating.value if rating else None,
                rating.error if rating else None,
                sum(each.lost for reason, each in endings.items() if reason in _FAILURES),
            )
        )
    return found


def grades_of_ladder(rows: Sequence[OverallStanding], competition: Competition) -> list[Grade]:
    """Return the ranking of the current versions by the ladders, without house bots."""
    house = {each.name for each in competition.house}
    return [
        Grade(
            each.name,
            each.version,
            each.points,
            each.matches,
            each.rating,
            each.error,
        )
        for each in rows
        if not (each.name in house or each.retired)
    ]


def database_of(submissions: Submissions) -> str:
    """Return the URL of the database of the final."""
    return f"sqlite:///{submissions.folder.absolute() / DATABASE}"


def has_begun(submissions: Submissions) -> bool:
    """Return whether the final has begun. Raises StorageError."""
    if not (submissions.folder / DATABASE).exists():
        return False
    with closing(Database(database_of(submissions))) as database:
        return bool(database.tournaments())


def ledger_of(submissions: Submissions) -> Ledger:
    """Return the ledger of the final. Raises StorageError."""
    with closing(Database(database_of(submissions))) as database:
        return stored_ledger(stored_tournament(database, None))


def grades_text(submissions: Submissions, database: str) -> str:
    """Return the ranking for grades as CSV: by the final if it has begun, otherwise by the ladder.

    The ladder is in the server's `database`. Raises StorageError.
    """
    competition = submissions.competition
    if has_begun(submissions):
        ledger = ledger_of(submissions)
        grades = grades_of_final(Results(ledger).report(), competition)
        uses = uses_of_final(submissions, ledger.fixtures.values())
    else:
        grades = grades_of_ladder(overall(standings(database, competition.games)), competition)
        uses = uses_of_ladder(submissions)
    return grades_as_csv(grades, submissions, uses)


def uses_of_ladder(submissions: Submissions) -> Mapping[str, Sequence[MatchUse]]:
    """Return the resource usage of the last accepted submissions in their matches, by team."""
    return {team: submissions.uses(each) for team, each in submissions.accepted().items()}


def uses_of_final(
    submissions: Submissions, fixtures: Iterable[Fixture]
) -> Mapping[str, Sequence[MatchUse]]:
    """Return the resource usage of the bots in matches of the final, by team."""
    players = {each.match: each.players for each in fixtures}
    found = defaultdict(list)
    for use in read_uses(submissions.folder / USES):
        if use.match in players:
            found[players[use.match][use.seat - 1]].append(use)
    return found


def grades_as_csv(
    grades: Sequence[Grade], submissions: Submissions, uses: Mapping[str, Sequence[MatchUse]]
) -> str:
    """Return the ranking as CSV, with the names of the roster; also teams without a bot.

    Of `uses`, `cpu_s` is the mean of the processor time in a match, `memory_mb` the maximum.
    """
    competition = submissions.competition
    people = competition.roster.values() if competition.roster else ()
    rows: list[Sequence[str | float | None]] = [_COLUMNS]
    for place, each in enumerate(grades, start=1):
        mine = [one for one in people if skeleton(one.team) == skeleton(each.team)]
        accounts = "; ".join(one.account for one in mine) or each.team
        names = "; ".join(one.name for one in mine) or each.team
        numbers = (_rounded(each.rating), _rounded(each.error), each.failures)
        row = (place, each.team, accounts, names, each.version, each.points, each.matches)
        rows.append((*row, *numbers, *_used(uses.get(each.team))))
    graded = {skeleton(each.team) for each in grades}
    for one in people:
        if skeleton(one.team) not in graded:
            unknown = (None,) * 5
            rows.append(("", one.team, one.account, one.name, "", 0, 0, *unknown))
    return csv_text(rows)


def _used(uses: Sequence[MatchUse] | None) -> tuple[str, str]:
    """Return the mean processor time and the maximum memory of some matches."""
    if not uses:
        return "", ""
    mean_s = sum(each.cpu_s for each in uses) / len(uses)
    return f"{mean_s:.2f}", f"{max(each.memory_mb for each in uses)}"


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
