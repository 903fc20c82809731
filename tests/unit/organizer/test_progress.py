"""What the organizer knows of a tournament that is played."""

from __future__ import annotations

from support.fixtures import KEY, fixture
from support.organizer import new_progress


def test_progress_knows_what_is_new_and_how_long_it_will_take() -> None:
    progress = new_progress(rounds=2)
    assert progress.ledger.put(fixture(KEY, 1, 1))
    assert not progress.ledger.put(fixture(KEY, 1, 1)), "the server says all again after a restart"
    progress.catch_up()
    assert progress.remaining_s(110.0) is None, "nothing has ended since"
    running = fixture(KEY, 2, None)
    assert not progress.ledger.put(running)
    assert list(progress.ledger.running) == [running.match]
    assert progress.ledger.put(fixture(KEY, 2, -1))
    assert (progress.ledger.ended, progress.matches) == (2, 4)
    assert progress.remaining_s(110.0) == 20.0
    assert progress.report().standings[0].points == 1.5


def test_a_void_attempt_takes_its_pair_out_of_what_has_ended() -> None:
    progress = new_progress()
    progress.ledger.put(fixture(KEY, 1, 1))
    progress.ledger.put(fixture(KEY, 2, 0))
    assert progress.ledger.ended == 0
    progress.ledger.put(fixture(KEY, 1, 1, attempt=2))
    assert progress.ledger.ended == 1
    progress.ledger.put(fixture(KEY, 2, 1, attempt=2))
    assert progress.ledger.ended == 2
    assert progress.report().voided == 1
