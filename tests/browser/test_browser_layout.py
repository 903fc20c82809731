"""Where the parts of pages are on four screens: the board of every game, and its buttons."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from playout import games
from playout.server.storage import Database
from support.browser import BrowserSite, BrowserUsers, arrive, meet, my_turn, running_site
from support.scale import sample
from support.stored_game import PlayedGame
from support.variants import EXAMPLES

#: Width and height of a window, and the least height of a board there.
SCREENS = ((1440, 900, 700), (1366, 768, 600), (1024, 768, 600), (390, 844, 340))
PHONE = 390
#: The least width of a board that is wider than high, and so cannot have the least height.
WIDTHS = {1440: 1000, 1366: 935, 1024: 640, PHONE: 340}
#: The lowest upper edge of the cells of a board on a phone.
TOP = 120

#: The box of what is drawn of the board, without its coordinates.
BOARD = """() => {
    const ground = document.querySelector("#board .ground");
    const { left, top, width, height } = ground.getBoundingClientRect();
    return [left, top, width, height];
}"""
#: The names of the elements of a list that are not within the window.
OUTSIDE = """(names) => names.filter((name) => {
    const element = document.querySelector(name);
    const { left, right, top, bottom, width } = element.getBoundingClientRect();
    return !width || left < 0 || right > innerWidth || top < 0 || bottom > innerHeight;
})"""
#: The boxes of elements, to compare.
PLACES = """(names) => names.map((name) => {
    const { left, top, width, height } = document.querySelector(name).getBoundingClientRect();
    return [name, left, top, width, height].join(" ");
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    """A site with a stored match of every game, whose id is the game's name."""
    folder = tmp_path_factory.mktemp("site")
    with contextlib.closing(Database(f"sqlite:///{folder}/playout.db")) as database:
        database.migrate()
        for spec in EXAMPLES:
            played = PlayedGame(spec, "300+3", match=match_of(spec)).play_anything(1, plies=6)
            match = played.adjudicated(1) if played.match.to_move else played.stored
            assert match.ended
            database.save([match.started, *match.moves, match.ended])
    with running_site(folder) as site:
        yield site


def match_of(spec: str) -> str:
    return spec.partition("(")[0]


@pytest.fixture(scope="module")
def reader(chromium: Browser, site: BrowserSite) -> Iterator[tuple[BrowserUsers, Page]]:
    people = BrowserUsers(chromium, site.address)
    yield people, people.come("about:blank", reduced_motion="reduce")
    people.leave()


@pytest.mark.parametrize("spec", EXAMPLES)
def test_the_board_of_every_game_is_as_large_as_the_window(
    reader: tuple[BrowserUsers, Page], spec: str
) -> None:
    people, page = reader
    page.set_viewport_size({"width": PHONE, "height": 844})  # it becomes a wide one
    page.goto(f"/matches/{match_of(spec)}")
    expect(page.get_by_role("heading", level=1)).to_have_text(games.title(spec))
    has_cells = games.load(spec).view(games.load(spec).initial_state()).geometry != "text"
    for width, height, least in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise(requestAnimationFrame)")  # the board has its size then
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OUTSIDE, ["#browse", "#status", "#rules"]) == []
        if not has_cells:
            continue
        _, top, wide, high = page.evaluate(BOARD)
        assert high >= least or wide >= WIDTHS[width], f"{wide} x {high} at {width} x {height}"
        assert top + high <= height
        assert top <= TOP or width > PHONE
    assert people.faults == []


@pytest.mark.parametrize(("width", "height", "least"), SCREENS)
def test_the_lobby_shows_all_games_and_begins_a_match_by_one_click(
    people: BrowserUsers, width: int, height: int, least: int
) -> None:
    page = people.come(viewport={"width": width, "height": height})
    expect(page.locator("#new-bots")).to_contain_text("random")
    assert page.evaluate(OUTSIDE, ["#start", "#summary"]) == []
    pictures = page.locator("#new-games label")
    expect(pictures).to_have_count(len(games.names()))
    scrolls = "element => getComputedStyle(element).overflowY"
    assert page.locator("#new-games").evaluate(scrolls) == "visible"
    if width > PHONE:
        assert page.evaluate(OUTSIDE, ["#new-games"]) == []
    page.get_by_role("button", name="Play Hex now").click()
    arrive(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Hex (swap)")
    # The next visit has the same choices, and Play begins the same match.
    page.goto("/")
    expect(page.locator("#summary")).to_have_text("Hex (swap) · random · 5 minutes + 3 seconds")
    page.get_by_role("button", name="Play", exact=True).click()
    arrive(page)


#: What a player clicks on the page of a match, whose places must not change during the match.
CONTROLS = ["#resign", "#takeback", "#draw", "#entry-play", "#browse", "#board .ground"]


def test_nothing_moves_when_an_offer_comes_in_the_place_of_the_actions(
    people: BrowserUsers,
) -> None:
    # Without motion, an offer can be answered at once.
    ann, bob, _ = meet(people, "go", reduced_motion="reduce")
    for turn, (width, height, _) in enumerate(SCREENS):
        ann.set_viewport_size({"width": width, "height": height})
        ann.reload()
        for page in (ann, bob):
            my_turn(page)
            page.locator("#board .cell.target").nth(40 + turn).click()
        my_turn(ann)
        assert ann.evaluate(OUTSIDE, CONTROLS) == [], width
        before = ann.evaluate(PLACES, CONTROLS)
        bob.get_by_role("button", name="Take back").click()
        expect(ann.locator("#offers")).to_contain_text("asks to take a move back")
        assert ann.evaluate(PLACES, CONTROLS) == before
        assert ann.evaluate(OUTSIDE, ["#offers", "#offer-accept", "#offer-decline"]) == [], width
        left, top, wide, high = ann.evaluate(BOARD)
        box = ann.locator("#offers").bounding_box()
        assert box
        is_beside = box["x"] >= left + wide or box["x"] + box["width"] <= left
        assert is_beside or box["y"] >= top + high
        ann.get_by_role("button", name="Decline").click()
        expect(ann.locator("#offers")).to_be_hidden()
        assert ann.evaluate(PLACES, CONTROLS) == before


def test_nothing_moves_when_the_opponent_is_disconnected(people: BrowserUsers) -> None:
    ann, bob, _ = meet(people, "go", reduced_motion="reduce")
    away = ann.locator("#away-2")
    for width, height, _ in SCREENS:
        ann.set_viewport_size({"width": width, "height": height})
        ann.evaluate("() => new Promise(requestAnimationFrame)")  # the board has its size then
        expect(away).to_have_text("")
        before = ann.evaluate(PLACES, CONTROLS)
        address = bob.url
        bob.goto("about:blank")
        expect(away).to_contain_text("disconnected")
        assert ann.evaluate(PLACES, CONTROLS) == before, width
        fits = """(element) => element.scrollHeight <= element.clientHeight + 1 &&
            element.scrollWidth <= element.clientWidth"""
        assert away.evaluate(fits), width
        bob.goto(address)


def test_the_rules_are_one_click_from_the_board(people: BrowserUsers, tmp_path: Path) -> None:
    page = people.come("/matches/go")
    page.get_by_role("link", name="Rules").click()
    rules = page.get_by_role("dialog", name="Go")
    expect(rules).to_contain_text("First steps")
    expect(rules.locator("figure svg").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(rules).to_have_count(0)
    # Without scripts, the same is a page.
    plain = people.come("/games/go", java_script_enabled=False)
    expect(plain.get_by_role("heading", level=1)).to_have_text("Rules of Go")


def test_hints_and_coordinates_are_switched_off_for_all_matches(people: BrowserUsers) -> None:
    page = people.come("/matches/chess")
    letters = page.locator("#board .labels")
    expect(letters).to_be_visible()
    page.get_by_label("Coordinates").uncheck()
    expect(letters).to_be_hidden()
    page.get_by_label("Show legal moves").uncheck()
    page.get_by_role("button", name="First position").click()
    page.get_by_role("button", name="Try moves").click()
    expect(page.locator("#board .cell.target").first).to_be_attached()
    expect(page.locator("#board .dots circle").first).to_be_hidden()
    page.goto("/matches/connect_four")
    expect(page.locator("#board .cell")).to_have_count(42)
    expect(letters).to_be_hidden()
    expect(page.get_by_label("Show legal moves")).not_to_be_checked()


@pytest.mark.parametrize("spec", sample(EXAMPLES, short=4))
def test_every_game_has_a_page_of_its_rules(people: BrowserUsers, spec: str) -> None:
    page = people.come(f"/games/{match_of(spec)}")
    title = games.title(match_of(spec))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Rules of {title}")
    rules = page.get_by_role("region", name=title)
    expect(rules).to_contain_text("First steps")
    expect(rules).not_to_contain_text("`")
