"""Fixtures of the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # see the other `conftest.py`
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def started_chromium() -> Iterator[Browser]:
    """A Chromium, shared by the tests of this folder: starting one takes a second.

    It is closed before tests of other folders, which could not use asyncio beside it.
    """
    from support.browser import chromium_or_skip

    with chromium_or_skip() as browser:
        yield browser


@pytest.fixture(scope="module")
def chromium(started_chromium: Browser) -> Iterator[Browser]:
    """A Chromium whose pages are closed after the tests of a file."""
    yield started_chromium
    for context in started_chromium.contexts:
        context.close()
