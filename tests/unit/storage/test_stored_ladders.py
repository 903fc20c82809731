"""server.storage.ladders: what a server reads at its start, from SQLite and PostgreSQL alike."""

from __future__ import annotations

from typing import Any

from playout.ratings.leaderboard import RatingPoint
from playout.server.ladder.state import (
    LadderPlayer,
    OwedMatch,
    StoredAbsence,
    StoredLadder,
    StoredResult,
    restore_ladder,
)
from playout.server.model.records import (
    Account,
    LadderRating,
    Record,
)
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.stored_ladders import stored_ladders
from support.match_records import GAME, match_records

ANN, NEW, BOB = (
    LadderPlayer(f"id of {name}", version)
    for name, version in (("Ann", "1"), ("Ann", "2"), ("Bob", "1"))
)


def records(
    number: int, pair: int, first: str, second: str, winner: int | None = 1, **fields: Any
) -> list[Record]:
    """The records of a match on a ladder; `Ann 2` is the second version of Ann."""
    (one, *its), (other, *others) = first.split(), second.split()
    versions = (*its, "1")[0], (*others, "1")[0]
    ladder = {"ladder_pair": f"m{pair:03}", "versions": versions}
    return match_records(number, one, other, winner, **ladder | fields)


def test_results_are_added_up_and_second_matches_are_owed(database: Database) -> None:
    database.save(
        [
            *records(1, 1, "Ann", "Bob"),
            *records(2, 1, "Bob", "Ann"),
            *records(3, 3, "Ann", "Bob"),
            *records(4, 4, "Bob", "Ann 2", -1, opening=2),
            *records(5, 5, "Ann 2", "Bob", 0),
            *records(6, 3, "Bob", "Ann", None),
            *records(7, 7, "Ann", "Bob", 1, accounts=(None, None)),  # imported
            *match_records(8, "Ann", "Bob"),
        ]
    )
    (ladder,) = stored_ladders(database, 0.0)
    assert ladder.game == GAME
    assert sorted(ladder.results) == [
        StoredResult((ANN, BOB), 1, 2, 0.5, 3.0),
        StoredResult((BOB, ANN), 1, 1, 1.5, 2.0),
        StoredResult((BOB, NEW), -1, 1, 3.5, 4.0),
    ]
    assert ladder.owed == [OwedMatch("m004", (NEW, BOB), (40, 41))]


def test_matches_without_a_first_move_are_added_up(database: Database) -> None:
    database.save(
        [
            *records(1, 1, "Ann", "Bob", 0, missing=2),
            *records(2, 2, "Bob", "Ann", 2, missing=1),
            *records(3, 3, "Ann 2", "Bob", 2, missing=1),
            *records(4, 4, "Ann 2", "Bob", 0),
        ]
    )
    (ladder,) = stored_ladders(database, 0.0)
    assert sorted(ladder.absences) == [
        StoredAbsence(NEW, 1, 0, 2.5),
        StoredAbsence(BOB, 1, 0, 1.5),
        StoredAbsence(BOB, 1, 1, 0.5),
    ]
    state = restore_ladder(ladder)
    bob = state.entries[state.index_of(BOB)]
    assert (bob.unplayed, bob.void, bob.matches) == (2, 1, 2)
    assert not state.is_excused(ANN.account)


def test_a_second_match_without_result_is_owed_again(database: Database) -> None:
    database.save(
        [
            *records(1, 1, "Ann", "Bob"),
            *records(2, 1, "Bob", "Ann", 0),
            *records(3, 3, "Ann", "Bob"),
            *records(4, 3, "Bob", "Ann", 0),
            *records(5, 3, "Bob", "Ann"),
            *records(6, 6, "Ann", "Bob"),
            *records(7, 6, "Bob", "Ann", 0),
            *records(8, 6, "Bob", "Ann", None),  # is being played
        ]
    )
    (ladder,) = stored_ladders(database, 0.0)
    assert [(each.pair, each.players) for each in ladder.owed] == [("m001", (BOB, ANN))]


def test_a_match_owed_for_long_is_not_played(database: Database) -> None:
    database.save(records(4, 4, "Ann", "Bob"))
    assert [each.owed for each in stored_ladders(database, 5.0)] == [[]]


def test_the_ratings_of_a_player_are_read_by_version(database: Database) -> None:
    points = [
        LadderRating(
            game=GAME,
            account=player.account,
            version=player.version,
            matches=matches,
            rating=1500.0 + matches,
            error=100.0,
            at=at,
        )
        for player, matches, at in ((ANN, 1, 1.0), (ANN, 5, 2.0), (BOB, 5, 2.0), (NEW, 1, 3.0))
    ]
    known = Account(id=ANN.account, name="Ann", digest="d", created_at=0.0)
    database.save([known, *points])
    database.save(points[1:2])  # again, after the storage process was started again
    reader = Reader(database.url.render_as_string(hide_password=False))
    assert reader.ladder_history(GAME, "ANN") == {
        "1": (RatingPoint(1.0, 1501.0, 100.0, 1), RatingPoint(2.0, 1505.0, 100.0, 5)),
        "2": (RatingPoint(3.0, 1501.0, 100.0, 1),),
    }
    assert reader.ladder_history("nim", "Ann") == {}
    expected = {0.5: {}, 1.0: {"Ann": 1501.0}, 2.5: {"Ann": 1505.0}, 4.0: {"Ann": 1501.0}}
    assert {at: reader.ladder_ratings_at(GAME, at) for at in expected} == expected
    reader.close()


def test_nothing_is_stored_of_ladders_at_first(database: Database) -> None:
    assert stored_ladders(database, 0.0) == []
    database.save(match_records(1, "Ann", "Bob"))
    assert stored_ladders(database, 0.0) == []
    assert StoredLadder(GAME).results == ()
