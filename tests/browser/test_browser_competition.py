"""The page of a competition in a real browser: logging in, handing in, a failure, the end.

With `--slow` it is checked in both themes, and has screenshots in tests/screenshots.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from playout.commands import html_page
from support import scale
from support.accessibility import accessibility_faults, require_axe
from support.browser import PATIENCE_S, PICTURES
from support.commands import run
from support.competitions import Cup, require_sandbox
from testbed.handed_in import bot, packed

#: A text of a bot that must be shown as text.
HOSTILE = "raise SystemExit('<img src=x onerror=hacked=1>')"

#: Drops a file that is no bot.
DROP = """
const transfer = new DataTransfer();
transfer.items.add(new File(["x = 1"], "dropped.py"));
document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
"""


def open_tab(page: Page, name: str) -> None:
    page.locator("#tabs").get_by_role("link", name=name).click()
    expect(page.locator("#tabs [aria-current]")).to_have_text(name)


@pytest.mark.long
def test_a_student_hands_in_and_sees_the_stages(chromium: Browser, tmp_path: Path) -> None:
    require_sandbox()
    require_axe()
    soon = (datetime.now(UTC) + timedelta(minutes=50)).isoformat()
    more = 'roster = "class.csv"\nbuild_hosts = ["pypi.org"]'
    http = ("--http", "127.0.0.1:0")
    cup = Cup(tmp_path, more=more, deadline=soon, options=http)
    cup.with_games("nim", "tic_tac_toe")
    cup.account("Ada")
    cup.account("Tea", administrator=True)
    (tmp_path / "class.csv").write_text("account\nAda\n")
    page = chromium.new_page(reduced_motion="reduce")
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    with cup.running() as server:
        site = f"http://127.0.0.1:{cup.port}/"
        page.goto(site)
        page.get_by_role("link", name="The cup").click()
        expect(page.get_by_role("status")).to_have_text(
            re.compile(r"Open until 20\d\d-\d\d-\d\d \d\d:\d\d")
        )
        expect(page.get_by_role("timer")).to_have_text(re.compile(r"\d+ min \d+ s left"))
        expect(page.locator("#hosts")).to_have_text("Builds reach pypi.org by a proxy.")
        assert page.evaluate("Boolean(document.querySelector('#upload').hidden)")
        page.get_by_label("Account").fill("Ada")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("no account has")
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
        expect(page.locator("#log")).not_to_contain_text("Preparing")
        expect(page.locator("#uses")).to_contain_text("the end of the match")
        expect(page.locator("#steps .done")).to_have_count(4)
        expect(page.locator("#log")).to_be_hidden()
        page.get_by_role("button", name="Show the log").click()
        expect(page.locator("#log")).to_be_in_viewport()
        page.get_by_role("button", name="Close").click()
        expect(page.locator("#own-rank")).to_contain_text(re.compile("Ada is at place [12] of 2"))
        expect(page.locator("#board svg")).to_be_visible()
        for width, height, is_below in ((1440, 900, False), (390, 844, True), (844, 390, True)):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            field, standings = (
                page.locator(each).bounding_box() for each in ("#drop", "#standings")
            )
            assert field
            assert standings
            assert field["height"] >= 180
            assert (field["y"] + field["height"] <= standings["y"]) == is_below
            # In one step, as the page may draw the standings again at any time.
            assert page.evaluate("document.querySelector('.standing td').offsetHeight") >= 52
            usual = "dark" if is_below else "light"
            for theme in ("light", "dark") if scale.slow else (usual,):
                page.emulate_media(color_scheme=theme)
                assert accessibility_faults(page) == []
                if scale.slow:
                    name = f"competition_{width}_{theme}.png"
                    page.screenshot(path=PICTURES / name, full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})
        open_tab(page, "My submissions")
        assert accessibility_faults(page) == []
        page.get_by_role("button", name="1", exact=True).click()
        expect(page.locator("#steps .bad")).to_have_text(["check"])
        expect(page.locator("#log")).to_contain_text("<img src=x")
        assert page.evaluate("typeof hacked") == "undefined"
        expect(page.locator("#standings")).to_contain_text("Ada")
        open_tab(page, "Standings")
        expect(page.get_by_text("The ratings are means")).to_be_visible()
        for number, game in enumerate(("Nim", "Tic-tac-toe")):
            expect(page.locator("#games h3").nth(number)).to_contain_text(game)
            expect(page.locator("#games table").nth(number)).to_contain_text("Ada")
        open_tab(page, "Rules")
        expect(page.get_by_role("link", name="Rules of Nim")).to_be_visible()
        expect(page.locator("#rules")).to_contain_text("Tic-tac-toe, clock 20 seconds + 5 seconds")
        open_tab(page, "Matches")
        expect(page.locator("#last-matches")).to_contain_text("House")
        link = page.locator("#last-matches a").first.get_attribute("href")
        assert server.page
        assert link
        assert link.startswith(f"http://127.0.0.1:{server.page[1]}/matches/")
        assert "House" in page.request.get(link).text()
        folder = tmp_path / "mine"
        (folder / "below").mkdir(parents=True)
        (folder / ".git").mkdir()
        (folder / ".git" / "x").write_text("x")
        files = bot(command="python3 below/bot.py")
        (folder / "bot.toml").write_text(files["bot.toml"])
        (folder / "below" / "bot.py").write_text(files["bot.py"])
        page.get_by_label("A folder", exact=True).set_input_files(folder)
        page.get_by_label("A Python file").set_input_files([])
        page.get_by_role("button", name="Hand in").click()
        heading = page.get_by_role("heading", name="Submission 3: accepted")
        expect(heading).to_be_visible(timeout=PATIENCE_S * 1000)
        open_tab(page, "Overview")
        page.locator("#standings").get_by_role("link", name="Ada").first.click()
        expect(page.get_by_role("heading", name="Submissions of Ada")).to_be_visible()
        expect(page.locator("#versions tr")).to_have_count(2)
        expect(page.locator("#team-matches tr").first).to_contain_text("House")
        expect(page.locator("#own-submissions")).to_contain_text("onerror")
        page.get_by_role("button", name="1", exact=True).click()
        expect(page.locator("#log")).to_contain_text("<img src=x")
        stranger = chromium.new_page()
        stranger.goto(page.url)
        expect(stranger.locator("#versions tr")).to_have_count(2)
        expect(stranger.locator("#plot > svg").first).to_be_visible(timeout=PATIENCE_S * 1000)
        assert not stranger.get_by_role("heading", name="Submissions of Ada").is_visible()
        assert "onerror" not in stranger.content()
        stranger.goto(f"{site}cup/#team=%")
        expect(stranger.locator("#message")).to_contain_text("%")
        stranger.close()
        german = chromium.new_page(locale="de-DE")
        german.goto(page.url)
        expect(german.get_by_role("heading", name="Einreichen")).to_be_visible()
        expect(german.locator("#deadline")).to_contain_text("Offen bis")
        german.close()
        page.get_by_role("link", name="The competition").click()
        page.evaluate(DROP)
        heading = page.get_by_role("heading", name="Submission 4: refused")
        expect(heading).to_be_visible(timeout=PATIENCE_S * 1000)
        assert not faults
        page.goto("about:blank")
        page.goto(f"{site}cup/#account=Tea&token={cup.tokens['Tea']}")
        expect(page.get_by_text("What administrators hand in")).to_be_visible()
        assert page.url == f"{site}cup/"
        page.locator("#standings").get_by_role("link", name="Ada").first.click()
        expect(page.get_by_role("heading", name="Submissions of Ada")).to_be_visible()
        expect(page.locator("#own-submissions tr")).to_have_count(4)
        open_tab(page, "My submissions")
        page.get_by_role("row", name="4 Ada Ada").get_by_role("button", name="ban").click()
        expect(page.get_by_role("button", name="unban")).to_have_count(4)
        page.locator("#all").get_by_role("button", name="2", exact=True).click()
        expect(page.locator("#log")).to_contain_text("== accepted")
        expect(page.locator("#most")).to_have_text("The ladders play at most 16 matches at once.")
        expect(page.locator("#workers")).to_have_text(re.compile("this machine[0-9]+plays"))
        page.get_by_label("New deadline").fill("2101-02-03T04:05")
        page.get_by_role("button", name="Extend").click()
        expect(page.get_by_role("status")).to_contain_text("2101")
        assert not faults
        run("playout-competition", "close", str(cup.file))
        expect(page.get_by_role("status")).to_contain_text("Closed")
        with page.expect_download() as grades:
            page.get_by_role("button", name="Grades").click()
        assert "Ada" in Path(grades.value.path()).read_text()
        assert not page.get_by_role("link", name="The report").is_visible()
        report = html_page.page("The final", ["<script>hacked = 1</script>"])
        (tmp_path / "cup" / "final.html").write_text(report)
        page.get_by_role("link", name="The report").click()
        expect(page.get_by_role("heading", name="The final")).to_be_visible()
        assert page.evaluate("getComputedStyle(document.body).maxWidth") != "none"
        assert page.evaluate("typeof hacked") == "undefined"
    page.close()
