"""The numbers of connections within the limit on open files."""

from __future__ import annotations

import pytest

from playout.server.runtime.process import ConnectionRoom, TooFewFiles, connection_room


def test_connections_and_http_share_the_files_that_the_server_itself_does_not_need() -> None:
    assert connection_room(256, processes=4, most_http=250) == ConnectionRoom(141, 47)
    assert connection_room(1024, processes=0, most_http=250) == ConnectionRoom(726, 242)
    assert connection_room(65536, processes=4, most_http=250) == ConnectionRoom(65218, 250)


def test_without_http_all_files_are_for_connections() -> None:
    assert connection_room(256, processes=0, most_http=0) == ConnectionRoom(200, 0)


@pytest.mark.parametrize(("processes", "least"), [(0, 77), (4, 89)])
def test_a_limit_that_leaves_too_few_connections_is_refused_with_the_least_that_works(
    processes: int, least: int
) -> None:
    assert connection_room(least, processes=processes, most_http=250).connections >= 16
    with pytest.raises(TooFewFiles, match=f"needs at least {least}"):
        connection_room(least - 1, processes=processes, most_http=250)
