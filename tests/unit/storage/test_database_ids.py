"""storage.database: ids of a server are in the order of creation, whatever the clock says."""

from __future__ import annotations

import pytest
from msgspec import structs

from playout.server.core.context import Context
from playout.server.storage import Database
from support.stored_game import PlayedGame


@pytest.mark.parametrize("set_back_s", [0.0, 3 * 3600.0, 10 * 365 * 86_400.0])
def test_a_clock_that_is_set_back_gives_no_older_ids(database: Database, set_back_s: float) -> None:
    stored = PlayedGame("tic_tac_toe").play_anything(1).stored
    now, made = 1_790_000_000.0, []
    for _ in range(3):
        context = Context(started_at=max(now, database.ids_end()))
        made.append(context.new_id())
        started = structs.replace(stored.started, match=made[-1])
        moves = tuple(structs.replace(each, match=made[-1]) for each in stored.moves)
        assert stored.ended
        ended = structs.replace(stored.ended, match=made[-1])
        database.add([structs.replace(stored, started=started, moves=moves, ended=ended)])
        now -= set_back_s
    assert made == sorted(set(made))


def test_imported_ids_are_not_those_of_a_server(database: Database) -> None:
    stored = PlayedGame("tic_tac_toe", match="zzzzzzzzzzzzzzz").play_anything(1).stored
    database.add([stored])
    assert database.ids_end() == 0


def test_many_ids_of_one_start_are_in_order() -> None:
    context = Context(started_at=1_790_000_000.0)
    made = [context.new_id() for _ in range(70_000)]
    assert made == sorted(made)
    assert len({*map(len, made)}) == 1
