"""Databases: what is written is read back, from SQLite and from PostgreSQL alike."""

from __future__ import annotations

import contextlib
import resource
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

import alembic.command
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from msgspec import structs

from playout.protocol.messages import Analysis, ClockState, Reason
from playout.protocol.tournament_spec import Entrant, TournamentSpec, dumps
from playout.server.model.records import (
    Account,
    AccountLocked,
    AccountRenamed,
    EntrantWithdrawn,
    LuckMeasured,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    StoredMatch,
    StoredRatingPoint,
    StoredTournament,
    TokenRenewed,
    TournamentCreated,
    TournamentEnded,
    flat,
    secrets_change,
    stored_analysis,
)
from playout.server.storage import Database, StorageError, engine, storage_process
from playout.server.storage.engine import UnstorableError, without_power_cuts
from playout.server.storage.ipc import (
    AccountChanged,
    RecordRejected,
    RecordsStored,
    Report,
    StorageChecked,
    StorageFailed,
    decode_records,
    encode_records,
)
from playout.server.storage.schema import metadata, player_totals, rating_points
from playout.server.storage.storage_process import Writer
from playout.server.tournament.ledger import Ledger
from support.early_databases import migrate
from support.match_records import GAME, match_records
from support.postgres import Postgres
from support.waiting import PATIENCE_S, wait_until

INFO = stored_analysis(Analysis(win_rate=0.5, pv=(1, 2)))
ADA = Account(id="a", name="Ada", digest="d", created_at=1.5)


def started(match: str, **fields: object) -> MatchStarted:
    usual = MatchStarted(
        **flat(
            match=match,
            game="nim(chips=3)",
            players=("Ada", "Bob"),
            accounts=("a", None),
            sessions=("s1", "s2"),
            clock="10+1",
            rated=False,
            illegal_moves=3,
            credit_cap_s=0.1,
            at=100.0,
        )
    )
    return structs.replace(usual, **flat(**fields))


def played(match: str, ply: int, action: int = 0) -> MovePlayed:
    return MovePlayed(
        **flat(
            match=match,
            ply=ply,
            seat=1 if ply % 2 == 0 else 2,
            action=action,
            clocks=(ClockState(9.5, 0), ClockState(0.25, 3)),
            info=INFO if ply else None,
            at=101.0 + ply,
        )
    )


def finished(match: str) -> MatchEnded:
    return MatchEnded(
        **flat(
            match=match,
            winner=2,
            returns=(0.0, 1.0),
            reason=Reason.TIME,
            text="Ada dozed",
            at=200.0,
        )
    )


def test_written_records_are_read_back(database: Database) -> None:
    moves = (played("m1", 0), played("m1", 1, 2))
    with_bot = started("m2", bots=(None, "uct(time=0.3)"), core_speed=812.5)
    database.save([ADA, started("m1"), *moves, finished("m1"), with_bot, played("m2", 0)])
    whole = StoredMatch(started=started("m1"), moves=moves, ended=finished("m1"))
    rest = StoredMatch(started=with_bot, moves=(played("m2", 0),))
    assert list(database.matches()) == [whole, rest]
    assert database.unfinished() == [rest]
    assert database.finished_since(200.0) == [whole]
    assert database.finished_since(200.5) == []
    assert database.accounts() == ([ADA], 0)


def test_analyses_are_read_as_they_are_wanted(database: Database) -> None:
    moves = (played("m", 0), played("m", 1, 2))
    database.save([started("m"), *moves])
    (plain,) = database.matches(read_analysis=None)
    assert plain.moves == tuple(structs.replace(each, info=None) for each in moves)
    asked: list[tuple[str, int]] = []
    list(database.matches(read_analysis=lambda stored, action: asked.append((stored, action))))
    assert asked == [('{"win_rate":0.5,"pv":[1,2]}', 2)]


def test_a_tournament_is_kept_with_its_matches(database: Database) -> None:
    created = TournamentCreated(tournament="t", name="cup", spec="{}", at=90.0)
    first = started("m1", tournament="t", fixture="1.1.1.1.1", opening=1, max_plies=50)
    withdrawals = [
        EntrantWithdrawn(tournament="t", number=n, entrant=e, at=150.0) for n, e in ((1, 5), (2, 0))
    ]
    database.save([created, first, played("m1", 0), started("m2"), *withdrawals])
    unfinished = StoredTournament(created=created, withdrawn=(5, 0))
    stored_matches = (StoredMatch(started=first, moves=(played("m1", 0),)),)
    assert database.tournaments() == [unfinished]
    assert database.tournament("t") == structs.replace(unfinished, matches=stored_matches)
    assert database.tournament("x") is None
    over = TournamentEnded(tournament="t", at=300.0)
    database.save([over, TournamentEnded(tournament="t", at=400.0)])
    assert database.tournaments() == [structs.replace(unfinished, ended=over)]


def test_the_luck_that_running_tournaments_wait_for_is_measured_whatever_is_older(
    database: Database,
) -> None:
    places = {"m1": None, "m2": "over", "m3": None, "m4": "runs", "m5": "runs"}
    for tournament in ("over", "runs"):
        database.save([TournamentCreated(tournament=tournament, name="cup", spec="{}", at=90.0)])
    database.save([TournamentEnded(tournament="over", at=95.0)])
    for match, place in places.items():
        database.save([started(match, tournament=place, dice_key="k"), finished(match)])
    database.save([LuckMeasured(match="m4", luck="0.5")])
    assert [each.started.match for each in database.unmeasured(2)] == ["m5", "m1", "m2"]


def test_storing_a_record_again_changes_nothing(database: Database) -> None:
    records: list[Record] = [ADA, started("m"), played("m", 0), finished("m")]
    database.save(records)
    before = list(database.matches())
    database.save(records)
    database.save([structs.replace(finished("m"), winner=1), played("m", 0, action=2)])
    assert list(database.matches()) == before


def test_a_takeback_removes_moves_for_others_to_take_their_place(database: Database) -> None:
    taken = MovesTakenBack(match="m", ply=1, at=150.0)
    first = [started("m"), played("m", 0), started("n"), played("n", 0), played("n", 1)]
    moves = [played("m", ply) for ply in (1, 2)]
    database.save([*first, *moves, taken])
    database.save([*moves, taken])  # sent again, because its answer was lost
    again = played("m", 1, action=2)
    database.save([again])
    one, other = database.matches()
    assert one.moves == (played("m", 0), again)
    assert other.moves == (played("n", 0), played("n", 1))


def test_a_claim_changes_one_seat(database: Database) -> None:
    database.save([started("m")])
    database.save([SeatTakenOver(match="m", seat=2, session="s3")])
    assert database.unfinished()[0].started.sessions == ("s1", "s3")


def test_a_transaction_is_stored_as_a_whole_or_not_at_all(database: Database) -> None:
    faulty = structs.replace(played("m", 0), at=None)
    with pytest.raises(UnstorableError):
        database.save([started("m"), faulty])
    assert list(database.matches()) == []
    database.save([started("m"), played("m", 0)])
    assert len(database.unfinished()[0].moves) == 1


def test_a_change_of_secrets_does_not_undo_what_an_operator_has_changed(database: Database) -> None:
    def renewal(before: str, digest: str) -> TokenRenewed:
        return TokenRenewed(account="a", before=before, digest=digest, token_at=9.0, renewal="r")

    database.save([ADA, renewal("d", "d")])
    ((found,), _) = database.accounts()
    assert found == structs.replace(ADA, token_at=9.0, renewal="r")
    database.save([renewal("d", "r")])
    revoked = structs.replace(found, digest="new", renewal="", revoked=True)
    database.put_account(revoked)
    stolen = structs.replace(found, digest="stolen", password="its hash")
    database.save([renewal("r", "r"), secrets_change(found, stolen)])
    assert database.accounts()[0] == [revoked]
    database.save([secrets_change(revoked, structs.replace(revoked, password="its hash"))])
    assert database.accounts()[0] == [structs.replace(revoked, password="its hash")]


def test_an_account_is_locked_and_renamed_with_its_ratings(database: Database) -> None:
    point = StoredRatingPoint(
        game="nim",
        name="Ada",
        version="",
        at=1.0,
        rating=1500.0,
        error=1.0,
        matches=1,
        anchor="Ada",
        anchor_version="",
    )
    database.save([ADA, point, AccountLocked(account="a", revoked=True)])
    database.save([AccountRenamed(account="a", before="Ada", name="Zoë")])
    assert database.accounts()[0] == [structs.replace(ADA, name="Zoë", revoked=True)]
    with sa.create_engine(database.url).connect() as connection:
        assert connection.execute(sa.select(rating_points.c["name", "anchor"])).all() == [
            ("Zoë",) * 2
        ]
    database.save([AccountLocked(account="a", revoked=False)])
    other = structs.replace(ADA, id="b", name="Bob")
    database.save([other])
    with pytest.raises(UnstorableError):
        database.save([AccountRenamed(account="b", before="Bob", name="zoe")])
    assert database.accounts()[0] == [other, structs.replace(ADA, name="Zoë")]


def test_changes_by_an_operator_are_found_and_names_are_unique(database: Database) -> None:
    database.save([ADA])
    _, revision = database.accounts()
    assert database.accounts(revision) == ([], revision)
    renamed = structs.replace(ADA, name="Zoe", administrator=True)
    database.put_account(renamed)
    changed, later = database.accounts(revision)
    assert (changed, later > revision) == ([renamed], True)
    with pytest.raises(StorageError, match="looks like"):
        database.put_account(structs.replace(ADA, id="b", name="zoé"))


def test_the_migrations_make_what_the_schema_says(database: Database) -> None:
    with sa.create_engine(database.url).connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    assert found == []


def test_a_migration_that_is_interrupted_changes_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(connection: sa.Connection) -> None:
        upgrade(connection)
        raise KeyboardInterrupt

    upgrade = engine.upgrade
    with contextlib.closing(Database(url)) as database:
        monkeypatch.setattr(engine, "upgrade", interrupted)
        with pytest.raises(KeyboardInterrupt):
            database.migrate()
        monkeypatch.setattr(engine, "upgrade", upgrade)
        database.migrate()
        database.require()


@pytest.mark.parametrize("version", engine.known()[:-1])
def test_an_upgrade_keeps_everything_that_is_stored(url: str, version: str) -> None:
    """A row in each table of an earlier version, with all of its values, is there afterwards."""
    config = Config()
    config.set_main_option("script_location", "playout.server.storage:migrations")
    before = sa.MetaData()
    connected = sa.create_engine(url)
    with connected.begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, version)
        before.reflect(connection)
        before.remove(before.tables["alembic_version"])
        values = {str: "{}", int: 7, float: 0.5, bool: True, bytes: b"{}"}
        for table in before.sorted_tables:
            row = {each.name: values[each.type.python_type] for each in table.columns}
            connection.execute(table.insert().values(row))
        before.remove(before.tables["leaderboards"])  # they are computed from the matches
        stored = {each: connection.execute(sa.select(each)).all() for each in before.sorted_tables}
    assert "matches" in before.tables
    with contextlib.closing(Database(url)) as database:
        database.migrate()
        database.require()
    with connected.connect() as connection:
        for table, rows in stored.items():  # puzzles that come with Playout are added
            assert set(rows) <= set(connection.execute(sa.select(table)).all())
    connected.dispose()


def test_one_of_several_simultaneous_migrations_runs(url: str) -> None:
    patient = f"{url}?timeout=60" if url.startswith("sqlite") else url
    databases = [Database(patient) for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(Database.migrate, databases))
    for each in databases:
        each.require()
        each.close()


def test_the_known_versions_are_those_of_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", "playout.server.storage:migrations")
    scripts = ScriptDirectory.from_config(config)
    latest_first = [each.revision for each in scripts.walk_revisions()]
    assert list(engine.known()) == latest_first[::-1]


def test_a_migration_uses_nothing_that_may_change() -> None:
    files = list(Path(engine.__file__).parent.glob("migrations/versions/v*.py"))
    assert len(files) == len(engine.known())
    assert [each.name for each in files if "playout" in each.read_text()] == []


#: The start of the SHA-256 of each migration. A migration that was released is never changed, not
#: even its comments: databases have its version. Add another migration, and its line here.
MIGRATIONS = {
    "v0001_first.py": "7ce3731454f5d4a8",
    "v0002_puzzles.py": "6698b94b026829c8",
    "v0003_early_databases.py": "41fcf81a30498327",
    "v0004_dice.py": "b02e4f32fe450013",
    "v0005_logins.py": "2c476073298236c7",
    "v0006_luck.py": "a96f925c02d228ca",
    "v0007_identity.py": "02b46b612bb23f36",
    "v0008_hosted_tournaments.py": "07f756d006e8a105",
    "v0009_scales.py": "a3fb083ff732aef6",
    "v0010_delay.py": "8dcd171852d1a5fa",
}


def test_a_migration_is_never_changed() -> None:
    files = sorted(Path(engine.__file__).parent.glob("migrations/versions/v*.py"))
    assert {each.name: sha256(each.read_bytes()).hexdigest()[:16] for each in files} == MIGRATIONS


def lacking_columns(connection: sa.Connection, *columns: tuple[str, str]) -> None:
    """Give a database the tables of an early version, which had no puzzles."""
    for table, column in columns:
        connection.execute(sa.text(f"ALTER TABLE {table} DROP COLUMN {column}"))
    for table in ("puzzle_attempts", "puzzles"):
        connection.execute(sa.text(f"DROP TABLE {table}"))


TOKENS = (("accounts", "token_at"), ("accounts", "renewal"))
MISSING = (("matches", "missing"),)


@pytest.mark.parametrize(
    ("stamped", "lacks"),
    [
        pytest.param("0001", (*TOKENS, *MISSING), id="24 November, 18:25"),
        pytest.param("0002", TOKENS, id="24 November, 19:28"),
        pytest.param("0001", MISSING, id="24 November, 21:36"),
        pytest.param("0002", (), id="24 November, 21:48"),
        pytest.param("0001", (), id="24 November, 22:28"),
    ],
)
def test_a_database_of_the_first_days_is_opened(
    url: str, stamped: str, lacks: tuple[tuple[str, str], ...]
) -> None:
    """Their versions 0001 and 0002 had fewer columns, and no puzzles."""
    connected = sa.create_engine(url)
    with connected.begin() as connection:
        migrate(connection, "0002")
        lacking_columns(connection, *lacks)
        version = sa.text("UPDATE alembic_version SET version_num = :version")
        connection.execute(version, {"version": stamped})
        before = sa.MetaData()
        before.reflect(connection, only=["accounts"])
        values = {str: "{}", int: 7, float: 0.5, bool: True, bytes: b"{}"}
        row = {c.name: values[c.type.python_type] for c in before.tables["accounts"].columns}
        connection.execute(before.tables["accounts"].insert().values(row))
    connected.dispose()
    with contextlib.closing(Database(url)) as database:
        database.migrate()
        database.require()
        (account,), _ = database.accounts()
        assert account.name == row["name"]
        database.save([ADA, *match_records(1, "Ann", "Bob")])


def test_the_totals_of_players_are_counted(url: str, database: Database) -> None:
    database.save([ADA, *match_records(1, "Ann", "Bob"), *match_records(2, "guest", "Ann", -1)])
    database.save(match_records(3, "dee", "eve", 2))
    with sa.create_engine(url).connect() as connection:
        rows = connection.execute(sa.select(player_totals)).all()
    counted = {tuple(row[:3]): tuple(row[3:]) for row in rows}
    assert counted["id of Ann", False, GAME] == (1, 1, 0, 2.0)
    assert counted["eve", True, GAME] == (1, 0, 0, 3.0)
    assert len(counted) == 4


def test_two_servers_do_not_use_one_database(url: str, database: Database) -> None:
    database.lock()
    other = Database(url)
    with pytest.raises(StorageError, match="another server"):
        other.lock()
    other.close()
    database.close()
    third = Database(url)
    third.lock()
    third.close()


def test_matches_are_found_by_what_is_asked_for(database: Database) -> None:
    database.save([started("m1"), started("m2", game="nim", at=300.0, players=("Eve", "Bob"))])
    assert [k.started.match for k in database.matches(game="nim")] == ["m1", "m2"]
    assert [k.started.match for k in database.matches(game="nim(chips=3)")] == ["m1"]
    assert [k.started.match for k in database.matches(player="Eve")] == ["m2"]
    assert [k.started.match for k in database.matches(since=200.0)] == ["m2"]
    assert [k.started.match for k in database.matches(match="m1")] == ["m1"]


# Files.


def test_synchronous_mode_is_an_option(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/playout.db?timeout=2.0"
    for chosen, level in ((url, 2), (without_power_cuts(url), 1)):
        database = Database(chosen)
        database.migrate()
        with database._engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
        database.close()
    assert without_power_cuts("postgresql+psycopg:///x") == "postgresql+psycopg:///x"


def test_the_file_is_for_its_owner_only_and_survives_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "data" / "playout" / "playout.db"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.save([started("m")])
    copy = tmp_path / "copy.db"
    database.backup(copy)
    for file in (path, copy):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(StorageError, match="exists"):
        database.backup(copy)
    assert Database(f"sqlite:///{copy}").unfinished() == database.unfinished()
    database.close()


def locked(path: Path) -> Database:
    """A SQLite database as a storage process has it."""
    database = Database(f"sqlite:///{path}")
    database.lock()
    database.migrate()
    database.save([started("m")])
    return database


def test_a_file_that_is_gone_is_not_written_and_not_made_again(tmp_path: Path) -> None:
    path, away, told = tmp_path / "playout.db", tmp_path / "away.db", Told()
    database = locked(path)
    writer = Writer(database, told, 0)
    path.rename(away)
    writer.check()
    with pytest.raises(StorageError, match=r"playout\.db is gone: put it back, or restart"):
        database.save([played("m", 0)])
    database.drop_connection()
    with pytest.raises(StorageError, match="is gone"):
        database.save([played("m", 0)])
    with pytest.raises(sa.exc.OperationalError, match="is gone"):
        Database(f"sqlite:///{path}", only_read=True).unfinished()
    assert not path.exists()
    away.rename(path)
    writer.check()
    database.save([played("m", 0)])
    assert database.unfinished()[0].moves == (played("m", 0),)
    assert [bool(fault) for fault in told.faults] == [True, False]
    database.close()


def test_a_file_that_was_replaced_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "playout.db"
    database = locked(path)
    database.backup(tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(path)
    with pytest.raises(StorageError, match="was replaced by another one: put the first one back"):
        database.save([played("m", 0)])
    assert Database(f"sqlite:///{path}").unfinished()[0].moves == ()
    database.close()


def test_a_journal_that_is_gone_is_noticed_and_what_it_held_is_kept(tmp_path: Path) -> None:
    path, told = tmp_path / "playout.db", Told()
    database = locked(path)
    writer = Writer(database, told, 0)
    writer.check()
    database.save([played("m", 0)])
    path.with_name("playout.db-wal").unlink()
    writer.check()
    with pytest.raises(
        StorageError, match=r"playout.db-wal .* was deleted or replaced: restart the"
    ):
        database.save([played("m", 1)])
    copy = tmp_path / "after a crash.db"
    copy.write_bytes(path.read_bytes())
    (left,) = Database(f"sqlite:///{copy}").unfinished()
    assert len(left.moves) >= 1
    assert [bool(fault) for fault in told.faults] == [False, True]
    database.close()


def test_the_journal_is_emptied_unless_somebody_reads(tmp_path: Path) -> None:
    path = tmp_path / "playout.db"
    journal = path.with_name("playout.db-wal")
    database = locked(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM moves").fetchall()
        database.save([started("m"), played("m", 0)])
        database.empty_journal()
        assert journal.stat().st_size > 0
    database.empty_journal()
    assert journal.stat().st_size == 0
    database.check()
    database.save([played("m", 1)])
    assert journal.stat().st_size > 0
    (stored,) = database.matches()
    assert len(stored.moves) == 2
    database.close()


def test_a_full_disk_is_noticed_before_anything_is_to_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "playout.db"
    database, told = locked(path), Told()
    writer = Writer(database, told, 0)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM moves").fetchall()  # so that the journal can only grow
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        journal = path.with_name("playout.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal, limits[1]))
        try:
            writer.check()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.check()
    assert [bool(fault) for fault in told.faults] == [True, False]
    database.require()
    database.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "cannot use the database"),
        ("mysql://root@localhost/x", "cannot use"),
        ("sqlite:////tmp/x.db?synchronous=off", "synchronous is full or normal, not 'off'"),
        ("sqlite:////tmp/playout.db?timeout=long", "cannot use"),
        ("sqlite:////proc/none/playout.db", "cannot use the database"),
        ("postgresql+psycopg://nobody:secret@127.0.0.1:1/x", "cannot use the database"),
    ],
)
def test_a_database_that_cannot_be_used_is_explained(url: str, said: str) -> None:
    with pytest.raises(StorageError, match=said) as raised:
        Database(url).migrate()
    assert "secret" not in str(raised.value)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ada, " * 1000)
    with pytest.raises(StorageError, match="not a database"):
        Database(f"sqlite:///{path}").migrate()
    assert path.read_text().startswith("Dear Ada")


def test_a_mistyped_folder_is_not_created(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/mistyped/playout.db")
    for use in (database.migrate, database.lock):
        with pytest.raises(StorageError, match=r"there is no folder .*/mistyped"):
            use()
    assert not list(tmp_path.iterdir())


def test_a_database_that_is_only_read_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "playout.db"
    for use in (Database(f"sqlite:///{path}").require, Database(f"sqlite:///{path}").require_file):
        with pytest.raises(StorageError, match=r"there is no database .*playout\.db; name another"):
            use()
    assert not path.exists()
    path.touch()
    with pytest.raises(StorageError, match="has no tables of Playout"):
        Database(f"sqlite:///{path}").require()
    Database(f"sqlite:///{path}").require(create=True)
    Database(f"sqlite:///{path}").require()


def test_commands_leave_a_database_of_an_earlier_version_alone(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(url)
    database.migrate()
    *_, latest = versions = engine.known()
    monkeypatch.setattr(engine, "known", lambda: (*versions, "9999"))
    text = rf"earlier version of Playout \({latest}\); start a server"
    with pytest.raises(StorageError, match=text):
        database.require()
    database.close()


def test_a_database_of_a_newer_version_is_said_to_be_one(url: str) -> None:
    database = Database(url)
    database.migrate()
    with database._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    for use in (database.require, database.migrate):
        with pytest.raises(StorageError, match=r"newer version of Playout: its tables .* 9999"):
            use()
    database.close()


# The writer.


class Told:
    """Hears what the writer says."""

    def __init__(self) -> None:
        self.stored_up_to: list[tuple[int, int]] = []
        self.rejections: list[tuple[int, str]] = []
        self.failures: list[str] = []
        self.faults: list[str | None] = []
        self.sizes: list[int | None] = []
        self.changed: list[Account] = []
        self.failure = threading.Event()

    def __call__(self, report: Report) -> None:
        match report:
            case RecordsStored(number=number, records=records):
                self.stored_up_to.append((number, records))
            case RecordRejected(number=number, reason=reason):
                self.rejections.append((number, reason))
            case StorageFailed(reason=reason):
                self.failures.append(reason)
                self.failure.set()
            case StorageChecked(fault=fault, size=size):
                self.faults.append(fault)
                self.sizes.append(size)
            case AccountChanged(account=account):
                self.changed.append(account)


def test_records_are_stored_in_order_and_those_that_come_together_at_once(tmp_path: Path) -> None:
    database, told = Database(f"sqlite:///{tmp_path}/playout.db"), Told()
    database.migrate()
    writer = Writer(database, told, 0)
    writer.write([(1, started("m"))])
    writer.write([(ply + 2, played("m", ply)) for ply in range(500)])
    assert told.stored_up_to == [(1, 1), (501, 500)]
    assert [move.ply for move in database.unfinished()[0].moves] == list(range(500))


def test_an_idle_writer_notices_that_the_database_is_away_and_back(postgres: Postgres) -> None:
    database, told = Database(postgres.url), Told()
    database.lock()
    database.migrate()
    writer = Writer(database, told, 0)
    writer.check()
    postgres.stop()
    writer.check()
    writer.check()
    postgres.start()
    writer.check()
    assert [bool(fault) for fault in told.faults] == [False, True, True, False]
    database.close()


def test_a_database_that_is_locked_is_waited_for(tmp_path: Path) -> None:
    database, told = Database(f"sqlite:///{tmp_path}/playout.db?timeout=0.1"), Told()
    database.migrate()
    blocker = sqlite3.connect(
        tmp_path / "playout.db", isolation_level=None, check_same_thread=False
    )
    blocker.execute("BEGIN IMMEDIATE")

    def unblock() -> None:
        assert told.failure.wait(PATIENCE_S)
        assert told.stored_up_to == []
        blocker.execute("ROLLBACK")

    with ThreadPoolExecutor(1) as other:
        unblocked = other.submit(unblock)
        Writer(database, told, 0).write([(1, started("m"))])
        unblocked.result()
    assert "locked" in told.failures[0]
    assert told.stored_up_to == [(1, 1)]
    assert len(database.unfinished()) == 1


def test_an_operator_who_changes_an_account_is_noticed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/playout.db"
    database, told = Database(url), Told()
    database.migrate()
    writer = Writer(database, told, 0)
    Database(url).put_account(ADA)

    def changed() -> list[Account]:
        writer.poll_accounts()
        return told.changed

    assert wait_until(changed, "the changed account") == [ADA]


def test_an_account_that_the_server_has_added_is_not_reported_to_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier state of it would replace what the server has changed meanwhile."""
    monkeypatch.setattr(storage_process, "POLL_S", 0.0)
    told = Told()
    writer = Writer(database, told, database.accounts()[1])
    writer.write([(1, ADA)])
    writer.poll_accounts()
    assert told.changed == []
    bob = structs.replace(ADA, id="b", name="Bob")
    database.put_account(bob)
    writer.poll_accounts()
    assert told.changed == [bob]


#: Records that no database can hold, though some of them pass the checks of one.
UNSTORABLE: dict[str, Record] = {
    "a number that SQLite cannot hold": started("bad", illegal_moves=2**64 - 1),
    "a number that PostgreSQL cannot hold": started("bad", max_plies=3_000_000_000),
    "a number that MessagePack cannot hold": started("bad", illegal_moves=10**30),
    "a value of another type": started("bad", game=object()),
    "a lone surrogate": started("bad", players=("\ud800", "Bob")),
    "no value": started("bad", clock=None),
    "a number that an earlier match cannot have": played("before", -1),
}


@pytest.mark.parametrize("record", UNSTORABLE.values(), ids=UNSTORABLE)
def test_a_record_that_cannot_be_stored_stops_no_other(database: Database, record: Record) -> None:
    told, other = Told(), [started("other"), played("other", 0), finished("other")]
    database.save([started("before"), played("before", 0)])
    sent = [*other[:1], record, played("bad", 0), *other[1:2], finished("bad"), *other[2:], ADA]
    batch = decode_records(encode_records(list(enumerate(sent, 10))))
    writer = Writer(database, told, 0)
    for _ in range(2):  # a server that has not heard of it sends everything again
        told.rejections.clear()
        writer.write(batch)
        assert told.rejections[0][0] == 11
        assert told.rejections[0][1]
    assert (told.stored_up_to, told.failures) == ([(16, 7)] * 2, [])
    kept = {each.started.match: each for each in database.matches()}
    assert kept["other"].moves == (played("other", 0),)
    assert kept["other"].ended == finished("other")
    assert database.accounts()[0] == [ADA]
    assert "bad" not in kept


def test_a_match_that_lacks_a_move_has_ended_without_result(database: Database) -> None:
    told, writer = Told(), None
    database.save([started("m"), played("m", 0)])
    bad = structs.replace(played("m", 1), at=None)
    records: list[Record] = [bad, played("m", 2), finished("m")]
    writer = Writer(database, told, 0)
    writer.write(list(enumerate(records, 1)))
    writer.write([(4, played("m", 3))])
    assert [number for number, _ in told.rejections] == [1]
    (match,) = database.matches()
    assert match.moves == (played("m", 0),)
    assert match.ended is not None
    assert (match.ended.winner, match.ended.reason) == (0, Reason.ABORTED)
    assert "could not store" in match.ended.text
    assert database.unfinished() == []


def test_an_end_that_cannot_be_stored_either_stops_no_other(tmp_path: Path) -> None:
    database, told = Database(f"sqlite:///{tmp_path}/playout.db"), Told()
    database.migrate()
    database.save([started("m")])
    with contextlib.closing(sqlite3.connect(tmp_path / "playout.db")) as connection:
        connection.execute(
            "CREATE TRIGGER rule BEFORE UPDATE ON matches BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    Writer(database, told, 0).write([(1, finished("m")), (2, started("other"))])
    assert (told.rejections, told.stored_up_to) == ([(1, "no")], [(2, 2)])
    assert [each.started.match for each in database.matches()] == ["m", "other"]
    database.close()


def test_a_tournament_that_lacks_a_record_is_over(database: Database) -> None:
    told, created = Told(), TournamentCreated(tournament="t", name="cup", spec="{}", at=90.0)
    bad = EntrantWithdrawn(tournament="t", number=1, entrant=2**40, at=91.0)
    good = structs.replace(bad, number=2, entrant=0)
    batch = decode_records(encode_records([(1, created), (2, bad), (3, good)]))
    Writer(database, told, 0).write(batch)
    (stored,) = database.tournaments()
    assert stored.withdrawn == ()
    assert stored.ended is not None
    assert told.rejections[0][0] == 2


def test_a_text_that_only_postgresql_cannot_hold_stops_no_other(postgres: Postgres) -> None:
    database, told = Database(postgres.url), Told()
    database.migrate()
    Writer(database, told, 0).write([(1, started("a", game="n\0m")), (2, started("b"))])
    assert "NUL" in told.rejections[0][1]
    assert [each.started.match for each in database.matches()] == ["b"]
    database.close()


# Analyses that are no longer kept.


def with_analysis(match: str, plies: int, ended_at: float | None) -> list[Record]:
    records: list[Record] = [started(match), *(played(match, ply + 1) for ply in range(plies))]
    if ended_at is not None:
        records.append(structs.replace(finished(match), at=ended_at))
    return records


def analysed(database: Database) -> dict[str, int]:
    """The number of moves with analysis of each match."""
    query = "SELECT match, COUNT(info) FROM moves GROUP BY match ORDER BY match"
    with database.connect() as connection:
        return {row[0]: row[1] for row in connection.exec_driver_sql(query)}


def test_old_analyses_are_removed_a_few_at_a_time(database: Database) -> None:
    for number, (plies, at) in enumerate([(250, 10.0), (3, 20.0), (3, 20.0), (3, 30.0), (3, None)]):
        database.save(with_analysis(f"m{number}", plies, at))
    since: tuple[float, str] | None = (0.0, "")
    counts = []
    while since:
        since = database.remove_analysis(since, 30.0)
        counts.append(tuple(analysed(database).values()))
    assert counts[:2] == [(150, 3, 3, 3, 3), (50, 3, 3, 3, 3)]
    assert counts[-1] == (0, 0, 0, 3, 3)
    assert all(len(match.moves) for match in database.unfinished())


def test_removed_analyses_leave_room_in_the_database(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/playout.db")
    database.migrate()
    policy = tuple((each, 0.123456789) for each in range(400))
    info = stored_analysis(Analysis(policy=policy))
    moves = [structs.replace(each, info=info) for each in map(partial(played, "m"), range(90))]
    empty = database.size()
    database.save([started("m"), *moves, finished("m")])
    full = database.size()
    assert full - empty > 90 * 4096
    database.remove_analysis((0.0, ""), 300.0)
    assert database.size() - empty < 0.1 * (full - empty)
    database.close()


def test_a_check_reports_the_size_of_the_database(database: Database) -> None:
    told = Told()
    Writer(database, told, 0).check()
    assert told.faults == [None]
    assert told.sizes[0]


def test_results_that_are_taken_back_are_played_again(database: Database) -> None:
    both = (Entrant("Ann", "1"), Entrant("Bob", "1"))
    spec = TournamentSpec(name="cup", games=(GAME,), format="match", entrants=both)
    database.save(
        [
            TournamentCreated(tournament="t1", name="cup", spec=dumps(spec), at=1.0),
            *match_records(1, "Ann", "Bob", 1, tournament="t1", fixture="1.1.1.1.1"),
            *match_records(2, "Bob", "Ann", 1, tournament="t1", fixture="1.1.1.2.1"),
            TournamentEnded(tournament="t1", at=3.0),
        ]
    )
    database.take_back(["m002"], "the worker was wrong")
    stored = database.tournament("t1")
    assert stored
    ended = [each.ended for each in stored.matches if each.ended]
    assert [(each.winner, each.reason) for each in ended] == [
        (1, Reason.RULES),
        (0, Reason.ABORTED),
    ]
    ledger = Ledger.restored(stored)
    assert not ledger.over
    assert not ledger.results
    assert [each.number for each in ledger.attempts.values()] == [2]
