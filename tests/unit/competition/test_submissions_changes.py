"""playout.competition.submissions: what an operator changes while a competition runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from playout.competition.submissions import Submissions, ban, extend, retry, unban
from playout.server.tournament.competition_file import read
from support.competitions import Cup, handed_in


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Submissions]:
    """A competition whose deadline was an hour ago, as the process of the server has it."""
    before = datetime.now(UTC) - timedelta(hours=1)
    found = Submissions(read(Cup(tmp_path, deadline=before.isoformat()).file))
    found.lock()
    yield found
    found.close()


@pytest.fixture
def operators(running: Submissions) -> Submissions:
    """The same competition in another process."""
    return Submissions(running.competition)


def test_the_deadline_is_extended(running: Submissions, operators: Submissions) -> None:
    now = datetime.now(UTC)
    assert not running.is_open(time.time())
    extend(operators, (now + timedelta(hours=1)).isoformat())
    assert running.is_open(time.time())
    operators.change(lambda changes: structs.replace(changes, closed=True))
    assert not running.is_open(time.time())
    for until in (now - timedelta(minutes=1), now + timedelta(minutes=59)):
        with pytest.raises(ValueError, match="is not after now and"):
            extend(operators, until.isoformat())
    with pytest.raises(ValueError, match="offset from UTC"):
        extend(operators, "2100-01-01T00:00")
    extend(operators, "2100-01-01T00:00Z")
    assert running.is_open(time.time())
    (running.folder / "final.db").touch()
    with pytest.raises(ValueError, match="final has begun"):
        extend(operators, "2101-01-01T00:00Z")


def test_a_failed_submission_is_tried_again(running: Submissions) -> None:
    number = handed_in(running, "Ada").id
    with pytest.raises(ValueError, match="has met no fault"):
        retry(Submissions(running.competition), f"{number}")
    for ahead_s in (0.0, 3600.0, 0.0):  # the clock is set back an hour between two of them
        submission = running.get(number)
        assert submission
        ended_at = max(time.time() + ahead_s, running.retried_at(submission))
        running.put(structs.replace(submission, state="failed", ended_at=ended_at))
        assert running.next_queued() is None
        retry(Submissions(running.competition), f"{number}")
        found = running.next_queued()
        assert found
        assert found.id == number
        assert running.unfinished() == 1


def test_a_banned_team_has_no_bot(running: Submissions, operators: Submissions) -> None:
    for team in ("Ada", "Bob"):
        running.put(structs.replace(handed_in(running, team), state="accepted"))
    with pytest.raises(ValueError, match="no team 'Eve'"):
        ban(operators, "Eve")
    operators = Submissions(running.competition)
    ban(operators, "Ada")
    ban(operators, "Ada")
    assert list(running.accepted()) == ["Bob"]
    unban(operators, "Ada")
    assert list(running.accepted()) == ["Ada", "Bob"]
