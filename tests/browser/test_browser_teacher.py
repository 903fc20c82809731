"""A teacher's half hour in the browser: 16 bots, a successor, a late one, a restart, an end."""

from __future__ import annotations

import csv
import io
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.storage import Database
from support import scale
from support.browser import BrowserUsers, running_site

pytestmark = pytest.mark.skipif(not scale.slow, reason="it plays for minutes: --slow")

TOKEN = "7" * 32
ROUNDS = 15


def log_in(people: BrowserUsers) -> Page:
    page = people.come(f"/invite#Boss:{TOKEN}", reduced_motion="reduce")
    page.get_by_role("button", name="Play as Boss").click()
    page.wait_for_url("**/")
    return page


def enter(page: Page, name: str, replaced: str) -> None:
    page.get_by_label("Place").select_option(replaced)
    page.locator("#new-name").fill(name)
    page.get_by_label("Bot", exact=True).select_option("random")
    page.get_by_role("button", name="Enter", exact=True).click()
    expect(page.get_by_label("Place")).to_contain_text(f"in place of {name}")


def appoint(folder: Path) -> None:
    """Give the teacher an invitation, which can be used once."""
    database = Database(f"sqlite:///{folder}/playout.db")
    database.migrate()
    database.put_account(
        Account(id="boss", name="Boss", digest=digest(TOKEN), created_at=0.0, administrator=True)
    )
    database.close()


def test_a_teachers_half_hour(chromium: Browser, tmp_path: Path) -> None:
    appoint(tmp_path)
    with running_site(tmp_path) as site:
        people = BrowserUsers(chromium, site.address)
        page = log_in(people)
        page.goto("/organize")
        form = page.locator("#organize")
        form.get_by_label("name").first.fill("Half an hour")
        form.get_by_label("games").fill("tic_tac_toe")
        form.get_by_label("format").select_option("swiss")
        form.get_by_label("rounds").fill(str(ROUNDS))
        form.get_by_label("clock").first.fill("60/move")
        form.get_by_label("Matches at once").fill("2")
        rows = page.locator("#entrants > fieldset")
        for number in range(16):
            if number:
                page.get_by_role("button", name="Add an entrant").click()
            rows.nth(number).get_by_label("name").fill(f"Bot {number + 1}")
            rows.nth(number).get_by_label("Bot").select_option("random")
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator("#done")).to_have_text("There are no faults: it can start.")
        page.get_by_role("button", name="Start", exact=True).click()
        page.wait_for_url("**/tournaments/*")
        address = page.url.removeprefix(site.address)
        enter(page, "Successor", "Bot 3")
        enter(page, "Late", "")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Continue")).to_be_visible()
        people.leave()
        site.server.process.send_signal(signal.SIGKILL)
        site.server.finish()
        assert people.faults == []
    appoint(tmp_path)
    with running_site(tmp_path) as site:
        people = BrowserUsers(chromium, site.address)
        page = log_in(people)
        page.goto(address)
        expect(page.locator("#progress")).to_contain_text("paused")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.locator("#tables")).to_contain_text("Round 3")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="End it now").click()
        expect(page.locator("[data-over='yes']")).to_be_visible()
        text = page.request.get(f"{address}?part=csv").text()
        names = {cell for row in csv.reader(io.StringIO(text)) for cell in row}
        assert {"Successor", "Late", "Bot 1", "Bot 16"} <= names
        assert "Bot 3" not in names
        assert re.search("over", page.locator("#progress").inner_text())
        assert people.faults == []
        people.leave()
