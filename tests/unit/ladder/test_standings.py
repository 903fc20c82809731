"""server.ladder.standings: the order, provisional ratings, meetings, and new versions."""

from __future__ import annotations

from playout.ratings.bradley_terry import solve
from playout.ratings.leaderboard import PlayerMeeting
from playout.server.ladder.standings import LadderTable, ladder_table
from playout.server.ladder.state import LadderPlayer, LadderState

ANN, BOB, NEW = LadderPlayer("a", "1"), LadderPlayer("b", "1"), LadderPlayer("a", "2")
NAMES = {"a": "Ann", "b": "Bob"}


def table_of(*results: tuple[LadderPlayer, LadderPlayer, int], repeated: int = 1) -> LadderTable:
    """The table after matches in both seats, each `repeated` times; the new version is present."""
    ladder = LadderState("nim")
    for first, second, winner in results:
        other = 3 - winner if winner > 0 else winner
        ladder.count((first, second), winner, 1.0, repeated)
        ladder.count((second, first), other, 2.0, repeated)
    if problem := ladder.problem():
        ladder.rated(solve(problem))
    present = {ladder.enter(NEW)}
    return ladder_table(ladder, NAMES.__getitem__, present, clock="1/move", playing=3)


def test_without_matches_nothing_is_known() -> None:
    table = table_of()
    (only,) = table.standings
    assert (only.name, only.version, only.rating, only.error) == ("Ann", "2", 1500.0, None)
    assert only.provisional
    assert (table.first_move, table.meetings, table.comparisons) == (None, (), ())


def test_the_average_is_1500_and_the_order_is_by_lower_bounds() -> None:
    # The new version has won all of its few matches.
    table = table_of(*[(ANN, BOB, 1)] * 7, *[(ANN, BOB, 2)] * 3, (NEW, BOB, 1), repeated=5)
    by_name = {(each.name, each.version): each for each in table.standings}
    assert round(sum(each.rating for each in table.standings) / 3) == 1500
    lows = [each.rating - (each.error or 0.0) for each in table.standings]
    assert lows == sorted(lows, reverse=True)
    old, new = by_name["Ann", "1"], by_name["Ann", "2"]
    assert old.retired
    assert not any((old.provisional, old.present, new.retired))
    assert new.present
    assert new.provisional
    assert (old.won, old.lost, old.matches) == (70, 30, 100)


def test_meetings_are_counted_from_the_higher_rank() -> None:
    table = table_of((ANN, BOB, 1), (ANN, BOB, 1), (BOB, ANN, -1))
    assert table.standings[0].name == "Ann"
    assert table.meetings == (PlayerMeeting(one=0, other=1, won=4, tied=2, lost=0),)
    assert table.playing == 3


def test_a_new_version_is_compared_with_the_one_before() -> None:
    results = [(ANN, BOB, 1), (ANN, BOB, 2), (NEW, BOB, 1), (NEW, BOB, 1), (NEW, BOB, 2)]
    (close,) = table_of(*results).comparisons
    assert (close.name, close.version, close.before) == ("Ann", "2", "1")
    assert close.difference > 0
    assert 0.5 < close.superiority < 0.95
    (clear,) = table_of(*results, repeated=40).comparisons
    assert clear.superiority > 0.95
    assert clear.needed == 0
