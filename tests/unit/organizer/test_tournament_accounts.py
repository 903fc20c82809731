"""The accounts of a tournament's own server."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.organizer.tournament_accounts import organizer_name, prepare_accounts
from playout.server.storage import Database, StorageError


def test_accounts_are_made_and_only_digests_of_tokens_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    first = prepare_accounts(url, "organizer", ["Ann", "Bob"])
    database = Database(url)
    known = {each.name: each for each in database.accounts()[0]}
    database.close()
    assert known.keys() == {"organizer", "Ann", "Bob"}
    assert [each.name for each in known.values() if each.administrator] == ["organizer"]
    assert known["Ann"].digest == digest(first["Ann"])
    assert first["Ann"] not in (tmp_path / "t.db").read_bytes().decode(errors="replace")
    assert prepare_accounts(url, "organizer", ["Ann"])["Ann"] != first["Ann"]


def test_an_account_that_is_there_is_taken_over_with_its_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    database = Database(url)
    database.migrate()
    old = Account(id="1", name="ANN", digest="x", created_at=1.0, administrator=True, revoked=True)
    database.put_account(old)
    tokens = prepare_accounts(url, "organizer", ["Ann"])
    (ann,) = (each for each in database.accounts()[0] if each.id == "1")
    database.close()
    assert (ann.name, ann.digest) == ("Ann", digest(tokens["Ann"]))
    assert not ann.administrator
    assert not ann.revoked


def test_a_database_that_a_server_uses_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playout.server.organizer.tournament_accounts._PATIENCE_S", 0.2)
    url = f"sqlite:///{tmp_path}/t.db"
    used = Database(url)
    used.migrate()
    used.lock()
    with pytest.raises(
        StorageError, match=r"another server uses .* use another database: --database"
    ):
        prepare_accounts(url, "organizer", ["Ann"])
    used.close()


def test_the_organizer_has_a_name_of_its_own() -> None:
    assert organizer_name(["Ann"]) == "organizer"
    assert organizer_name(["Organizer"]).startswith("organizer ")
