"""Fixtures of the tests of the organizer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playout.commands.child import LogFolder


@pytest.fixture
def logs() -> Iterator[LogFolder]:
    """A folder for logs, which is removed at the end."""
    logs = LogFolder()
    yield logs
    logs.wanted = False
    logs.close()
