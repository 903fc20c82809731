"""The analysis of matches in a real browser: moves of one's own, and what a bot thinks of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from support.accessibility import accessibility_faults, require_axe
from support.browser import (
    BrowserSite,
    BrowserUsers,
    my_turn,
    running_site,
    start_match,
    tab_to,
    walk,
)
from support.raw_client import RawClient

#: Moves of Connect Four after which the first player has won in column 1.
PLAYED = (3, 3, 0, 1, 0, 1, 0, 6, 0)
#: The ply before the second player fails to prevent that, by playing in column 7.
BLUNDER = 7


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    """A site with bots that analyse."""
    bots = ("--bot", "Max:strong=uct(seed=1)", "--bot", "Randy:easy=random(seed=1)")
    with running_site(tmp_path_factory.mktemp("site"), *bots, "--analysis-s", "0.5") as site:
        yield site


@pytest.fixture(scope="module")
def played(site: BrowserSite) -> str:
    """A finished match of Connect Four."""
    return play(site, "connect_four", PLAYED)


@pytest.fixture(scope="module")
def page(chromium: Browser, site: BrowserSite) -> Iterator[Page]:
    """A page for all tests: a page of its own would cost each another process."""
    people = BrowserUsers(chromium, site.address)
    people.tolerate("400")  # the server refuses illegal moves of an address
    yield people.come("about:blank", color_scheme="light", reduced_motion="reduce")
    people.leave()
    assert people.faults == []


def play(site: BrowserSite, game: str, actions: tuple[int, ...]) -> str:
    """Play a match between two guests to its end, and return its id."""
    where = site.server.host, site.server.port
    with RawClient(*where) as first, RawClient(*where) as second:
        for seat, player in enumerate((first, second), start=1):
            player.hello()
            player.say("seek", game=game, clock="none", seat=seat)
        match: str = first.hear_until("started")["match"]
        for ply, action in enumerate(actions):
            mover = (first, second)[ply % 2]
            assert mover.ask("move", match=match, ply=ply, action=action)["type"] == "update"
        first.ask("resign", match=match)
    return match


def pieces(page: Page) -> int:
    return page.locator("#board .layer.pieces > g").count()


def query(page: Page) -> str:
    return page.url.partition("?")[2]


def ask(page: Page) -> None:
    page.get_by_role("button", name="Ask a bot").click()
    expect(page.locator("#study-table tbody tr").first).to_be_visible()


def test_a_bot_says_live_what_it_thinks_and_its_line_is_shown_by_pointing_at_it(
    page: Page, played: str
) -> None:
    page.goto(f"/matches/{played}?ply={BLUNDER}")
    ask(page)
    text, rows = page.locator("#study-text"), page.locator("#study-table tbody tr")
    expect(text).to_contain_text(re.compile("^Max on raw .*, who is to move: .* simulations"))
    expect(rows.filter(has_text="played").get_by_role("button")).to_have_text("7 played")
    expect(page.locator("#board .layer.heat > g").first).to_be_attached()

    line, shown = page.locator("#study-line button"), page.locator("#board .layer.pieces > g")
    line.nth(1).hover()
    expect(shown).to_have_count(BLUNDER + 2)
    page.mouse.move(0, 0)
    expect(shown).to_have_count(BLUNDER)
    line.first.focus()
    expect(shown).to_have_count(BLUNDER + 1)
    page.keyboard.press("Enter")
    expect(page.locator("#own-moves-text")).to_have_text("1")
    assert query(page) == f"ply={BLUNDER}&moves=0"

    page.get_by_role("button", name="Ask a bot").click()
    expect(page.locator("#study-bot")).to_be_hidden()
    expect(page.locator("#board .layer.heat > g")).to_have_count(0)


def test_two_bots_are_asked_about_the_same_position(page: Page, played: str) -> None:
    page.goto(f"/matches/{played}?ply={BLUNDER}")
    page.get_by_label("Second bot").select_option("Randy")
    ask(page)
    expect(page.locator("#other-text")).to_contain_text("Randy on raw")
    expect(page.locator("#other-line button")).to_have_count(1)
    expect(page.locator("#study-text")).to_contain_text("Max on raw")
    expect(page.locator("#study-line button").first).to_be_visible()
    page.get_by_label("Second bot").select_option("")
    expect(page.locator("#other-text")).to_have_text("")
    expect(page.locator("#other-line")).to_be_hidden()


def test_moves_are_tried_shared_and_taken_back(page: Page, played: str) -> None:
    page.goto(f"/matches/{played}?ply=2")
    page.get_by_role("button", name="Try moves").click()
    tried = page.locator("#own-moves-text")
    for column in (2, 3):
        cell = page.get_by_role("gridcell", name=f"column {column}, row 1, empty, can be played")
        cell.click()
        expect(tried).to_have_text(re.compile(f"{column}$"))
    assert pieces(page) == 4
    expect(page.locator("#note")).to_have_text("After move 2 of 9 and 2 moves of your own")
    assert query(page) == "ply=2&moves=1,2"

    page.reload()
    expect(tried).to_have_text("2 3")
    page.keyboard.press("ArrowLeft")
    expect(tried).to_have_text("2")
    expect(page.locator("#board .layer.pieces > g")).to_have_count(3)
    page.keyboard.press("ArrowRight")
    expect(tried).to_have_text("2 3")
    page.get_by_role("button", name="Take back").click()
    expect(tried).to_have_text("2")
    assert query(page) == "ply=2&moves=1"
    page.get_by_role("button", name="Back to the match").click()
    assert (pieces(page), query(page)) == (2, "ply=2")

    page.goto(f"/matches/{played}?ply=2&moves=1,99")
    expect(page.locator("#study-fault")).to_have_text("These moves are not possible here.")
    assert (pieces(page), query(page)) == (2, "ply=2")


def test_all_is_done_by_keyboard_and_accessible(page: Page, played: str) -> None:
    require_axe()
    page.goto(f"/matches/{played}?ply=2")
    tab_to(page, page.locator("#try-moves").element_handle())
    page.keyboard.press("Enter")
    cell = page.get_by_role("gridcell", name="column 5, row 1")
    expect(cell).to_have_class(re.compile("target"))
    walk(page, cell.element_handle())
    page.keyboard.press("Enter")
    expect(page.locator("#own-moves-text")).to_have_text("5")
    tab_to(page, page.locator("#ask").element_handle())
    page.keyboard.press("Enter")
    expect(page.locator("#study-table tbody button").first).to_be_visible()
    in_table = "document.activeElement.matches('#study-table tbody button')"
    for _ in range(100):
        if not page.evaluate(in_table):
            page.keyboard.press("Tab")
    expect(page.locator("#board .layer.hint > g")).to_have_count(1)
    assert accessibility_faults(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("#own-moves-text")).to_have_text(re.compile(r"^5 \d$"))

    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark")
    assert accessibility_faults(page) == []
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.evaluate("document.documentElement.clientWidth"), f"{wide} px"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")


def test_the_moves_that_lost_the_most_are_marked(page: Page, played: str) -> None:
    page.goto(f"/matches/{played}")
    expect(page.locator("#win-rates")).to_be_hidden()
    page.get_by_role("button", name="Analyse all moves").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("button", name="Analyse all moves")).to_be_visible()
    worst = page.locator("#losses button").filter(has_text=re.compile(f"^{BLUNDER + 1}. 7 "))
    expect(worst).to_be_visible()
    expect(page.locator("#legend-3")).to_have_text("says Max")
    signs = page.locator(".move[data-sign]")
    assert page.locator("#graph .losses path").count() == signs.count()
    expect(page.locator(".move").nth(BLUNDER)).to_have_attribute("data-sign", "??")
    board, drawn = (page.locator(each).bounding_box() for each in ("#board", "#graph"))
    assert board
    assert drawn
    assert board["y"] + board["height"] <= drawn["y"]
    assert drawn["y"] + drawn["height"] <= 900
    graph = page.locator("#graph")
    expect(graph).to_have_attribute("aria-valuetext", "9. 1: 100 %, says Max")
    worst.click()
    assert query(page) == f"ply={BLUNDER}"
    expect(graph).to_have_attribute("aria-valuenow", str(BLUNDER))
    page.locator("#graph .losses path").last.click()
    assert query(page) != f"ply={BLUNDER}"
    page.get_by_role("button", name="Learn from mistakes").click()
    expect(page.locator("#lesson-text")).to_contain_text("Find a better move.")
    expect(page.locator("#ask")).to_be_hidden()  # it would name the answer
    expect(page.locator("#analysis-of-bots")).to_be_hidden()


def test_a_refusal_is_told_and_another_bot_is_asked(page: Page, played: str) -> None:
    page.goto(f"/matches/{played}?ply=2")
    page.locator("#analyst").evaluate("list => { list.options[0].value = 'Nobody' }")
    page.get_by_role("button", name="Ask a bot").click()
    refusal = "'Nobody' is not among the bots here (there are: random, Max, Randy)."
    expect(page.locator("#study-text")).to_have_text(refusal)
    page.get_by_label("Bot that is asked").select_option("Randy")  # it says its move alone
    expect(page.locator("#study-line button")).to_have_count(1)
    expect(page.locator("#study-text")).to_contain_text("Randy on raw")


def test_players_get_no_help_until_their_match_is_over(page: Page) -> None:
    page.goto("/")
    start_match(page, "clobber", rows=3, columns=4)
    my_turn(page)
    expect(page.locator("#study")).to_be_hidden()
    page.get_by_role("button", name="Resign").click()
    page.locator("#resign-dialog").get_by_role("button", name="Resign").click()
    expect(page.locator("#study")).to_be_visible()
    page.get_by_role("button", name="First position").click()
    ask(page)
    expect(page.locator("#board .arrows path").first).to_be_attached()  # pieces are moved
    expect(page.locator("#board .layer.heat > g")).to_have_count(0)


def test_tried_moves_stay_in_a_tree_of_variations(page: Page, played: str) -> None:
    page.goto(f"/matches/{played}?ply=2")
    page.get_by_role("link", name="Analysis board").click()
    page.wait_for_url("**/analysis/*")  # before, the buttons are those of the match
    page.get_by_role("button", name="First position").click()

    def move(*columns: int) -> None:
        for column in columns:
            page.get_by_role("gridcell", name=f"column {column}, row 1").click()
            expect(page.locator("#own-moves-text")).to_have_text(re.compile(f"{column}$"))

    lines = page.locator(".variations")
    move(2, 3)
    page.keyboard.press("ArrowLeft")
    move(5)
    expect(lines).to_have_text("(1 23(2 5))")
    page.get_by_role("button", name="Promote").click()
    expect(lines).to_have_text("(1 25(2 3))")
    page.reload()
    expect(lines.locator("[aria-current]")).to_have_text("5")
    lines.get_by_role("button", name="3").click()
    assert query(page) == "ply=0&moves=1,2"
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(lines).to_have_text("(1 25)")
    with page.expect_download() as download:
        page.locator("#tree-files").get_by_role("link", name="PGN").click()
    assert "( 1. 2 5 )" in " ".join(download.value.path().read_text().split())
    page.get_by_role("button", name="Ask a bot").click()
    expect(page.locator("#bar")).to_have_attribute(
        "aria-label", re.compile(r"^Win rate of .*\d %$")
    )
    assert accessibility_faults(page) == []


def test_a_pasted_position_is_analysed(page: Page) -> None:
    page.goto("/analysis?game=tic_tac_toe")
    field = page.get_by_label("Moves, PGN, SGF or FEN")
    field.fill("b2 b9")
    page.get_by_role("button", name="Show it").click()
    expect(page.get_by_text("tic_tac_toe, move 2: 'b9' is not legal here")).to_be_visible()
    page.locator("#own-game").select_option("backgammon")
    field.fill("")
    page.get_by_role("button", name="Show it").click()
    page.get_by_label("Roll").select_option("3-1")  # nature rolls first
    page.locator("#choices").get_by_role("button", name="Roll").click()
    expect(page.locator(".variations")).to_have_text("1 3-1:")
    expect(page.locator("#rolls")).to_be_hidden()
    page.goto("/analysis?game=chess")
    page.get_by_role("button", name="Draw a position").click()
    page.get_by_role("button", name="Clear the board").click()
    for name, cell in (
        ("white king", 60),
        ("black king", 4),
        ("white rook", 63),
        ("black rook", 0),
    ):
        page.get_by_role("radio", name=name).check(force=True)
        page.locator(f"#drawn [data-cell='{cell}']").click()
    page.locator("#drawn [data-cell='0']").click()  # which removes it
    page.get_by_role("radio", name="Player 2 to move").check(force=True)
    expect(field).to_have_value("4k3/8/8/8/8/8/8/4K2R b K - 0 1")
    assert accessibility_faults(page) == []
    page.get_by_role("button", name="Show it").click()
    expect(page.locator("#status")).to_have_text("Player 2 to move")
    expect(page.locator("#board .layer.pieces > g")).to_have_count(3)
    page.goto("/analysis?game=tic_tac_toe")
    field.fill("1. b2 a1\n2. c1")
    page.get_by_role("button", name="Show it").click()
    expect(page.locator("#moves > li")).to_have_text(["1b2", "2a1", "3c1"])
    page.get_by_role("gridcell", name=re.compile("^b1")).click()
    expect(page.locator(".variations")).to_have_text("4 b1")
    ask(page)
    page.get_by_role("button", name="Analyse all moves").click()
    expect(page.locator("#win-rates")).to_be_visible()
