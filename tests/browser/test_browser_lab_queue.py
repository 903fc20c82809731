"""The pages of the queue of tests in a real browser: handing in, the verdict, the log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.accessibility import accessibility_faults, require_axe
from support.browser import PATIENCE_S
from support.lab_queues import QueueServer
from support.repositories import CENTRAL, LINES_TOML, RANDOM

#: A text of a bot that must be shown as text.
HOSTILE = "<img src=x onerror=hacked=1>"


@pytest.mark.long
def test_an_author_hands_folders_in_and_sees_the_verdict(chromium: Browser, tmp_path: Path) -> None:
    require_axe()
    build = f"build = \"echo '{HOSTILE}' >&2\"\n"
    for name, program in (("old", RANDOM), ("new", CENTRAL)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.toml").write_text(LINES_TOML + build)
        (tmp_path / name / "bot.py").write_text(program)
    queue = QueueServer(tmp_path)
    queue.account("Ada")
    page = chromium.new_page(reduced_motion="reduce")
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    with queue.running():
        page.goto(queue.site)
        expect(page.get_by_text("No test waits: hand one in.")).to_be_visible()
        page.get_by_label("Account").fill("Ada")
        page.get_by_label("Token").fill("wrong")
        page.get_by_label("The folder of the base").set_input_files(tmp_path / "old")
        page.get_by_label("The folder of the new version").set_input_files(tmp_path / "new")
        page.get_by_role("button", name="Hand in").click()
        expect(page.get_by_role("alert")).to_contain_text("no account has")
        faults.clear()  # the browser reports the refusal itself
        page.get_by_label("Token").fill(queue.tokens["Ada"])
        page.get_by_role("button", name="Hand in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Test 1")
        verdict = page.get_by_role("status")
        expect(verdict).to_have_text("stronger", timeout=PATIENCE_S * 1000)
        expect(page.get_by_role("heading", name="Evidence over pairs")).to_be_visible()
        page.get_by_label("Account").fill("Ada")
        page.get_by_label("Token").fill(queue.tokens["Ada"])
        page.get_by_role("button", name="Show the log").click()
        expect(page.locator("#log")).to_contain_text(HOSTILE)
        for address in ("", "/tests/1"):
            page.goto(queue.site + address)
            expect(page.get_by_text(re.compile("base .* new "))).to_be_visible()
            for width, height in ((1280, 900), (390, 844)):
                page.set_viewport_size({"width": width, "height": height})
                assert page.evaluate("document.documentElement.scrollWidth") == width
                page.emulate_media(color_scheme="dark" if width < 400 else "light")
                assert accessibility_faults(page) == []
        assert page.evaluate("typeof hacked") == "undefined"
    assert faults == []
