"""The form for a new match: a game by its picture, an opponent by its level, and links to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import (
    MOVES,
    BrowserSite,
    BrowserUsers,
    arrive,
    choose,
    moves_on,
    my_turn,
    running_site,
)
from support.raw_client import RawClient
from support.waiting import wait_until

BOTS = (
    *("--bot", "Mild:easy=random(seed=1)"),
    *("--bot", "Wild:strong=uct(simulations=50,time=2)"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    with running_site(tmp_path_factory.mktemp("site"), *BOTS) as site:
        yield site


def chosen(page: Page, name: str) -> str:
    return page.locator(f"#new input[name='{name}']:checked").get_attribute("value") or ""


def test_a_match_is_begun_by_a_picture_a_level_a_colour_and_one_click(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page = people.come()
    games = page.get_by_role("group", name="Game")
    assert chosen(page, "game") == "connect_four"
    expect(games.locator("label", has_text="Hex").locator("svg")).to_be_attached()
    games.get_by_text("Clobber", exact=True).click(force=True)
    expect(page.locator("#parameter-rows")).to_be_visible()
    page.get_by_role("group", name="Opponent").get_by_text("Strong").click(force=True)
    hint = "Wild: for experienced players, up to 2 seconds a move, not rated at this game"
    expect(page.locator("#bot-hint")).to_have_text(hint)
    strong = page.locator("#new-bots label", has_text="Wild")
    expect(strong).to_have_attribute("title", "uct(simulations=50,time=2)")
    page.get_by_role("group", name="You move").get_by_text("second").click(force=True)
    page.get_by_role("button", name="Play", exact=True).click()
    match = arrive(page)
    named = page.locator(".match-head").get_by_text("Wild is a bot")
    expect(named).to_have_attribute("title", "uct(simulations=50,time=2)")
    data = page.request.get(f"/api/matches/{match}").json()
    assert data["bots"] == ["uct(simulations=50,time=2)", None]
    started = site.stored(match).started
    assert started.game == "clobber"
    assert (started.players[0], started.rated) == ("Wild", False)
    assert started.bots == ("uct(simulations=50,time=2)", None)
    assert started.accounts[0]


@pytest.mark.parametrize(
    ("link", "game", "bot", "seat", "clock"),
    [
        ("/?game=othello(size=6)&level=strong&seat=2", "othello(size=6)", "Wild", "2", "300+3"),
        ("/?game=nim&bot=Mild&clock=60+1", "nim", "Mild", "", "60+1"),
        ("/?bot=random&clock=7/move", "connect_four", "random", "", "7/move"),
        ("/?opponent=Wild", "connect_four", "Wild", "", "300+3"),
        ("/?game=shogi&level=hopeless&seat=3", "connect_four", "random", "", "300+3"),
    ],
)
def test_a_link_fills_the_form(
    people: BrowserUsers, link: str, game: str, bot: str, seat: str, clock: str
) -> None:
    page = people.come(link)
    expect(page.locator("#identity")).not_to_be_empty()
    name, _, parameters = game.rstrip(")").partition("(")
    assert chosen(page, "game") == name
    for each in filter(None, parameters.split(",")):
        key, _, value = each.partition("=")
        expect(page.locator(f"#parameter-{key}")).to_have_value(value)
    assert (chosen(page, "bot"), chosen(page, "seat")) == (bot, seat)
    given = page.locator("#new-clock").input_value() or page.locator("#new-own-clock").input_value()
    assert given == clock


def test_the_form_is_filled_in_by_keyboard_on_a_narrow_screen(
    people: BrowserUsers, site: BrowserSite
) -> None:
    """Arrow keys choose among pictures and levels; Enter begins the match from any of them."""
    page = people.come(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.locator("#new-games input:checked").focus()
    page.keyboard.press("ArrowLeft")
    assert chosen(page, "game") == "clobber"
    page.locator("#new-bots input:checked").focus()
    for name in ("Mild", "Wild"):
        page.keyboard.press("ArrowRight")
        assert chosen(page, "bot") == name
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.keyboard.press("Enter")
    assert "Wild" in site.stored(arrive(page)).started.players


def test_the_ratings_of_the_bots_at_the_chosen_game_are_shown(
    people: BrowserUsers, site: BrowserSite
) -> None:
    with RawClient(site.server.host, site.server.port) as ann:
        ann.hello("Ann", guest=False)
        ann.ask("challenge_bot", player="Mild", game="nim", rated=True)
        ann.ask("resign", match=ann.hear_until("started")["match"])
    page = people.come()
    # Ratings are computed soon after the match, not when they are asked for.
    wait_until(lambda: page.request.get("/api/players?game=nim").json()["total"])
    page.goto("/?game=nim&bot=Mild")
    expect(page.locator("#bot-hint")).to_have_text(
        re.compile(r"^Mild: for beginners, rated \d+ ± \d+$")
    )
    rating = page.locator("#new-bots label", has_text="Mild").locator(".rating")
    expect(rating).to_have_text(re.compile(r"^\d+$"))
    page.get_by_role("group", name="Game").get_by_text("Clobber", exact=True).click(force=True)
    expect(page.locator("#bot-hint")).to_have_text("Mild: for beginners, not rated at this game")
    expect(rating).to_be_empty()


def test_a_server_without_bots_offers_no_level(chromium: Browser, tmp_path: Path) -> None:
    with running_site(tmp_path, "--bots", "0") as site:
        page = chromium.new_page()
        page.goto(f"{site.address}/?level=strong")
        names = ["A player of this server", "A friend by a link"]
        expect(page.locator("#new-bots label")).to_have_text(names)
        expect(page.locator("#bot-hint")).to_have_text("This server starts no bots.")
        expect(page.locator("#people-choice")).to_be_visible()
        page.close()


CLOSED = "Nobody is waiting at this link"


def invite(page: Page, game: str) -> str:
    """Ask for a link to a match against a friend, and return its address."""
    choose(page, game, "a friend")
    page.get_by_role("button", name="Play", exact=True).click()
    link = page.get_by_label("Send this link to your friend")
    expect(link).to_have_value(re.compile(r"/seeks/[0-9a-f]{32}$"))
    return link.input_value()


def test_a_friend_plays_by_a_link(people: BrowserUsers, site: BrowserSite) -> None:
    ann, name = people.guest(permissions=["clipboard-read", "clipboard-write"])
    ann.get_by_role("radio", name="first").check(force=True)
    address = invite(ann, "connect_four")
    expect(ann.locator("#waiting-text")).to_contain_text("Waiting for your friend: Connect Four")
    ann.get_by_role("button", name="Copy").click()
    expect(ann.locator("#friend-copied")).to_have_text("Copied.")
    assert ann.evaluate("navigator.clipboard.readText()") == address
    other = people.come()
    expect(other.locator("#total-humans")).to_have_text("2")
    expect(other.locator("#no-seeks")).to_be_visible()
    assert f"{name} invites you to Connect Four" in other.request.get(address).text()
    bob = people.come(address)
    assert arrive(bob) == arrive(ann)
    for page, mover in ((ann, ann), (bob, bob)):
        assert my_turn(page)
        mover.locator(MOVES).first.click()
    for page in (ann, bob):
        expect(page.locator(".move")).to_have_count(2)
    assert moves_on(ann) == moves_on(bob)
    other.goto(address)
    expect(other.get_by_role("heading", name=CLOSED)).to_be_visible()


def test_a_link_is_cancelled_and_opens_again_after_a_lost_connection(
    people: BrowserUsers,
) -> None:
    ann, _ = people.guest()
    cancelled = invite(ann, "clobber")
    ann.get_by_role("button", name="Cancel").click()
    expect(ann.locator("#friend")).to_be_hidden()
    bob = people.come(cancelled)
    expect(bob.get_by_role("heading", name=CLOSED)).to_be_visible()
    address = invite(ann, "clobber")
    assert address != cancelled
    ann.context.set_offline(True)
    ann.evaluate("dispatchEvent(new Event('pagehide'))")  # as a phone that shows another program
    wait_until(lambda: "invites you" not in bob.request.get(address).text())
    bob.goto(address)
    expect(bob.get_by_role("heading", name=CLOSED)).to_be_visible()
    ann.context.set_offline(False)
    ann.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert arrive(bob) == arrive(ann)
