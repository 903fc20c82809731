"""Attempts to solve puzzles, as the server receives them."""

from __future__ import annotations

from playout.protocol.messages import AttemptPuzzle, Code, Ok
from playout.server.model.records import PuzzleAttempted
from support.hub_harness import HubHarness

ATTEMPT = AttemptPuzzle(id=1, puzzle="p1", moves=(2, 5))


def attempts(harness: HubHarness) -> list[PuzzleAttempted]:
    return [each for each in harness.stored if isinstance(each, PuzzleAttempted)]


def test_the_attempt_of_an_account_is_stored() -> None:
    harness = HubHarness()
    token = harness.client("Ann", guest=False).account_token
    ann = harness.client("Ann", role="spectator", guest=False, token=token)
    assert ann.ask(ATTEMPT, Ok).re == 1
    (stored,) = attempts(harness)
    assert (stored.puzzle, stored.moves) == ("p1", "2,5")
    account = harness.hub.accounts.like("Ann")
    assert account is not None
    assert stored.account == account.id


def test_guests_are_not_rated() -> None:
    harness = HubHarness()
    guest = harness.client("guest-1")
    assert guest.refused(ATTEMPT) == Code.NOT_FOR_GUESTS
    assert attempts(harness) == []
