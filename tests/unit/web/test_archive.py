"""The archive: reads in threads, from databases that may be missing, with cached values."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from playout.protocol.tournament_spec import Sprt, dumps
from playout.ratings.leaderboard import Leaderboard
from playout.server.model.records import TournamentCreated
from playout.server.storage import Database
from playout.server.storage.results import MatchFilter, ResultPage
from playout.server.web import worker_pool
from playout.server.web.archive import Archive
from playout.server.web.http import HttpError
from playout.server.web.worker_pool import WorkUnavailable
from support.kept_ratings import keep_ratings
from support.match_records import match_records
from support.postgres import Postgres
from support.seeded_database import GAME, MEMBERS, TOURNAMENT_MATCHES, SeededDatabase
from support.threads import Loop
from support.tournaments import spec_of


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.stop()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, SeededDatabase]:
    """The URL of a database with many matches, for tests that change nothing."""
    url = f"sqlite:///{tmp_path_factory.mktemp('seeded')}/playout.db"
    return url, SeededDatabase(url)


def test_without_a_database_there_is_nothing(loop: Loop) -> None:
    archive = Archive(None, loop)
    assert loop.wait(archive.matches(MatchFilter(game=GAME))) == ResultPage()
    assert loop.wait(archive.players()) == ResultPage()
    assert loop.wait(archive.tournaments()) == ResultPage()
    assert loop.wait(archive.rated_games()) == []
    assert loop.wait(archive.ratings(GAME)) == Leaderboard(game=GAME)
    for nothing in (archive.match("m"), archive.player("Ann"), archive.tournament("t")):
        assert loop.wait(nothing) is None
    assert loop.wait(archive.run_in_thread(lambda: 1 + 1)) == 2


def test_matches_of_a_local_tournament_are_those_of_the_second_database(
    loop: Loop, stored: tuple[str, SeededDatabase], tmp_path: Path
) -> None:
    own = f"sqlite:///{tmp_path}/own.db"
    database = Database(own)
    database.migrate()
    database.close()
    cup = MatchFilter(tournament=stored[1].cup)
    assert loop.wait(Archive(own, loop).matches(cup)).total == 0
    both = Archive(own, loop, stored[0])
    assert loop.wait(both.matches(cup)).total == TOURNAMENT_MATCHES
    assert loop.wait(both.matches(MatchFilter())).total == 0
    assert loop.wait(both.tournament(stored[1].cup)) is not None


def test_it_reads_in_threads_that_end_with_the_reactor(stored: tuple[str, SeededDatabase]) -> None:
    loop = Loop()
    archive, before = Archive(stored[0], loop), {*threading.enumerate()}
    assert loop.wait(archive.run_in_thread(threading.get_ident)) != threading.get_ident()
    loop.wait(archive.match(stored[1].won))
    assert {*threading.enumerate()} - before
    loop.stop()
    assert not {*threading.enumerate()} - before


def test_all_players_are_rated_by_rated_matches(
    loop: Loop, stored: tuple[str, SeededDatabase]
) -> None:
    url = stored[0]
    leaderboard = loop.wait(Archive(url, loop).ratings(GAME))
    assert leaderboard.matches == TOURNAMENT_MATCHES + 2
    assert {(each.name, each.version) for each in leaderboard.entries} == {
        ("Ann", "1"), ("Bob", "1"), ("Cyd", "1"), ("Ann", ""), ("Bob", "")
    }  # fmt: skip
    assert leaderboard.anchor in {(name, "1") for name in MEMBERS}
    assert loop.wait(Archive(url, loop).rated_games()) == [GAME]


def test_a_player_has_totals_ratings_and_histories(
    loop: Loop, stored: tuple[str, SeededDatabase]
) -> None:
    archive = Archive(stored[0], loop)
    ann = loop.wait(archive.player("ann"))
    assert ann
    (record,) = ann.games
    assert (ann.name, record.game, record.totals.matches) == ("Ann", GAME, 7)
    entries = {each.entry.version: each for each in record.versions}
    assert entries["1"].entry.matches == 4
    assert [point.matches for point in entries[""].history] == [2]
    assert entries[""].history[-1].rating == entries[""].entry.rating
    dan = loop.wait(archive.player("Dan"))
    assert dan
    assert dan.games == ()
    assert loop.wait(archive.player("guest-1")) is None


def test_a_tournament_has_its_matches_and_its_report(
    loop: Loop, stored: tuple[str, SeededDatabase]
) -> None:
    url, seeded = stored
    archive = Archive(url, loop)
    cup = loop.wait(archive.tournament(seeded.cup))
    assert cup
    assert cup.ended_at
    assert (cup.report.name, cup.report.done, cup.report.pairs) == ("a cup", 3, 3)
    assert len(cup.fixtures) == TOURNAMENT_MATCHES
    assert all(each.plies for each in cup.fixtures)
    assert loop.wait(archive.tournament(seeded.cup)) is cup
    assert loop.wait(archive.tournament("none")) is None


def test_a_tournament_that_cannot_be_read_does_not_count_and_says_why(
    loop: Loop, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/playout.db"
    database = Database(url)
    database.migrate()
    odd = dumps(spec_of(format="of the future"))
    database.save([TournamentCreated(tournament="t", name="odd", spec=odd, at=1.0)])
    database.save(match_records(1, "Ann", "Bob", tournament="t", fixture="1.1.1.1.1"))
    database.save(match_records(2, "Ann", "Bob"))
    keep_ratings(database)
    database.close()
    archive = Archive(url, loop)
    assert loop.wait(archive.ratings(GAME)).matches == 1
    with pytest.raises(HttpError, match=r"cannot be shown.*future"):
        loop.wait(archive.tournament("t"))
    assert loop.wait(archive.tournaments()).total == 1


@pytest.mark.parametrize(
    "spec",
    [
        dumps(spec_of(anchor="Nobody")),
        dumps(spec_of(format="sprt", sprt=Sprt(-1e308, 1e308))),
        dumps(spec_of(games=("shogi",))),
        dumps(spec_of(entrants=0)),
        "{}",
        "nonsense",
    ],
)
def test_a_stored_tournament_that_is_not_valid_spoils_nothing_else(
    loop: Loop, tmp_path: Path, spec: str
) -> None:
    url = f"sqlite:///{tmp_path}/playout.db"
    database = Database(url)
    database.migrate()
    for number, (key, text) in enumerate((("bad", spec), ("good", dumps(spec_of())))):
        database.save([TournamentCreated(tournament=key, name=key, spec=text, at=1.0)])
        for leg, names in ((1, ("Ann", "Bob")), (2, ("Bob", "Ann"))):
            fixture = f"1.1.1.{leg}.1"
            database.save(match_records(2 * number + leg, *names, tournament=key, fixture=fixture))
    keep_ratings(database)
    database.close()
    archive = Archive(url, loop)
    with pytest.raises(HttpError, match="tournament bad cannot be shown: "):
        loop.wait(archive.tournament("bad"))
    good = loop.wait(archive.tournament("good"))
    assert good is not None
    assert good.report.done
    assert [each.tournament for each in loop.wait(archive.tournaments()).items] == ["good", "bad"]
    assert loop.wait(archive.ratings(GAME)).matches == 2


def test_simultaneous_requests_share_one_computation(
    loop: Loop, stored: tuple[str, SeededDatabase]
) -> None:
    archive = Archive(stored[0], loop)
    one, other = archive.tournament(stored[1].cup), archive.tournament(stored[1].cup)
    assert loop.wait(one) is loop.wait(other)


def test_neither_waits_for_the_other_when_one_reads_and_one_writes(
    loop: Loop, tmp_path: Path
) -> None:
    path = tmp_path / "playout.db"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.save(match_records(1, "Ann", "Bob"))
    keep_ratings(database)
    archive = Archive(f"sqlite:///{path}?timeout=0", loop)
    writer = sqlite3.connect(path, timeout=0, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE matches SET text = 'x'")
    assert loop.wait(archive.matches()).total == 1
    assert loop.wait(archive.ratings(GAME)).matches == 1
    writer.execute("COMMIT")
    writer.close()
    database.close()


def test_a_database_that_is_not_there_is_said_to_be_down(loop: Loop, tmp_path: Path) -> None:
    archive = Archive(f"sqlite:///{tmp_path}/nowhere/playout.db", loop)
    for asked in (archive.matches(), archive.ratings(GAME), archive.player("Ann")):
        with pytest.raises(WorkUnavailable, match="does not answer") as raised:
            loop.wait(asked)
        assert raised.value.status == 503


def test_a_database_that_comes_back_is_read_again(loop: Loop, postgres: Postgres) -> None:
    database = Database(postgres.url)
    database.migrate()
    database.save(match_records(1, "Ann", "Bob"))
    keep_ratings(database)
    database.close()
    archive = Archive(postgres.url, loop)
    assert loop.wait(archive.matches()).total == 1
    postgres.stop()
    with pytest.raises(WorkUnavailable):
        loop.wait(archive.matches())
    postgres.start()
    assert loop.wait(archive.matches()).total == 1
    assert loop.wait(archive.ratings(GAME)).matches == 1


def test_a_job_above_the_limit_is_refused(loop: Loop, stored: tuple[str, SeededDatabase]) -> None:
    archive = Archive(stored[0], loop)
    asked = [archive.matches() for _ in range(worker_pool.MAX_WAITING)]
    with pytest.raises(WorkUnavailable, match="try again in a few seconds"):
        loop.wait(archive.matches())
    for each in asked:
        loop.wait(each)
    assert loop.wait(archive.matches()).total


def test_tournaments_of_a_second_database_are_shown_with_its_own(
    loop: Loop, stored: tuple[str, SeededDatabase], tmp_path: Path
) -> None:
    url, cup = f"sqlite:///{tmp_path}/own.db", stored[1].cup
    database = Database(url)
    database.migrate()
    created = TournamentCreated(tournament="own", name="own", spec=dumps(spec_of()), at=1e9)
    database.save([created])
    database.close()
    archive = Archive(url, loop, stored[0])
    before = loop.wait(Archive(stored[0], loop).tournaments())
    found = loop.wait(archive.tournaments())
    assert found.total == before.total + 1
    ids = {each.tournament for each in before.items}
    assert {each.tournament for each in found.items} == ids | {"own"}
    local, own = (loop.wait(archive.tournament(each)) for each in (cup, "own"))
    assert (local and local.is_local, own and own.is_local) == (True, False)
    played = loop.wait(archive.matches(MatchFilter(tournament=cup)))
    assert played.total
    assert {each.linked for each in played.items} == {(False, False)}
    match = loop.wait(archive.match(played.items[0].match))
    assert match
    assert not match.started.rated
    assert loop.wait(archive.matches()) == ResultPage()
    assert loop.wait(archive.ratings(GAME)) == Leaderboard(game=GAME)


def test_a_second_database_that_is_missing_is_passed_over(loop: Loop, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/own.db"
    database = Database(url)
    database.migrate()
    database.close()
    archive = Archive(url, loop, f"sqlite:///{tmp_path}/none.db")
    assert loop.wait(archive.tournaments()) == ResultPage()
    assert loop.wait(archive.tournament("t")) is None
    assert loop.wait(archive.match("m")) is None
    assert not (tmp_path / "none.db").exists()
