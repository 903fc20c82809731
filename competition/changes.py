"""What an operator changes in a competition, by a command or on the page.

Each function raises ValueError, whose text is for the operator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import structs

from playout.commands.text import utc
from playout.competition.submissions import Submissions


def extend(submissions: Submissions, until: str) -> None:
    """Extend the deadline to a time of ISO 8601; open the competition again if it is closed."""
    deadline = datetime.fromisoformat(until)
    if deadline.tzinfo is None:
        raise ValueError(f"{until} needs an offset from UTC, as in 2026-12-18T20:00+01:00")
    at = deadline.timestamp()
    if at < max(submissions.deadline, time.time()):
        raise ValueError(
            f"{until} is not after now and {utc(submissions.deadline):%Y-%m-%d %H:%M UTC}"
        )
    if (submissions.folder / "final.db").exists():
        raise ValueError("the final has begun: there is nothing to extend")
    submissions.change(lambda changes: structs.replace(changes, deadline=at, closed=False))


def retry(submissions: Submissions, number: str) -> None:
    """Put a submission that met a fault of the server into the queue again."""
    found = submissions.get(int(number)) if number.isdecimal() and len(number) < 9 else None
    if found is None or found.state != "failed":
        raise ValueError(f"submission {number} has met no fault of the server")
    retried = {found.id: time.time()}
    submissions.change(
        lambda changes: structs.replace(changes, retried={**changes.retried, **retried})
    )


def ban(submissions: Submissions, team: str) -> None:
    """Let a team hand in nothing, and take its bot from the ladder and the final."""
    competition = submissions.competition
    teams = {each.team for each in submissions}
    teams |= {each.team for each in (competition.roster or {}).values()}
    if team not in teams:
        raise ValueError(f"no team {team!r} is on the roster, or has handed in")
    unban(submissions, team)
    submissions.change(lambda changes: structs.replace(changes, banned=(*changes.banned, team)))


def unban(submissions: Submissions, team: str) -> None:
    """Lift the ban of a team."""
    submissions.change(
        lambda changes: structs.replace(
            changes, banned=tuple(each for each in changes.banned if each != team)
        )
    )


#: What is changed by a value, by its name.
CHANGES: Mapping[str, Callable[[Submissions, str], None]] = {
    "extend": extend,
    "retry": retry,
    "ban": ban,
    "unban": unban,
}
