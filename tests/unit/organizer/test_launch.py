"""What `playout-tournament` does before it starts a server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from playout.server.organizer import launch
from playout.server.storage import Database, StorageError


def test_a_database_that_a_server_uses_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_PATIENCE_FOR_DATABASE_S", 0.2)
    url = f"sqlite:///{tmp_path}/t.db"
    with closing(Database(url)) as used:
        used.migrate()
        used.lock()
        with pytest.raises(
            StorageError, match=r"another server uses .* use another database: --database"
        ):
            launch.prepare_database(url)
    launch.prepare_database(url)
