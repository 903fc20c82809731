"""Records of stored matches."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from playout.protocol.messages import Reason, Seat
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    StoredMatch,
    flat,
)

GAME = "tic_tac_toe"


def portable(stored: StoredMatch) -> StoredMatch:
    """Return a match without accounts and sessions, as it is read from JSON Lines."""
    started = structs.replace(stored.started, **flat(accounts=(None, None), sessions=("", "")))
    return structs.replace(stored, started=started)


def match_records(
    number: int,
    first: str,
    second: str,
    winner: int | None = 1,
    missing: Seat | None = None,
    **fields: Any,
) -> list[Record]:
    """Return the records of a match of three moves that ended at time `number`.

    Lower-case names are those of guests. `fields` are those of its start."""
    match = f"m{number:03}"
    started = MatchStarted(
        **flat(
            match=match,
            game=GAME,
            players=(first, second),
            accounts=(_id_of(first), _id_of(second)),
            sessions=("s1", "s2"),
            clock="none",
            rated=True,
            illegal_moves=3,
            credit_cap_s=0.1,
            at=number - 0.5,
        )
    )
    moves = [
        MovePlayed(
            match=match,
            ply=ply,
            seat=1 if ply % 2 == 0 else 2,
            action=number * 10 + ply,
            at=number,
        )
        for ply in range(3)
    ]
    finished = MatchEnded(
        **flat(
            match=match,
            winner=winner or 0,
            returns=(0.0, 0.0),
            reason=Reason.RULES if winner else Reason.VOID,
            text="so it ended",
            missing=missing,
            at=float(number),
        )
    )
    started = structs.replace(started, **flat(**fields))
    return [started, *moves] if winner is None else [started, *moves, finished]


def _id_of(name: str) -> str | None:
    return f"id of {name}" if name[0].isupper() else None
