"""Starts another hub with the records that an earlier one has stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from playout.server.core.hub import Hub
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    StoredMatch,
)
from support.hub_harness import (
    EPOCH,
    HubHarness,
)


def kept_of(records: list[Record]) -> list[StoredMatch]:
    """Return the stored matches, tournaments and accounts of records, as a database would."""
    started = {r.match: r for r in records if isinstance(r, MatchStarted)}
    for taken in (r for r in records if isinstance(r, SeatTakenOver)):
        seat = "first_session" if taken.seat == 1 else "second_session"
        started[taken.match] = structs.replace(started[taken.match], **{seat: taken.session})
    return [
        StoredMatch(
            started=each,
            moves=_moves_of(records, match),
            ended=next(
                (r for r in records if isinstance(r, MatchEnded) and r.match == match), None
            ),
        )
        for match, each in started.items()
    ]


def _moves_of(records: list[Record], match: str) -> tuple[MovePlayed, ...]:
    moves: list[MovePlayed] = []
    for record in records:
        if isinstance(record, MovePlayed) and record.match == match:
            moves.append(record)
        elif isinstance(record, MovesTakenBack) and record.match == match:
            del moves[record.ply :]
    return tuple(moves)


def restarted(
    harness: HubHarness,
    after_s: float = 3.0,
    lost: int = 0,
    earlier: Sequence[Record] = (),
    **policy: Any,
) -> HubHarness:
    """Start another hub with the records of this one, without the last few.

    `earlier`: the records that were stored before this one was started.
    """
    records = [*earlier, *harness.stored[: len(harness.stored) - lost]]
    again = HubHarness(stored=True, **policy)
    accounts = [record for record in records if type(record).__name__ == "Account"]
    again.hub = Hub(
        again.policy,
        harness.hub._context.random,  # no secret is made twice
        software="a test",
        accounts=accounts,  # type: ignore[arg-type]
        epoch=EPOCH + harness.now + after_s,
        started_at=EPOCH + harness.now + after_s,
    )
    again.do(again.hub.restore_matches(kept_of(records), again.now))
    return again
