"""The form for a new match: a game by its picture, an opponent by its level, and links to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.page import ChromiumMissing, launched
from support import scale
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
from support.first_start import first_start
from support.raw_client import RawClient
from support.requirements import skip_without
from support.waiting import wait_until

OPTIONS = (
    *("--bot", "Mild:easy=random(seed=1)"),
    *("--bot", "Wild:strong=uct(simulations=50,time=2)"),
    *("--take-over-after-s", "0"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    with running_site(tmp_path_factory.mktemp("site"), *OPTIONS) as site:
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
    """Arrow keys choose among pictures and levels; Enter begins the match from any of them.

    The terms are a sheet that a button opens, and Escape closes.
    """
    page = people.come(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.locator("#new-games input:checked").focus()
    page.keyboard.press("ArrowLeft")
    assert chosen(page, "game") == "clobber"
    bots, toggle = page.locator("#new-bots"), page.get_by_role("button", name="Choose")
    expect(bots).to_be_hidden()
    page.locator("#new-games").get_by_text("Nim", exact=True).click(force=True)
    expect(bots).to_be_visible()
    page.locator("#new-bots input:checked").focus()
    page.keyboard.press("Escape")
    expect(bots).to_be_hidden()
    expect(toggle).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    bots.locator("input:checked").focus()
    for key, name in (("ArrowLeft", "Wild"), ("ArrowLeft", "Mild"), ("ArrowRight", "Wild")):
        page.keyboard.press(key)
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
        ann.ask("seek", game="nim", clock="60+1")
        expect(page.locator("#seeks")).to_contain_text(re.compile(r"Ann \d+ ± \d+"))
    page.goto("/?game=nim&bot=Mild")
    expect(page.locator("#bot-hint")).to_have_text(
        re.compile(r"^Mild: for beginners, server rating \d+ ± \d+ \(\w+ has 1500\)$")
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
        # Empty pages offer something to do on the page, and no command at first.
        for path in ("tournaments", "ladders", "players", "matches"):
            page.goto(f"{site.address}/{path}")
            expect(page.locator(".empty a").first).to_be_visible()
            expect(page.locator("main code").filter(visible=True)).to_have_count(0)
        page.locator(".empty a").first.click()
        expect(page.locator("#start")).to_be_visible()
        page.close()


@pytest.mark.long
def test_the_place_in_the_queue_is_shown_while_all_bots_play(
    chromium: Browser, tmp_path: Path
) -> None:
    with running_site(tmp_path, "--bots", "1") as site:
        people = BrowserUsers(chromium, site.address)
        with RawClient(site.server.host, site.server.port) as first:
            first.hello()
            first.say("challenge_bot", player="random", game="nim")
            match = first.hear_until("started")["match"]
            ann, bob = people.come(), people.come(locale="de-DE")
            for page, place in ((ann, "is 1."), (bob, "Platz 2.")):
                choose(page, "tic_tac_toe", "random")
                page.locator("#start").click()
                expect(page.locator("#waiting-text")).to_contain_text(place)
            first.say("resign", match=match)
            arrive(ann)
            expect(bob.locator("#waiting-text")).to_contain_text("Platz 1.")
            bob.get_by_role("button", name="Abbrechen").click()
            expect(bob.locator("#start")).to_be_visible()
        assert people.faults == []
        people.leave()


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
    expect(other.locator("#seeks-section")).to_be_hidden()
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


def register(page: Page, name: str) -> None:
    page.locator("#identity").click()
    page.get_by_label("A name of your own").fill(name)
    page.get_by_role("button", name="Take it").click()
    expect(page.locator("#identity")).to_have_text(name)
    page.keyboard.press("Escape")


def test_a_match_by_correspondence_waits_for_its_player(
    people: BrowserUsers, site: BrowserSite
) -> None:
    """The page is closed after the seek; the match begins without it, and is found again."""
    page = people.come()
    register(page, "Ann of letters")
    choose(page, "connect_four", "a player")
    page.get_by_label("Clock for each").select_option(label="3 days a move")
    page.get_by_role("radio", name="second").check(force=True)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("#waiting-text")).to_contain_text("You may leave this page meanwhile.")
    page.reload()
    own = page.locator("#seeks").get_by_role("button", name="Cancel your seek for Connect Four")
    expect(own).to_be_visible()
    context = page.context
    page.close()
    with RawClient(site.server.host, site.server.port) as bob:
        bob.hello("Bob of letters", guest=False)
        (seek,) = bob.ask("list")["seeks"]
        bob.ask("accept", seek=seek["seek"])
        match = bob.hear_until("started")["match"]
        bob.ask("move", match=match, ply=0, action=3)
        page = context.new_page()
        page.goto("/")
        mine = page.locator("#own li")
        expect(mine).to_have_text(re.compile("^Connect Four, Bob of letters.*your move, 2 d 23 h"))
        expect(page).to_have_title(re.compile(r"^\(1\) "))
        mine.get_by_role("link").click()
        assert arrive(page) == match
        assert my_turn(page)
        for _ in range(2):  # the second click confirms
            page.locator(MOVES).first.click()
        bob.hear_until("update", ply=1)
        page.goto("/")
        expect(mine).to_contain_text("their move, 2 d 23 h")
        expect(page).to_have_title(re.compile("^Lobby"))


def test_a_seek_by_correspondence_is_cancelled_later(people: BrowserUsers) -> None:
    page = people.come()
    register(page, "Zoe of letters")
    choose(page, "clobber", "a player")
    page.get_by_label("Clock for each").select_option(label="1 day a move")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("#seeks")).to_contain_text("yours")
    context = page.context
    page.close()
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Cancel your seek for Clobber").click()
    expect(page.locator("#seeks-section")).to_be_hidden()


def test_the_link_to_a_match_by_correspondence_is_shown_and_cancelled_later(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page = people.come()
    register(page, "Yan of letters")
    choose(page, "clobber", "a friend")
    page.get_by_label("Clock for each").select_option(label="1 day a move")
    link = invite(page, "clobber")
    page.reload()
    page.get_by_role("button", name="Show the link of your seek for Clobber").click()
    expect(page.get_by_label("Send this link to your friend")).to_have_value(link)
    with RawClient(site.server.host, site.server.port) as bob:
        bob.hello("Bob by letters", guest=False)
        assert bob.ask("accept", seek=link.rpartition("/")[2])["type"] == "ok"
        bob.hear_until("started")
        expect(page.locator("#own li")).to_contain_text("Clobber, Bob by letters")
        expect(page.locator("#seeks-section")).to_be_hidden()
    again = invite(page, "clobber").rpartition("/")[2]
    page.reload()
    page.get_by_role("button", name="Cancel your seek for Clobber").click()
    expect(page.locator("#seeks-section")).to_be_hidden()
    with RawClient(site.server.host, site.server.port) as bob:
        bob.hello("Bob too late")
        assert bob.ask("accept", seek=again)["code"] == "unknown_seek"


def test_guests_are_told_why_they_cannot_play_by_correspondence(people: BrowserUsers) -> None:
    page, _ = people.guest()
    choose(page, "clobber", "a player")
    page.get_by_label("Clock for each").select_option(label="1 day a move")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("#new-error")).to_contain_text("register a name")


#: A subscription, as no push service can be reached here.
SUBSCRIBED = """
  const subscription = {
    endpoint: "https://web.push.apple.com/test",
    toJSON: () => ({ endpoint: subscription.endpoint, keys: { p256dh: "p", auth: "a" } }),
    unsubscribe: async () => (PushManager.prototype.current = null),
  };
  PushManager.prototype.getSubscription = async function () { return this.current ?? null; };
  PushManager.prototype.subscribe = async function (options) {
    window.subscribedWith = options;
    return (PushManager.prototype.current = subscription);
  };
"""


@pytest.fixture
def chromium_with_notices(chromium: Browser) -> Iterator[Browser]:
    try:
        browser = launched(chromium.browser_type, shows_notices=True)
    except ChromiumMissing as lacking:
        skip_without(str(lacking))
    yield browser
    browser.close()


def test_notices_are_switched_on_and_shown_by_the_browser(
    chromium_with_notices: Browser, tmp_path: Path
) -> None:
    kept = tmp_path / "push" / "subscriptions.json"
    options = ("--push", str(kept.parent), "--push-contact", "mailto:me@example.org")
    with running_site(tmp_path, *options) as site:
        people = BrowserUsers(chromium_with_notices, site.address)
        page = people.come(permissions=["notifications"])
        page.add_init_script(SUBSCRIBED)
        page.reload()
        register(page, "Eve of letters")
        with RawClient(site.server.host, site.server.port) as bob:
            bob.hello("Bob of letters", guest=False)
            seek = bob.ask("seek", game="tic_tac_toe", clock="259200/move", seat=1)["seek"]
            page.get_by_role("button", name=re.compile("^Play Tic-tac-toe against")).click()
            match = arrive(page)
            assert bob.hear_until("started")["match"] == match
            assert seek
            page.goto("/")
            switch = page.get_by_label("Notices in this browser when it is my move")
            switch.check()
            wait_until(lambda: kept.exists() and "web.push.apple.com" in kept.read_text())
            devtools = page.context.new_cdp_session(page)
            registrations: list[str] = []
            devtools.on(
                "ServiceWorker.workerRegistrationUpdated",
                lambda event: registrations.extend(
                    each["registrationId"] for each in event["registrations"]
                ),
            )
            devtools.send("ServiceWorker.enable")
            wait_until(lambda: page.evaluate("true") and registrations)  # handles events
            # `ready` does not wait for the end of the activation; a push before it is lost.
            state = "navigator.serviceWorker.ready.then(({ active }) => active.state)"
            wait_until(lambda: page.evaluate(state) == "activated")
            notice = {
                "text": "Your move",
                "game": "G",
                "opponent": "Bob",
                "path": f"/matches/{match}",
            }
            # Chromium forgets a notice if `getNotifications` is called before it is displayed.
            displayed: list[str] = []
            devtools.on(
                "BackgroundService.backgroundServiceEventReceived",
                lambda event: displayed.append(event["backgroundServiceEvent"]["eventName"]),
            )
            observed = {"service": "notifications"}
            devtools.send("BackgroundService.startObserving", observed)
            devtools.send("BackgroundService.setRecording", observed | {"shouldRecord": True})
            terms = {"origin": site.address, "registrationId": registrations[0]}
            devtools.send("ServiceWorker.deliverPushMessage", terms | {"data": json.dumps(notice)})
            wait_until(lambda: page.evaluate("true") and displayed)  # handles events
            shown = (
                "navigator.serviceWorker.ready.then((each) => each.getNotifications())"
                ".then((all) => all.map(({ title, body }) => [title, body]))"
            )
            assert page.evaluate(shown) == [["Your move", "G, Bob"]]
            switch.uncheck()
            wait_until(lambda: kept.read_text() == "{}")
        people.leave()
        assert people.faults == []


@pytest.mark.skipif(not scale.slow, reason="it compiles games for half a minute: --slow")
def test_the_lobby_of_a_first_start_fills_with_games(chromium: Browser, tmp_path: Path) -> None:
    with first_start(tmp_path, ["nim", "connect_four"]) as (_, _, address):
        people = BrowserUsers(chromium, address)
        page = people.come()
        waiting, progress = page.locator(".skeleton"), page.get_by_role("progressbar")
        expect(page.locator(".skeleton[data-game='nim']").last).to_be_visible()
        expect(progress).to_have_attribute("max", "2")
        expect(page.locator("#new-games input").first).to_be_attached()
        expect(page.locator(".skeleton:not(.is-ready)")).to_have_count(0)
        page.reload()
        expect(page.locator("#new-games input")).to_have_count(2)
        expect(waiting).to_have_count(0)
        expect(progress).to_have_count(0)
        people.leave()
        assert people.faults == []
