"""The page of a competition in a real browser: logging in, handing in, a failure, the end."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from support.browser import PATIENCE_S
from support.commands import run
from support.competitions import Cup, bot, packed, require_sandbox

#: A text of a bot that must be shown as text.
HOSTILE = "raise SystemExit('<img src=x onerror=hacked=1>')"


def test_a_student_hands_in_and_sees_the_stages(chromium: Browser, tmp_path: Path) -> None:
    require_sandbox()
    cup = Cup(tmp_path)
    cup.account("Ada")
    page = chromium.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    with cup.running():
        page.goto(f"http://127.0.0.1:{cup.port}/")
        page.get_by_role("link", name="The cup").click()
        expect(page.get_by_role("status")).to_contain_text("Open until")
        assert page.evaluate("Boolean(document.querySelector('#upload').hidden)")
        page.get_by_label("Account").fill("Ada")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("not of one")
        faults.clear()  # the browser reports the refusal itself
        page.get_by_label("Token").fill(cup.tokens["Ada"])
        page.get_by_role("button", name="Log in").click()
        for content, state in ((bot(HOSTILE), "refused"), (bot(), "accepted")):
            page.get_by_label("A Python file").set_input_files(
                {"name": "bot.tar.gz", "mimeType": "application/gzip", "buffer": packed(content)}
            )
            page.get_by_role("button", name="Hand in").click()
            heading = page.get_by_role("heading", name=re.compile(rf"Submission \d: {state}"))
            expect(heading).to_be_visible(timeout=PATIENCE_S * 1000)
        expect(page.locator("#log")).to_contain_text("== accepted")
        page.get_by_role("button", name="1", exact=True).click()
        expect(page.locator("#log")).to_contain_text("<img src=x")
        assert page.evaluate("typeof hacked") == "undefined"
        expect(page.locator("#standings")).to_contain_text("Ada")
        assert not faults
        assert run("playout-competition", "close", str(cup.file))[0] == 0
        expect(page.get_by_role("status")).to_contain_text("Closed")
    page.close()
