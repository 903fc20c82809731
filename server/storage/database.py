"""A database: opens, upgrades, writes and reads it. It blocks, so it is not for the reactor."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

import msgspec
import sqlalchemy as sa
from msgspec import structs
from sqlalchemy.exc import SQLAlchemyError

from playout.protocol.analyst import Puzzle
from playout.protocol.messages import Reason
from playout.server.model.records import (
    Account,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    StoredMatch,
    StoredTournament,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.storage import engine
from playout.server.storage.engine import (
    FileIdentity,
    InUse,
    StorageError,
    UnstorableError,
    first_line,
    identity_of,
    make_private,
    open_engine,
    stored_version,
)
from playout.server.storage.schema import (
    UNMEASURED,
    accounts,
    matches,
    moves,
    puzzles,
    record_of,
    tournaments,
    withdrawals,
)
from playout.server.storage.statements import (
    PREFIX,
    RENAME_IN_RATINGS,
    columns_of,
    insert,
    row_of,
    writes,
)

#: The number of PostgreSQL's advisory lock of a server that uses the database; it is arbitrary.
_LOCK = 0x706C61796F7574
_ANOTHER = "name another one with --database URL"
#: Begins a transaction once no other process migrates. SQLite's driver itself begins none before it
#: creates a table. The number of PostgreSQL's lock is arbitrary.
_BEGIN_MIGRATION = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "SELECT pg_advisory_xact_lock(7062026)",
}
#: The number of matches that are read or added at a time.
_CHUNK = 200
#: The ids that a server makes: the milliseconds of its start, and a number of four digits.
_ID, _ID_LENGTH, _NO_HEXADECIMAL = re.compile("[0-9a-f]+"), 15, "g"
_SIZE = {
    "sqlite": "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    "postgresql": "SELECT pg_database_size(current_database())",
}
#: Maximum number of moves whose analysis is removed at a time, and matches that are searched for
#: them.
_ANALYSES = 100
_MATCHES = 20
#: The puzzles that come with Playout, so that a new server has some; `playout-server puzzles
#: --random` has found them.
_SHIPPED_PUZZLES = "puzzles.json"

#: Returns what is kept of the analysis of a move, from its JSON and the action that was played.
ReadAnalysis = Callable[[str, int], str]

_decode_puzzles = msgspec.json.Decoder(list[Puzzle]).decode


def whole_analysis(stored: str, action: int) -> str:
    """Return all of a stored analysis."""
    return stored


class Database:
    """One database, SQLite or PostgreSQL. Every method raises SQLAlchemyError when it fails."""

    def __init__(self, url: str, *, only_read: bool = False) -> None:
        """Prepare to use it; nothing is opened yet. Raises StorageError.

        With `only_read` it refuses to write, and to read for longer than a page may take.
        """
        self.url, self._engine = open_engine(url, only_read=only_read)
        self.kind = self.url.get_backend_name()
        self._connection: sa.Connection | None = None
        #: The identity of the journal of that connection; only SQLite has one.
        self._journal: FileIdentity | None = None
        self._lock_file: IO[str] | None = None
        self._was_written = False
        #: The identity of a locked SQLite file: another file at its path is not written.
        self.file: FileIdentity | None = None
        self._writes = writes(self.kind)

    @property
    def shown(self) -> str:
        """The URL of the database without its password, for messages."""
        return self.url.render_as_string(hide_password=True)

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database; None for PostgreSQL and in memory."""
        name = self.url.database
        return Path(name) if self.kind == "sqlite" and name and name != ":memory:" else None

    def migrate(self) -> None:
        """Create the tables, or upgrade those of an earlier version. Raises StorageError.

        Then add the puzzles that come with Playout. It is one transaction: a killed process changes
        nothing, and of several processes one does it.
        """
        latest = engine.known()[-1]
        with self._usable() as connection:
            if self._version(connection) == latest:
                return
        with self._usable() as connection:
            connection.exec_driver_sql(_BEGIN_MIGRATION[self.kind])
            if self._version(connection) != latest:
                engine.upgrade(connection)
                self._add_puzzles(connection, shipped_puzzles())

    def require(self, *, create: bool = False) -> None:
        """Check that it has the tables of this version; with `create`, create missing ones.

        Raises StorageError if the database does not exist, or has another version.
        """
        if not create:
            self.require_file()
        latest = engine.known()[-1]
        with self._usable() as connection:
            found = self._version(connection)
        if found == latest:
            return
        if found is not None:
            text = f"the database {self.shown} is of an earlier version of Playout ({found})"
            raise StorageError(f"{text}; start a server of this version ({latest}) to upgrade it")
        if not create:
            raise StorageError(f"{self.shown} has no tables of Playout; {_ANOTHER}")
        self.migrate()

    def is_outdated(self) -> bool:
        """Whether its tables are of an earlier version. Raises StorageError for a later one."""
        with self._usable() as connection:
            return self._version(connection) not in (None, engine.known()[-1])

    def require_file(self) -> None:
        """Raise StorageError for a SQLite database whose file does not exist."""
        if self.path and not self.path.exists():
            raise StorageError(f"there is no database {self.path}; {_ANOTHER}")

    def _version(self, connection: sa.Connection) -> str | None:
        """Return the version of the tables; None without tables. Raises StorageError for others."""
        found = engine.version_of(connection)
        if found is not None and found not in engine.known():
            raise StorageError(
                f"the database {self.shown} is of a newer version of Playout: its tables are of "
                f"version {found}, and this version knows those up to {engine.known()[-1]}. "
                "Install the newer version, or choose another database with --database URL"
            )
        return found

    @contextlib.contextmanager
    def _usable(self) -> Iterator[sa.Connection]:
        try:
            if self.path:
                make_private(self.path)
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError) as error:
            raise StorageError(
                f"cannot use the database {self.shown}: {first_line(error)}"
            ) from error

    def lock(self) -> None:
        """Lock the database against other servers, until `close`.

        Raises InUse, or StorageError if the database cannot be reached.
        """
        with self._usable():
            pass
        if self.path:
            self._lock_file = open(f"{self.path}.lock", "w")  # noqa: SIM115
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InUse(f"another server uses the database {self.shown}") from error
            self.file = identity_of(self.path)
        elif self.kind == "postgresql":
            self._writing()

    def close(self) -> None:
        """Close all connections, and release the lock."""
        self._unlock()
        self.drop_connection()
        self._engine.dispose()
        if self._lock_file:
            self._lock_file.close()

    def connect(self) -> sa.Connection:
        """Return a new connection to read with; the caller closes it soon."""
        return self._engine.connect()

    # Writing records.

    def save(self, records: Sequence[Record]) -> None:
        """Store records in one transaction; records that are stored already stay as they are.

        If the database cannot hold a value of one, stores none, and raises UnstorableError. Raises
        StorageError if the file of a locked SQLite database is gone or was replaced.
        """
        self.check_file()
        self._save(self._writing(), records)
        self.check_file()

    def check(self) -> None:
        """Raise StorageError or SQLAlchemyError if records could not be stored now.

        Until it has succeeded once it writes, without a change: the disk may be full.
        """
        self.check_file()
        connection = self._writing()
        if self._was_written:
            connection.exec_driver_sql("SELECT 1")
            connection.rollback()
        else:
            self._write_nothing(connection)
            self._was_written = True

    def check_file(self) -> None:
        """Raise StorageError if the file of a locked SQLite database is gone or was replaced."""
        if self.file is None or self.path is None:
            return
        found = identity_of(self.path)
        if found is None:
            text = f"the database file {self.path} is gone: put it back, or restart the server"
            raise StorageError(f"{text}, which then creates a new one")
        if found != self.file:
            text = f"the database file {self.path} was replaced by another one"
            raise StorageError(f"{text}: put the first one back, or restart the server")
        self._check_journal()

    def _check_journal(self) -> None:
        """Raise StorageError if the journal of the connection for writing was deleted or replaced.

        SQLite would continue to write to the deleted file, which cannot be opened after a crash.
        The content of the journal is copied into the database file.
        """
        if self._connection is None or self.path is None:
            return
        journal = self.path.with_name(f"{self.path.name}-wal")
        found = identity_of(journal)
        if self._journal is None:
            self._journal = found
        elif found != self._journal:
            self._connection.connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            text = f"the file {journal} of the database was deleted or replaced"
            raise StorageError(f"{text}: restart the server")

    def empty_journal(self) -> None:
        """Copy the journal of SQLite into the database file and empty it, unless somebody reads.

        It would keep its 4 MB otherwise. Errors are those of the next write.
        """
        if self._connection is None or self.path is None:
            return
        cursor = self._connection.connection.cursor()
        (waits_ms,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        with contextlib.suppress(sqlite3.OperationalError):
            cursor.execute("PRAGMA busy_timeout=0")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute(f"PRAGMA busy_timeout={waits_ms}")

    def _write_nothing(self, connection: sa.Connection) -> None:
        """Write a row without changing it, which fails if the disk is full."""
        with connection.begin():
            version = connection.scalar(sa.select(stored_version.c.version_num))
            # To another value and back: SQLite does not write a value that stays the same.
            for value in (f"{version}+", version):
                connection.execute(stored_version.update().values(version_num=value))

    def _save(self, connection: sa.Connection, records: Sequence[Record]) -> None:
        rows: dict[Any, list[tuple[Any, ...]]] = {kind: [] for kind in self._writes}
        raw = connection.connection  # the driver's: see statements.Write
        try:
            for record in records:
                kind: Any = type(record)
                rows[kind].append(row_of(record))
            cursor = raw.cursor()
            rows[MatchEnded] = _first_of_each(rows[MatchEnded])
            for kind, statements in self._writes.items():
                if rows[kind]:
                    for write in statements:
                        write.execute(cursor, rows[kind])
            raw.commit()
        except Exception as error:
            with contextlib.suppress(Exception):  # the connection may be broken
                raw.rollback()
            if self._is_about_values(error):
                raise UnstorableError(first_line(error)) from error
            raise sa.exc.DBAPIError("", None, error) from error

    def _is_about_values(self, error: Exception) -> bool:
        """Return whether an error is about values of a record, not the state of the database."""
        driver: Any = self._engine.dialect.dbapi
        values = (driver.DataError, driver.IntegrityError)
        return isinstance(error, (*values, ArithmeticError, LookupError, TypeError, ValueError))

    def drop_connection(self) -> None:
        """Close the connection for writing, which may be broken; `save` opens another one."""
        connection, self._connection, self._journal = self._connection, None, None
        if connection:
            with contextlib.suppress(SQLAlchemyError):
                connection.invalidate()
                connection.close()

    def _unlock(self) -> None:
        """Release PostgreSQL's lock now, not when PostgreSQL notices the closed connection."""
        if self._connection and self.kind == "postgresql":
            with contextlib.suppress(SQLAlchemyError):
                self._connection.rollback()
                self._connection.execute(sa.select(sa.func.pg_advisory_unlock(_LOCK)))

    def _writing(self) -> sa.Connection:
        if self._connection is None:
            connection = self._engine.connect()
            if self.kind == "postgresql":
                got = connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_LOCK)))
                connection.rollback()
                if not got:
                    connection.close()
                    raise InUse(f"another server uses the database {self.shown}")
            self._connection = connection
        return self._connection

    def size(self) -> int:
        """Return the bytes that the database uses, of SQLite without free pages and the journal."""
        connection = self._writing()
        size = connection.exec_driver_sql(_SIZE[self.kind]).scalar_one()
        connection.rollback()
        return int(size)

    def remove_analysis(self, since: tuple[float, str], until: float) -> tuple[float, str] | None:
        """Remove the analyses of some moves of matches that ended after `since`, before `until`.

        `since` has a time and the id of a match. Returns the place to continue from; None if no
        match is left.
        """
        m, left = matches.c, _ANALYSES
        ended = sa.select(m.ended_at, m.id).where(
            m.ended_at < until, sa.tuple_(m.ended_at, m.id) > sa.tuple_(*since)
        )
        its_moves = sa.select(moves.c.ply).where(moves.c.info.is_not(None))
        connection = self._writing()
        with connection.begin():
            found = connection.execute(ended.order_by(m.ended_at, m.id).limit(_MATCHES)).all()
            for at, match in found:
                chosen = its_moves.where(moves.c.match == match).limit(left)
                plies = list(connection.scalars(chosen))
                if plies:
                    those = moves.c.match == match, moves.c.ply.in_(plies)
                    connection.execute(sa.update(moves).where(*those).values(info=None))
                left -= len(plies)
                if left == 0:  # this match may have more
                    return since
                since = at, match
        return since if found else None

    # Accounts.

    def accounts(self, since: int = -1) -> tuple[list[Account], int]:
        """Return the accounts changed after a revision, sorted by name, and the last revision.

        The revision of accounts that no operator has changed is 0, also when there is none yet:
        otherwise those that a server adds later would count as changed by an operator.
        """
        chosen = sa.select(accounts).where(accounts.c.revision > since)
        with self._engine.connect() as connection:
            rows = connection.execute(chosen.order_by(accounts.c.name)).all()
        return [record_of(Account, row) for row in rows], max(
            [since, 0, *(row.revision for row in rows)]
        )

    def put_account(self, account: Account) -> None:
        """Add or change an account, as an operator. Raises StorageError if the name is taken."""
        latest = sa.select(sa.func.coalesce(sa.func.max(accounts.c.revision), 0) + 1)
        row = dict(zip(columns_of(Account), row_of(account), strict=True))
        row["revision"] = latest.scalar_subquery()
        changed = {key: value for key, value in row.items() if key != "id"}
        put = insert(self.kind, accounts).values(row)
        put = put.on_conflict_do_update(index_elements=["id"], set_=changed)
        its_name = sa.select(accounts.c.name).where(accounts.c.id == account.id)
        try:
            with self._engine.begin() as connection:
                name = connection.scalar(its_name)
                connection.execute(put)
                if name not in (None, account.name):
                    names = {f"{PREFIX}before": name, f"{PREFIX}name": account.name}
                    for statement in RENAME_IN_RATINGS:
                        connection.execute(statement, names)
        except sa.exc.IntegrityError as error:
            raise StorageError(f"{account.name!r} looks like a name that is taken") from error

    # Tournaments.

    def tournaments(self) -> list[StoredTournament]:
        """Return all tournaments, oldest first, without their matches."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(tournaments).order_by(tournaments.c.id)).all()
            chosen = sa.select(withdrawals).order_by(withdrawals.c.tournament, withdrawals.c.number)
            withdrawn: dict[str, list[int]] = {}
            for each in connection.execute(chosen):
                withdrawn.setdefault(each.tournament, []).append(each.entrant)
        return [tournament_of(row, withdrawn.get(row.id, ())) for row in rows]

    def ids_end(self) -> float:
        """Return a start of a server, in seconds since 1970, that gives ids after all stored ones.

        It is 0 if no server has made the ids: imported matches may have others.
        """
        found = ""
        with self._engine.connect() as connection:
            for table in (matches, tournaments):
                made = (sa.func.length(table.c.id) == _ID_LENGTH) & (table.c.id < _NO_HEXADECIMAL)
                known = connection.scalar(sa.select(sa.func.max(table.c.id)).where(made)) or ""
                found = max(found, known if _ID.fullmatch(known) else "")
        return (int(found[:-4], 16) + 2) / 1000 if found else 0.0

    def tournament(self, tournament: str) -> StoredTournament | None:
        """Return a tournament with its matches, oldest first; None if no tournament has this id."""
        for stored in self.tournaments():
            if stored.created.tournament == tournament:
                played = self._matches(matches.c.tournament == tournament)
                return structs.replace(stored, matches=tuple(played))
        return None

    # Matches.

    def take_back(self, ended: Collection[str], text: str) -> None:
        """Take back the results of matches, as if they were aborted; their tournaments go on.

        No server uses the database. The totals of players keep the results.
        """
        none = {"winner": 0, "first_return": 0.0, "second_return": 0.0, "missing": None}
        aborted = sa.update(matches).values(**none, reason=Reason.ABORTED.value, text=text)
        with self._engine.begin() as connection:
            for match in ended:  # one by one: a statement has at most 32,766 values
                connection.execute(aborted.where(matches.c.id == match, matches.c.winner != 0))
                tournament = sa.select(matches.c.tournament).where(matches.c.id == match)
                going_on = sa.update(tournaments).values(ended_at=None)
                connection.execute(going_on.where(tournaments.c.id == tournament.scalar_subquery()))

    def unfinished(self) -> list[StoredMatch]:
        """Return the matches that have not ended, oldest first, with their moves."""
        return list(self._matches(matches.c.ended_at.is_(None)))

    def finished_since(self, at: float) -> list[StoredMatch]:
        """Return the matches that ended at this time or later, oldest first, with their moves."""
        return list(self._matches(matches.c.ended_at >= at))

    def unmeasured(self, most: int) -> list[StoredMatch]:
        """Return the ended matches whose luck is not known, without the analyses of their moves.

        They are all those of tournaments that are not over, which may wait for it, and up to `most`
        others, the oldest first.
        """
        running = sa.select(tournaments.c.id).where(tournaments.c.ended_at.is_(None))
        awaited = matches.c.tournament.in_(running)
        other = sa.or_(matches.c.tournament.is_(None), sa.not_(awaited))
        return [
            *self._matches(UNMEASURED, awaited, read_analysis=None),
            *itertools.islice(self._matches(UNMEASURED, other, read_analysis=None), most),
        ]

    def matches(
        self,
        *,
        match: str | None = None,
        game: str | None = None,
        player: str | None = None,
        since: float | None = None,
        read_analysis: ReadAnalysis | None = whole_analysis,
    ) -> Iterator[StoredMatch]:
        """Yield the stored matches that meet all given conditions, oldest first.

        `match` is an id, `game` a name, or one with parameters, as `go()` for the usual ones,
        `player` an exact name of either player, and `since` the earliest start. The analyses of a
        long match take 100 MB, and few readers need them whole: `read_analysis` returns what is
        kept of one; with None, they are not read.
        """
        conditions: list[sa.ColumnElement[bool]] = []
        if match is not None:
            conditions.append(matches.c.id == match)
        if game is not None:
            exact = matches.c.game == game.removesuffix("()")
            any_of_it = matches.c.game.startswith(f"{game}(")
            conditions.append(exact if "(" in game else sa.or_(exact, any_of_it))
        if player is not None:
            conditions.append(sa.or_(matches.c.first == player, matches.c.second == player))
        if since is not None:
            conditions.append(matches.c.started_at >= since)
        return self._matches(*conditions, read_analysis=read_analysis)

    def add(self, stored: Iterable[StoredMatch]) -> int:
        """Store whole matches, and return the number of new ones."""
        left = iter(stored)
        with self._engine.connect() as connection:
            before = count_of(connection, matches)
            while some := list(itertools.islice(left, _CHUNK)):
                records = [r for k in some for r in (k.started, *k.moves, k.ended) if r]
                self._save(connection, records)
            return count_of(connection, matches) - before

    # Puzzles.

    def add_puzzles(self, found: Iterable[Puzzle]) -> int:
        """Store puzzles, and return the number of new ones."""
        with self._engine.begin() as connection:
            before = count_of(connection, puzzles)
            self._add_puzzles(connection, found)
            return count_of(connection, puzzles) - before

    def _add_puzzles(self, connection: sa.Connection, found: Iterable[Puzzle]) -> None:
        rows = [
            {"id": each.id, "game": each.game, "data": msgspec.json.encode(each).decode()}
            for each in found
        ]
        connection.execute(insert(self.kind, puzzles).on_conflict_do_nothing(), rows)

    # Copies.

    def backup(self, path: Path) -> None:
        """Copy a SQLite database to a new file, also while it is used. Raises StorageError."""
        if self.kind != "sqlite":
            raise StorageError("only SQLite can be backed up this way; for PostgreSQL use pg_dump")
        if path.exists():
            raise StorageError(f"{path} exists already; choose another file")
        partial = path.with_name(f"{path.name}.part")
        try:
            with contextlib.closing(sqlite3.connect(partial)) as copy:
                os.chmod(partial, 0o600)
                with self._engine.connect() as connection:
                    driver: Any = connection.connection.driver_connection
                    driver.backup(copy)
            partial.replace(path)
        except (OSError, sqlite3.Error, SQLAlchemyError) as error:
            raise StorageError(f"cannot write {path}: {first_line(error)}") from error
        finally:
            partial.unlink(missing_ok=True)

    def _matches(
        self,
        *conditions: sa.ColumnElement[bool],
        read_analysis: ReadAnalysis | None = whole_analysis,
    ) -> Iterator[StoredMatch]:
        last = ""
        while True:
            chosen = sa.select(matches).where(matches.c.id > last, *conditions)
            with self._engine.connect() as connection:
                rows = connection.execute(chosen.order_by(matches.c.id).limit(_CHUNK)).all()
                played = _moves_of(connection, [row.id for row in rows], read_analysis)
            if not rows:
                return
            for row in rows:
                yield StoredMatch(
                    started=record_of(MatchStarted, row),
                    moves=tuple(played.get(row.id, ())),
                    ended=match_end_of(row),
                )
            last = rows[-1].id


def _moves_of(
    connection: sa.Connection, ids: list[str], read_analysis: ReadAnalysis | None
) -> dict[str, list[MovePlayed]]:
    """Return the moves of matches in their order, by the id of the match."""
    read: list[sa.ColumnElement[Any]] = list(moves.c)
    if read_analysis is None:
        read = [sa.null().label(each.name) if each is moves.c.info else each for each in moves.c]
    chosen = sa.select(*read).where(moves.c.match.in_(ids)).order_by(moves.c.match, moves.c.ply)
    played: dict[str, list[MovePlayed]] = {}
    names = MovePlayed.__struct_fields__
    for row in connection.execute(chosen):
        fields = dict(zip(names, row, strict=True))  # the columns have their order
        if fields["info"] and read_analysis:
            fields["info"] = read_analysis(fields["info"], fields["action"])
        move = MovePlayed(**fields)
        played.setdefault(move.match, []).append(move)
    return played


def match_end_of(row: sa.Row[Any]) -> MatchEnded | None:
    """Return the end of the match of a row of `matches`; None if it has not ended."""
    if row.ended_at is None:
        return None
    return record_of(MatchEnded, row, reason=Reason(row.reason))


def tournament_of(row: sa.Row[Any], withdrawn: Sequence[int]) -> StoredTournament:
    """Return the tournament of a row of `tournaments`, without its matches.

    `withdrawn`: its entrants that withdrew, by number in the specification.
    """
    return StoredTournament(
        created=record_of(TournamentCreated, row),
        withdrawn=tuple(withdrawn),
        ended=None if row.ended_at is None else record_of(TournamentEnded, row),
    )


def shipped_puzzles() -> list[Puzzle]:
    """Return the puzzles that come with Playout, by game."""
    data = files("playout.server.storage").joinpath(_SHIPPED_PUZZLES).read_bytes()
    return _decode_puzzles(data)


def count_of(connection: sa.Connection, table: sa.Table) -> int:
    """Return the number of rows of a table."""
    return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def _first_of_each(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the first row for each match, whose id is first in a row."""
    return list({row[0]: row for row in reversed(rows)}.values())
