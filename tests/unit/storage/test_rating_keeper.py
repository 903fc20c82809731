"""Kept ratings: equal to those computed from nothing, from SQLite and from PostgreSQL alike."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from playout.protocol.tournament_spec import dumps
from playout.ratings.leaderboard import over_games
from playout.server.core.accounts import digest
from playout.server.model.records import Account, Record, TournamentCreated, TournamentEnded
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper
from playout.server.storage.results import MatchFilter
from support.kept_ratings import keep_ratings
from support.match_records import GAME, match_records
from support.scale import repetitions
from support.tournaments import spec_of

OTHER = "nim(chips=3)"
NAMES = ("Ann", "Bob", "dee", "eve")


def account(name: str) -> Account:
    return Account(id=f"id of {name}", name=name, digest=digest(name), created_at=1.5)


@pytest.fixture
def reader(database: Database) -> Iterator[Reader]:
    database.save([account("Ann"), account("Bob")])
    with contextlib.closing(Reader(database.url.render_as_string(hide_password=False))) as reader:
        yield reader


def imported(number: int, first: str, second: str, winner: int = 1) -> list[Record]:
    return match_records(number, first, second, winner, accounts=(None, None), sessions=("", ""))


def test_rated_matches_with_a_result_count(database: Database, reader: Reader) -> None:
    database.save(
        [
            *match_records(1, "Ann", "Bob"),
            *match_records(2, "Ann", "guest", 2, rated=False, game=OTHER),
            *match_records(3, "Bob", "Ann", 0),
            *match_records(4, "Ann", "Bob", None),
            *imported(5, "Bob", "dee", -1),
        ]
    )
    keep_ratings(database)
    board = reader.leaderboard(GAME)
    counts = {each.name: (each.won, each.tied, each.lost, each.last_at) for each in board.entries}
    assert counts == {"Ann": (1, 0, 0, 1.0), "Bob": (0, 1, 1, 5.0), "dee": (0, 1, 0, 5.0)}
    assert (board.matches, reader.rated_games()) == (2, [GAME])
    assert reader.leaderboard(OTHER).entries == ()


def test_nothing_is_stored_again_until_a_match_has_ended(
    database: Database, reader: Reader
) -> None:
    keeper = RatingKeeper(reader)
    assert list(keeper.updates()) == []
    database.save(match_records(1, "Ann", "Bob"))
    keep_ratings(database, keeper)
    database.save(match_records(2, "Ann", "Bob", None))
    assert list(keeper.updates()) == []
    assert list(RatingKeeper(reader).updates()) == [], "nor after a restart"


def test_matches_after_the_clock_was_set_back_count(database: Database, reader: Reader) -> None:
    keeper = RatingKeeper(reader, clock=lambda: 5.0)
    database.save(match_records(7, "Ann", "Bob"))
    for again in (keeper, RatingKeeper(reader, clock=lambda: 5.0)):
        keep_ratings(database, again)
        assert list(again.updates()) == []
    for number, kept in ((5, keeper), (6, again)):
        database.save(match_records(number, "Ann", "Bob"))
        keep_ratings(database, kept)
        assert reader.leaderboard(GAME).matches == number - 3
        assert list(kept.updates()) == []


def test_a_server_that_stops_does_not_wait_for_ratings(database: Database, reader: Reader) -> None:
    database.save(match_records(1, "Ann", "Bob"))
    assert list(RatingKeeper(reader, lambda: True).updates()) == []


def test_older_matches_that_are_imported_count(database: Database, reader: Reader) -> None:
    keeper = RatingKeeper(reader)
    database.save(match_records(5, "Ann", "Bob"))
    keep_ratings(database, keeper)
    database.save(imported(1, "dee", "Bob"))
    database.save(match_records(6, "Ann", "Bob"))
    keep_ratings(database, keeper)
    assert reader.leaderboard(GAME).matches == 3


def test_ratings_and_their_history_follow_an_account_to_its_new_name(
    database: Database, reader: Reader
) -> None:
    keeper = RatingKeeper(reader)
    database.save(match_records(1, "Ann", "Bob"))
    keep_ratings(database, keeper)
    database.put_account(structs.replace(account("Bob"), name="Robert"))
    keep_ratings(database, keeper)
    assert {each.name for each in reader.leaderboard(GAME).entries} == {"Ann", "Robert"}
    assert reader.noted_ratings(GAME, "Robert")[""]
    assert reader.noted_ratings(GAME, "Bob") == {}
    assert reader.player("Robert")


def test_complete_pairs_of_a_running_tournament_count(database: Database, reader: Reader) -> None:
    keeper = RatingKeeper(reader)
    cup = dumps(spec_of(name="cup"))
    database.save([TournamentCreated(tournament="t", name="cup", spec=cup, at=0.5)])
    database.save(match_records(1, "Ann", "Bob", tournament="t", fixture="1.1.1.1.1"))
    keep_ratings(database, keeper)
    assert reader.leaderboard(GAME).entries == ()
    database.save(match_records(2, "Bob", "Ann", tournament="t", fixture="1.1.1.2.1"))
    database.save([TournamentEnded(tournament="t", at=3.0)])
    keep_ratings(database, keeper)
    assert reader.leaderboard(GAME).matches == 2


def reported_cup(reporter: str | None, tournament: str, pairs: Iterable[int]) -> list[Record]:
    """Return the records of a tournament of Ann and Bob that an account has reported.

    Equal numbers of pairs are of equal matches. Without an account, they are as those of the
    server.
    """
    cup = dumps(spec_of(name="cup", rounds=9))
    records: list[Record] = []
    for number in pairs:
        for leg, names in ((1, ("Ann", "Bob")), (2, ("Bob", "Ann"))):
            fields = {"fixture": f"{number}.1.1.{leg}.1", "tournament": tournament}
            account_id = reporter and f"id of {reporter}"
            terms = {"accounts": (None, None), "rated": not reporter, "reporter": account_id}
            terms["sessions"] = ("", "")
            match = f"{tournament}-{number}-{leg}"
            for each in match_records(10 * number + leg, *names, **fields, **terms):
                records.append(structs.replace(each, match=match))  # type: ignore[type-var]
    created = TournamentCreated(tournament=tournament, name="cup", spec=cup, at=0.5)
    return [*records, created, TournamentEnded(tournament=tournament, at=99.0)]


def test_matches_that_an_account_reports_again_in_another_tournament_count_once(
    database: Database, reader: Reader
) -> None:
    keeper = RatingKeeper(reader)
    database.save(reported_cup("Ann", "first", (1, 2)))
    keep_ratings(database, keeper)
    board = reader.reported_leaderboard(GAME, "Ann")
    assert board.matches == 4
    for tournament, pairs in (("again", (1, 2)), ("subset", (2,))):
        database.save(reported_cup("Ann", tournament, pairs))
        keep_ratings(database, keeper)
        assert reader.reported_leaderboard(GAME, "Ann") == board
    keep_ratings(database)
    assert reader.reported_leaderboard(GAME, "Ann") == board, "nor after a restart"
    database.save(reported_cup("Ann", "more", (2, 3)))
    database.save(reported_cup("Bob", "copied", (1,)))
    keep_ratings(database, keeper)
    assert reader.reported_leaderboard(GAME, "Ann").matches == 6, "the new pair counts"
    assert reader.reported_leaderboard(GAME, "Bob").matches == 2, "on a list of its own"


def test_a_tournament_that_is_reported_as_of_the_server_counts_its_complete_pairs(
    database: Database, reader: Reader
) -> None:
    keeper = RatingKeeper(reader)
    database.save(match_records(99, "Ann", "Bob"))
    keep_ratings(database, keeper)
    *matches, created, ended = reported_cup(None, "cup", (1, 2))
    database.save(matches[:-1])
    keep_ratings(database, keeper)
    database.save([created, ended])
    keep_ratings(database, keeper)
    board = reader.leaderboard(GAME)
    counts = {(each.name, each.version): each.matches for each in board.entries}
    assert counts == {("Ann", ""): 1, ("Bob", ""): 1, ("Ann", "1"): 2, ("Bob", "1"): 2}


def test_reported_matches_of_own_bots_and_in_the_names_of_others_count_on_no_other_list(
    database: Database, reader: Reader
) -> None:
    database.save([*match_records(1, "Ann", "Bob"), *match_records(2, "Bob", "Ann")])
    keep_ratings(database)
    board, known = reader.leaderboard(GAME), reader.player("Bob")
    database.save(reported_cup("Ann", "own", range(1, 9)))
    keep_ratings(database)
    assert reader.leaderboard(GAME) == board
    assert reader.over_games() == over_games([board])
    assert reader.player("Bob") == known
    assert reader.matches(MatchFilter(player="Bob")).total == 2
    assert reader.reported_leaderboard(GAME, "Ann").matches == 16
    assert reader.reported_leaderboard(GAME, "Bob").matches == 0


def test_an_import_of_many_matches_gives_players_a_history(
    database: Database, reader: Reader
) -> None:
    for number in range(1, 81):
        database.save(imported(number, *(("dee", "eve") if number % 3 else ("eve", "Bob"))))
    keep_ratings(database)
    (points,) = reader.noted_ratings(GAME, "dee").values()
    assert len(points) >= 4
    assert [each.point.matches for each in points] == sorted(
        {each.point.matches for each in points}
    )


def test_a_result_that_is_stored_twice_is_counted_once(database: Database, reader: Reader) -> None:
    records = match_records(1, "Ann", "Bob")
    database.save([*records, records[-1]])
    database.save(records)
    ann = reader.player("Ann")
    assert ann
    assert ann.games[GAME].matches == 1


@pytest.fixture(scope="module")
def accounts_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with two accounts."""
    path = tmp_path_factory.mktemp("accounts") / "accounts.db"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.save([account("Ann"), account("Bob")])
    database.close()
    return path


@settings(max_examples=repetitions(100, short=5))
@given(st.data())
def test_kept_ratings_are_those_of_a_database_that_was_rated_once(
    tmp_path_factory: pytest.TempPathFactory, accounts_only: Path, data: st.DataObject
) -> None:
    """Matches end or are imported, in any order; the server is started again in between."""
    folder = tmp_path_factory.mktemp("kept")
    paths = [shutil.copy(accounts_only, folder / name) for name in ("kept.db", "once.db")]
    stored = [Database(f"sqlite:///{path}?synchronous=normal") for path in paths]
    database, once = stored
    reader, other = (Reader(each.url.render_as_string()) for each in stored)
    keeper = RatingKeeper(reader)
    numbers = data.draw(st.permutations(range(1, repetitions(30, short=9))))
    for number in numbers:
        names = data.draw(st.permutations(NAMES))
        winner = data.draw(st.sampled_from((1, 2, -1, 0)))
        make = data.draw(st.sampled_from((match_records, imported)))
        records = make(number, names[0], names[1], winner)
        for each in stored:
            each.save(records)
        match data.draw(st.sampled_from(("nothing", "keep", "restart"))):
            case "keep":
                keep_ratings(database, keeper)
            case "restart":
                keeper = RatingKeeper(reader)
    database.save(match_records(99, "Ann", "Bob"))
    once.save(match_records(99, "Ann", "Bob"))
    keep_ratings(database, keeper)
    keep_ratings(once)
    assert reader.leaderboard(GAME) == other.leaderboard(GAME)
    for closed in (reader, other, *stored):
        closed.close()
