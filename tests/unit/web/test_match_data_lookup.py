"""Running and stored matches: found in the hub or the archive, and cached until they change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from twisted.internet.defer import gatherResults

from playout.protocol.messages import Move, Resign
from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from playout.server.web.archive import Archive
from playout.server.web.http import HttpError
from playout.server.web.match_data import MatchData, MatchLookup
from support.hub_harness import WON, HubHarness, match_between, play
from support.seeded_database import SeededDatabase
from support.threads import Loop


class Table:
    """Ann and Bob in a match on a hub, whose matches are stored, or not, in a database."""

    def __init__(self, loop: Loop, url: str | None = None, game: str = "tic_tac_toe") -> None:
        self.harness = HubHarness()
        self._loop = loop
        self._stored = 0
        self._database = Database(url) if url else None
        if self._database:
            self._database.migrate()
        self._finder = MatchLookup(self.harness.hub, Archive(url, loop), lambda: self.harness.now)
        self._players = self.harness.client("Ann"), self.harness.client("Bob")
        self.match = match_between(*self._players, game=game, clock="300+3")

    def play(self, begin: int, end: int) -> None:
        play(self.match, self._players, WON[begin:end], ply=begin)

    def roll_and_resign(self) -> None:
        self._players[0].say(Move(match=self.match, ply=0, action=0))
        self._players[0].say(Resign(match=self.match))

    def store(self) -> None:
        assert self._database
        self._database.save(self.harness.stored[self._stored :])
        self._stored = len(self.harness.stored)

    def data(self, match: str | None = None) -> MatchData:
        return self._loop.wait(self._finder.data(match or self.match))


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.stop()


def test_without_a_database_a_match_is_shown_as_the_table_knows_it(loop: Loop) -> None:
    table = Table(loop)
    table.play(0, 2)
    found = table.data()
    assert [each.action for each in found.positions] == [None, *WON[:2]]
    assert {each.at for each in found.positions} == {None}
    assert found.to_move == 1
    table.play(2, 5)
    with pytest.raises(HttpError, match="there is no match"):
        table.data()


def test_a_match_is_drawn_again_when_a_move_was_made(loop: Loop, tmp_path: Path) -> None:
    table = Table(loop, f"sqlite:///{tmp_path}/playout.db")
    table.play(0, 2)
    table.store()
    first = table.data()
    table.harness.wait(10)
    later = table.data()
    assert later.positions is first.positions
    assert first.clocks is not None
    assert later.clocks is not None
    assert later.clocks[0].main_s == pytest.approx(first.clocks[0].main_s - 10)
    table.play(2, 3)
    table.store()
    assert len(table.data().positions) == 4
    table.play(3, 5)
    table.store()
    over = table.data()
    assert (len(over.positions), over.to_move, over.clocks) == (6, 0, None)
    assert over.result
    assert over.result.winner == 1
    assert table.data() is over


def test_a_thousand_that_ask_during_a_load_share_the_next_one(loop: Loop, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/playout.db"
    table = Table(loop, url)
    table.play(0, 2)
    table.store()
    times = itertools.count()
    finder = MatchLookup(table.harness.hub, Archive(url, loop), lambda: next(times))
    asked = [finder.data(table.match) for _ in range(1000)]
    table.play(2, 3)
    found = loop.wait(gatherResults(asked, consumeErrors=True))
    assert len({id(each.positions) for each in found}) == 2
    assert {len(each.positions) for each in found} == {3}, "the move is not stored yet"
    table.store()
    assert len(loop.wait(finder.data(table.match)).positions) == 4


@pytest.mark.parametrize("luck", [(0.25,), ()], ids=["measured", "no evaluation"])
def test_a_match_with_rolls_is_read_again_until_its_luck_is_measured(
    loop: Loop, tmp_path: Path, luck: tuple[float, ...]
) -> None:
    table = Table(loop, f"sqlite:///{tmp_path}/playout.db", game="pig")
    table.roll_and_resign()
    table.store()
    before = table.data()
    assert [each.luck for each in before.rolls or ()] == [None]
    assert before.luck_awaited
    assert table.data().positions is before.positions, "it is read again without a change"
    table.harness.measured(luck, "" if luck else "there is no evaluation")
    assert table.data().positions is not before.positions
    table.store()
    after = table.data()
    assert not after.luck_awaited
    assert [each.luck for each in after.rolls or ()] == [*(luck or (None,))]
    assert table.data() is after


def test_a_match_that_is_not_stored_yet_is_shown_when_it_is(loop: Loop, tmp_path: Path) -> None:
    """A slow database: a move that is stored later is shown later."""
    table = Table(loop, f"sqlite:///{tmp_path}/playout.db")
    table.play(0, 1)
    assert len(table.data().positions) == 2
    table.store()
    table.play(1, 3)
    assert len(table.data().positions) == 2
    table.store()
    assert len(table.data().positions) == 4


def test_a_match_against_the_rules_is_not_shown_and_says_why(loop: Loop, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/playout.db"
    seeded = SeededDatabase(url)
    database = Database(url)
    (stored,) = database.matches(match=seeded.won)
    for match, changed in (("m1", {"game": "shogi"}), ("m2", {"game": "nim"})):
        database.add([_renamed(stored, match, **changed)])
    database.close()
    finder = MatchLookup(HubHarness().hub, Archive(url, loop))
    for match, said in (("m1", "unknown game"), ("m2", "moves")):
        with pytest.raises(HttpError, match=said) as raised:
            loop.wait(finder.data(match))
        assert raised.value.status == 404


def _renamed(stored: StoredMatch, match: str, **changed: str) -> StoredMatch:
    started = structs.replace(stored.started, match=match, **changed)
    moves = tuple(structs.replace(each, match=match) for each in stored.moves)
    return StoredMatch(started=started, moves=moves)
