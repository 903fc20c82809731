"""People read the pages and play in their language."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from support.accessibility import accessibility_faults, require_axe
from support.browser import MOVES, OVER, BrowserSite, BrowserUsers, running_site

#: The words of English pages that no German page has, and names that it has.
ENGLISH = re.compile(r"\b(the|and|is|you|your|match|matches|move|game|of|to|no)\b", re.IGNORECASE)
NAMES = ("Lines of Action",)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    with running_site(tmp_path_factory.mktemp("languages")) as site:
        yield site


def chosen(page: Page) -> str | None:
    return page.locator("html").get_attribute("lang")


def said(page: Page) -> str:
    """All texts of a page that are in its language, those for screen readers too."""
    texts: list[str] = page.evaluate("""() => [
      ...[...document.querySelectorAll("[aria-label], [title]")].flatMap((each) =>
        [each.ariaLabel ?? "", each.closest("[title]") ? "" : each.title]),
      ...[...document.querySelectorAll("body *:not([lang], [lang] *, code, pre, pre *, script)")]
        .flatMap((each) => [...each.childNodes])
        .filter((node) => node.nodeType === Node.TEXT_NODE)
        .map((node) => node.textContent.trim()),
    ]""")
    text = "\n".join(filter(None, texts))
    for name in NAMES:
        text = text.replace(name, "")
    return text


def test_a_person_chooses_german_and_plays(people: BrowserUsers, site: BrowserSite) -> None:
    require_axe()
    page = people.come("/?game=tic_tac_toe&bot=random&seat=1")
    page.get_by_label("Language").select_option("de")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#summary")).to_have_text("Tic-Tac-Toe · random · 5 Minuten + 3 Sekunden")
    assert not accessibility_faults(page)
    page.get_by_role("button", name="Spielen", exact=True).click()
    page.wait_for_url("**/matches/*")
    status = page.locator("#status")
    expect(status).to_have_text("Sie sind am Zug")
    expect(page.locator(MOVES).first).to_have_attribute("aria-label", re.compile("leer, kann"))
    page.locator(MOVES).first.click()
    expect(page.locator("#moves li")).to_have_count(2)
    expect(status).to_have_text("Sie sind am Zug")
    assert not accessibility_faults(page)
    page.locator("#entry-move").fill("z9")
    page.locator("#entry-play").click()
    expect(page.locator("#entry-fault")).to_contain_text("„z9“ ist hier nicht möglich.")
    page.get_by_role("button", name="Aufgeben", exact=True).click()
    page.locator("#resign-dialog").get_by_role("button", name="Aufgeben").click()
    expect(status).to_have_text("Sie haben verloren")
    expect(page.locator("#reason")).to_have_text(re.compile("^guest-.* hat aufgegeben$"))
    expect(page.locator(OVER)).to_be_visible()
    assert not ENGLISH.findall(said(page))
    page.get_by_label("Sprache").select_option("en")
    expect(status).to_have_text("You lost")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/matches",
        "/players",
        "/tournaments",
        "/ladders",
        "/puzzles",
        "/games",
        "/admin",
        "/organize",
    ],
)
def test_a_page_has_no_english_where_the_browser_wants_german(
    people: BrowserUsers, site: BrowserSite, path: str
) -> None:
    page = people.come(path, locale="de-AT")
    expect(page.locator("#identity")).not_to_have_text("")
    assert chosen(page) == "de"
    assert not [line for line in said(page).splitlines() if ENGLISH.search(line)]


def test_a_browser_that_wants_chinese_gets_it(people: BrowserUsers, site: BrowserSite) -> None:
    page = people.come("/", locale="zh-CN")
    assert chosen(page) == "zh-Hans"
    expect(page.locator("h1")).to_have_text("大厅")
    expect(page.locator("#summary")).to_contain_text("5 分钟 + 3 秒")
    assert not re.findall(r"[a-z]{3,} [a-z]{3,}", said(page))


def test_a_page_whose_texts_are_lost_is_in_english(people: BrowserUsers) -> None:
    people.tolerate("texts")
    people.tolerate("ERR_FAILED")
    page = people.come("/games", locale="de-DE")
    page.route("**/texts/*", lambda route: route.abort())
    page.goto("/?game=nim")
    expect(page.locator("#summary")).to_contain_text("5 minutes + 3 seconds")
