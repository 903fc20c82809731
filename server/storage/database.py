"""A database: opened, brought up to date, written and read. Blocks, so not for the reactor."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import alembic.command
import alembic.config
import alembic.util
import msgspec
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from msgspec import structs
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from server.model.messages import Analysis, ClockState, Reason
from server.model.names import skeleton
from server.model.records import (
    Account,
    EntrantWithdrawn,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    SeatTakenOver,
    StoredMatch,
    StoredTournament,
    TournamentCreated,
    TournamentEnded,
)
from server.storage.schema import accounts, matches, moves, suspensions, tournaments

#: PostgreSQL's advisory lock that says that a server uses the database. Any number will do.
_LOCK = 0x706C61796F7574
#: How long one who writes waits for another who does.
_BUSY_S = 5.0
#: What pages ask of PostgreSQL: nothing but a fault takes as long, nor is silent for as long.
_LONGEST_READ_MS = 20_000
_LONGEST_SILENCE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
#: Matches that are read at a time.
_CHUNK = 200
#: In the URL of a SQLite database: full or normal.
_SYNCHRONOUS = "synchronous"

_encode = msgspec.json.Encoder().encode
_decode_info = msgspec.json.Decoder(Analysis).decode


class StorageError(Exception):
    """The database cannot be used: what to tell the operator."""


class InUse(StorageError):
    """Another server uses it."""


class Database:
    """One database, of either kind. Every method raises SQLAlchemyError when it fails."""

    def __init__(self, url: str, *, only_read: bool = False) -> None:
        """Prepare to use it; nothing is opened yet. Raises StorageError.

        `only_read`: refuse to write, and to read for longer than a page may take.
        """
        try:
            self.url = sa.make_url(url)
            self.kind = self.url.get_backend_name()
            if self.kind not in ("sqlite", "postgresql"):
                raise StorageError(f"cannot use a database of kind {self.kind!r}: {_ALLOWED}")
            engine_url = self.url.difference_update_query([_SYNCHRONOUS])
            self._engine = sa.create_engine(engine_url, **_engine_options(self.url, only_read))
            if self.kind == "sqlite":
                sa.event.listen(self._engine, "connect", _sqlite_setter(self.url, only_read))
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError) as error:
            raise StorageError(f"cannot use the database {url!r}: {error}. {_ALLOWED}") from error
        except ModuleNotFoundError as error:
            text = "PostgreSQL needs psycopg: pip install 'playout[postgres]'"
            raise StorageError(text) from error
        self._connection: sa.Connection | None = None
        self._lock_file: IO[str] | None = None
        self._insert = postgresql.insert if self.kind == "postgresql" else sqlite.insert
        dialect = self._engine.dialect
        self._writes: dict[Any, _Write] = {
            kind: _Write(self._insert(table).on_conflict_do_nothing(), table.c.keys(), dialect)
            for kind, table in (
                (Account, accounts),
                (TournamentCreated, tournaments),
                (MatchStarted, matches),
                (MovePlayed, moves),
                (EntrantWithdrawn, suspensions),
            )
        }
        self._writes[SeatTakenOver] = _Write(_CLAIM, _CLAIM_PARAMETERS, dialect)
        self._writes[MatchEnded] = _Write(_FINISH, _FINISH_PARAMETERS, dialect)
        self._writes[TournamentEnded] = _Write(_CONCLUDE, _CONCLUDE_PARAMETERS, dialect)

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        return self.url.render_as_string(hide_password=True)

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database."""
        name = self.url.database
        return Path(name) if self.kind == "sqlite" and name and name != ":memory:" else None

    def migrate(self) -> None:
        """Make the tables, or bring those of an earlier version up to date. Raises StorageError."""
        config = _alembic_config()
        with self._usable() as connection:
            config.attributes["connection"] = connection
            alembic.command.upgrade(config, "head")

    def require(self) -> None:
        """Make the tables if there are none. Raises StorageError if they are of another version."""
        latest = ScriptDirectory.from_config(_alembic_config()).get_current_head()
        with self._usable() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
        if found is None:
            self.migrate()
        elif found != latest:
            text = f"the database {self.shown} is of another version of Playout ({found})"
            raise StorageError(f"{text}; a server of this version ({latest}) brings it up to date")

    @contextlib.contextmanager
    def _usable(self) -> Iterator[sa.Connection]:
        try:
            if self.path:
                _make_private(self.path)
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError, alembic.util.CommandError) as error:
            raise StorageError(
                f"cannot use the database {self.shown}: {first_line(error)}"
            ) from error

    def lock(self) -> None:
        """Keep other servers from using it. Raises InUse, or StorageError if it is not there."""
        with self._usable():
            pass
        if self.path:
            self._lock_file = open(f"{self.path}.lock", "w")  # noqa: SIM115
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InUse(f"another server uses the database {self.shown}") from error
        elif self.kind == "postgresql":
            self._writing()

    def close(self) -> None:
        """Let go of it."""
        self.let_go()
        self._engine.dispose()
        if self._lock_file:
            self._lock_file.close()

    def reading(self) -> sa.Connection:
        """A connection to read over; to be closed soon."""
        return self._engine.connect()

    # What the server writes.

    def save(self, records: Sequence[Record]) -> None:
        """Store records in one transaction. Those that are stored already are left as they are."""
        self._save(self._writing(), records)

    def _save(self, connection: sa.Connection, records: Sequence[Record]) -> None:
        rows: dict[Any, list[tuple[Any, ...]]] = {kind: [] for kind in _ROW}
        for record in records:
            kind: Any = type(record)
            rows[kind].append(_ROW[kind](record))
        raw = connection.connection  # the driver's: see _Write
        try:
            cursor = raw.cursor()
            for kind, write in self._writes.items():
                if rows[kind]:
                    write.execute(cursor, rows[kind])
            raw.commit()
        except Exception as error:
            with contextlib.suppress(Exception):  # of a connection that is broken
                raw.rollback()
            raise sa.exc.DBAPIError("", None, error) from error

    def let_go(self) -> None:
        """Drop the connection for writing, which may be broken; the next `save` makes another."""
        connection, self._connection = self._connection, None
        if connection:
            with contextlib.suppress(SQLAlchemyError):
                connection.invalidate()
                connection.close()

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

    # Accounts.

    def accounts(self, since: int = -1) -> tuple[list[Account], int]:
        """The accounts that were changed after a revision; and the last revision."""
        chosen = sa.select(accounts).where(accounts.c.revision > since)
        with self._engine.connect() as connection:
            rows = connection.execute(chosen.order_by(accounts.c.name)).all()
        return [account_of(row) for row in rows], max([since, *(row.revision for row in rows)])

    def put_account(self, account: Account) -> None:
        """Add or change an account, as an operator. Raises StorageError if the name is taken."""
        latest = sa.select(sa.func.coalesce(sa.func.max(accounts.c.revision), 0) + 1)
        row = dict(zip(accounts.c.keys(), _account_row(account), strict=True))
        row["revision"] = latest.scalar_subquery()
        changed = {key: value for key, value in row.items() if key != "id"}
        put = self._insert(accounts).values(row)
        put = put.on_conflict_do_update(index_elements=["id"], set_=changed)
        try:
            with self._engine.begin() as connection:
                connection.execute(put)
        except sa.exc.IntegrityError as error:
            raise StorageError(f"{account.name!r} looks like a name that is taken") from error

    # Tournaments.

    def tournaments(self) -> list[StoredTournament]:
        """All, oldest first, without their matches."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(tournaments).order_by(tournaments.c.id)).all()
            chosen = sa.select(suspensions).order_by(suspensions.c.tournament, suspensions.c.number)
            out: dict[str, list[int]] = {}
            for tournament, _, entrant, _ in connection.execute(chosen):
                out.setdefault(tournament, []).append(entrant)
        return [held_of(row, out.get(row.id, ()), ()) for row in rows]

    def tournament(self, tournament: str) -> StoredTournament | None:
        """One with its matches, oldest first."""
        held = next((h for h in self.tournaments() if h.created.tournament == tournament), None)
        if held is None:
            return None
        played = self._kept(matches.c.tournament == tournament)
        return structs.replace(held, matches=tuple(played))

    # Matches.

    def unfinished(self) -> list[StoredMatch]:
        """The matches that have not ended, oldest first."""
        return list(self._kept(matches.c.ended_at.is_(None)))

    def finished_since(self, at: float) -> list[StoredMatch]:
        """The matches that have ended since then, oldest first."""
        return list(self._kept(matches.c.ended_at >= at))

    def matches(
        self,
        *,
        match: str | None = None,
        game: str | None = None,
        player: str | None = None,
        since: float | None = None,
    ) -> Iterator[StoredMatch]:
        """Stored matches, oldest first: all, or those for which this holds."""
        conditions: list[sa.ColumnElement[bool]] = []
        if match is not None:
            conditions.append(matches.c.id == match)
        if game is not None:
            conditions.append(sa.or_(matches.c.game == game, matches.c.game.startswith(f"{game}(")))
        if player is not None:
            conditions.append(sa.or_(matches.c.first == player, matches.c.second == player))
        if since is not None:
            conditions.append(matches.c.begun_at >= since)
        return self._kept(*conditions)

    def add(self, kept: Iterable[StoredMatch]) -> int:
        """Store whole matches; how many there were not yet."""
        before = self._count()
        with self._engine.connect() as connection:
            for some in _chunks(kept):
                records = [r for k in some for r in (k.started, *k.moves, k.ended) if r]
                self._save(connection, records)
        return self._count() - before

    def backup(self, path: Path) -> None:
        """Write a copy to a new file, while others write. Raises StorageError."""
        if self.kind != "sqlite":
            raise StorageError("this is for SQLite; back PostgreSQL up with pg_dump")
        if path.exists():
            raise StorageError(f"{path} exists, and is left as it is")
        partial = path.with_name(f"{path.name}.part")
        try:
            with contextlib.closing(sqlite3.connect(partial)) as copy:
                os.chmod(partial, 0o600)
                with self._engine.connect() as connection:
                    driver: Any = connection.connection.driver_connection
                    driver.backup(copy)
            partial.replace(path)
        except (OSError, sqlite3.Error, SQLAlchemyError) as error:
            partial.unlink(missing_ok=True)
            raise StorageError(f"cannot write {path}: {first_line(error)}") from error

    def _count(self) -> int:
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(matches)) or 0

    def _kept(self, *conditions: sa.ColumnElement[bool]) -> Iterator[StoredMatch]:
        last = ""
        while True:
            chosen = sa.select(matches).where(matches.c.id > last, *conditions)
            with self._engine.connect() as connection:
                rows = connection.execute(chosen.order_by(matches.c.id).limit(_CHUNK)).all()
                played = _moves_of(connection, [row.id for row in rows])
            if not rows:
                return
            for row in rows:
                yield StoredMatch(
                    started=begun_of(row),
                    moves=tuple(played.get(row.id, ())),
                    ended=None if row.ended_at is None else finished_of(row),
                )
            last = rows[-1].id


_ALLOWED = "use sqlite:////path/to/file.db or postgresql+psycopg://user@host/name, or none"


def _alembic_config() -> alembic.config.Config:
    config = alembic.config.Config()
    config.set_main_option("script_location", "server.storage:migrations")
    return config


def _engine_options(url: sa.URL, only_read: bool) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        wait_s = float(str(url.query.get("timeout", _BUSY_S)))
        return {"connect_args": {"timeout": wait_s, "check_same_thread": False}}
    connect: dict[str, Any] = {"connect_timeout": 5}
    if only_read:
        only = f"-c default_transaction_read_only=on -c statement_timeout={_LONGEST_READ_MS}"
        connect |= _LONGEST_SILENCE | {"options": f"{url.query.get('options', '')} {only}"}
    return {
        "connect_args": connect,
        "pool_pre_ping": True,
        "paramstyle": "format",  # by place, as SQLite's
    }


def _sqlite_setter(url: sa.URL, only_read: bool) -> Callable[[sqlite3.Connection, object], None]:
    """What sets up each connection. Raises ValueError.

    With FULL, the default, what is committed survives a power cut, too; with NORMAL, "only" the
    death of any process.
    """
    wanted = str(url.query.get(_SYNCHRONOUS, "full")).lower()
    if wanted not in ("full", "normal"):
        raise ValueError(f"{_SYNCHRONOUS} is full or normal, not {wanted!r}")

    def set_up(connection: sqlite3.Connection, _: object) -> None:
        usual = ("journal_mode=WAL", f"synchronous={wanted}", "foreign_keys=OFF")
        for pragma in (*usual, "query_only=ON") if only_read else usual:
            connection.execute(f"PRAGMA {pragma}")

    return set_up


def without_power_cuts(url: str) -> str:
    """The same database for one who needs no protection from them: SQLite commits sooner."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return url
    relaxed = parsed.update_query_dict({_SYNCHRONOUS: "normal"})
    return relaxed.render_as_string(hide_password=False)


def _make_private(path: Path) -> None:
    """It holds digests of tokens: for its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def first_line(error: BaseException) -> str:
    """What it says, without the statement."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and error.orig else error
    return str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__


class _Write:
    """A statement that is compiled once, and its parameters, in the order in which rows have them.

    The driver executes it. SQLAlchemy's own way takes 0.2 ms more where a move comes every 10 ms:
    by then, none of its code is in the processor's caches any more.
    """

    def __init__(
        self, statement: sa.Insert | sa.Update, parameters: Sequence[str], dialect: sa.Dialect
    ) -> None:
        keys = parameters if isinstance(statement, sa.Insert) else None
        compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
        self._text = str(compiled)
        self._order = [parameters.index(name) for name in compiled.positiontup]
        self._ordered = self._order == list(range(len(parameters)))

    def execute(self, cursor: Any, rows: list[tuple[Any, ...]]) -> None:
        """With each row in turn."""
        if not self._ordered:
            rows = [tuple(row[place] for place in self._order) for row in rows]
        cursor.executemany(self._text, rows)


_ITS_SEAT: sa.BindParameter[int] = sa.bindparam("its_seat", type_=sa.Integer)
_ITS_SESSION: sa.BindParameter[str] = sa.bindparam("its_session", type_=sa.Text)
_CLAIM = (
    sa.update(matches)
    .where(matches.c.id == sa.bindparam("its_match"))
    .values(
        first_session=sa.case(
            (sa.literal_column("1") == _ITS_SEAT, _ITS_SESSION), else_=matches.c.first_session
        ),
        second_session=sa.case(
            (sa.literal_column("2") == _ITS_SEAT, _ITS_SESSION), else_=matches.c.second_session
        ),
    )
)
_CLAIM_PARAMETERS = ("its_match", "its_seat", "its_session")
_FINISH = (
    sa.update(matches)
    .where(matches.c.id == sa.bindparam("its_match"), matches.c.ended_at.is_(None))
    .values(
        winner=sa.bindparam("its_winner"),
        first_return=sa.bindparam("its_first"),
        second_return=sa.bindparam("its_second"),
        reason=sa.bindparam("its_reason"),
        text=sa.bindparam("its_text"),
        ended_at=sa.bindparam("its_end"),
    )
)
_CONCLUDE = (
    sa.update(tournaments)
    .where(tournaments.c.id == sa.bindparam("its_id"), tournaments.c.ended_at.is_(None))
    .values(ended_at=sa.bindparam("its_end"))
)
_CONCLUDE_PARAMETERS = ("its_id", "its_end")
_FINISH_PARAMETERS = (
    "its_match",
    "its_winner",
    "its_first",
    "its_second",
    "its_reason",
    "its_text",
    "its_end",
)


# Rows from records.


def _account_row(account: Account) -> tuple[Any, ...]:
    return (
        account.id,
        account.name,
        skeleton(account.name),
        account.digest,
        account.created_at,
        account.administrator,
        account.revoked,
        0,
    )


def _begun_row(begun: MatchStarted) -> tuple[Any, ...]:
    return (
        begun.match,
        begun.game,
        *begun.players,
        *begun.accounts,
        *begun.sessions,
        begun.clock,
        begun.rated,
        begun.illegal_moves,
        begun.credit_cap_s,
        begun.at,
        *(None,) * 6,
        begun.opening,
        begun.max_plies,
        begun.tournament,
        begun.fixture,
        *begun.bots,
    )


def _played_row(played: MovePlayed) -> tuple[Any, ...]:
    clocks = played.clocks
    info = _encode(played.info).decode() if played.info else None
    if clocks is None:
        left: tuple[float | None, ...] = (None, None, None, None)
    else:
        first, second = clocks
        left = (first.main_s, first.periods, second.main_s, second.periods)
    return (played.match, played.ply, played.seat, played.action, *left, info, played.at)


def _claimed_row(claimed: SeatTakenOver) -> tuple[Any, ...]:
    return (claimed.match, claimed.seat, claimed.session)


def _finished_row(finished: MatchEnded) -> tuple[Any, ...]:
    return (
        finished.match,
        finished.winner,
        *finished.returns,
        finished.reason.value,
        finished.text,
        finished.at,
    )


def _organized_row(organized: TournamentCreated) -> tuple[Any, ...]:
    return (organized.tournament, organized.name, organized.spec, organized.at, None)


def _suspended_row(suspended: EntrantWithdrawn) -> tuple[Any, ...]:
    return (suspended.tournament, suspended.number, suspended.entrant, suspended.at)


def _concluded_row(concluded: TournamentEnded) -> tuple[Any, ...]:
    return (concluded.tournament, concluded.at)


_ROW: dict[type[Record], Any] = {
    Account: _account_row,
    MatchStarted: _begun_row,
    MovePlayed: _played_row,
    SeatTakenOver: _claimed_row,
    MatchEnded: _finished_row,
    TournamentCreated: _organized_row,
    EntrantWithdrawn: _suspended_row,
    TournamentEnded: _concluded_row,
}


# Records from rows.


def account_of(row: sa.Row[Any]) -> Account:
    """One of `accounts`."""
    return Account(
        id=row.id,
        name=row.name,
        digest=row.digest,
        created_at=row.created_at,
        administrator=row.administrator,
        revoked=row.revoked,
    )


def begun_of(row: sa.Row[Any]) -> MatchStarted:
    """The beginning of one of `matches`."""
    return MatchStarted(
        match=row.id,
        game=row.game,
        players=(row.first, row.second),
        accounts=(row.first_account, row.second_account),
        sessions=(row.first_session, row.second_session),
        clock=row.clock,
        rated=row.rated,
        illegal_moves=row.illegal_moves,
        credit_cap_s=row.credit_cap_s,
        opening=row.opening,
        max_plies=row.max_plies,
        tournament=row.tournament,
        fixture=row.fixture,
        bots=(row.first_bot, row.second_bot),
        at=row.begun_at,
    )


def finished_of(row: sa.Row[Any]) -> MatchEnded:
    """The end of one of `matches` that has ended."""
    return MatchEnded(
        match=row.id,
        winner=row.winner,
        returns=(row.first_return, row.second_return),
        reason=Reason(row.reason),
        text=row.text,
        at=row.ended_at,
    )


def _played(row: sa.Row[Any]) -> MovePlayed:
    clocks = None
    if row.first_main_s is not None:
        clocks = (
            ClockState(row.first_main_s, row.first_periods),
            ClockState(row.second_main_s, row.second_periods),
        )
    return MovePlayed(
        match=row.match,
        ply=row.ply,
        seat=row.seat,
        action=row.action,
        clocks=clocks,
        info=_decode_info(row.info) if row.info else None,
        at=row.at,
    )


def held_of(
    row: sa.Row[Any], out: Sequence[int], played: Iterable[StoredMatch]
) -> StoredTournament:
    """One of `tournaments`, with who was suspended and with its matches."""
    over = None if row.ended_at is None else TournamentEnded(tournament=row.id, at=row.ended_at)
    return StoredTournament(
        created=TournamentCreated(tournament=row.id, name=row.name, spec=row.spec, at=row.begun_at),
        withdrawn=tuple(out),
        ended=over,
        matches=tuple(played),
    )


def _moves_of(connection: sa.Connection, ids: list[str]) -> dict[str, list[MovePlayed]]:
    chosen = sa.select(moves).where(moves.c.match.in_(ids)).order_by(moves.c.match, moves.c.ply)
    played: dict[str, list[MovePlayed]] = {}
    for row in connection.execute(chosen):
        played.setdefault(row.match, []).append(_played(row))
    return played


def _chunks(kept: Iterable[StoredMatch]) -> Iterator[list[StoredMatch]]:
    some: list[StoredMatch] = []
    for each in kept:
        some.append(each)
        if len(some) == _CHUNK:
            yield some
            some = []
    if some:
        yield some
