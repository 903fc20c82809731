"""What several test files share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commands import RunningServer, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """The real server, as a process of its own, for all tests that do not mind each other.

    It must have had no fault by the end, and stop when it is asked to.
    """
    with running_server() as server:
        yield server
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log
