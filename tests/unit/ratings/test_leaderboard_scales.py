"""Leaderboards of several scales: classes of clocks, reported matches, and means over games."""

from __future__ import annotations

from msgspec import structs

from playout.ratings.leaderboard import (
    ALL_CLOCKS,
    Leaderboard,
    PlayerMeeting,
    RatedGame,
    RatingBook,
    over_games,
    reported_by,
    reporter_of,
)

ANN, BOB, CEM = (("Ann", "1"), ("Bob", "1"), ("Cem", "1"))


def boards_of(played: list[RatedGame], game: str = "nim") -> dict[str, Leaderboard]:
    book = RatingBook(game)
    book.add(played)
    return {each.scale: each for each in book.leaderboards()}


FAST = [RatedGame((ANN, BOB), 1, 1.0, "fast"), RatedGame((BOB, ANN), -1, 2.0, "fast")]
SLOW = [RatedGame((CEM, BOB), 2, 3.0, "slow")]


def test_a_class_of_clocks_has_its_matches_and_its_anchor_the_rating_of_all() -> None:
    found = boards_of([*FAST, *SLOW])
    assert {scale: each.matches for scale, each in found.items()} == {
        ALL_CLOCKS: 3,
        "fast": 2,
        "slow": 1,
    }
    whole, fast = found[ALL_CLOCKS], found["fast"]
    assert (whole.anchor, whole.anchor_rating) == (BOB, 1500.0)
    assert [each.name for each in fast.entries] == ["Ann", "Bob"]
    assert fast.anchor == ANN
    assert fast.anchor_rating == whole.ratings()[ANN].rating == fast.ratings()[ANN].rating


def test_meetings_have_both_orders_of_two_players_together() -> None:
    fast = boards_of(FAST)["fast"]
    assert fast.meetings == (PlayerMeeting(one=0, other=1, won=1, tied=1, lost=0),)
    whole = boards_of([*FAST, *SLOW])[ALL_CLOCKS]
    names = [each.name for each in whole.entries]
    met = {(names[each.one], names[each.other]): each for each in whole.meetings}
    assert met.keys() == {("Ann", "Bob"), ("Bob", "Cem")}
    assert (met["Bob", "Cem"].won, met["Bob", "Cem"].lost) == (1, 0)


def test_a_class_that_has_all_matches_has_the_ratings_of_all() -> None:
    found = boards_of(FAST)
    assert found["fast"] == structs.replace(found[ALL_CLOCKS], scale="fast")


def test_reported_matches_count_on_their_own_scale_only() -> None:
    scale = reported_by("id of Eve")
    forged = [RatedGame((CEM, ANN), 1, 9.0, scale)] * 50
    found = boards_of([*FAST, *SLOW, *forged])
    assert found.pop(scale).matches == 50
    assert found == boards_of([*FAST, *SLOW])
    assert (reporter_of(scale), reporter_of("slow")) == ("id of Eve", None)


def test_over_games_the_latest_versions_count_and_more_games_come_first() -> None:
    new = RatedGame((("Ann", "2"), BOB), 2, 5.0, "fast")
    nim, hex_ = boards_of([*FAST, new])[ALL_CLOCKS], boards_of([*FAST, *SLOW], "hex")[ALL_CLOCKS]
    found = over_games([nim, hex_])
    assert [(each.name, each.games) for each in found] == [("Bob", 2), ("Ann", 2), ("Cem", 1)]
    ann = found[1]
    both = nim.ratings()["Ann", "2"], hex_.ratings()[ANN]
    assert ann.rating == round(sum(each.rating for each in both) / 2, 1)
    assert ann.matches == sum(each.matches for each in both)
