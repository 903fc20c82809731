"""What pages ask of a database, from SQLite and from PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from playout.protocol.tournament_spec import Entrant, TournamentSpec, dumps
from playout.server.core.accounts import digest
from playout.server.model.records import (
    Account,
    EntrantWithdrawn,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper
from playout.server.storage.results import MatchFilter, PlayerTotals, TournamentRow
from support.match_records import GAME, match_records
from support.postgres import Postgres

OTHER = "nim(chips=3)"


def account(name: str) -> Account:
    return Account(id=f"id of {name}", name=name, digest=digest(name), created_at=1.5)


@pytest.fixture
def reader(database: Database) -> Iterator[Reader]:
    """Of a database in which something has happened."""
    database.save(
        [
            account("Ann"),
            account("Bob"),
            account("Cem"),
            *match_records(1, "Ann", "Bob"),
            *match_records(2, "Bob", "Ann", -1),
            *match_records(3, "Ann", "guest", 2, rated=False, game=OTHER),
            *match_records(4, "Bob", "Ann", 0),
            *match_records(5, "guest", "someone", rated=False),
            *match_records(6, "Ann", "Bob", None),
            *match_records(
                7, "Bob", "Ann", 1, accounts=(None, None), sessions=("", "")
            ),  # imported
            *match_records(8, "Ann", "Bob", 2, tournament="t1", fixture="1.1.1.1.1", opening=1),
        ]
    )
    reader = Reader(database.url.render_as_string(hide_password=False))
    yield reader
    reader.close()


def numbers(reader: Reader, page: int = 1, per_page: int = 50, **chosen: str) -> list[int]:
    found = reader.matches(MatchFilter(**chosen), page, per_page)
    return [int(each.match[1:]) for each in found.items]


def test_matches_that_have_ended_are_listed_the_latest_first(reader: Reader) -> None:
    found = reader.matches()
    assert [each.match for each in found.items] == [
        "m008", "m007", "m005", "m004", "m003", "m002", "m001"
    ]  # fmt: skip
    assert (found.page, found.pages, found.total) == (1, 1, 7)
    assert {each.plies for each in found.items} == {3}
    first, *others = found.items[::-1]
    assert reader.ended_matches((0.0, ""), 1) == [first]
    assert first.ended_at is not None
    assert reader.ended_matches((first.ended_at, first.match), 99) == others
    assert reader.ended_matches((first.ended_at, ""), 1) == [first], "it ended at this time"
    assert {each.match: each.linked for each in found.items if not all(each.linked)} == {
        "m003": (True, False),
        "m005": (False, False),
    }


def test_the_latest_matches_are_those_of_the_first_page(reader: Reader) -> None:
    assert tuple(reader.latest_matches(3)) == reader.matches(per_page=3).items


def test_a_list_comes_in_pages(reader: Reader) -> None:
    second = reader.matches(page=2, per_page=3)
    assert [each.match for each in second.items] == ["m004", "m003", "m002"]
    assert (second.page, second.pages, second.total) == (2, 3, 7)
    assert numbers(reader, page=3, per_page=3) == [1]
    assert numbers(reader, page=4, per_page=3) == []
    assert numbers(reader, page=10**6, per_page=200) == []


def test_matches_are_found_by_game_tournament_and_player(reader: Reader) -> None:
    assert numbers(reader, game=OTHER) == [3]
    assert numbers(reader, tournament="t1") == [8]
    assert numbers(reader, player="Ann") == [8, 7, 4, 3, 2, 1]
    assert numbers(reader, player="ANN", per_page=2, page=2) == [4, 3]
    assert reader.matches(MatchFilter(player="Ann")).total == 6
    assert numbers(reader, player="Ann", game=GAME, per_page=3) == [8, 7, 4]
    assert numbers(reader, player="guest") == [5, 3]
    assert numbers(reader, player="nobody") == []
    assert numbers(reader, game="shogi") == []


def test_matches_are_found_by_result_and_day(database: Database, reader: Reader) -> None:
    """Of Ann: matches 1 and 8 as the first player, 2, 4 and 7 as the second."""
    assert numbers(reader, player="Ann", result="won") == [1]
    assert numbers(reader, player="Ann", result="lost") == [8, 7, 3]
    assert numbers(reader, player="Ann", result="tied") == [2]
    assert numbers(reader, player="Ann", result="none") == [4]
    assert numbers(reader, result="won") == numbers(reader, result="lost") == [8, 7, 5, 3, 1]
    assert numbers(reader, player="Ann", opponent="guest") == [3]
    day = 86_400
    database.save(match_records(day, "Ann", "Bob") + match_records(2 * day - 1, "Ann", "Bob"))
    assert numbers(reader, since="1970-01-02") == [2 * day - 1, day]
    assert numbers(reader, until="1970-01-01", result="tied") == [2]
    assert numbers(reader, since="1970-01-02", until="1970-01-02", player="Bob") == [
        2 * day - 1,
        day,
    ]


def test_games_and_players_are_those_of_stored_matches(reader: Reader) -> None:
    assert reader.games() == [OTHER, GAME]
    assert reader.most_played() == [GAME, "nim"]
    assert reader.latest_players(10) == ["Ann", "Bob"]
    assert reader.latest_players(1) == ["Ann"]


def test_a_match_is_read_with_its_moves(reader: Reader) -> None:
    found = reader.match("m001")
    assert found
    assert [move.action for move in found.moves] == [10, 11, 12]
    assert reader.match("m000") is None


def test_players_with_accounts_are_listed_by_last_match(reader: Reader) -> None:
    found = reader.players()
    assert [each.name for each in found.items] == ["Ann", "Bob", "Cem"]
    assert found.items[0].totals == PlayerTotals(matches=5, won=1, tied=1, lost=3, last_at=8.0)
    assert found.items[2].totals == PlayerTotals()
    assert [each.name for each in reader.players(page=2, per_page=1).items] == ["Bob"]


def test_a_player_is_found_by_a_name_that_looks_like_its_own(reader: Reader) -> None:
    bob = reader.player("B0B")
    assert bob
    assert (bob.name, bob.created_at) == ("Bob", 1.5)
    assert bob.games == {GAME: PlayerTotals(matches=4, won=2, tied=1, lost=1, last_at=8.0)}
    cem = reader.player("Cem")
    assert cem
    assert cem.games == {}


@pytest.mark.parametrize("name", ["guest", "nobody", "", "%", "'; drop table matches"])
def test_guests_are_no_players(reader: Reader, name: str) -> None:
    assert reader.player(name) is None


def test_a_name_of_imported_matches_only_is_a_player(database: Database, reader: Reader) -> None:
    database.save(match_records(9, "dee", "eve", 2))
    dee = reader.player("dee")
    assert dee
    assert dee.created_at is None
    assert dee.games[GAME].lost == 1


SPEC = TournamentSpec(
    name="cup", games=(GAME,), format="match", entrants=(Entrant("Ann", "1"),) * 2
)


def test_tournaments_are_listed_the_latest_first(database: Database, reader: Reader) -> None:
    for number in (1, 2):
        created = TournamentCreated(tournament=f"t{number}", name="cup", spec=dumps(SPEC), at=10.0)
        database.save([created])
    database.save([TournamentEnded(tournament="t1", at=20.0)])
    assert reader.tournaments(page=2, per_page=1).items == (
        TournamentRow(
            tournament="t1",
            name="cup",
            format="match",
            games=(GAME,),
            entrants=("Ann", "Ann"),
            matches=1,
            started_at=10.0,
            starts_at=10.0,
            ended_at=20.0,
        ),
    )
    assert [each.matches for each in reader.tournaments().items] == [0, 1]
    assert [each.tournament for each in reader.ended_tournaments((0.0, ""), 9)] == ["t1"]
    assert reader.ended_tournaments((20.0, "t1"), 9) == []


def test_a_tournament_is_read_with_the_moves_of_its_matches(
    database: Database, reader: Reader
) -> None:
    database.save([TournamentCreated(tournament="t1", name="cup", spec=dumps(SPEC), at=10.0)])
    out = [EntrantWithdrawn(tournament="t1", number=n, entrant=2 - n, at=11.0) for n in (1, 2)]
    database.save(
        [*out, *match_records(9, "Bob", "Ann", None, tournament="t1", fixture="1.1.1.2.1")]
    )
    database.save([*match_records(10, "Bob", "Ann", None, tournament="t1", fixture="x")[:1]])
    stored = reader.tournament("t1")
    assert stored
    held, sittings = stored
    assert held.withdrawn == (1, 0)
    assert [each.started.match for each in sittings] == ["m008", "m009", "m010"]
    assert [each.actions for each in sittings] == [(80, 81, 82), (90, 91, 92), ()]
    assert [bool(each.ended) for each in sittings] == [True, False, False]
    assert reader.tournament("t9") is None


def test_nothing_can_be_written(reader: Reader) -> None:
    with reader._database.connect() as connection, pytest.raises(sa.exc.SQLAlchemyError):
        connection.exec_driver_sql("DELETE FROM matches")


def test_options_of_a_connection_hold_for_reading_too(postgres: Postgres) -> None:
    with sa.create_engine(postgres.url).begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA elsewhere"))
    url = f"{postgres.url}{'&' if '?' in postgres.url else '?'}options=-csearch_path%3Delsewhere"
    database, reader = Database(url), Reader(url)
    database.migrate()
    database.save(match_records(1, "Ann", "Bob"))
    assert reader.matches().total == 1
    reader.close()
    database.close()


def test_each_way_to_look_for_matches_has_an_index(tmp_path: Path) -> None:
    """As SQLite says it, which does not depend on how much there is."""
    database = Database(f"sqlite:///{tmp_path}/playout.db")
    database.migrate()
    database.save([account("Ann"), *match_records(1, "Ann", "Bob", tournament="t1", fixture="x")])
    database.save([TournamentCreated(tournament="t1", name="cup", spec=dumps(SPEC), at=10.0)])
    reader = Reader(database.url.render_as_string())
    plans: list[str] = []

    @sa.event.listens_for(reader._database._engine, "before_cursor_execute")
    def explain(connection: Any, cursor: Any, text: str, values: Any, *_: Any) -> None:
        with database.connect() as other:
            plan = other.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)
            plans.extend(row[3] for row in plan)

    filters: list[dict[str, str]] = [
        {"game": GAME},
        {"player": "Ann"},
        {"player": "guest", "result": "won"},
        {"player": "Ann", "opponent": "Bob", "tournament": "t1"},
        {"since": "1970-01-01"},
        {"tournament": "t1"},
    ]
    for asked in filters:
        assert reader.matches(MatchFilter(**asked))
    assert reader.match("m001")
    assert reader.player("Ann")
    assert reader.tournament("t1")
    assert list(RatingKeeper(reader).updates())
    assert any(each.startswith("SEARCH matches USING") for each in plans)
    assert [each for each in plans if each.startswith(("SCAN matches", "SCAN moves"))] == []
    reader.close()
    database.close()


def test_a_database_has_an_id_of_its_own_that_stays(database: Database, tmp_path: Path) -> None:
    other = Database(f"sqlite:///{tmp_path}/other.db")
    other.migrate()
    urls = [each.url.render_as_string(hide_password=False) for each in (database, database, other)]
    readers = list(map(Reader, urls))
    one, same, different = (UUID(each.database_id()) for each in readers)
    assert one == same != different
    for each in (*readers, other):
        each.close()
