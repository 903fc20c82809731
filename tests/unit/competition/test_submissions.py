"""playout.competition.submissions: the folder of a competition, and the order of its queue."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from playout.competition.submissions import Submissions
from playout.server.core.accounts import DAY_S
from playout.server.tournament.competition_file import read
from support.competitions import Cup, handed_in


@pytest.fixture
def submissions(tmp_path: Path) -> Iterator[Submissions]:
    found = Submissions(read(Cup(tmp_path, more="submissions_per_day = 2").file))
    found.lock()
    yield found
    found.close()


def test_a_process_knows_what_the_one_before_has_stored_at_last(
    submissions: Submissions,
) -> None:
    """It has read the folder while the other one still had the lock."""
    after = Submissions(submissions.competition)
    number = handed_in(submissions, "Ada").id
    submissions.close()
    after.lock()
    assert after.get(number)
    assert handed_in(after, "Bob").id == number + 1
    after.close()


def test_remains_of_a_failure_do_not_stop_the_next_submission(submissions: Submissions) -> None:
    (submissions.folder / "incoming" / "000001" / "upload").mkdir(parents=True)
    assert handed_in(submissions, "Ada").id == 1
    assert [each.team for each in Submissions(submissions.competition)] == ["Ada"]


def test_teams_with_fewer_submissions_come_first(submissions: Submissions) -> None:
    order = [handed_in(submissions, team) for team in ("Ada", "Ada", "Ada", "Bob", "Bob")]
    handled = []
    while each := submissions.next_queued():
        handled.append(each.id)
        submissions.put(structs.replace(each, state="refused", ended_at=time.time()))
    assert handled == [order[number].id for number in (0, 3, 1, 4, 2)]


def test_the_submissions_of_a_day_are_counted_by_team(submissions: Submissions) -> None:
    now = time.time()
    handed_in(submissions, "Ada", now - DAY_S - 1)
    handed_in(submissions, "Ada", now)
    handed_in(submissions, "Bob", now)
    assert not submissions.is_full("Ada", now)
    handed_in(submissions, "Ada", now)
    assert submissions.is_full("Ada", now)
    assert not submissions.is_full("Bob", now)
