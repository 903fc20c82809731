"""The Chromium of the system, driven by playwright without a browser of its own."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
#: Without a sandbox, which root cannot use, and without network requests of the browser itself.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class ChromiumMissing(Exception):
    """Raised if this machine has no Chromium."""

    def __init__(self) -> None:
        super().__init__("it needs Chromium; install with: apt install chromium")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Run a browser until the end of the block. Raises ChromiumMissing."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise ChromiumMissing
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
