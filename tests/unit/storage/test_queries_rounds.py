"""Ended rounds of tournaments: each once, in the order of their ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from playout.server.model.records import MovePlayed, Record
from playout.server.storage import Database
from playout.server.storage.queries import EndedRound, Place, Reader
from support.hub_harness import HubHarness
from support.tournaments import NAMES, Bots, member, new_tournament, spec_of


def played(format_: str, rounds: int) -> list[Record]:
    """The records of a tournament, a second between its moves."""
    harness = HubHarness()
    bots = Bots(harness, *(member(harness, name) for name in NAMES))
    bots.join()
    new_tournament(harness, spec_of(4, format=format_, rounds=rounds, concurrency=1))
    before = 0
    while len(harness.stored) > before:
        before = len(harness.stored)
        bots.play(1)
        harness.wait(1.0)
    return harness.stored


def ended_rounds(reader: Reader, after: Place = (0.0, "")) -> list[EndedRound]:
    """The rounds that are told one by one, as a webhook asks for them."""
    found: list[EndedRound] = []
    while some := reader.ended_rounds(found[-1].place if found else after, 1):
        found += some
    return found


@pytest.mark.parametrize(
    ("format_", "rounds"),
    [("swiss", [1, 2, 3]), ("knockout", [1, 2]), ("round_robin", [])],
)
def test_each_round_ends_once_when_the_next_one_begins(
    format_: str, rounds: Sequence[int], tmp_path: Path
) -> None:
    records, url = played(format_, len(rounds) or 2), f"sqlite:///{tmp_path}/playout.db"
    seen: list[EndedRound] = []
    with closing(Database(url)) as database, closing(Reader(url)) as reader:
        database.migrate()
        for record in records:  # each state of the database, but for moves
            if isinstance(record, MovePlayed):
                continue
            database.save([record])
            new = reader.ended_rounds(seen[-1].place if seen else (0.0, ""), 9)
            assert len(new) <= 1
            seen += new
        assert [each.round for each in seen] == rounds
        assert ended_rounds(reader) == seen
