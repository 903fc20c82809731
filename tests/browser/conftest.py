"""Fixtures of the tests in a browser."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # see the other `conftest.py`
    from playwright.sync_api import Browser

#: The Chromium of this process while its tests are those of this folder: starting one takes a
#: second, and tests of other folders cannot use asyncio beside it.
_started: list[Browser] = []
_ends = contextlib.ExitStack()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A Chromium whose pages are closed after the tests of a file."""
    from support.browser import chromium_or_skip

    if not _started:
        _started.append(_ends.enter_context(chromium_or_skip()))
    yield _started[0]
    for context in _started[0].contexts:
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Close the Chromium before a test of another folder, after the fixtures of the last one."""
    try:
        return (yield)
    finally:
        if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
            _started.clear()
            _ends.close()
