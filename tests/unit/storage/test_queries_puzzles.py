"""Puzzles and attempts to solve them, in SQLite and PostgreSQL alike."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from msgspec import structs

from playout.protocol.analyst import Puzzle, WinningMove
from playout.ratings.bradley_terry import AVERAGE
from playout.server.core.accounts import digest
from playout.server.model.records import Account, PuzzleAttempted
from playout.server.storage import Database
from playout.server.storage.database import shipped_puzzles
from playout.server.storage.queries import Reader
from playout.server.storage.results import PuzzleRatings, PuzzleRow
from playout.server.storage.schema import puzzles
from support.early_databases import make_database

PUZZLE = Puzzle(
    id="p1",
    game="tic_tac_toe",
    actions=(8, 0, 6, 7),
    turns=2,
    solution=(WinningMove(2, (4,), (WinningMove(5),)),),
)
OTHER = structs.replace(PUZZLE, id="p2")
SOLVED, FAILED = (2, 5), (1,)


def account(name: str) -> Account:
    return Account(id=f"id of {name}", name=name, digest=digest(name), created_at=1.5)


def attempted(name: str, puzzle: str, moves: tuple[int, ...], at: float) -> PuzzleAttempted:
    return PuzzleAttempted(
        puzzle=puzzle, account=f"id of {name}", moves=",".join(map(str, moves)), at=at
    )


@pytest.fixture
def database(database: Database) -> Database:
    """Without the puzzles that come with Playout."""
    with database.connect() as connection, connection.begin():
        connection.execute(sa.delete(puzzles))
    return database


@pytest.fixture
def reader(database: Database) -> Iterator[Reader]:
    """Of a database with two puzzles of a game and one of another, and with attempts."""
    database.save([account("Ann"), account("Bob")])
    nim = structs.replace(PUZZLE, id="p3", game="nim")
    assert database.add_puzzles([PUZZLE, OTHER, nim]) == 3
    database.save(
        [
            attempted("Ann", "p1", SOLVED, 1.0),
            attempted("Bob", "p1", FAILED, 2.0),
            attempted("Bob", "p1", SOLVED, 3.0),  # too late
            attempted("Bob", "unknown", SOLVED, 4.0),
        ]
    )
    with contextlib.closing(Reader(database.url.render_as_string(hide_password=False))) as reader:
        yield reader


def test_a_puzzle_is_stored_once(database: Database, reader: Reader) -> None:
    assert database.add_puzzles([structs.replace(PUZZLE, turns=5)]) == 0
    assert reader.puzzle("p1") == PUZZLE
    assert reader.puzzle("p4") is None
    assert reader.puzzle_counts() == {"nim": 1, "tic_tac_toe": 2}


def test_the_first_attempt_of_an_account_at_a_known_puzzle_counts(reader: Reader) -> None:
    found = reader.puzzle_ratings("tic_tac_toe")
    assert found.tried == {"ann": {"p1"}, "bob": {"p1"}}
    assert found.solvers["ann"] > AVERAGE > found.solvers["bob"]
    first, second = found.puzzles
    assert (first.puzzle, first.turns, first.attempts) == ("p1", 2, 2)
    assert second == PuzzleRow(puzzle="p2", turns=2, rating=AVERAGE, attempts=0)
    assert reader.puzzle_ratings("chess") == PuzzleRatings()


def test_a_day_has_one_puzzle_and_another_day_another(reader: Reader) -> None:
    days = [f"2026-11-{day:02}" for day in range(1, 29)]
    found = [reader.puzzle_of_day(day) for day in days]
    assert {each.id for each in found if each} == {"p1", "p2", "p3"}
    assert found == [reader.puzzle_of_day(day) for day in days]


def test_without_puzzles_there_is_none_of_the_day(database: Database) -> None:
    with contextlib.closing(Reader(database.url.render_as_string(hide_password=False))) as reader:
        assert reader.puzzle_of_day("2026-11-01") is None


def test_a_new_database_has_the_puzzles_that_come_with_playout(url: str) -> None:
    new = Database(url)
    new.migrate()
    assert new.add_puzzles(shipped_puzzles()) == 0
    with contextlib.closing(Reader(url)) as reader:
        assert sum(reader.puzzle_counts().values()) == len(shipped_puzzles())
    new.close()


def test_an_upgraded_database_has_them_too(url: str) -> None:
    make_database(url, "0001")
    old = Database(url)
    old.migrate()
    assert old.add_puzzles(shipped_puzzles()) == 0
    old.close()
