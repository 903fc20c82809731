"""The PostgreSQL that other tests store in."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from support import postgres
from support.postgres import Postgres, PostgresMissing


def rows(cluster: Postgres, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(cluster.url.replace("+psycopg", "")) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


def test_it_keeps_what_was_committed_when_the_plug_is_pulled(postgres: Postgres) -> None:
    rows(postgres, "CREATE TABLE kept AS SELECT 3 AS n")
    postgres.stop()
    with pytest.raises(psycopg.OperationalError):
        rows(postgres, "SELECT 1")
    postgres.start()
    assert rows(postgres, "SELECT n FROM kept") == [(3,)]


def test_a_missing_postgresql_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "INSTALLED", tmp_path)
    with pytest.raises(PostgresMissing, match="apt install postgresql"), postgres.postgres():
        pass
